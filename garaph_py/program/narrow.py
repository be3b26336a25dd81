"""Stores 64-bit values in 32 bits while a run lasts: half the bytes to move, and faster atomic operations.

Numbers beyond 32 bits become `TOO_SMALL` or `TOO_LARGE`. All other numbers keep their order, and the extremes of int64
become those of int32. So a sum by ``min`` or ``max`` is right. A vertex with one of these two contributes that same
one. If no vertex ends with one of them, the answer is right: each got a better value, and the program promises
(`monotone`) that a better value contributes nothing worse, so nothing is missing of what a number beyond 32 bits would
have contributed. If a vertex does end with one of them, the run is done again with 64 bits (`ValuesTooWide`).
"""

from __future__ import annotations

import numpy as np

from ..graph import Graph
from .bind import BoundProgram
from .monoids import max as maximum
from .monoids import min as minimum

WIDE, STORED = np.dtype(np.int64), np.dtype(np.int32)
LEAST, MOST = (int(item) for item in (np.iinfo(WIDE).min, np.iinfo(WIDE).max))
STORED_LEAST, STORED_MOST = (int(item) for item in (np.iinfo(STORED).min, np.iinfo(STORED).max))
TOO_SMALL, TOO_LARGE = STORED_LEAST + 1, STORED_MOST - 1
"""What stands for all numbers that 32 bits do not hold, except for the extremes of int64."""


class ValuesTooWide(Exception):
    """Values of a run do not fit 32 bits. No user sees it: the run is done again with 64 bits."""


def widened(x):
    """The number that is stored as `x`."""
    if x == STORED_MOST:
        return MOST
    return LEAST if x == STORED_LEAST else np.int64(x)


def stored(x):
    """How the number `x` is stored."""
    if x >= TOO_LARGE:
        return np.int32(STORED_MOST) if x == MOST else np.int32(TOO_LARGE)
    if x <= TOO_SMALL:
        return np.int32(STORED_LEAST) if x == LEAST else np.int32(TOO_SMALL)
    return np.int32(x)


def may_narrow(bound: BoundProgram, graph: Graph) -> bool:
    """Whether a run that ends by itself may store the values in 32 bits, as far as is known."""
    fits = bound.value == WIDE and bound.is_relaxation and bound.program.monotone
    has_order = bound.program.sum in (minimum, maximum) and "result" not in bound.arguments
    return fits and has_order and name_of(bound) not in graph._arrays.derived


def narrowed(bound: BoundProgram) -> BoundProgram:
    """`bound` with values of 32 bits; its functions still see 64."""
    return bound.changed(value=STORED, accumulator=STORED, original=bound)


def remember_wide(bound: BoundProgram, graph: Graph) -> None:
    """Have `may_narrow` refuse this program on this graph, until the graph is released."""
    graph._arrays.derived.get(name_of(bound), lambda: True, lambda _: 0)


def name_of(bound: BoundProgram) -> str:
    """The name under which a graph remembers that the values of a program do not fit 32 bits."""
    return f"wide values: {bound.key} {bound.parameters.tobytes().hex()}"
