"""The lists of out-edges of a run that only pushes: where its kernels read them."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import DeviceError
from ...graph.arrays import GraphArrays
from ...native.threads import ThreadPool
from ...program import BoundProgram
from ...system.memory import on_own_pages
from ..modes import RESIDENT, ZERO_COPY
from . import staging
from .device_graph import DeviceGraph
from .kept_partitions import NAME as KEPT
from .managed import ManagedArray, copy_array
from .memory_plan import DeviceMemoryPlan
from .partition_buffers import PartitionBuffers
from .pinned import Pinned
from .pinned_pool import PinnedPool
from .requests import LINE, aligned_elements
from .run_arrays import RunArrays
from .settings import ACCESSED_BY, BY_PRIORITY, MANAGED, PREFETCH, ListPush
from .task import Layouts

Array = npt.NDArray[Any]

NAMES = "list targets", "list values"
"""Names of the allocations in the device's memory."""


class EdgeLists:
    """The targets of all out-edges, and their values if the program reads them, at the place that `how` states.

    Parameters
    ----------
    how : ListPush
    bound : BoundProgram
    graph : GraphArrays
        In memory, with raw edges.
    kept : DeviceGraph
        Keeps them for later runs.
    threads : int or None
        CPU threads; None for one per available core.

    Attributes
    ----------
    nbytes : int
        Bytes of the device's memory that they take: none if the GPU reads them in the host's.
    contents : dict of str to hashable
        Their allocations in the device's memory by name, and what each holds.
    seconds : dict of str to float
        The time that it took to have them there, by what was done; empty if they were there.
    is_partial : bool
        They are in unified memory, and exceed what may be filled ahead: `fill` moves a part.
    arrays, addresses : list
        If they stay in host memory: targets and values there, and where the GPU reads them. Set by `allocate`.
    buffers : PartitionBuffers or None
        What partitions of them are copied to, if they are pushed along partition by partition.
    threads : int or None
    edge_bytes : int
        Bytes of an edge in them.
    """

    def __init__(
        self, how: ListPush, bound: BoundProgram, graph: GraphArrays, kept: DeviceGraph, threads: int | None
    ) -> None:
        self.how, self._bound, self._graph, self._kept, self.threads = how, bound, graph, kept, threads
        self._widths = [how.element_bytes, bound.edge_value_bytes][: 1 + bound.reads_edge_values]
        self.edge_bytes = sum(self._widths)
        self._sizes = [graph.m * width for width in self._widths]
        self.nbytes = 0 if how.where == ZERO_COPY else sum(self._sizes)
        is_resident = how.where == RESIDENT
        self.contents: dict[str, Hashable] = dict(zip(NAMES, self._widths, strict=False)) if is_resident else {}
        self.seconds: dict[str, float] = {}
        self.is_partial, self._managed_arrays = False, list[ManagedArray]()
        self.arrays, self.addresses, self.buffers = list[Array](), list[int](), None
        if how.partitions is not None:
            self.buffers = PartitionBuffers(
                how.partitions, graph.out_edges.offsets, graph.in_edges.offsets, self._widths
            )

    def fitted(self, memory: DeviceMemoryPlan, layouts: Layouts) -> DeviceMemoryPlan:
        """The memory plan of a run that pushes along them, with what they take beside edges.

        Raises
        ------
        DeviceMemoryError
            If the vertices alone do not fit, or a buffer does not.
        """
        if self.buffers is None:
            _ = memory.left
            return memory
        table = max(self.buffers.partitions.count, 1) * layouts.partition.itemsize
        arrays = memory.arrays | {"partition_table": table, "taken": memory.arrays["frontier"]}
        memory = replace(memory, arrays=arrays)
        self.buffers.fit(memory.left, layouts)
        if self.buffers.staying is not None:
            self.contents[KEPT] = self.buffers.staying.key
        return replace(memory, reserved=memory.reserved + self.buffers.nbytes)

    def allocate(self, arrays: RunArrays, pool: PinnedPool | Pinned, room: int) -> None:
        """Put the lists where they belong, unless they are there already, and give kernels their addresses.

        `room` is the number of bytes that lists in unified memory may fill ahead. The device's context must be current.
        """
        ways: dict[str, Callable[[], list[int]]] = {
            RESIDENT: lambda: self._copied(pool), ZERO_COPY: self._mapped, MANAGED: lambda: self._managed(room),
        }  # fmt: skip
        addresses, context = ways[self.how.where](), arrays.context
        for name, address in zip(("lists", "list_values"), addresses, strict=False):
            context[name] = address
        context["wide_lists"], context["thread_each"] = self.how.element_bytes == 8, self.how.thread_each
        context["splits"] = self.how.splits
        context["aligned"] = aligned_elements(self.how, self._bound.edge_value_bytes) if self.how.aligns else 0
        context["lead"] = addresses[0] % LINE // self.how.element_bytes
        context["degree_limit"], context["prefetches"] = self.how.degree_limit, self.how.prefetches
        if self.buffers is not None:
            context["partition_count"] = self.buffers.partitions.count
            self.buffers.allocate(self._kept, pool, arrays.layouts)

    def _host_arrays(self) -> list[Array]:
        """Targets and values on the host; the targets have the wanted width."""
        graph, reads = self._graph, self._bound.reads_edge_values
        with ThreadPool(self.threads) as pool:
            out = graph.valued_out_edges(pool) if reads else graph.out_edges
        buffers = [buffer for array in out.arrays(reads) for buffer in array.buffers]
        return buffers if self.how.element_bytes == 4 else [widened(buffers[0], self.threads), *buffers[1:]]

    def _copied(self, pool: PinnedPool | Pinned) -> list[int]:
        both = zip(self.contents.items(), self._sizes, strict=True)
        placed = [self._kept.place(name, size, what) for (name, what), size in both]
        if not all(is_there for _, is_there in placed):
            with self.timed("copy"):
                for (name, what), array, (address, is_there) in zip(
                    self.contents.items(), self._host_arrays(), placed, strict=True
                ):
                    if not is_there:
                        staging.copy(array, address, self._kept, pool, self.threads)
                        self._kept.keep(name, what)
                self._kept.device.driver.Context.synchronize()
        return [address for address, _ in placed]

    def _mapped(self) -> list[int]:
        def make() -> tuple[list[Array], list[int]]:
            with self.timed("pin"):
                arrays = self._host_arrays()
                found = [self._kept.pinned.map(array) for array in arrays]
            if None in found:
                raise pinning_refused(sum(self._sizes))
            return arrays, [address for address in found if address is not None]

        self.arrays, self.addresses = self._kept.lists.mapped(tuple(self._widths), make)
        return self.addresses

    def _managed(self, room: int) -> list[int]:
        def make() -> list[ManagedArray]:
            with self.timed("copy to unified memory"):
                made = list[ManagedArray]()
                try:
                    for array in self._host_arrays():
                        free = self._kept.device.driver.mem_get_info()[0] - sum(each.nbytes for each in made)
                        made.append(ManagedArray(array, free, self.threads))
                except BaseException:
                    for each in made:
                        each.close()
                    raise
            with self.timed("prefetch"):
                self._tell(made, fits)
            return made

        fits, hints = self.nbytes <= room, self.how.hints
        self._managed_arrays = self._kept.lists.managed((hints, *self._widths, fits or BY_PRIORITY not in hints), make)
        self.is_partial = BY_PRIORITY in hints and not fits
        return [array.address for array in self._managed_arrays]

    def _tell(self, made: list[ManagedArray], fits: bool) -> None:
        """Give the driver the hints that `how` states, and have it prefetch accordingly."""
        hints = self.how.hints
        if BY_PRIORITY in hints:
            hints = (PREFETCH,) if fits else (ACCESSED_BY,)
        for array in made:
            for hint in hints:
                array.advise(hint) if hint != PREFETCH else array.prefetch(0, array.nbytes)

    def fill(self, room: int, edge: int, is_full: bool) -> None:
        """Move the part of the lists with `edge` to the GPU. `is_full`: all vertices are active.

        Grus's Algorithm 1: tau times the free memory, `room`, is filled (section 4.1.2).
        """
        tau = self.how.taus[is_full]
        with self.timed("prefetch"):
            for array, width, size in zip(self._managed_arrays, self._widths, self._sizes, strict=True):
                share = int(tau * room * size / max(sum(self._sizes), 1))
                first = min(max(edge * width - share // 2, 0), max(size - share, 0))
                array.prefetch(first, min(first + share, size))

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """In ``with``: add the time that it takes to ``seconds[what]``."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[what] = self.seconds.get(what, 0.0) + time.perf_counter() - began


def pinning_refused(nbytes: int) -> DeviceError:
    """The error that the system does not let so many bytes of host memory be pinned."""
    return DeviceError(
        f"the system does not let {nbytes >> 20} MiB of host memory be pinned; raise the limit (ulimit -l), or use "
        "engine='auto'"
    )


def widened(array: Array, threads: int | None) -> Array:
    """The same numbers in 8 bytes each, on memory pages of their own, made by `threads` threads."""
    made = on_own_pages(len(array), np.dtype(np.int64))
    copy_array(array, made, threads)
    return made
