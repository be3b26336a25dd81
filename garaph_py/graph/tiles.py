"""In-edges in tiles: by blocks of 65,536 destinations, then of as many sources, then by source.

What a tile reads at random, the values of its sources, and what it adds to at random, the sums of its destinations,
both stay in a core's cache; and an edge is one 32-bit word. (Shards cut the destinations the same way, Garaph section
2.1; tiles cut the sources too.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..native import Kernel, PerCall
from ..native.threads import ThreadPool
from ..system.memory import enough_memory

Array = npt.NDArray[Any]
BITS = 16
"""Of a vertex's place in its block; two such places make an edge's word."""
Lists = Iterable[tuple[int, int, Array, Array | None]]
"""First vertex and last, the targets of the former's out-edges up to the latter's, and edge values or None."""


@dataclass(frozen=True)
class Tiles:
    """The in-edges of a graph, once more.

    Attributes
    ----------
    starts : ndarray of int64, shape (blocks**2 + 1,)
        Tile ``destination block * blocks + source block`` holds edges ``starts[tile]`` to ``starts[tile + 1]``.
    edges : ndarray of uint32, shape (m,)
        The destination's place in its block in the upper half, the source's in the lower.
    values : ndarray, shape (m,), or None
    """

    blocks: int
    starts: Array
    edges: Array
    values: Array | None

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self.starts.nbytes + self.edges.nbytes + (0 if self.values is None else self.values.nbytes)


def count_tiles(targets, start, stop, counts):
    """Edges [start, stop) by block of their target."""
    for e in range(start, stop):
        counts[targets[e] >> BITS] += 1
    return 0


def make_place_tiles(has_values: bool):
    def place_tiles(offsets, base, targets, values, first, last, cursor, edges, out_values):
        """The out-edges of the vertices [first, last) to where the tiles' cursors point; `targets` begin with edge
        `base`."""
        for u in range(first, last):
            low = np.uint32(u & ((1 << BITS) - 1))
            for e in range(offsets[u] - base, offsets[u + 1] - base):
                target = targets[e]
                place = cursor[target >> BITS]
                cursor[target >> BITS] = place + 1
                edges[place] = np.uint32(target << BITS) | low
                if has_values:
                    out_values[place] = values[e]
        return 0

    return place_tiles


COUNT_TILES = Kernel("u32* i64 i64 i64*", count_tiles)


@cache
def place_tiles_kernel(width: int) -> Kernel:
    value = f"u{8 * width or 32}*"
    return Kernel(f"i64* i64 u32* {value} i64 i64 i64* u32* {value}", make_place_tiles(width > 0))


def make_tiles(offsets: Array, lists: Callable[[bool], Lists], dtype: np.dtype[Any] | None, pool: ThreadPool) -> Tiles:
    """The tiles of a graph, of whose edges no more than a part of the lists need be in memory at a time.

    Threads take blocks of sources, which share no tile.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        Of the out-edges.
    lists : callable
        ``lists(values)`` is all of these in their order, with edge values or without. One pass counts, another one
        places.
    dtype : dtype or None
        Of the edge values; None for tiles without.

    Raises
    ------
    GraphError
        If there is not enough memory.
    """
    n, m = len(offsets) - 1, int(offsets[-1])
    blocks, place = -(-n >> BITS), place_tiles_kernel(0 if dtype is None else dtype.itemsize)
    with enough_memory("tiles"):
        cursor = np.zeros((blocks, blocks), np.int64)  # by source block
        starts, edges = np.zeros(blocks * blocks + 1, np.int64), np.empty(m, np.uint32)
        values = None if dtype is None else np.empty(m, dtype)
    for first, last, targets, _ in lists(False):
        bounds, own = by_block(first, last, cursor)
        at = offsets[bounds] - offsets[first]
        pool.launch(COUNT_TILES.rows(len(own), targets, at[:-1], at[1:], PerCall(own)))
    np.cumsum(cursor.T.ravel(), out=starts[1:])
    cursor[:] = starts[:-1].reshape(blocks, blocks).T
    for first, last, targets, given in lists(dtype is not None):
        bounds, own = by_block(first, last, cursor)
        where = offsets, int(offsets[first]), targets, bits_of(given), bounds[:-1], bounds[1:]
        pool.launch(place.rows(len(own), *where, PerCall(own), edges, bits_of(values)))
    return Tiles(blocks, starts, edges, values)


def by_block(first: int, last: int, rows: Array) -> tuple[Array, Array]:
    """The vertices [first, last) cut where a block ends, and of `rows` those of their blocks."""
    block = first >> BITS
    bounds = np.array([first, *range((block + 1) << BITS, last, 1 << BITS), last])
    return bounds, rows[block : block + len(bounds) - 1]


def bits_of(values: Array | None) -> Array | None:
    """`values` as the kernels move them."""
    return None if values is None else values.view(f"u{values.dtype.itemsize}")
