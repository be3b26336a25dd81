"""Push on the GPU: the vertices of the frontier update their out-neighbours.

In an undirected graph the in-edges of a vertex are also its out-edges; of a directed graph, the GPU has both
(out_edges.py). The frontier is listed in a queue, whose edge lists the GPU's warps share. While the frontier is small,
one launch does several supersteps.

If the edges of the pages do not adjoin each other, or are still arriving, each page has a launch, over those lists of
the queue that are in the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import DeviceError
from ...pages.layout import Page
from ..modes import GPU, PUSH, RESIDENT, ZERO_COPY
from ..protocol import PageDecision, PageResult, Superstep
from ..state import State
from .device import FALLBACK, Device
from .header import FEW_BLOCKS, FEW_EDGES, FEW_LISTS, FEW_THREADS
from .launch import decoding
from .launches import Launches

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
    launches : Launches
    """

    launches: Launches

    def __call__(self, state: State, chains: bool) -> PageResult:
        """One superstep, or several in one launch if `chains` and the frontier is small.

        New values replace the old ones.
        """
        lists, blocks = lists_of(self.launches), few_blocks(self.launches.launcher.device)
        threads = blocks * FEW_THREADS
        is_small = state.active_count <= FEW_LISTS * threads and state.active_edges <= FEW_EDGES * threads
        if lists is not None and chains and is_small:
            return self._several(state, lists, blocks)
        way, copied = push_along(self.launches, lists, "push_queue")
        return result_of(self.launches.read_tallies(), state.active_edges, way, copied=copied)

    def _several(self, state: State, lists: Lists, blocks: int) -> PageResult:
        """Several supersteps in one launch."""
        launcher, (task, stream, way, copied) = self.launches.launcher, lists
        list_frontier(self.launches, stream, task)
        launcher.on_few(decoding("push_few", task), blocks, FEW_THREADS, stream, task)
        tallies = self.launches.read_tallies()
        count = int(tallies["supersteps"][0])
        if not count:
            raise DeviceError(f"{launcher.device.name} has not run a kernel that was launched (push_few); {FALLBACK}")
        earlier, followed = self._read_supersteps(count, state.active_edges)
        return result_of(tallies, followed, way, earlier, copied)

    def _read_supersteps(self, count: int, active_edges: int) -> tuple[list[Superstep], int]:
        """What the supersteps of the last launch, which did `count`, have done, except the last one; and the edges that
        this one followed. `active_edges` lead from the vertices that were active at first."""
        steps = np.zeros(count, self.launches.launcher.layouts.superstep)
        self.launches.driver.memcpy_dtoh(steps.view(np.uint8), self.launches.arrays.address("supersteps"))
        began = steps["nanoseconds"].astype(np.float64) / 1e9
        followed = np.append(np.uint64(active_edges), steps["active_edges"][:-1]) - steps["waiting_edges"]
        columns = steps["active"], steps["active_edges"], np.diff(began), followed
        return list(map(Superstep, *(column[: count - 1].tolist() for column in columns))), int(followed[-1])


def push_along(launches: Launches, lists: Lists | None, kernel: str) -> tuple[str, int]:
    """Launch a kernel that pushes along the lists of the active vertices: `lists`, or else page by page.

    Returns how the edges reach the GPU, and the bytes that were copied to it.
    """
    if lists is not None:
        list_frontier(launches, lists.stream, lists.task)
        launches.launcher.on_all(decoding(kernel, lists.task), lists.stream, lists.task)
        return lists.way, lists.copied
    every = launches.tasks.of_all()
    list_frontier(launches, None, every)

    def push_page(page: Page, stream: Any, task: Array) -> None:
        task["page"]["tally"] = every["page"]["tally"]  # it has the length of the queue
        launches.launcher.on_all(decoding(kernel, task), stream, task)

    return RESIDENT, sum(launches.on_each(launches.pages, push_page).values())


def list_frontier(launches: Launches, stream: Any, task: Array) -> None:
    """Launch the kernel that writes the active vertices to the queue, with a thread for each word of their bitmap."""
    launches.launcher.on_threads("list_frontier", -(-launches.arrays.n // 32), stream, task)


def lists_of(launches: Launches) -> Lists | None:
    """The lists of all vertices' out-edges; None if they have to be read page by page."""
    out_edges = launches.placed.out_edges
    if out_edges is not None:
        copied = out_edges.fill(partial(launches.on_each, launches.pages))
        return Lists(launches.tasks.of_all(), launches.streams.compute[0], out_edges.way, copied)
    whole = launches.within_reach()
    if whole is None or launches.placed.numbering.arrays.directed:
        return None
    page, buffer = whole
    return Lists(launches.tasks.of(page, buffer), buffer.stream, ZERO_COPY if buffer.rest else RESIDENT)


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
