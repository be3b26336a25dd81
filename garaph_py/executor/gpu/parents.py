"""Finds the in-neighbour that gave each vertex its value, on the GPU, for programs whose `result` asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ...pages.layout import Page
from ...program import BoundProgram
from ..components import NO_VERTEX
from .buffers import Buffer
from .device import failing
from .device_state import LaunchPart
from .launch import decoding
from .launches import Launches
from .push import list_frontier, lists_of
from .task import copy_of

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Parents:
    """Finds parents (`kernels/parents.cuh` says how).

    Parameters
    ----------
    launches : Launches
    bound : BoundProgram
    of_all : bool
        The GPU has the edges of all vertices, so vertices may push. Otherwise all of its part look for parents.
    """

    launches: Launches
    bound: BoundProgram
    of_all: bool = True

    def __call__(self, synchronous: bool) -> LaunchPart | None:
        """Find the parents of all vertices, as far as kernels for all of them can.

        Returns
        -------
        callable or None
            ``launch(first, last, stream)`` launches what finds the parents of the vertices [first, last); None if all
            have been found.
        """
        arrays, driver = self.launches.arrays, self.launches.driver
        if synchronous:  # nothing reads the second array of values any more
            arrays.share("parents", "next_values")
        with self.launches.launcher.device, failing(driver):
            driver.memset_d8(arrays.address("parents"), 0xFF, NO_VERTEX.nbytes * arrays.n)
            if self.of_all:
                self._push()
            driver.Context.synchronize()  # kernels on other streams read which classes push
            whole = self.launches.within_reach()
            if whole is not None:
                return self._by_part(*whole)
            self.launches.on_each(self.launches.pages, self._look)
            driver.Context.synchronize()  # what reads the parents is on other streams
        return None

    def _push(self) -> None:
        """Have those vertices push that find parents in fewer edges than their children would."""
        out_edges = self.launches.placed.out_edges
        if self.bound.reads_edge_values or (out_edges is not None and not out_edges.is_filled):
            return
        lists = lists_of(self.launches)
        if lists is None:
            return
        launcher, n, task = self.launches.launcher, self.launches.arrays.n, lists.task
        self.launches.driver.memset_d8(self.launches.tasks.tallies, 0, self.launches.tallies.itemsize)
        launcher.on_all("weigh_classes", lists.stream, task)
        launcher.on_threads("find_pushers", n, lists.stream, task)
        context = task["context"]
        context["frontier"], context["next_values"] = context["next_frontier"], context["values"]
        list_frontier(self.launches, lists.stream, task)
        launcher.on_all(decoding("push_parents", task), lists.stream, task)

    def _look(self, page: Page, stream: Any, task: Array) -> None:
        """Launch the search in the lists of a page's vertices."""
        self.launches.launcher.on_threads(decoding("find_parents", task), page.vertices, stream, task)

    def _by_part(self, whole: Page, buffer: Buffer) -> LaunchPart:
        task = copy_of(self.launches.tasks.of(whole, buffer))  # a launch copies its argument

        def launch(first: int, last: int, stream: Any) -> None:
            task["page"]["first_vertex"], task["page"]["last_vertex"] = first, last
            self.launches.launcher.on_threads(decoding("find_parents", task), last - first, stream, task)

        return launch
