"""Pushes along lists on disk or in host memory: the host writes those of active vertices to an edge list, along which
the device pushes.

The host fills one pinned buffer while the device copies from the other. The kernels of a buffer are launched on the
stream of its copy. What is read is what a push of the CPU reads; the values stay on the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph.vertex_set import VertexSet
from ...program import BoundProgram
from .. import edge_list
from ..edge_list import BUFFERS, buffer_bytes
from ..protocol import Notifier
from .device_graph import DeviceGraph
from .launch import Launcher
from .pinned import Pinned
from .pinned_pool import PinnedPool
from .task import copy_of

Array = npt.NDArray[Any]

FIELDS = ("page", "sources"), ("context", "targets"), ("page", "edge_values")
"""The kernel's arguments with the addresses of the arrays."""


@dataclass
class Slot:
    """A buffer on the host and one on the device.

    Attributes
    ----------
    arrays : list of ndarray
        Sources, targets and, if the program reads them, values, in pinned memory.
    places : list of int
        Where they are copied to.
    stream : pycuda.driver.Stream
    copied : pycuda.driver.Event
        Recorded after the copies.
    """

    arrays: list[Array]
    places: list[int]
    stream: Any
    copied: Any


class ListedEdges:
    """The `EdgeBuffers` of one run. The device's context must be current.

    Parameters
    ----------
    host : Notifier
        Writes edge lists.
    bound : BoundProgram
    edges : int
        Edges that a buffer has room for.
    launcher : Launcher
    kept : DeviceGraph

    Attributes
    ----------
    edges : int
        Edges that a buffer has room for.
    nbytes : int
        Bytes of the device's memory that the buffers take, and of the host's.
    edge_bytes : int
        Bytes of an edge in them.
    is_wanted : bool
        Pushes use them, also where kernels can read the lists.
    read : int
        Bytes that have been read from disk for lists; the caller counts them.
    """

    def __init__(self, host: Notifier, bound: BoundProgram, edges: int, launcher: Launcher, kept: DeviceGraph) -> None:
        self._host, self._launcher, self._kept = host, launcher, kept
        self._dtypes = [np.dtype(np.uint32)] * 2
        if bound.edge is not None and bound.reads_edge_values:
            self._dtypes.append(bound.edge)
        self.edges, self.nbytes = edges, buffer_bytes(edges, bound.edge_value_bytes)
        self._slots = list[Slot]()
        self._turn, self.read, self.is_wanted = 0, 0, False
        self.edge_bytes = sum(dtype.itemsize for dtype in self._dtypes)
        self._task: Array | None = None

    def fits(self, room: int) -> bool:
        """Whether buffers fit so many bytes of the device's memory; they become smaller if need be."""
        most = room // (BUFFERS * self.edge_bytes) // edge_list.MULTIPLE * edge_list.MULTIPLE
        if most < self.edges:
            self.edges, self.nbytes = most, BUFFERS * most * self.edge_bytes
        return self.edges >= edge_list.LEAST_EDGES

    def use(self, pool: PinnedPool | Pinned) -> None:
        """Have the first push allocate the buffers, on the host from the `pool`."""
        self._pool, self._slots = pool, []

    def _allocate(self) -> None:
        place = self._kept.memory.allocate("edge list", self.nbytes, clear=False)
        for _ in range(BUFFERS):
            arrays = [self._pool.empty(self.edges, dtype) for dtype in self._dtypes]
            ends = place + np.cumsum([array.nbytes for array in arrays])
            places = [int(end) - array.nbytes for end, array in zip(ends, arrays, strict=True)]
            self._slots.append(Slot(arrays, places, self._kept.handles.stream(), self._kept.handles.event()))
            place = int(ends[-1])

    def push(self, vertices: VertexSet, task: Array) -> int:
        """Push along all out-edges of `vertices`; return the bytes that are copied to the device for that.

        `task` is the argument of a kernel over all vertices.
        """
        self._task = task
        if not self._slots:
            self._allocate()
        return self._host.list_edges(vertices, self) * self.edge_bytes

    def next(self) -> list[Array]:
        """See `EdgeBuffers`: the arrays of the next buffer, once the device has copied what they had."""
        slot = self._slots[self._turn]
        slot.copied.synchronize()
        return slot.arrays

    def send(self, count: int) -> None:
        """Copy the first `count` edges to the device, and push along them."""
        assert self._task is not None
        slot, task = self._slots[self._turn], copy_of(self._task)
        self._turn = (self._turn + 1) % BUFFERS
        for (part, name), array, place in zip(FIELDS, slot.arrays, slot.places, strict=False):
            self._kept.device.driver.memcpy_htod_async(place, array[:count].view(np.uint8), slot.stream)
            task[part][name] = place
        slot.copied.record(slot.stream)
        task["page"]["last_edge"] = count
        self._launcher.on_threads("push_edge_list", count, slot.stream, task)
