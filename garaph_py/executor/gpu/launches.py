"""The common part of iterations that a device does alone: kernels over the pages of a run, and their counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...pages.layout import Page
from ...pages.source import PageSource
from ..results import PageResult
from .buffers import Buffer
from .gather import UNTIL_DONE, Gather
from .launch import Launcher
from .memory import DeviceMemory
from .page_tasks import PageTasks
from .placed import Placement
from .run_arrays import RunArrays
from .streams import Streams
from .work import KernelWork, Launch, result_of

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Launches:
    """Launches kernels of one run. The device's context must be current.

    Attributes
    ----------
    launcher : Launcher
    arrays : RunArrays
    streams : Streams
    tasks : PageTasks
        Makes the arguments of kernels over pages.
    source : PageSource
        The pages' edges on the host.
    placed : Placement
    tallies : ndarray
        The counts of each page's kernels, on the host.
    memory : DeviceMemory
    """

    launcher: Launcher
    arrays: RunArrays
    streams: Streams
    tasks: PageTasks
    source: PageSource
    placed: Placement
    tallies: Array
    memory: DeviceMemory

    @property
    def driver(self) -> Any:
        """PyCUDA's driver."""
        return self.launcher.device.driver

    @property
    def pages(self) -> list[Page]:
        return list(self.placed.residency.pages)

    def initial_values(self, every: Page, not_finite: int, has_total: bool) -> PageResult:
        """Run `init`, `frontier` and `aggregate` on the device, for all vertices as if they were the page `every`; the
        kernel writes to the address `not_finite` which fields of values are not finite."""
        self.tasks.of_every["not_finite"] = not_finite
        self.launcher.on_blocks("initialize", every.vertices, self.streams.compute[0], self.tasks.of_all())
        return result_of(every, self.read_tallies(), has_total)

    def on_each(self, pages: list[Page], launch: Launch) -> dict[Page, int]:
        """Launch a kernel for each page, or for all at once; return the bytes that were copied for each page."""
        work, whole = KernelWork(launch, self.tasks.of), self.streams.buffers.in_one_piece(pages)
        if whole is None:
            self.streams.process(self.streams.order(pages, self.placed.on_disk), self.source, work)
            return work.done
        work.launch(*whole)
        return dict.fromkeys(pages, 0)

    def fill_out_edges(self) -> int:
        """Copy the out-edges of a directed graph to the device, if it keeps them and lacks them; the bytes copied."""
        out_edges = self.placed.out_edges
        return 0 if out_edges is None else out_edges.fill(partial(self.on_each, self.pages))

    def in_one_launch(self, gather: Gather, pages: list[Page]) -> tuple[Page, Buffer] | None:
        """`pages` as one, if one launch may pull them: gathers that end early take less time than many launches."""
        return self.streams.buffers.in_one_piece(pages) if gather.kind == UNTIL_DONE else None

    def pieces(self, gather: Gather, pages: list[Page]) -> list[tuple[Page, Buffer]] | None:
        """What to launch to pull all `pages` at once; None if some edges are not on the device yet."""
        whole = self.in_one_launch(gather, pages)
        return self.streams.buffers.there(pages) if whole is None else [whole]

    def within_reach(self) -> tuple[Page, Buffer] | None:
        """All pages as one, if kernels can read any vertex's list of in-edges at any time."""
        return self.streams.buffers.within_reach(self.placed.mapped)

    def read_tallies(self) -> Array:
        """Copy the counts of all pages to the host, and return them."""
        self.driver.memcpy_dtoh(self.tallies.view(np.uint8), self.tasks.tallies)
        return self.tallies
