"""The out-edges of a directed graph, from whose lists a GPU pushes: in its memory, or mapped in the host's.

In the device's memory they have separate arrays, which the first push fills: it copies raw targets, and the device
sorts its edge values into the order of the out-edges; of packed out-edges it copies everything. Later runs reuse these
arrays. Kernels read them as they read a page's in-edges: the targets are the page's sources.

If several GPUs share the graph, each has the out-edges of the vertices of its part.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...codec.arrays import RAW, EdgeArray
from ...graph.adjacency import Adjacency
from ...pages.layout import Page
from ...program import BoundProgram
from ..modes import RESIDENT, ZERO_COPY
from . import staging
from .device_graph import DeviceGraph
from .edges import ArraysOnDevice, raw_layout
from .launch import Launcher
from .mapped import MappedEdges
from .other_in_edges import OtherInEdges
from .pinned import Pinned
from .pinned_pool import PinnedPool
from .ranks import RUN, runs_of
from .run_arrays import RunArrays
from .work import Launch

Array = npt.NDArray[Any]

TARGETS, VALUES = "targets", "values of out-edges"
"""Names of the allocations; those of packed arrays, which have several buffers each, have a number too. Those of a part
also say at which edge it begins, so that the device's memory may keep them beside those of the whole graph."""


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
    others : OtherInEdges, optional
        If several GPUs share the graph: the part of this one, and the in-edges of the others.
    mapped : MappedEdges, optional
        Where kernels read them in host memory. By default they are in the device's memory.

    Attributes
    ----------
    contents : dict of str to hashable
        The allocations by name, and what each holds.
    nbytes : int
        Bytes of these allocations, and of what it takes to fill them.
    mapped : MappedEdges or None
    way : {"resident", "zero-copy"}
        How the edges reach the GPU.
    """

    def __init__(
        self, bound: BoundProgram, edges: Adjacency, kept: DeviceGraph, launcher: Launcher, threads: int | None,
        others: OtherInEdges | None = None, mapped: MappedEdges | None = None,
    ) -> None:  # fmt: skip
        self._kept, self._launcher, self._threads, self.mapped = kept, launcher, threads, mapped
        self._others, width, offsets = others, bound.edge_value_bytes, edges.offsets
        first, last = (0, len(offsets) - 1) if others is None else others.part[:2]
        self._own = Page(0, first, last, int(offsets[first]), int(offsets[last]))
        self._base = 0 if mapped is not None else self._own.first_edge // RUN * RUN
        self._copied, self._values = dict[str, Array](), self._named(VALUES)
        if mapped is not None:
            self._layout = mapped.layout
        elif edges.encoding == RAW:
            self._layout = raw_layout(width)
            self._copied[self._named(TARGETS)] = edges.neighbour_array.buffers[0][self._base : self._own.last_edge]
        else:
            self._layout = ArraysOnDevice.of(edges, width > 0)
            self._copied = self._buffers_of(edges.arrays(width > 0))
        self._sizes = {name: array.nbytes for name, array in self._copied.items()}
        self.nbytes = sum(self._sizes.values())
        if mapped is None and edges.encoding == RAW and width:
            self._sizes[self._values] = (self._own.last_edge - self._base) * width
            self.nbytes += self._sizes[self._values] + (0 if others is None else others.nbytes)
        self.contents: dict[str, Hashable] = dict(self._sizes)
        self.way = RESIDENT if mapped is None else ZERO_COPY
        self._addresses, self._missing = list[int](), list[str]()

    def _named(self, name: str) -> str:
        """The name of an allocation."""
        return name if self._others is None else f"{name} from edge {self._own.first_edge}"

    def _buffers_of(self, arrays: Sequence[EdgeArray]) -> dict[str, Array]:
        """The buffers of packed arrays, by name; of a part, those of its runs."""
        buffers = [buffer.view(np.uint8).reshape(-1) for array in arrays for buffer in array.buffers]
        names = [f"{name} {k}" for name, array in zip((TARGETS, VALUES), arrays, strict=False)
                 for k in range(len(array.buffers))]  # fmt: skip
        bounds = zip(self._layout.begins(self._own), self._layout.sizes(self._own), strict=True)
        return {
            self._named(name): buffer[begin : begin + size]
            for name, buffer, (begin, size) in zip(names, buffers, bounds, strict=True)
        }

    def allocate(self, arrays: RunArrays, pool: PinnedPool | Pinned) -> None:
        """Allocate the memory, unless it holds them already; tell the kernels where it is.

        `fill` copies by way of memory of the `pool`. The device's context must be current.
        """
        self._pool, self._arrays = pool, arrays
        placed = [self._kept.place(name, size, self.contents[name]) for name, size in self._sizes.items()]
        self._addresses = [address for address, _ in placed]
        self._missing = [name for name, (_, found) in zip(self._sizes, placed, strict=True) if not found]
        if self._values in self._missing:
            context = arrays.context
            context["targets"], context["target_values"] = self._addresses
            context["first_target"], context["last_target"] = self._base, self._own.last_edge

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
                launch = partial(reverse_values, self._launcher)
                copied += sum(on_each(launch).values())
                if self._others is not None:
                    copied += self._others.on_each(launch, self._arrays, self._kept, self._pool, self._threads)
        if missing:
            self._kept.device.driver.Context.synchronize()  # pushes are on another stream
        for name in missing:
            self._kept.keep(name, self.contents[name])
        self._missing = []
        return copied

    def task(self, every: Array) -> Array:
        """The argument `every` of a kernel over all vertices, with the out-edges: of a part, over its vertices."""
        args, own = every["page"], self._own
        for name in ("first_vertex", "last_vertex", "first_edge", "last_edge"):
            args[name] = getattr(own, name)
        args["base_edge"] = self._base
        addresses = self._addresses if self.mapped is None else self.mapped.addresses
        self._layout.write_args(args, replace(own, first_edge=self._base), addresses)
        return every


def reverse_values(launcher: Launcher, page: Page, stream: Any, task: Any) -> None:
    """Launch the kernel that copies the values of a page's edges to where they are among those of the out-edges."""
    launcher.on_warps("reverse_values", runs_of(page), stream, task)
