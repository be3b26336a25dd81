"""What both processors know about the levels of searches: how many searches a value has bits for, and planes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

SOURCES = 64
"""Maximal number of sources: one bit each, in a value of 64 bits."""
NARROW = 7
"""Planes of levels that fit int8."""


def bit_of(source: int) -> int:
    """The bit of the source of this number, as a number with a sign. The first of a byte is the top one, because what
    spreads the bits of a byte over eight bytes turns them around."""
    bit = 1 << (source ^ 7)
    return bit if bit < 1 << 63 else -bit


def table_of(part: Callable[[int, int], Array], depth: int) -> Array:
    """The levels of which `depth` planes have the bits, or -1 where there is none.

    Parameters
    ----------
    part : callable
        ``part(first, depth)`` returns a table, int8, of the bits that are in `depth` planes, at most `NARROW`, from
        plane `first` on; -1 where there is no level.
    depth : int

    Returns
    -------
    ndarray of int8 or int32
        Levels are as narrow as the last one allows.
    """
    levels = part(0, min(depth, NARROW))
    if depth <= NARROW:
        return levels
    levels = levels.astype(np.int32)
    for first in range(NARROW, depth, NARROW):
        bits = part(first, min(depth - first, NARROW)).astype(np.int32)
        bits <<= first
        levels |= bits
    return levels
