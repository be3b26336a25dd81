"""Sorts in-edges into tiles. A tile holds the edges from a block of sources to a block of destinations.

A block of sources has 65,536 vertices. A block of destinations has at most as many, and few enough that it has only a
small share of all edges: threads take whole blocks of destinations, so none of these may take most of the time.

Within a tile, edges are sorted by source. Pulling a tile reads the values of its sources and adds to the sums of its
destinations, both in random order: both fit in a core's cache. An edge takes one 32-bit word. Shards (Garaph, section
2.1) divide the destinations in the same way, but not the sources.
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
"""Bits of a vertex's place in its block. The places of an edge's two ends make up its 32-bit word."""
SHARE = 1 / 128
"""Most edges of a block of destinations, as a share of all: sixteen threads then have even shares of the work within
7 %, if they take the largest blocks first (docs/results/cpu.md)."""
FEW_EDGES = 1 << 16
"""Edges of a block of destinations up to which it is not divided: some 60 microseconds of work."""
GRANULE_BITS = 4
"""A block of destinations begins at a multiple of 16 vertices."""
Lists = Iterable[tuple[int, int, Array, Array | None]]
"""Out-edges in parts. Each part is ``(first, last, targets, values)`` for the vertices [first, last); the values may be
None."""


@dataclass(frozen=True)
class Tiles:
    """A copy of a graph's in-edges, sorted into tiles.

    Attributes
    ----------
    blocks : int
        The number of blocks of sources.
    bounds : ndarray of int64
        The first vertex of each block of destinations, and the number of vertices.
    starts : ndarray of int64, shape ((len(bounds) - 1) * blocks + 1,)
        Tile ``destination block * blocks + source block`` holds the edges ``starts[tile]`` to ``starts[tile + 1] - 1``.
    edges : ndarray of uint32, shape (m,)
        The destination's place in its block in the upper 16 bits, the source's place in the lower.
    values : ndarray, shape (m,), or None
        The edge values.
    """

    blocks: int
    bounds: Array
    starts: Array
    edges: Array
    values: Array | None

    @property
    def edges_of_largest(self) -> int:
        """Edges of the block of destinations that has most."""
        return int(np.diff(self.starts[:: max(self.blocks, 1)]).max(initial=0))

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        values = 0 if self.values is None else self.values.nbytes
        return self.bounds.nbytes + self.starts.nbytes + self.edges.nbytes + values


# Kernels have a parameter for each array and number: compiled functions take no structures of arrays.
def count_tiles(targets, start, stop, block_of, counts):
    """Count the edges [start, stop) by the block of their target."""
    for e in range(start, stop):
        counts[np.int64(block_of[targets[e] >> GRANULE_BITS])] += 1
    return 0


def make_place_tiles(has_values: bool):
    # wide: a compiled function takes its arrays one by one.
    def place_tiles(offsets, base, targets, values, first, last, block_of, bounds, cursor, edges, out_values):
        """Write the out-edges of the vertices [first, last) to their tiles; `targets` begins with edge `base`.

        `cursor` holds the next place in each tile of this block of sources.
        """
        for u in range(first, last):
            low = np.uint32(u & ((1 << BITS) - 1))
            for e in range(offsets[u] - base, offsets[u + 1] - base):
                target = np.int64(targets[e])
                block = np.int64(block_of[target >> GRANULE_BITS])
                place = cursor[block]
                cursor[block] = place + 1
                edges[place] = np.uint32((target - bounds[block]) << BITS) | low
                if has_values:
                    out_values[place] = values[e]
        return 0

    return place_tiles


COUNT_TILES = Kernel("u32* i64 i64 u32* i64*", count_tiles)


@cache
def place_tiles_kernel(width: int) -> Kernel:
    """`make_place_tiles` for edge values of `width` bytes (0: none)."""
    value = f"u{8 * width or 32}*"
    return Kernel(f"i64* i64 u32* {value} i64 i64 u32* i64* i64* u32* {value}", make_place_tiles(width > 0))


def destination_bounds(in_offsets: Array) -> Array:
    """The bounds of the blocks of destinations, from the offsets of the in-edges."""
    n, bounds, granule = len(in_offsets) - 1, [0], 1 << GRANULE_BITS
    most = max(int(in_offsets[-1] * SHARE), FEW_EDGES)
    while (first := bounds[-1]) < n:
        ends = in_offsets[first + 1 : first + (1 << BITS) + 1]
        whole = int(np.searchsorted(ends, in_offsets[first] + most, side="right"))
        size = whole if whole == len(ends) else max(whole // granule, 1) * granule
        bounds.append(min(first + size, n))
    return np.array(bounds)


# wide: a graph's offsets by source and by destination, and its lists
def make_tiles(
    offsets: Array, in_offsets: Array, lists: Callable[[bool], Lists], dtype: np.dtype[Any] | None, pool: ThreadPool
) -> Tiles:
    """Sort a graph's edges into tiles, in two passes over its out-edges: the first counts, the second places them.

    Only one part of the out-edges has to be in memory at a time. Each thread takes blocks of sources, so that no two
    threads write to the same tile.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        The offsets of the out-edges.
    in_offsets : ndarray of int64, shape (n + 1,)
        The offsets of the in-edges.
    lists : callable
        ``lists(values)`` yields all out-edges in order, in parts, with edge values or without.
    dtype : dtype or None
        The type of the edge values; None for tiles without values.
    pool : ThreadPool

    Raises
    ------
    GraphError
        If there is not enough memory.
    """
    n, m = len(offsets) - 1, int(offsets[-1])
    blocks, bounds = -(-n >> BITS), destination_bounds(in_offsets)
    rows, place = len(bounds) - 1, place_tiles_kernel(0 if dtype is None else dtype.itemsize)
    with enough_memory("tiles"):
        block_of = np.repeat(np.arange(rows, dtype=np.uint32), -(-np.diff(bounds) >> GRANULE_BITS))
        cursor = np.zeros((blocks, rows), np.int64)  # a row for each block of sources
        starts, edges = np.zeros(rows * blocks + 1, np.int64), np.empty(m, np.uint32)
        values = None if dtype is None else np.empty(m, dtype)
    for first, last, targets, _ in lists(False):
        parts, own = by_block(first, last, cursor)
        at = offsets[parts] - offsets[first]
        pool.launch(COUNT_TILES.rows(len(own), targets, at[:-1], at[1:], block_of, PerCall(own)))
    np.cumsum(cursor.T.ravel(), out=starts[1:])
    cursor[:] = starts[:-1].reshape(rows, blocks).T
    for first, last, targets, given in lists(dtype is not None):
        parts, own = by_block(first, last, cursor)
        where = offsets, int(offsets[first]), targets, bits_of(given), parts[:-1], parts[1:], block_of, bounds
        pool.launch(place.rows(len(own), *where, PerCall(own), edges, bits_of(values)))
    return Tiles(blocks, bounds, starts, edges, values)


def by_block(first: int, last: int, rows: Array) -> tuple[Array, Array]:
    """The bounds that divide the vertices [first, last) into blocks of sources, and the rows of these blocks."""
    block = first >> BITS
    bounds = np.array([first, *range((block + 1) << BITS, last, 1 << BITS), last])
    return bounds, rows[block : block + len(bounds) - 1]


def bits_of(values: Array | None) -> Array | None:
    """`values` as unsigned integers of the same width, which the kernels copy."""
    return None if values is None else values.view(f"u{values.dtype.itemsize}")
