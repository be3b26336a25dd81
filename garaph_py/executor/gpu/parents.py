"""Finds the in-neighbour that gave each vertex its value, on the GPU, for programs whose `result` asks for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ...pages.layout import Page
from ..components import NO_VERTEX
from .launch import Launcher, decoding
from .run_arrays import RunArrays
from .streams import Buffer
from .work import Launch

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Parents:
    """Finds parents. The device's context must be current.

    Parameters
    ----------
    launcher : Launcher
    arrays : RunArrays
    on_each : callable
        ``on_each(pages, launch)`` launches a kernel for each page (`GpuExecutor.on_each`).
    task_of : callable
        ``task_of(page, buffer)``: the arguments of a kernel.
    """

    launcher: Launcher
    arrays: RunArrays
    on_each: Callable[[list[Page], Launch], dict[Page, int]]
    task_of: Callable[[Page, Buffer], Array]

    def in_pages(self, pages: list[Page]) -> None:
        """Find the parents of all vertices, page by page; wait for the end."""
        driver, n = self.launcher.device.driver, int(self.arrays.context["n"][0])
        driver.memset_d8(self.arrays.address("parents"), 0xFF, NO_VERTEX.nbytes * n)

        def launch(page: Page, stream: Any, task: Array) -> None:
            self.launcher.on_threads(decoding("find_parents", task), page.vertices, stream, task)

        self.on_each(pages, launch)
        driver.Context.synchronize()

    def by_part(self, whole: Page, buffer: Buffer) -> Callable[[int, int, Any], None]:
        """What launches the search for the vertices [first, last); all edges are within reach, in `buffer`."""
        every = self.task_of(whole, buffer)

        def launch(first: int, last: int, stream: Any) -> None:
            task = every.copy()
            task["page"]["first_vertex"], task["page"]["last_vertex"] = first, last
            self.launcher.on_threads(decoding("find_parents", task), last - first, stream, task)

        return launch
