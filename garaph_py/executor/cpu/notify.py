"""The notify half of notify-pull (Garaph section 4.2): active vertices mark their out-neighbours.

Both halves walk the same way: the edges of the vertices in a set, laid end to end, are cut into equal runs; prefix
sums over blocks of 4096 vertices say where a run begins. Work and memory follow the set, not the graph.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from ...graph.graph import Edges
from ...graph.vertex_set import BLOCK
from ...native import Kernel, trailing_zeros
from ...pages.source import PageSource
from ..state import State
from .edges import Reader, reader_of, source_of
from .launch import Launcher
from .runs import RANDOM_ACCESS_EDGES, Runs, edge_ranges
from .sets import mark


def mark_targets(acc, begin, end, targets, base, last, before, values, values_base, context):
    notified, blocks = context
    for e in range(begin, end):
        mark(notified, blocks, source_of(targets, e - base, before))
    return acc, end - begin


@cache
def make_notify(reader: Reader) -> Kernel:
    walk = reader.walk(mark_targets, False)

    def notify(edges, bits, blocks, first, last, offsets, notified, notified_blocks, block, position, start, stop):
        """Mark the targets of edges [start, stop) of the concatenated out-edges of the active ones of vertices [first,
        last)."""
        words = ((last - 1) >> 6) + 1
        w = block << 6
        while w < words and position < stop:
            if w & 63 == 0 and blocks[w >> 6] == 0:
                w += 64
                continue
            word = bits[w]
            while word != np.uint64(0):
                v = (w << 6) + trailing_zeros(word)
                word &= word - np.uint64(1)
                if v < first or v >= last:
                    continue
                begin = offsets[v]
                end = offsets[v + 1]
                here = position
                position += end - begin
                if here >= stop:
                    break
                from_, to = begin + max(start - here, 0), min(end, begin + (stop - here))
                walk(0, offsets, v, from_, to, edges, (notified, notified_blocks))
            w += 1
        return 0

    return reader.kernel("u64* u8* i64 i64 i64* u64* u8* i64 i64 i64 i64", notify)


class Notify:
    """Runs the notify kernel over the pages of out-edges.

    Parameters
    ----------
    launcher : Launcher
    runs : Runs
    edges : Edges
        The out-edges.
    """

    def __init__(self, launcher: Launcher, runs: Runs, edges: Edges) -> None:
        self._launch, self._runs, self._edges, self._reader = launcher, runs, edges, reader_of(edges, None)
        self.kernel = make_notify(self._reader)

    def __call__(self, state: State, source: PageSource) -> int:
        """Put every out-neighbour of an active vertex in ``state.notified``; out-edges followed."""
        active, notified, offsets = state.active, state.notified, self._edges.offsets
        pages = self._runs.active_pages(active, source)
        source.expect(pages, partial(edge_ranges, active, offsets), values=False)
        for page, prefix in pages.items():
            block, position, start, stop = self._runs.of_set(prefix, "right", RANDOM_ACCESS_EDGES)
            edges = self._launch.edges(self._reader, source.edges(page), len(start))
            self._launch(
                self.kernel, len(start), *edges, active.bits, active.blocks, page.first_vertex, page.last_vertex,
                offsets, notified.bits, notified.blocks, page.first_vertex // BLOCK + block, position, start, stop,
            )  # fmt: skip
            source.release(page)
        return sum(int(prefix[-1]) for prefix in pages.values())
