"""Push on the GPU: the vertices of the frontier update their neighbours, over the edges that are in its memory.

The graph is undirected, so the in-edges of a vertex are also its out-edges. The frontier is listed in a queue, whose
edge lists the GPU's warps share. While the frontier is small, one launch does several supersteps.

If the edges of the pages do not adjoin each other, or are still arriving, each page has a launch, over those lists of
the queue that are in the page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...pages.layout import Page
from ..modes import GPU, PUSH, RESIDENT, ZERO_COPY
from ..protocol import PageDecision, PageResult, Superstep
from ..state import State
from .device import Device
from .header import FEW_BLOCKS, FEW_EDGES, FEW_LISTS, FEW_THREADS
from .launch import Launcher, decoding
from .run_arrays import RunArrays
from .streams import Buffer
from .work import Launch

Array = npt.NDArray[Any]

LEAST_MULTIPROCESSORS = 32
"""Multiprocessors of the smallest GPU on which `FEW_BLOCKS` of them are sure to form a cluster. CUDA does not promise a
cluster of that size on a small part of a GPU (MIG); a whole GPU with clusters has far more than 32."""


@dataclass(frozen=True)
class Push:
    """Pushes from the frontier. The device's context must be current.

    Parameters
    ----------
    launcher : Launcher
    arrays : RunArrays
    on_each : callable
        ``on_each(pages, launch)`` launches a kernel for each page (`GpuExecutor.on_each`).
    task_of : callable
        ``task_of(page, buffer)``: the arguments of a kernel.
    read_tallies : callable
        Copies the counts of all pages to the host, and returns them.
    """

    launcher: Launcher
    arrays: RunArrays
    on_each: Callable[[list[Page], Launch], dict[Page, int]]
    task_of: Callable[[Page, Buffer], Array]
    read_tallies: Callable[[], Array]

    def over_each(self, state: State, pages: list[Page], every: Array) -> PageResult:
        """One superstep, page by page; `every` is the argument of a kernel over all of them. New values replace the
        old ones."""
        self.launcher.on_threads("list_frontier", self._words, None, every)
        copied = self.on_each(pages, partial(self._push_page, every["page"]["tally"]))
        result = result_of(self.read_tallies(), state.active_edges)
        result.to_device = sum(copied.values())
        return result

    def _push_page(self, tally: Array, page: Page, stream: Any, task: Array) -> None:
        """Push along the lists of a page. The `tally` of all pages has the length of the queue."""
        task["page"]["tally"] = tally
        self.launcher.on_all(decoding("push_queue", task), stream, task)

    def over_all(self, state: State, page: Page, buffer: Buffer, chains: bool) -> PageResult:
        """One superstep, or several in one launch if `chains` and the frontier is small.

        `page` is all pages, and `buffer` has their edges. New values replace the old ones.
        """
        task, stream, way = self.task_of(page, buffer), buffer.stream, ZERO_COPY if buffer.rest else RESIDENT
        self.launcher.on_threads("list_frontier", self._words, stream, task)
        blocks = few_blocks(self.launcher.device)
        threads = blocks * FEW_THREADS
        is_small = state.active_count <= FEW_LISTS * threads and state.active_edges <= FEW_EDGES * threads
        if not (chains and is_small):
            self.launcher.on_all(decoding("push_queue", task), stream, task)
            return result_of(self.read_tallies(), state.active_edges, way)
        self.launcher.on_few(decoding("push_few", task), blocks, FEW_THREADS, stream, task)
        tallies = self.read_tallies()
        earlier = self._all_but_last(int(tallies["supersteps"][0]))
        followed = earlier[-1].active_edges if earlier else state.active_edges
        return result_of(tallies, followed, way, earlier)

    @property
    def _words(self) -> int:
        """Words of 32 bits in the bitmap of the frontier."""
        return -(-int(self.arrays.context["n"][0]) // 32)

    def _all_but_last(self, count: int) -> list[Superstep]:
        """What the supersteps of the last launch, which did `count`, have done, except the last one."""
        steps = np.zeros(count, self.launcher.layouts.superstep)
        self.launcher.device.driver.memcpy_dtoh(steps.view(np.uint8), self.arrays.address("supersteps"))
        began = steps["nanoseconds"].astype(np.float64) / 1e9
        columns = steps["active"].tolist(), steps["active_edges"].tolist(), np.diff(began).tolist()
        return list(map(Superstep, *columns))


def few_blocks(device: Device) -> int:
    """Blocks that do several supersteps in one launch; 0 if the device may be too small for the cluster."""
    if not device.has_clusters:
        return 1
    return FEW_BLOCKS if device.multiprocessors >= LEAST_MULTIPROCESSORS else 0


def result_of(tallies: Array, edges: int, way: str = RESIDENT, earlier: Sequence[Superstep] = ()) -> PageResult:
    """The result of a superstep that followed `edges` out-edges, from the pages' tallies; `way` is how these edges
    reached the GPU."""
    active, active_edges = int(tallies["active"].sum()), int(tallies["active_edges"].sum())
    how = PageDecision(PUSH, GPU, way)
    return PageResult(edges, active, active_edges, active, None, how=how, earlier=earlier)
