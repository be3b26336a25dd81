"""Pull by tiles: everybody gathers from everybody, and nothing that is read at random leaves the core's cache.

One call does a block of destinations, its tiles one after the other: a destination's contributions come in ascending
order of their sources, as in `pull`, and no vertex is cut.
"""

from __future__ import annotations

import numpy as np

from ..graph.tiles import BITS
from ..native import Kernel, atomic_or, no_unroll, prefetch
from .functions import Functions
from .pull import CONTEXT, STREAM, make_update, make_views, signature

MASK = (1 << BITS) - 1


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
