"""Pull by tiles: every vertex gathers from every in-neighbour, and random accesses stay in a core's cache.

One call updates one block of destinations, and visits its tiles one after the other. Hence contributions to a
destination are added in ascending order of their sources, as in `pull`, and calls share no destination.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...codec.arrays import PACKED
from ...graph.arrays import GraphArrays
from ...graph.tiles import BITS, Tiles, make_tiles
from ...native import no_unroll, prefetch_near
from ...native.kernel import address_of
from ...native.threads import ThreadPool
from ...pages.memory_source import MemoryPageSource
from ...pages.passes import plain
from ...pages.source import PageSource
from ..results import PageResult
from ..state import State
from .functions import Functions
from .launch import Launcher
from .pull import STREAM
from .records import RecordKernel
from .update import CONTEXT, make_tally, make_update_word
from .walk import NOTHING, insert_word

Array = npt.NDArray[Any]

MASK = (1 << BITS) - 1
"""The bits of an edge's word that have the place of one of its ends."""
CACHED = 1 << 20
"""Vertices whose values the last-level cache holds, as at scale 20 (docs/results/cpu.md, "PageRank"): with more, a tile
prefetches the values of the next one."""
UNROLLED = 4
"""Number of edges between two prefetches, visited by a loop that the compiler unrolls."""
LINE_BYTES = 64
"""Bytes in a cache line."""
UNPACKED = 1 << 24
"""Edges unpacked at a time while tiles are made of a packed graph in memory: enough work for several threads."""


def tiles_of(arrays: GraphArrays, weighted: bool, stored: PageSource, pool: ThreadPool) -> Tiles:
    """The tiles of a graph, with edge values or without.

    If the edges are in memory, `arrays` keeps the tiles. If they are on disk, the tiles are made anew from the
    out-edges `stored`, and belong to the caller.
    """

    def made(source: PageSource) -> Tiles:
        offsets, dtype = arrays.out_edges.offsets, arrays.edge_dtype if weighted else None
        return make_tiles(offsets, arrays.in_edges.offsets, partial(plain, source, offsets, pool), dtype, pool)

    def made_in_memory() -> Tiles:
        edges = arrays.valued_out_edges(pool) if weighted else arrays.out_edges
        return made(MemoryPageSource(edges, UNPACKED if arrays.encoding == PACKED else None))

    return made(stored) if arrays.on_disk else arrays.tiles(weighted, made_in_memory)


def in_lines(n: int, dtype: np.dtype[Any]) -> Array:
    """An array of `n` elements that begins at a cache line. Then two blocks of 16 vertices never share a line, for
    which threads that add to hubs would compete."""
    room = np.empty(n * dtype.itemsize + LINE_BYTES, np.uint8)
    skipped = -address_of(room) % LINE_BYTES
    return room[skipped : skipped + n * dtype.itemsize].view(dtype)


def make_pull_tile(f: Functions):
    """Build the loop over the edges of a tile, which prefetches the tiles' edges, and the values of the next block of
    sources if they are not `CACHED`."""
    gather, combine, edge, load, fetch = f.gather, f.sum, f.edge_at, f.value.load, f.value.fetch
    load_sum, store_sum = f.accumulator.load, f.accumulator.store

    def visit(t, e, first_source, first):
        word = np.int64(t.tiles[e])
        source, v = first_source + (word & MASK), first + (word >> BITS)
        value = load(t.values, source)
        contribution = gather(t.parameters, value, edge(t.tile_values, e), value, source)
        store_sum(t.sums, v, combine(load_sum(t.sums, v), contribution))

    def pull_tile(t, begin, end, first_source, first):
        """Add the contributions of the edges [begin, end), from sources from `first_source` on, to the sums of the
        destinations from `first` on."""
        ahead, step = first_source + (1 << BITS), NOTHING
        if t.n > CACHED:
            step = (UNROLLED << BITS) // max(end - begin, 1)
        rest = end - (end - begin) % UNROLLED
        for e in range(begin, rest, UNROLLED):
            no_unroll()
            prefetch_near(t.tiles, e + STREAM)
            fetch(t.values, ahead)
            ahead += step
            for k in range(UNROLLED):
                visit(t, e + k, first_source, first)
        for e in range(rest, end):
            no_unroll()
            visit(t, e, first_source, first)

    return pull_tile


def make_pull_tiled(f: Functions) -> RecordKernel:
    identity, store_sum = f.identity, f.accumulator.store
    pull_tile, update_word = make_pull_tile(f), make_update_word(f)
    zero, _, leave = make_tally(f)

    def pull_tiled(t):
        """Update the destinations of one `block`, the vertices [first_vertex, last_vertex); `sums` has room for one
        sum for each vertex."""
        first, last = t.first_vertex, t.last_vertex
        for v in range(first, last):
            store_sum(t.sums, v, identity(t.parameters))
        for source_block in range(t.tile_blocks):
            tile = t.block * t.tile_blocks + source_block
            pull_tile(t, t.tile_starts[tile], t.tile_starts[tile + 1], source_block << BITS, first)
        tally = zero()
        for w in range(first >> 6, ((last - 1) >> 6) + 1):
            begin, end = max(first, w << 6), min(last, (w + 1) << 6)
            tally, flags = update_word(t, tally, np.uint64(0), t.sums, NOTHING, begin, end)
            insert_word(t.next_frontier, t.next_frontier_blocks, w, flags)
        leave(t, t.in_offsets[last] - t.in_offsets[first], tally)
        return 0

    names = (
        *CONTEXT, "tiles", "tile_values", "tile_starts", "tile_blocks", "sums", "block", "first_vertex", "last_vertex",
        "counts", "partial",
    )  # fmt: skip
    return RecordKernel("pull_tiled", pull_tiled, names, f)


def calls_of(tiles: Tiles) -> dict[str, Any]:
    """The arguments of the calls of a pull by tiles: the blocks of destinations, and their vertices.

    The block with the most edges comes first. The arrays are read-only, so a launch's table need not be filled again.
    """
    block = np.argsort(-np.diff(tiles.starts[:: tiles.blocks]), kind="stable")
    calls = {"block": block, "first_vertex": tiles.bounds[block], "last_vertex": tiles.bounds[block + 1]}
    for numbers in calls.values():
        numbers.flags.writeable = False
    return calls


class TiledPull:
    """Runs the pull-tiled kernel over the whole graph, and keeps its tiles.

    Parameters
    ----------
    launcher : Launcher
    arrays : GraphArrays
    reads_values : bool
        The program reads edge values, so the tiles hold them.

    Attributes
    ----------
    sums : ndarray of the accumulators' dtype, shape (n,), or None
        The vertices' sums; None if the run does not keep them and no iteration has needed them.
    """

    def __init__(self, launcher: Launcher, arrays: GraphArrays, reads_values: bool) -> None:
        self._launch, self._arrays, self._reads_values = launcher, arrays, reads_values
        self.sums: Array | None = None
        self._tiles: Tiles | None = None
        self._calls: dict[str, Any] = {}  # the arguments that tell calls apart, a block of destinations each

    def release(self) -> None:
        """Free the tiles."""
        self._tiles = None

    def __call__(self, state: State, kernel: RecordKernel, out_source: PageSource) -> PageResult:
        """Update every vertex, and add those that become active to the next frontier, which must be empty."""
        arrays, bound = self._arrays, self._launch.bound
        self._launch.prepare(kernel)
        if self._tiles is None:
            self._tiles = tiles_of(arrays, self._reads_values, out_source, self._launch.pool)
            self._calls = calls_of(self._tiles)
        if self.sums is None:
            self.sums = in_lines(arrays.n, bound.accumulator)
        tiles = self._tiles
        count = len(self._calls["block"])
        own = self._launch.partitions(count)
        self._launch(
            kernel, count, state, tiles=tiles.edges, tile_values=tiles.values, tile_starts=tiles.starts,
            tile_blocks=tiles.blocks, sums=self.sums, counts=own.arguments["counts"],
            partial=own.arguments["partial"], **self._calls,
        )  # fmt: skip
        own.clear_merge()
        return own.result(bound)
