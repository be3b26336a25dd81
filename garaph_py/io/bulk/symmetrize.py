"""Symmetrize edges out of core: merge the edges sorted by target with those sorted by source (`graph.symmetrize`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph.symmetrize import make_union
from ...native import Kernel
from .sort import ExternalSort

Array = npt.NDArray[Any]
Piece = tuple[Array, "Array | None"]

MERGED = 1 << 19
"""Keys of each side that are merged at a time: the result, at most 16 MiB, takes half of `build.READER_BYTES`."""
HALF, LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
"""The number of bits in half a word, and the lower half of a word."""


def make_union_keys(has_values: bool):
    union = make_union(has_values)

    # wide: compiled code takes its arrays one by one
    def union_keys(ones, one_values, one_stop, twos, two_values, two_stop, places, out, out_values):
        """Merge keys from ``places[0]`` and ``places[1]`` on, and write there and to ``places[2]`` where it ended."""
        places[0], places[1], places[2] = union(
            ones, one_values, places[0], one_stop, twos, two_values, places[1], two_stop, True, out, out_values, 0
        )
        return 0

    return union_keys


@cache
def union_kernel(width: int) -> Kernel:
    """`make_union_keys` for values of `width` bytes (0: none)."""
    value = f"u{8 * width or 32}*"
    return Kernel(f"u64* {value} i64 u64* {value} i64 i64* u64* {value}", make_union_keys(bool(width)))


def union_of(one: Iterable[Piece], two: Iterable[Piece], width: int) -> Iterator[Piece]:
    """The union, as multisets, of two sorted sequences of keys with values; each piece overwrites the one before."""
    sides = slices(one), slices(two)
    a, b = (next(side, None) for side in sides)
    places, keys = np.zeros(3, np.int64), np.empty(2 * MERGED, np.uint64)
    values = np.empty(2 * MERGED, f"u{width}") if width else None
    while a is not None and b is not None:
        union_kernel(width)(*a, len(a[0]), *b, len(b[0]), places, keys, values)
        yield keys[: places[2]], None if values is None else values[: places[2]]
        if places[0] == len(a[0]):
            a, places[0] = next(sides[0], None), 0
        if places[1] == len(b[0]):
            b, places[1] = next(sides[1], None), 0
    for last, place, side in zip((a, b), places.tolist(), sides, strict=False):
        if last is not None:
            yield last[0][place:], None if last[1] is None else last[1][place:]
            yield from side


def slices(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """`pieces`, cut into parts of at most `MERGED` keys."""
    for keys, values in pieces:
        for start in range(0, len(keys), MERGED):
            part = slice(start, start + MERGED)
            yield keys[part], None if values is None else values[part]


def packed_ends(sources: Array, targets: Array) -> Array:
    """Source and target of each edge in one number of 64 bits."""
    return sources.astype(np.uint64) << HALF | targets


def edges_by_value(sort: ExternalSort, memory: int, width: int) -> Iterator[tuple[Array, Array, Array]]:
    """Sources, targets and values of the edges in `sort`, whose keys are values and whose values are `packed_ends`."""
    for values, edges in slices(sort.sorted(memory)):
        assert edges is not None
        yield (edges >> HALF).astype(np.uint32), (edges & LOW).astype(np.uint32), values.astype(f"u{width}")
