"""Push with reentry: vertices of a page push again while it is in memory (CLIP; Ai et al., USENIX ATC 2017).

In a search along long paths, each superstep changes few vertices, so supersteps would read a page hundreds of times,
each time for a few of its edges. With reentry, the active vertices of a page push, then those of the same page that
have become active, and so on, until no vertex of the page is active; then the next page follows. If vertices of an
adjacent page have become active, that page is visited at the end of the same iteration; all other active vertices wait
for the next one. The answer must not depend on the order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph.arrays import GraphArrays
from ...native import PerCall, atomic_and, atomic_load
from ...pages.layout import Page
from ...pages.source import PageSource
from ...system import interrupts
from ..results import PageResult
from ..state import State
from .edges import Reader
from .functions import Functions
from .launch import Launcher
from .out_edges import OutEdges
from .push import PUSHING, make_push_lists
from .records import RecordKernel
from .runs import Runs
from .sets import COUNT_EDGES
from .walk import ALL, NOTHING, TO_THE_END

MOST_WORK = 1 << 22
"""Edges followed and words of the frontier read after which a call of the kernel returns, so that Ctrl-C works: these
take some 50 ms."""


def take_active(t, is_first):
    """Make the page's vertices in the next frontier its frontier; at first, add them to it.

    The page is [t.first_vertex, t.last_vertex). No other thread uses the two sets. Returns whether there are any, and
    how many words were looked at. The summaries of blocks that lie in the page are made exact, so that the next round
    skips those in which nothing is active.
    """
    first, last = t.first_vertex >> 6, ((t.last_vertex - 1) >> 6) + 1
    found, looked = np.uint64(0), NOTHING
    for block in range(t.first_vertex >> 12, ((t.last_vertex - 1) >> 12) + 1):
        looked += 1
        if t.frontier_blocks[block] == 0 and t.next_frontier_blocks[block] == 0:
            continue
        here = np.uint64(0)
        for w in range(max(first, block << 6), min(last, (block + 1) << 6)):
            own = ALL
            if w == first:
                own &= ALL << np.uint64(t.first_vertex & 63)
            if w == last - 1:
                own &= ALL >> np.uint64(63 - ((t.last_vertex - 1) & 63))
            new = atomic_load(t.next_frontier, w) & own
            if new != np.uint64(0):
                atomic_and(t.next_frontier, w, ~new)
            if is_first:
                new |= t.frontier[w] & own
            t.frontier[w] = (t.frontier[w] & ~own) | new
            here |= new
            looked += 1
        if t.first_vertex <= block << 12 and (block + 1) << 12 <= t.last_vertex:
            t.next_frontier_blocks[block] = 0
            t.frontier_blocks[block] = np.uint8(here != np.uint64(0))
        elif here != np.uint64(0):
            t.frontier_blocks[block] = 1
        found |= here
    return found != np.uint64(0), looked


def make_reenter(f: Functions, reader: Reader) -> RecordKernel:
    """Make the kernel that pushes from a page until none of its vertices is active."""
    push_lists = make_push_lists(f, reader, False)

    def reenter(edges, t):
        """Push from the page's active vertices until none is left, or `MOST_WORK` was done.

        Returns whether the caller has to go on, with ``t.is_first`` 0.
        """
        run = t.first_vertex, t.last_vertex, t.first_vertex >> 12, NOTHING, NOTHING, TO_THE_END
        followed, looked, is_first = NOTHING, NOTHING, t.is_first != 0
        while followed + looked < MOST_WORK:
            goes_on, words = take_active(t, is_first)
            if not goes_on:
                t.counts[0] = followed
                return 0
            followed, looked, is_first = followed + push_lists(run, edges, t)[0], looked + words, False
        t.counts[0] = followed
        return 1

    return RecordKernel("reenter", reenter, (*PUSHING, "first_vertex", "last_vertex", "is_first"), f, reader)


class Reentry:
    """Runs the kernel `reenter` over the pages that have active vertices.

    Parameters
    ----------
    launcher : Launcher
    runs : Runs
    arrays : GraphArrays
    edges : OutEdges
    kernels_of : callable
        ``kernels_of(reader)``: the program's `Kernels` for edges that `reader` reads.
    """

    def __init__(
        self, launcher: Launcher, runs: Runs, arrays: GraphArrays, edges: OutEdges, kernels_of: Callable[[Reader], Any]
    ) -> None:
        self._launch, self._runs, self._arrays, self._edges = launcher, runs, arrays, edges
        self._kernels_of = kernels_of

    def __call__(self, state: State, out_source: PageSource) -> PageResult:
        """Push from each page with active vertices, in ascending order, then from adjacent pages that became active.

        It visits at most as many pages as there are, beside those that have active vertices at first.
        """
        source = self._edges.source(out_source)
        self._launch.prepare(self._kernels_of(self._edges.reader).reenter, COUNT_EDGES)
        state.next_frontier.clear()
        state.next_values = state.values
        pages = list(self._runs.active_pages(state.frontier, source))
        source.prefetch(pages)
        waiting, followed, left = deque(pages), 0, len(source.pages)
        numbers = {page.number for page in pages}  # of the waiting pages
        while waiting:
            page = waiting.popleft()
            numbers.remove(page.number)
            followed += self._push_page(page, source, state)
            for number in (page.number + 1, page.number - 1):
                if left and 0 <= number < len(source.pages) and number not in numbers:
                    other = source.pages[number]
                    if self._has_active(other, state):
                        waiting.append(other)
                        numbers.add(number)
                        source.prefetch_also(other)
                        left -= 1
        active, edges = self._count(state, 0, self._arrays.n)
        return PageResult(followed, active, edges, active, None)

    def _push_page(self, page: Page, source: PageSource, state: State) -> int:
        """Push from a page's vertices until none of them is active; return the number of edges followed."""
        reader, counts = self._edges.reader, np.zeros((1, 4), np.int64)
        kernel, edges = self._kernels_of(reader).reenter, self._launch.edges(reader, source.edges(page), 1)
        followed, goes_on, is_first = 0, True, 1
        while goes_on:
            interrupts.check()
            (goes_on,) = self._launch(
                kernel, 1, state, edges, in_place=1, counts_edges=0, counts=PerCall(counts), is_first=is_first,
                first_vertex=page.first_vertex, last_vertex=page.last_vertex,
            )  # fmt: skip
            is_first, followed = 0, followed + int(counts[0, 0])
        source.release(page)
        return followed

    def _has_active(self, page: Page, state: State) -> bool:
        """Whether a page has vertices in the next frontier, with out-edges."""
        if not state.next_frontier.bits[page.words].any():
            return False
        return self._count(state, page.first_vertex, page.last_vertex)[1] > 0

    def _count(self, state: State, first: int, last: int) -> tuple[int, int]:
        """The number of vertices in [first, last) that are in the next frontier, and of their out-edges."""
        count, prefix = self._runs.prefix_of(state.next_frontier, self._arrays.out_edges.offsets, first, last)
        return count, int(prefix[-1])
