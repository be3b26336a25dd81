"""Pushes on several GPUs, each of which has the lists of one part of the vertices.

Each GPU pushes from those active vertices that are in its part. In an undirected graph their lists lead to vertices of
all parts, and each GPU has the values of all vertices, of which it changes some. Then it lists those that it has
changed, and sends them with their values to the other GPUs, which relax them. In the end all GPUs have the same values
and the same frontier: sums of relaxations are idempotent, and do not depend on an order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..modes import RESIDENT, ZERO_COPY
from ..results import PageResult
from ..state import State
from . import peers
from .device import Device, failing
from .launches import Launches
from .memory_plan import ExchangePlan
from .push import list_frontier, push_along, result_of
from .timeline import MANY, TO_GPUS

Array = npt.NDArray[Any]
OnAll = Callable[[Callable[[int], Any]], list[Any]]
"""``on_all(act)`` calls ``act(k)`` for every GPU `k`, whose context is current, and returns what these calls return."""


class Exchange:
    """What one GPU sends after a push, and what it receives. The device's context must be current.

    Parameters
    ----------
    launches : Launches
    room : ExchangePlan
    """

    def __init__(self, launches: Launches, room: ExchangePlan) -> None:
        self._launches, self._room, memory = launches, room, launches.memory
        self._listed = memory.allocate("listed values", room.listed)
        self._received = memory.allocate("received", 4 * room.most * room.senders)
        self._received_values = memory.allocate("received values", room.value_bytes * room.most * room.senders)
        self._count = np.zeros(1, launches.arrays.layouts.tally)
        self._tally = memory.allocate("listed count", self._count.nbytes)
        self._stream = launches.streams.compute[0]

    @property
    def device(self) -> Device:
        return self._launches.launcher.device

    @property
    def is_filled(self) -> bool:
        """Whether the GPU has all that it keeps of the out-edges of its part."""
        out_edges = self._launches.placed.out_edges
        return out_edges is None or out_edges.is_filled

    def fill(self) -> int:
        """Copy these out-edges to the GPU; the number of bytes."""
        with self.device, failing(self.device.driver):
            return self._launches.fill_out_edges()

    def push(self, state: State) -> tuple[str, int]:
        """Start to push from the active vertices of the part, and to list what this changes.

        Returns how the edges reach the GPU, and the bytes that went over the link for them.
        """
        began, (way, moved) = time.perf_counter_ns(), push_along(self._launches, state, "push_queue")
        self._launches.driver.memset_d8(self._tally, 0, self._count.nbytes)  # after the kernels on other streams
        task = self._launches.tasks.of_all()
        context, task["page"]["tally"] = task["context"], self._tally
        context["next_values"] = self._values()
        context["frontier"], context["next_frontier"] = context["next_frontier"].copy(), context["frontier"].copy()
        list_frontier(self._launches, self._stream, task)
        self._mark("push", began)
        return way, moved

    def _mark(self, name: str, began: int, track: str | None = None) -> None:
        """Mark the end of what this GPU has begun to do since `began`, for a trace."""
        self._launches.streams.mark(name, began, self._stream, track)

    def _values(self) -> int:
        """Where the values of the vertices that are sent are."""
        return self._listed if self._room.listed else self._launches.arrays.address("next_values")

    def count(self) -> int:
        """Wait until what has changed is listed; the number of these vertices."""
        self._launches.driver.memcpy_dtoh(self._count.view(np.uint8), self._tally)
        return int(self._count["queued"][0])

    def send(self, first: int, last: int, others: Sequence[tuple[Exchange, int]]) -> None:
        """Start to send a part of the list to each of the `others`, which takes it at this slot."""
        arrays, size, began = self._launches.arrays, self._room.value_bytes, time.perf_counter_ns()
        for other, slot in others:
            for to, source, each in (
                (other._received, arrays.address("queue"), 4), (other._received_values, self._values(), size)
            ):  # fmt: skip
                place = to + slot * self._room.most * each
                peers.copy(other.device, place, self.device, source + first * each, (last - first) * each, self._stream)
        self._mark("changed values", began, TO_GPUS)

    def wait(self) -> None:
        """Wait for the copies and kernels that have been started."""
        self._stream.synchronize()

    def relax(self, counts: Sequence[int]) -> None:
        """Start to relax the vertices that have been received: so many at each slot."""
        began = time.perf_counter_ns()
        for slot, count in enumerate(counts):
            task, first = self._launches.tasks.of_all(), slot * self._room.most
            task["context"]["queue"], task["page"]["collected"] = self._received, self._received_values
            task["page"]["first_place"], task["page"]["last_place"] = first, first + count
            self._launches.launcher.on_threads("relax_received", count, self._stream, task)
        self._mark("relax received", began)

    @property
    def most(self) -> int:
        """Vertices that the GPU receives from another one at a time; the same for all GPUs."""
        return self._room.most

    def result(self, edges: int, way: str, moved: int) -> PageResult:
        """Wait for everything; the result of a push that followed `edges` out-edges."""
        self._launches.streams.write_spans(MANY)
        return result_of(self._launches.read_tallies(), edges, way, moved)


def push(every: Sequence[Exchange], state: State, on_all: OnAll) -> PageResult:
    """Push on all GPUs from the active vertices, in one superstep. If any of them reads edges in host memory, that is
    how they have reached the GPUs."""
    pushed = on_all(lambda k: every[k].push(state))
    counts, most = on_all(lambda k: every[k].count()), every[0].most
    for first in range(0, max(counts), most):
        exchange(every, on_all, first, [min(max(count - first, 0), most) for count in counts])
    ways, moved = {way for way, _ in pushed}, sum(nbytes for _, nbytes in pushed)
    way = ZERO_COPY if ZERO_COPY in ways else RESIDENT
    results: list[PageResult] = on_all(lambda k: every[k].result(state.active_edges, way, moved))
    return results[0]  # all have counted the same vertices


def exchange(every: Sequence[Exchange], on_all: OnAll, first: int, counts: Sequence[int]) -> None:
    """Send so many vertices of each GPU's list, from its place `first` on, and relax them on all others.

    The host waits for all GPUs: one that waited for another's event would wait for ever if that one failed.
    """
    on_all(lambda k: every[k].send(first, first + counts[k], [(o, k - (k > j)) for j, o in others_of(every, k)]))
    on_all(lambda k: every[k].wait())
    on_all(lambda k: every[k].relax([count for j, count in enumerate(counts) if j != k]))
    on_all(lambda k: every[k].wait())


def others_of(every: Sequence[Exchange], k: int) -> list[tuple[int, Exchange]]:
    """All but the one at `k`, with their places."""
    return [(j, other) for j, other in enumerate(every) if j != k]
