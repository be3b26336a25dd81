"""Push on the GPU: the vertices of the frontier update their out-neighbours.

In an undirected graph the in-edges of a vertex are also its out-edges; of a directed graph, the GPU has both
(out_edges.py). The frontier is listed in a queue, whose edge lists the GPU's warps share. While the frontier is small,
one launch does several supersteps.

If the edges of the pages do not adjoin each other, or are still arriving, each page has a launch, over those lists of
the queue that are in the page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

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


class Lists(NamedTuple):
    """The edge lists of all vertices, for kernels that push from them.

    Attributes
    ----------
    task : ndarray
        The kernels' argument.
    stream : pycuda.driver.Stream
        For the kernels.
    way : str
        How the edges reach the GPU.
    copied : int
        Bytes that have just been copied to the GPU for them.
    """

    task: Array
    stream: Any
    way: str
    copied: int = 0


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
        return result_of(self.read_tallies(), state.active_edges, copied=sum(copied.values()))

    def _push_page(self, tally: Array, page: Page, stream: Any, task: Array) -> None:
        """Push along the lists of a page. The `tally` of all pages has the length of the queue."""
        task["page"]["tally"] = tally
        self.launcher.on_all(decoding("push_queue", task), stream, task)

    def lists_of(self, page: Page, buffer: Buffer) -> Lists:
        """The edge lists of an undirected graph. `page` is all pages, and `buffer` has their edges."""
        return Lists(self.task_of(page, buffer), buffer.stream, ZERO_COPY if buffer.rest else RESIDENT)

    def over_all(self, state: State, lists: Lists, chains: bool) -> PageResult:
        """One superstep, or several in one launch if `chains` and the frontier is small.


        New values replace the old ones.
        """
        task, stream, way, copied = lists
        self.launcher.on_threads("list_frontier", self._words, stream, task)
        blocks = few_blocks(self.launcher.device)
        threads = blocks * FEW_THREADS
        is_small = state.active_count <= FEW_LISTS * threads and state.active_edges <= FEW_EDGES * threads
        if not (chains and is_small):
            self.launcher.on_all(decoding("push_queue", task), stream, task)
            return result_of(self.read_tallies(), state.active_edges, way, copied=copied)
        self.launcher.on_few(decoding("push_few", task), blocks, FEW_THREADS, stream, task)
        tallies = self.read_tallies()
        earlier, followed = self._read_supersteps(int(tallies["supersteps"][0]), state.active_edges)
        return result_of(tallies, followed, way, earlier, copied)

    @property
    def _words(self) -> int:
        """Words of 32 bits in the bitmap of the frontier."""
        return -(-int(self.arrays.context["n"][0]) // 32)

    def _read_supersteps(self, count: int, active_edges: int) -> tuple[list[Superstep], int]:
        """What the supersteps of the last launch, which did `count`, have done, except the last one; and the edges that
        this one followed. `active_edges` lead from the vertices that were active at first."""
        steps = np.zeros(count, self.launcher.layouts.superstep)
        self.launcher.device.driver.memcpy_dtoh(steps.view(np.uint8), self.arrays.address("supersteps"))
        began = steps["nanoseconds"].astype(np.float64) / 1e9
        followed = np.append(np.uint64(active_edges), steps["active_edges"][:-1]) - steps["waiting_edges"]
        columns = steps["active"], steps["active_edges"], np.diff(began), followed
        return list(map(Superstep, *(column[: count - 1].tolist() for column in columns))), int(followed[-1])


def few_blocks(device: Device) -> int:
    """Blocks that do several supersteps in one launch; 0 if the device may be too small for the cluster."""
    if not device.has_clusters:
        return 1
    return FEW_BLOCKS if device.multiprocessors >= LEAST_MULTIPROCESSORS else 0


def result_of(
    tallies: Array, edges: int, way: str = RESIDENT, earlier: Sequence[Superstep] = (), copied: int = 0
) -> PageResult:
    """The result of a superstep that followed `edges` out-edges, from the pages' tallies; `way` is how these edges
    reached the GPU, to which `copied` bytes were copied."""
    active, active_edges = int(tallies["active"].sum()), int(tallies["active_edges"].sum())
    how = PageDecision(PUSH, GPU, way)
    return PageResult(edges, active, active_edges, active, None, to_device=copied, how=how, earlier=earlier)
