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

from ..native import From, Kernel, prefetch_kept
from ..native.threads import ThreadPool, bounds_of
from ..system.memory import enough_memory, on_own_pages

Array = npt.NDArray[Any]
BITS = 16
"""Bits of a vertex's place in its block. The places of an edge's two ends make up its 32-bit word."""
BLOCKS = 128
"""Into how many blocks of destinations the edges are divided evenly. Small graphs have fewer (`FEW_EDGES`), graphs with
many vertices more (`FULL`). It is a multiple of all powers of two up to 128, so that such numbers of threads have
equally many blocks each (docs/results/cpu.md, "The share of the slowest thread"; other numbers are in "The size of a
tile")."""
TOGETHER, FULL = 16, 61_440
"""If `BLOCKS` blocks would have more than `FULL` vertices each on average (15/16 of 65,536), there are more blocks, a
multiple of `TOGETHER`. Blocks with equally many edges do not have quite equally many vertices, and
`with_narrow_blocks` divides those that are still too wide."""
FEW_EDGES = 1 << 16
"""Edges that a block of destinations has at least on average, unless blocks would be too wide: some 60 microseconds of
work."""
LEAST_GRANULE_BITS, MOST_GRANULE_BITS = 4, 13
"""A block of destinations begins at a multiple of 16 vertices, or of a larger power of two up to 8,192."""
GRANULES = 8
"""Granules that every block of destinations has at least, if these are larger than 16 vertices. The table from granules
to blocks is then so small that it stays in a core's first-level cache."""
PIECES = 128
"""Pieces of equally many out-edges into which the edges are divided for the threads that sort them."""
LANES = 4
"""Counters for each block of destinations, used in turn: an addition need not wait for the one before it."""
AHEAD = 32
"""How many places ahead of an edge the memory is prefetched that it is written to: two cache lines."""
LONG = 4
"""Edges for each block of destinations from which on a list is written block by block: with 2, making tiles took
longer, with 8 as long (docs/decisions/cpu.md, "Tiles")."""
MANY_THREADS = 8
"""Threads from which on tiles are made in small pages of memory: a number between 2, with which that took 1.3 to 1.5 of
the time, and 16, with which it took 0.90 (docs/results/cpu.md, "Making tiles")."""
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
def count_tiles(targets, start, stop, granule_bits, block_of, counts):
    """Count the edges [start, stop) by the block of their target, in `LANES` counters for each block."""
    for e in range(start, stop):
        counts[np.int64(block_of[targets[e] >> granule_bits]) * LANES + (e & (LANES - 1))] += np.uint32(1)
    return 0


def make_place_tiles(has_values: bool):
    # wide: a compiled function takes its arrays one by one.
    def place_tiles(
        offsets, base, targets, values, first, last, granule_bits, block_of, bounds, long_list, cursor, edges,
        out_values,
    ):  # fmt: skip
        """Write the out-edges of the vertices [first, last) to their tiles; `targets` begins with edge `base`.

        `cursor` holds the next place for an edge of these vertices in each block of destinations. Of a long list, all
        edges to a block are written in a loop, in which nobody has to look for their block and their places.
        """
        for u in range(first, last):
            low = np.uint32(u & ((1 << BITS) - 1))
            begin, end = offsets[u] - base, offsets[u + 1] - base
            while end - begin >= long_list:
                block = np.int64(block_of[targets[begin] >> granule_bits])
                place, first_target, next_block = cursor[block], bounds[block], bounds[block + 1]
                while begin < end and targets[begin] < next_block:
                    edges[place] = np.uint32((np.int64(targets[begin]) - first_target) << BITS) | low
                    if has_values:
                        out_values[place] = values[begin]
                    begin, place = begin + 1, place + 1
                cursor[block] = place
            for e in range(begin, end):
                target = np.int64(targets[e])
                block = np.int64(block_of[target >> granule_bits])
                place = cursor[block]
                cursor[block] = place + 1
                prefetch_kept(edges, place + AHEAD)
                edges[place] = np.uint32((target - bounds[block]) << BITS) | low
                if has_values:
                    prefetch_kept(out_values, place + AHEAD)
                    out_values[place] = values[e]
        return 0

    return place_tiles


COUNT_TILES = Kernel("u32* i64 i64 i64 u32* u32*", count_tiles)


@cache
def place_tiles_kernel(width: int) -> Kernel:
    """`make_place_tiles` for edge values of `width` bytes (0: none)."""
    value = f"u{8 * width or 32}*"
    return Kernel(f"i64* i64 u32* {value} i64 i64 i64 u32* i64* i64 i64* u32* {value}", make_place_tiles(width > 0))


def destination_bounds(in_offsets: Array) -> Array:
    """The bounds of the blocks of destinations, from the offsets of the in-edges. They are multiples of a granule: the
    largest with which every block but the last has at least `GRANULES` granules, or else 16 vertices."""
    even = even_places(len(in_offsets) - 1, int(in_offsets[-1]))
    for bits in range(MOST_GRANULE_BITS, LEAST_GRANULE_BITS - 1, -1):
        bounds = nearest_bounds(in_offsets, even, bits)
        if len(bounds) == len(even) + 2 and (np.diff(bounds[:-1]) >= GRANULES << bits).all():
            break
    return with_narrow_blocks(bounds, bits)


def even_places(n: int, m: int) -> Array:
    """Where the `m` edges of `n` vertices would be cut into blocks with equally many: the number of the first edge of
    each block but the first."""
    most = BLOCKS if n <= BLOCKS * FULL else -(-n // (TOGETHER * FULL)) * TOGETHER
    count = min(max(m // FEW_EDGES, 1), most)
    return bounds_of(m, count)[1:-1]


def nearest_bounds(in_offsets: Array, edges: Array, bits: int) -> Array:
    """The bounds of blocks: 0; for each of these `edges` the vertex, a multiple of ``1 << bits``, whose list begins
    nearest to it; and the number of vertices."""
    n = len(in_offsets) - 1
    below = np.searchsorted(in_offsets, edges, "right") - 1 >> bits << bits
    above = np.minimum(below + (1 << bits), n)
    nearest = np.where(edges - in_offsets[below] <= in_offsets[above] - edges, below, above)
    return np.unique(np.concatenate([[0], nearest, [n]]))


def with_narrow_blocks(bounds: Array, bits: int) -> Array:
    """The `bounds` and more of them: a block with more than 65,536 vertices is divided evenly, at multiples of
    ``1 << bits``."""
    granules = -(-np.diff(bounds) >> bits)
    parts = -(-granules >> (BITS - bits))
    part = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)  # the number of a part within its block
    before = np.repeat(granules, parts) * part // np.repeat(parts, parts)  # granules of the block before that part
    return np.append(np.repeat(bounds[:-1], parts) + (before << bits), bounds[-1])


def granule_bits_of(bounds: Array) -> int:
    """The bits of the largest granule of which all `bounds` but the last are multiples, up to a block."""
    together = int(np.bitwise_or.reduce(bounds[:-1], initial=1 << BITS))
    return (together & -together).bit_length() - 1


def piece_bounds(offsets: Array) -> Array:
    """The first vertices of the pieces that threads sort, and the number of vertices. A piece lies in one block of
    sources, and has at most a `PIECES`-th of the edges (or `FEW_EDGES`) beside those of its first vertex."""
    n, m = len(offsets) - 1, int(offsets[-1])
    most = max(m // PIECES, FEW_EDGES)
    equal = np.searchsorted(offsets, np.arange(most, m, most), side="right") - 1
    return np.unique(np.concatenate([np.arange(0, n, 1 << BITS), equal, [n]]))


# wide: a graph's offsets by source and by destination, and its lists
def make_tiles(
    offsets: Array, in_offsets: Array, lists: Callable[[bool], Lists], dtype: np.dtype[Any] | None, pool: ThreadPool
) -> Tiles:
    """Sort a graph's edges into tiles, in two passes over its out-edges: the first counts, the second places them.

    Only one part of the out-edges has to be in memory at a time. Each thread takes pieces of the out-edges, and each
    piece has places of its own in each tile, so that no two threads write to the same place.

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
    m, bounds, pieces = int(offsets[-1]), destination_bounds(in_offsets), piece_bounds(offsets)
    rows, place = len(bounds) - 1, place_tiles_kernel(0 if dtype is None else dtype.itemsize)
    bits = granule_bits_of(bounds)
    with enough_memory("tiles"):
        block_of = np.repeat(np.arange(rows, dtype=np.uint32), -(-np.diff(bounds) >> bits))
        edges = room(m, np.dtype(np.uint32), pool)
        values = None if dtype is None else room(m, dtype, pool)
        blocks, starts, cursor = places(pieces, counted(offsets, pieces, lists, block_of, rows, bits, pool))
    for first, last, targets, given in lists(dtype is not None):
        begin, end, own = pieces_of(first, last, pieces, offsets, cursor)
        where = offsets, int(offsets[first]), targets, bits_of(given), begin, end, bits, block_of, bounds
        pool.launch(place.rows(len(begin), *where, LONG * rows, own, edges, bits_of(values)))
    return Tiles(blocks, bounds, starts, edges, values)


def room(length: int, dtype: np.dtype[Any], pool: ThreadPool) -> Array:
    """New memory for the edges of tiles, or for their values: in small pages if the pool has many threads."""
    return on_own_pages(length, dtype, sparse=True) if pool.size >= MANY_THREADS else np.empty(length, dtype)


def counted(
    offsets: Array, pieces: Array, lists: Callable[[bool], Lists], block_of: Array, rows: int, bits: int,
    pool: ThreadPool,
) -> Array:  # fmt: skip
    """The number of edges from each piece to each of the `rows` blocks of destinations (int64)."""
    counts = np.zeros((len(pieces) - 1, rows * LANES), np.uint32)
    for first, last, targets, _ in lists(False):
        begin, end, own = pieces_of(first, last, pieces, offsets, counts)
        where = targets, offsets[begin] - offsets[first], offsets[end] - offsets[first]
        pool.launch(COUNT_TILES.rows(len(begin), *where, bits, block_of, own))
    together: Array = counts.reshape(len(counts), rows, LANES).sum(2, dtype=np.int64)
    return together


def places(pieces: Array, counts: Array) -> tuple[int, Array, Array]:
    """The number of blocks of sources, the first place of each tile, and of each piece's edges in each block of
    destinations, from how many there are."""
    blocks = -(-int(pieces[-1]) >> BITS)
    cursor = np.ascontiguousarray(np.cumsum(counts.T.ravel()).reshape(counts.T.shape).T)
    cursor -= counts
    begins = np.searchsorted(pieces, np.arange(blocks) << BITS)
    return blocks, np.append(cursor[begins].T.ravel(), counts.sum()), cursor


def pieces_of(first: int, last: int, pieces: Array, offsets: Array, rows: Array) -> tuple[Array, Array, From]:
    """The `pieces` of the vertices [first, last): for each its first vertex, the one after its last, and its row of
    `rows`.

    Those with the most edges come first, so that threads that take them in turn end together.
    """
    begin, end = int(np.searchsorted(pieces, first, "right")) - 1, int(np.searchsorted(pieces, last))
    bounds = np.clip(pieces[begin : end + 1], first, last)
    order = np.argsort(-np.diff(offsets[bounds]), kind="stable")
    return bounds[order], bounds[order + 1], From(rows.ravel(), (begin + order) * rows.shape[1])


def bits_of(values: Array | None) -> Array | None:
    """`values` as unsigned integers of the same width, which the kernels copy."""
    return None if values is None else values.view(f"u{values.dtype.itemsize}")
