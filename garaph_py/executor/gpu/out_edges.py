"""The out-edges of a directed graph, from whose lists a GPU pushes: in its memory, or mapped in the host's.

In the device's memory they have separate arrays, which the first push fills: it copies the targets, and the device
sorts its edge values into the order of the out-edges. Later runs reuse these arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

from ...graph.arrays import GraphArrays
from ...pages.layout import Page
from ...program import BoundProgram
from ..modes import RESIDENT, ZERO_COPY
from . import staging
from .device_graph import DeviceGraph
from .launch import Launcher
from .mapped import MappedEdges
from .pinned import Pinned
from .pinned_pool import PinnedPool
from .ranks import runs_of
from .run_arrays import RunArrays
from .work import Launch

TARGETS, VALUES = "targets", "values of out-edges"
"""Names of the allocations."""
FIELDS = "targets", "target_values"
"""The kernels' arguments with their addresses."""


class OutEdges:
    """The out-edges of a directed graph, with their values if the program reads them, for one run.

    Parameters
    ----------
    bound : BoundProgram
    graph : GraphArrays
    kept : DeviceGraph
    launcher : Launcher
    threads : int or None
        CPU threads that copy the targets; None for one per available core.
    mapped : MappedEdges, optional
        Where kernels read them in host memory. By default they are in the device's memory.

    Attributes
    ----------
    contents : dict of str to hashable
        The allocations by name, and what each holds.
    nbytes : int
        Bytes of these allocations.
    mapped : MappedEdges or None
    way : {"resident", "zero-copy"}
        How the edges reach the GPU.
    """

    def __init__(
        self, bound: BoundProgram, graph: GraphArrays, kept: DeviceGraph, launcher: Launcher, threads: int | None,
        mapped: MappedEdges | None = None,
    ) -> None:  # fmt: skip
        self._graph, self._kept, self._launcher, self._threads = graph, kept, launcher, threads
        self.mapped = mapped
        widths = widths_of(bound) if mapped is None else []
        self.contents: dict[str, Hashable] = dict(zip((TARGETS, VALUES), widths, strict=False))
        self._sizes = [graph.m * width for width in widths]
        self.nbytes = sum(self._sizes)
        self.way = RESIDENT if mapped is None else ZERO_COPY
        self._missing: list[str] = []

    def allocate(self, arrays: RunArrays, pool: PinnedPool | Pinned) -> None:
        """Allocate the memory, unless it holds them already; tell the kernels where it is.

        `fill` copies by way of memory of the `pool`. The device's context must be current.
        """
        self._pool = pool
        if self.mapped is not None:
            addresses = self.mapped.addresses
        else:
            both = zip(self.contents.items(), self._sizes, strict=True)
            placed = [self._kept.place(name, size, what) for (name, what), size in both]
            addresses = [address for address, _ in placed]
            self._missing = [name for name, (_, found) in zip(self.contents, placed, strict=True) if not found]
        for field, address in zip(FIELDS, addresses, strict=False):
            arrays.context[field] = address

    @property
    def is_filled(self) -> bool:
        """Whether kernels can read the out-edges, without copies."""
        return not self._missing

    def fill(self, on_each: Callable[[Launch], dict[Page, int]]) -> int:
        """Fill the memory, unless it has been; return the bytes that were copied to the device.

        ``on_each(launch)`` launches a kernel for each page of in-edges, or for all at once. The device's context must
        be current.
        """
        copied, missing = 0, self._missing
        if TARGETS in missing:
            (targets,) = self._graph.out_edges.neighbour_array.buffers
            staging.copy(targets, self._kept.memory.at(TARGETS), self._kept, self._pool, self._threads)
            copied += targets.nbytes
        if VALUES in missing:
            copied += sum(on_each(partial(reverse_values, self._launcher)).values())
        if missing:
            self._kept.device.driver.Context.synchronize()  # pushes are on another stream
        for name in missing:
            self._kept.keep(name, self.contents[name])
        self._missing = []
        return copied


def widths_of(bound: BoundProgram) -> list[int]:
    """Bytes of an out-edge's target and, if the program reads them, of its value."""
    return [4, bound.edge_value_bytes] if bound.edge_value_bytes else [4]


def reverse_values(launcher: Launcher, page: Page, stream: Any, task: Any) -> None:
    """Launch the kernel that copies the values of a page's edges to where they are among those of the out-edges."""
    launcher.on_warps("reverse_values", runs_of(page), stream, task)
