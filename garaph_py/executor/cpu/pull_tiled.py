"""Pull by tiles: everybody gathers from everybody, and nothing that is read at random leaves the core's cache.

One call does a block of destinations, its tiles one after the other: a destination's contributions come in ascending
order of their sources, as in `pull`, and no vertex is cut.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...codec.arrays import PACKED
from ...graph import Graph
from ...graph.tiles import BITS, Tiles, make_tiles
from ...native import Kernel, atomic_or, no_unroll, prefetch
from ...native.threads import ThreadPool
from ...pages.memory_source import MemoryPageSource
from ...pages.passes import plain
from ...pages.source import PageSource
from .functions import Functions
from .pull import CONTEXT, STREAM, make_update, make_views, signature

MASK = (1 << BITS) - 1
UNPACKED = 1 << 24
"""Edges in memory that are unpacked at a time to make tiles of them: work for several threads."""


def tiles_of(graph: Graph, weighted: bool, stored: PageSource, pool: ThreadPool) -> Tiles:
    """The tiles that `graph` keeps, with edge values or without; or, for as long as the caller wants them, those of the
    out-edges on disk, `stored`."""

    def made(source: PageSource) -> Tiles:
        offsets, dtype = graph.out_edges.offsets, graph.edge_dtype if weighted else None
        return make_tiles(offsets, partial(plain, source, offsets, pool), dtype, pool)

    def made_in_memory() -> Tiles:
        edges = graph.valued_out_edges(pool) if weighted else graph.out_edges
        return made(MemoryPageSource(edges, UNPACKED if graph.encoding == PACKED else None))

    return made(stored) if graph.on_disk else graph.tiles(weighted, made_in_memory)


def make_pull_tiled(f: Functions, edges: str) -> Kernel:
    gather, add, identity, edge, load = f.gather, f.sum, f.identity, f.edge_at, f.value.load
    load_sum, store_sum, update, views = f.accumulator.load, f.accumulator.store, make_update(f), make_views(f)
    add_total, no_total, view_partial, store_partial = f.add_total, f.no_total, f.partial.view, f.partial.store

    def pull_tiled(
        tiles, edge_values, n, in_offsets, out_offsets, values_, pending_, parameters_, data_, total_,
        bits, blocks, sums_, starts, block_count, counts, partials_, block,
    ):  # fmt: skip
        """The destinations of one `block`; `sums_` has room for one a vertex."""
        self, total, values, pending, data, sums, _ = views(values_, pending_, parameters_, data_, total_, sums_, sums_)
        first, last = block << BITS, min(n, (block + 1) << BITS)
        for v in range(first, last):
            store_sum(sums, v, identity(self))
        for source_block in range(block_count):
            tile = block * block_count + source_block
            for e in range(starts[tile], starts[tile + 1]):
                no_unroll()
                prefetch(tiles, e + STREAM)
                word = np.int64(tiles[e])
                source, v = (source_block << BITS) + (word & MASK), first + (word >> BITS)
                value = load(values, source)
                store_sum(sums, v, add(load_sum(sums, v), gather(self, value, edge(edge_values, e), value, source)))
        active, active_edges, changeable = 0, 0, 0
        partial = no_total()
        for w in range(first >> 6, ((last - 1) >> 6) + 1):
            flags = np.uint64(0)
            for v in range(w << 6, min(last, (w + 1) << 6)):
                is_active, changes, out_edges, part = update(
                    self, v, load_sum(sums, v), load(values, v), n, in_offsets, out_offsets, pending, data, total
                )
                partial = add_total(partial, part)
                one = np.int64(is_active)
                flags |= np.uint64(one) << np.uint64(v & 63)
                active += one
                active_edges += one * out_edges
                changeable += one & np.int64(changes)
            if flags != np.uint64(0):
                atomic_or(bits, w, flags)
                blocks[w >> 6] = 1
        counts[0], counts[1], counts[2], counts[3] = (
            in_offsets[last] - in_offsets[first],
            active,
            active_edges,
            changeable,
        )
        store_partial(view_partial(partials_), 0, partial)
        return 0

    text = f"u32* {edges} " + CONTEXT + " {accumulator} i64* i64 i64* {partial} i64"
    return Kernel(signature(f, text), pull_tiled)
