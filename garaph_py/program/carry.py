"""Carries parents along with the values, in one number of 64 bits: value * 2**32 + parent + 1, or + 0 without a parent.

The CPU does, and a run on disk saves a pass over the edges: a pull that has found the value of a vertex has found its
parent, too. The order of these numbers is that of the values, and of parents among equal values, so a sum by ``min`` of
them has the smallest parent. That is also the smallest of all in-neighbours that contribute the value, because the
program promises (`by_levels`) that those got their own values in the same superstep.
"""

from __future__ import annotations

import numpy as np

from .bind import BoundProgram
from .monoids import min as minimum

STORED, VALUE = np.dtype(np.int64), np.dtype(np.int32)
LARGEST = int(np.iinfo(VALUE).max)
IDENTITY = int(np.iinfo(STORED).max)


def may_carry(bound: BoundProgram) -> bool:
    """Whether parents can be carried along."""
    program = bound.program
    is_alone = bound.finds_parents and "priority" not in bound.arguments
    return is_alone and program.by_levels and bound.value == VALUE and program.sum is minimum


def carrying(bound: BoundProgram) -> BoundProgram:
    """`bound` with values that carry parents; its functions still see the plain values."""
    return bound.changed(value=STORED, accumulator=STORED, original=bound, carries=True)


def with_parent(value, parent):
    """The stored number; a `parent` of -1 stands for none. The identity of `sum` has none."""
    return np.int64(IDENTITY) if value == LARGEST else (np.int64(value) << 32) + parent + 1


def value_in(x):
    """The value in the number `x`."""
    return np.int32(x >> 32)


def parent_in(x):
    """The parent in the number `x`; -1 for none."""
    return -1 if x == IDENTITY else (x & 0xFFFFFFFF) - 1
