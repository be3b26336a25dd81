"""Memory through which partitions of the edge lists reach the GPU, and the streams on which they do (HyTGraph VI-B).

Copies go to buffers in turn, on a stream of their own; kernels run on one other stream. An event says when a copy has
arrived, and another when its buffer is free again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import DeviceMemoryError
from ...system.sizes import show_bytes
from ..modes import COMPACTED, COPIED, RESIDENT
from ..partitions import INDEX_BYTES, Partitions, TransferTask
from .device_graph import DeviceGraph
from .kept_partitions import NAME as KEPT
from .kept_partitions import KeptPartitions
from .pinned import Pinned
from .pinned_pool import PinnedPool
from .requests import LINE
from .settings import PartitionPush
from .task import Layouts

Array = npt.NDArray[Any]

BUFFERS = 4
"""Maximal number of buffers: with two, a copy waits for the last kernel but one."""
WHOLE = COPIED, RESIDENT
"""Transfers after which a whole partition is in the device's memory."""
TALLIES = 2
"""Tallies per launch: one for the first kernels, one for those that process the same edges once more."""
STAGED = 2
"""Pinned buffers for compacted lists: the CPU fills one while the GPU copies from the other."""


@dataclass
class Slot:
    """A buffer in the device's memory, or in pinned memory, of which the GPU copies.

    Attributes
    ----------
    address : int
        In the device's memory; 0 in pinned memory.
    memory : ndarray of uint8, optional
        The pinned memory.
    arrived, free : pycuda.driver.Event
        Recorded after the copy, and after the kernels that read it.
    """

    address: int
    memory: Array | None
    arrived: Any
    free: Any


def padded(nbytes: int) -> int:
    """This number of bytes, with room for any beginning within a line, rounded up to whole lines."""
    return -(-nbytes // LINE) * LINE + LINE


class PartitionBuffers:
    """The buffers of one run, which pushes along lists partition by partition.

    Parameters
    ----------
    how : PartitionPush
    offsets, in_offsets : ndarray of int64, shape (n + 1,)
        CSR and CSC offsets.
    widths : sequence of int
        Bytes of a target, and of an edge value if the program reads it.

    Attributes
    ----------
    partitions : Partitions
    combined : int
        Partitions that a buffer has room for. Set by `fit`.
    nbytes : int
        Bytes of the device's memory that they take, with the tallies and what stays. Set by `fit`.
    staying : KeptPartitions or None
        The partitions that stay in the device's memory, if any may.
    """

    def __init__(self, how: PartitionPush, offsets: Array, in_offsets: Array, widths: Sequence[int]) -> None:
        self.how, self.offsets, self.widths = how, offsets, list(widths)
        self.partitions = Partitions.of(offsets, max(how.nbytes // sum(widths), 1))
        self.combined, self.count, self.nbytes, self.staying = how.combined, 0, 0, None
        if how.keeps:
            largest = self.partitions.most_edges(1)
            place = sum(padded(largest * width) for width in self.widths) if largest else 0
            self.staying = KeptPartitions(self.partitions, sum(widths), place, in_offsets)

    @property
    def compacted_bytes(self) -> int:
        """Bytes of a buffer for compacted lists: those of any partition fit."""
        if COMPACTED not in self.how.ways:
            return 0
        return self.partitions.most_compacted_bytes(sum(self.widths)) + (1 + len(self.widths)) * LINE

    @property
    def buffer_bytes(self) -> int:
        """Bytes of a buffer: for as many partitions as are copied at once, or compacted lists."""
        edges = self.partitions.most_edges(self.combined) if COPIED in self.how.ways else 0
        copied = sum(padded(edges * width) for width in self.widths) if edges else 0
        return -(-max(copied, self.compacted_bytes) // LINE) * LINE

    def fit(self, room: int, layouts: Layouts) -> None:
        """Choose how many buffers there are, and how many partitions each takes, for so many bytes of room.

        Raises
        ------
        DeviceMemoryError
            If there is no room for one.
        """
        # Compacted lists are cut to buffers, so each partition may have tallies for its task, and for its lists.
        tallies = 2 * TALLIES * self.partitions.count * layouts.tally.itemsize + LINE
        while self.buffer_bytes + tallies > room and self.combined > 1:
            self.combined -= 1
        size = self.buffer_bytes
        if size + tallies > room:
            raise DeviceMemoryError(
                f"a buffer for partitions takes {show_bytes(size + tallies, up=True)} of GPU memory, but only "
                f"{show_bytes(room)} are left beside the vertices; allow more with gpu_memory, or choose smaller "
                "partitions (engine='hytgraph:partition_bytes=...')"
            )
        self.count = min(BUFFERS, (room - tallies) // size) if size else 0
        self._tally_bytes, self.nbytes = tallies, self.count * size + tallies
        if self.staying is not None:
            self.nbytes += self.staying.fit(room - self.nbytes)

    def allocate(self, kept: DeviceGraph, pool: PinnedPool | Pinned, layouts: Layouts) -> None:
        """Allocate the buffers. The device's context must be current."""
        self._handles, self._pool = kept.handles, pool
        self.copies = kept.handles.stream() if self.how.overlaps else None
        self.kernels = kept.handles.stream()
        self.tallies = kept.memory.allocate("tallies of partitions", self._tally_bytes)
        size = self.buffer_bytes
        first = kept.memory.allocate("partition buffers", self.count * size) if self.count else 0
        self._slots = [self._slot(first + k * size) for k in range(self.count)]
        self._staged, self._listed = list[Slot](), np.empty(0, np.uint32)
        self._next = self._next_staged = 0
        self._places = self._kept_places(kept)
        self.template = np.zeros(self.partitions.count, layouts.partition)
        self.template["first_vertex"] = self.partitions.bounds[:-1]

    def _kept_places(self, kept: DeviceGraph) -> list[Slot]:
        """The places of partitions that stay; the allocation may hold those of an earlier run."""
        staying = self.staying
        if staying is None:
            return []
        first, are_there = kept.place(KEPT, staying.count * staying.place_bytes, staying.key)
        kept.keep(KEPT, staying.key)
        staying.begin(kept.lists.mapped(staying.key, staying.made), are_there)
        return [self._slot(first + k * staying.place_bytes) for k in range(staying.count)]

    def place_of(self, numbers: Sequence[int]) -> Slot | None:
        """The place where the partition of these `numbers` stays; None if they are others, or it does not stay."""
        if self.staying is None or len(numbers) != 1:
            return None
        place = self.staying.places.get(numbers[0])
        return None if place is None else self._places[place]

    def _slot(self, address: int, memory: Array | None = None) -> Slot:
        return Slot(address, memory, self._handles.event(), self._handles.event())

    def next(self) -> Slot:
        """The buffer that the next task takes, in turn."""
        self._next += 1
        return self._slots[(self._next - 1) % len(self._slots)]

    def next_staged(self) -> Slot:
        """The pinned buffer that the next compacted lists take, once the GPU has copied what it had."""
        if len(self._staged) < STAGED:
            self._staged.append(self._slot(0, self._pool.empty(self.compacted_bytes, np.dtype(np.uint8))))
        slot = self._staged[self._next_staged % STAGED]
        self._next_staged += 1
        slot.arrived.synchronize()
        return slot

    def listed(self, count: int) -> Array:
        """Pinned memory for the numbers of so many vertices, whose lists the CPU compacts in this superstep."""
        if len(self._listed) < count:
            self._listed = self._pool.empty(max(count, 2 * len(self._listed)), self._listed.dtype)
        return self._listed[:count]

    def groups(self, task: TransferTask, compacted: Array) -> list[list[int]]:
        """The partitions of a task by what is copied at once: in order, as many as a buffer has room for.

        `compacted` are the bytes of each partition's compacted lists with their index.
        """
        numbers = list(task.partitions)
        if task.transfer in WHOLE:
            return [numbers[k : k + self.combined] for k in range(0, len(numbers), self.combined)]
        if task.transfer != COMPACTED:
            return [numbers]
        found, size, most = list[list[int]](), 0, self.compacted_bytes - (1 + len(self.widths)) * LINE - INDEX_BYTES
        for number in numbers:
            size += int(compacted[number])
            if not found or size > most:
                found.append([])
                size = int(compacted[number])
            found[-1].append(number)
        return found
