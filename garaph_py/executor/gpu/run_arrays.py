"""The run's arrays in device memory, by name, and the kernel arguments that hold their addresses."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph.arrays import GraphArrays
from ...pages.layout import Page
from ...program import BoundProgram
from .device import Device
from .launch import Launcher, block_count
from .memory import DeviceMemory
from .ranks import RUN, Ranks

Array = npt.NDArray[Any]


class RunArrays:
    """The arrays of a run in device memory. The device's context must be current.

    Attributes
    ----------
    context : ndarray of `task.Layouts.context`, shape (1,)
        The kernel argument with their addresses.
    """

    def __init__(
        self, bound: BoundProgram, arrays: GraphArrays, ranks: Ranks, launcher: Launcher, device: Device
    ) -> None:
        self._bound, self._arrays, self._ranks, self._launcher, self._device = bound, arrays, ranks, launcher, device
        self.task = np.zeros(1, launcher.layouts.task)
        self.context = self.task["context"]

    def allocate(self, sizes: dict[str, int], memory: DeviceMemory) -> None:
        """Allocate an array of each name, of the given size in bytes."""
        for name, nbytes in sizes.items():
            self.context[name] = memory.allocate(name, nbytes)

    def fill(self) -> None:
        """Fill the arrays that stay the same during the run: the GPU computes `starts`, the others are copied."""
        arrays, ranks, context = self._arrays, self._ranks, self.context
        context["n"], context["parameters"] = arrays.n, self._bound.parameters
        known = {
            "in_offsets": arrays.in_edges.offsets,
            "run_ranks": ranks.by_run,
            "word_ranks": ranks.by_word,
        }
        if arrays.directed:
            known["out_offsets"] = arrays.out_edges.offsets
        else:
            context["out_offsets"] = context["in_offsets"]
        if self._bound.reads_dst:
            known["destinations"] = ranks.destinations
        if self._bound.vertex_data is not None:
            known["vertex_data"] = self._bound.vertex_data
        for name, array in known.items():
            if array.nbytes:
                self._device.driver.memcpy_htod(self.address(name), np.ascontiguousarray(array).view(np.uint8))
        self._launcher.mark_starts(self.address("in_offsets"), arrays.n, self.address("starts"), None)

    def address(self, name: str) -> int:
        """The current address of an array; `swap` changes it."""
        return int(self.context[name][0])

    def swap(self, one: str, other: str) -> None:
        """Exchange two arrays."""
        context = self.context
        context[one], context[other] = context[other].copy(), context[one].copy()

    def share(self, name: str, other: str) -> None:
        """Make `name` another name of the array `other`."""
        self.context[name] = self.context[other]

    def task_of(self, arguments: bytes) -> Array:
        """The argument of a kernel: the addresses of the run's arrays, followed by a page's `arguments`."""
        return np.frombuffer(bytearray(self.context.tobytes() + arguments), self.task.dtype)

    def task_of_range(self, first: int, last: int) -> Array:
        """The argument of a kernel over the vertices [first, last), which may be in several pages."""
        task = self.task.copy()
        task["page"]["first_vertex"], task["page"]["last_vertex"] = first, last
        return task

    def page_arguments(self, page: Page, tally: int) -> Array:
        """A page's arguments, except the addresses of its edges; `tally` is the address of the page's counts."""
        arguments = np.zeros(1, self._launcher.layouts.page)
        arguments["first_vertex"], arguments["last_vertex"] = page.first_vertex, page.last_vertex
        arguments["first_edge"], arguments["last_edge"] = page.first_edge, page.last_edge
        arguments["base_edge"] = page.first_edge // RUN * RUN
        first_rank, last_rank = self._ranks.before[[page.first_vertex, page.last_vertex]]
        arguments["first_rank"], arguments["last_rank"] = first_rank, last_rank
        arguments["tally"], arguments["blocks"] = tally, block_count(page.vertices)
        return arguments
