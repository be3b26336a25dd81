"""Connected components by union-find on the GPU (`..components` describes the method)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy.typing as npt

from ...pages.layout import Page
from ..components import NO_VERTEX, SAMPLE
from ..decision import PageDecision
from ..modes import COMPONENTS, GPU
from ..results import PageResult
from .launch import Launcher
from .launches import Launches
from .ranks import runs_of
from .task import copy_of

Array = npt.NDArray[Any]

FEW_VERTICES = 1 << 13
"""Vertices whose second edges are linked before those of all others. If a quarter of a million threads began at once to
join the same few large trees, they would wait for one another's atomic operations for half a millisecond."""
SHORT_EDGES = 32
"""In-edges below which one thread links all edges of a vertex, once most vertices are in one tree."""


@dataclass(frozen=True)
class Components:
    """Finds the connected components, and gives each vertex the sum over its own. The device's context must be current.

    Parameters
    ----------
    launches : Launches
    """

    launches: Launches

    def __call__(self) -> list[PageResult]:
        """Find the components and their sums. In streamed pages, first edges are not linked before the others."""
        at_hand = [page for page in self.launches.pages if self.launches.streams.buffers.has(page)]
        self.plant()
        copied = Counter[Page]()
        if at_hand:
            copied.update(self.link_first(at_hand))
            self.find_largest()
        copied.update(self.link_others(at_hand))
        return self.sum(copied)

    def plant(self) -> None:
        """Make a tree of each vertex."""
        self.launches.driver.memset_d8(self.launches.arrays.address("largest"), 0xFF, NO_VERTEX.nbytes)
        self.on_vertices("plant")

    def link_first(self, pages: list[Page]) -> Counter[Page]:
        """Link the first edges of the vertices of `pages`, after `plant`; return the bytes that were copied."""
        copied = Counter[Page]()
        for link in (self._hook_first, self._link_second):
            copied.update(self.launches.on_each(pages, link))
        return copied

    def find_largest(self) -> None:
        """Note the root of the largest tree, whose edges `link_others` leaves out."""
        self.on_vertices("flatten")
        self._launcher.on_few("find_largest", 1, SAMPLE, None, self._every)

    def link_others(self, at_hand: list[Page]) -> dict[Page, int]:
        """Link the other edges of all pages, of which those `at_hand` come first; return the bytes that were copied."""
        return self.launches.on_each(self.launches.pages, partial(self._link_rest, len(at_hand)))

    def sum(self, copied: Counter[Page]) -> list[PageResult]:
        """Give each vertex the sum over its tree; the results of all pages, for which so many bytes were `copied`."""
        for name in ("sum_trees", "spread_sums"):
            self.on_vertices(name)
        self.launches.driver.Context.synchronize()
        return [self._result(page, copied[page]) for page in self.launches.pages]

    def on_vertices(self, kernel: str) -> None:
        """Launch a kernel with a thread for each vertex of the graph."""
        self._launcher.on_threads(kernel, self.launches.arrays.n, None, self._every)

    @property
    def _every(self) -> Array:
        return self.launches.arrays.task_of_range(0, self.launches.arrays.n)

    @property
    def _launcher(self) -> Launcher:
        return self.launches.launcher

    def _hook_first(self, page: Page, stream: Any, task: Array) -> None:
        self._launcher.on_threads("hook_first", page.vertices, stream, task)

    def _link_second(self, page: Page, stream: Any, task: Array) -> None:
        """Link the second edges of a page's vertices: first those of a few, which join the large trees."""
        few = copy_of(task)
        few["page"]["last_vertex"] = min(page.first_vertex + FEW_VERTICES, page.last_vertex)
        self._launcher.on_threads("link_second", FEW_VERTICES, stream, few)
        self._launcher.on_threads("link_second", page.vertices, stream, task)

    def _link_rest(self, at_hand: int, page: Page, stream: Any, task: Array) -> None:
        """Link the edges of a page, except those of vertices in the largest tree."""
        if page.number < at_hand:  # the few vertices that are left are in nearly all runs, with few edges each
            task["page"]["least_edges"] = SHORT_EDGES
            self._launcher.on_threads("link_short", page.vertices, stream, task)
        self._launcher.on_warps("link_edges", runs_of(page), stream, task)

    def _result(self, page: Page, copied: int) -> PageResult:
        how = PageDecision(COMPONENTS, GPU, self.launches.streams.way_of(page, copied))
        return PageResult(page.edges, 0, 0, 0, None, to_device=copied, how=how)
