"""The out-edges of a directed graph, from whose lists a GPU pushes: in its memory, or mapped in the host's.

In the device's memory they have separate arrays, which the first push fills: it copies raw targets, and the device
sorts its edge values into the order of the out-edges; of packed out-edges it copies everything. Later runs reuse these
arrays. Kernels read them as they read a page's in-edges: the targets are the page's sources.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import numpy.typing as npt

from ...codec.arrays import RAW
from ...graph.adjacency import Adjacency
from ...pages.layout import Page
from ...program import BoundProgram
from ..modes import RESIDENT, ZERO_COPY
from . import staging
from .device_graph import DeviceGraph
from .edges import ArraysOnDevice, raw_layout
from .launch import Launcher
from .mapped import MappedEdges
from .pinned import Pinned
from .pinned_pool import PinnedPool
from .ranks import runs_of
from .run_arrays import RunArrays
from .work import Launch

Array = npt.NDArray[Any]

TARGETS, VALUES = "targets", "values of out-edges"
"""Names of the allocations; those of packed arrays, which have several buffers each, have a number too."""


class OutEdges:
    """The out-edges of a directed graph, with their values if the program reads them, for one run.

    Parameters
    ----------
    bound : BoundProgram
    edges : Adjacency
        The out-edges on the host. Packed ones have their values if the program reads them.
    kept : DeviceGraph
    launcher : Launcher
    threads : int or None
        CPU threads that copy them; None for one per available core.
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
        self, bound: BoundProgram, edges: Adjacency, kept: DeviceGraph, launcher: Launcher, threads: int | None,
        mapped: MappedEdges | None = None,
    ) -> None:  # fmt: skip
        self._kept, self._launcher, self._threads, self.mapped = kept, launcher, threads, mapped
        self._every, width = Page(0, 0, len(edges.offsets) - 1, 0, int(edges.offsets[-1])), bound.edge_value_bytes
        is_raw, self._copied = edges.encoding == RAW, dict[str, Array]()
        if mapped is not None:
            self._layout = mapped.layout
        elif is_raw:
            self._layout = raw_layout(width)
            (self._copied[TARGETS],) = edges.neighbour_array.buffers
        else:
            self._layout = ArraysOnDevice.of(edges, width > 0)
            for name, array in zip((TARGETS, VALUES), edges.arrays(width > 0), strict=False):
                self._copied |= {f"{name} {k}": buffer for k, buffer in enumerate(array.buffers)}
        self._sizes = {name: array.nbytes for name, array in self._copied.items()}
        if mapped is None and is_raw and width:
            self._sizes[VALUES] = self._every.edges * width
        self.contents: dict[str, Hashable] = dict(self._sizes)
        self.nbytes = sum(self._sizes.values())
        self.way = RESIDENT if mapped is None else ZERO_COPY
        self._addresses, self._missing = list[int](), list[str]()

    def allocate(self, arrays: RunArrays, pool: PinnedPool | Pinned) -> None:
        """Allocate the memory, unless it holds them already; tell the kernels where it is.

        `fill` copies by way of memory of the `pool`. The device's context must be current.
        """
        self._pool = pool
        placed = [self._kept.place(name, size, self.contents[name]) for name, size in self._sizes.items()]
        self._addresses = [address for address, _ in placed]
        self._missing = [name for name, (_, found) in zip(self._sizes, placed, strict=True) if not found]
        if VALUES in self._missing:
            arrays.context["targets"], arrays.context["target_values"] = self._addresses

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
        for name in missing:
            if name in self._copied:
                array = self._copied[name]
                staging.copy(array, self._kept.memory.at(name), self._kept, self._pool, self._threads)
                copied += array.nbytes
            else:
                copied += sum(on_each(partial(reverse_values, self._launcher)).values())
        if missing:
            self._kept.device.driver.Context.synchronize()  # pushes are on another stream
        for name in missing:
            self._kept.keep(name, self.contents[name])
        self._missing = []
        return copied

    def task(self, every: Array) -> Array:
        """The argument `every` of a kernel over all vertices, with the out-edges."""
        addresses = self._addresses if self.mapped is None else self.mapped.addresses
        self._layout.write_args(every["page"], self._every, addresses)
        return every


def reverse_values(launcher: Launcher, page: Page, stream: Any, task: Any) -> None:
    """Launch the kernel that copies the values of a page's edges to where they are among those of the out-edges."""
    launcher.on_warps("reverse_values", runs_of(page), stream, task)
