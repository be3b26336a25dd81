"""Pull from active vertices only, for programs that relax: what the others have to say was summed before.

Partitions and their replicas are those of `pull`. A vertex that has no in-edges or is done is passed over, found by
the word: whether one is, is hard to predict, and each gather begins with a cache miss. So a word's vertices are looked
through one word ahead, and their first sources fetched.
"""

from __future__ import annotations

import numpy as np

from ...native import Kernel, atomic_or, trailing_zeros
from .edges import Reader
from .functions import Functions
from .pull import CONTEXT, REPLICAS, make_gather, make_update, make_views, signature


def make_due(f: Functions, reader: Reader):
    """Which vertices of a word, in [first, last), have in-edges and are not done; their first sources are fetched."""
    load, done, identity, fetch = f.value.load, f.done, f.identity, reader.fetch

    def due(self, w, first, last, in_offsets, edges, values, early):
        found = np.uint64(0)
        for v in range(max(first, w << 6), min(last, (w + 1) << 6)):
            is_due = (in_offsets[v] < in_offsets[v + 1]) & (not (early and done(self, identity(self), load(values, v))))
            found |= np.uint64(is_due) << np.uint64(v & 63)
        remaining = found
        while remaining != np.uint64(0):
            v = (w << 6) + trailing_zeros(remaining)
            remaining &= remaining - np.uint64(1)
            fetch(edges, in_offsets[v])
        return found

    return due


def make_pull_active(f: Functions, reader: Reader) -> Kernel:
    gather_edges, update, views = make_gather(f, reader, True), make_update(f, True), make_views(f)
    due = make_due(f, reader)
    identity, no_total, load, store_accumulator = f.identity, f.no_total, f.value.load, f.accumulator.store
    view_partial, store_partial = f.partial.view, f.partial.store

    def pull_active(
        edges, n, in_offsets, out_offsets, values_, pending_, parameters_, data_, total_,
        bits, blocks, early, heads_, tails_, cuts, counts, partials_, from_bits, start, stop, first, last,
    ):  # fmt: skip
        """Edges [start, stop), in which the vertices [first, last) begin; gathers from the vertices in `from_bits`."""
        self, total, values, pending, data, heads, tails = views(
            values_, pending_, parameters_, data_, total_, heads_, tails_
        )
        cuts[0], cuts[1] = -1, -1
        visits, active, active_edges, changeable = 0, 0, 0, 0
        earliest = first - np.int64(start < stop and in_offsets[first] > start)
        following = due(self, earliest >> 6, earliest, last, in_offsets, edges, values, early)
        for w in range(earliest >> 6, ((last - 1) >> 6) + 1):
            remaining, word = following, np.uint64(0)
            following = due(self, w + 1, earliest, last, in_offsets, edges, values, early)
            while remaining != np.uint64(0):
                v = (w << 6) + trailing_zeros(remaining)
                remaining &= remaining - np.uint64(1)
                begin, end, old = in_offsets[v], in_offsets[v + 1], load(values, v)
                acc, visited = gather_edges(
                    self, identity(self), old, in_offsets, v, max(begin, start), min(end, stop), edges, values, early,
                    from_bits,
                )  # fmt: skip
                visits += visited
                if begin < start:
                    store_accumulator(heads, 0, acc)
                    cuts[0] = v
                elif end > stop:
                    store_accumulator(tails, 0, acc)
                    cuts[1] = v
                else:
                    is_active, changes, out_edges, _ = update(
                        self, v, acc, old, n, in_offsets, out_offsets, pending, data, total
                    )
                    if is_active:
                        own = np.uint64(1) << np.uint64(v & 63)
                        word |= own
                        active += 1
                        active_edges += out_edges
                        changeable += changes
                        if not early:  # asynchronous: who gathers from here on sees the new value
                            atomic_or(from_bits, w, own)
            if word != np.uint64(0):
                atomic_or(bits, w, word)
                blocks[w >> 6] = 1
        counts[0], counts[1], counts[2], counts[3] = visits, active, active_edges, changeable
        store_partial(view_partial(partials_), 0, no_total())
        return 0

    return reader.kernel(signature(f, CONTEXT + REPLICAS) + " u64* i64 i64 i64 i64", pull_active)
