"""Copies of a run's state on the host, from which the CPU goes on if the GPU fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..executor.state import HOST, State
from ..graph.vertex_set import VertexSet
from ..native.compiling import work_clock

Array = npt.NDArray[Any]

INTERVAL = 0.25
"""Minimal seconds of work between two copies. A copy of 134 MB takes 3 ms, beside the next iterations."""
SHARE = 0.05
"""The part of the work's time that the run may wait for copies to start: the host pins the memory that they go to."""
PINNING = 4.6e9
"""Bytes of memory that a host pins in a second (1 GiB took 0.23 s on a host of an H100): what the first copy costs."""


class Copying(Protocol):
    """A copy that a device is making (`executor.gpu.device_state.StateCopy`)."""

    values: Array
    bits: Array

    @property
    def is_complete(self) -> bool:
        """Whether everything is on the host."""


class Copier(Protocol):
    """An executor that can copy the state from a device to the host, beside the next iterations."""

    def start_copy(self) -> Copying:
        """Start to copy values and frontier."""


@dataclass
class Copy:
    """A copy of a state, and the numbers that belong to it."""

    data: Copying
    iterations: int
    counts: tuple[int, int, int]
    total: Array | None


class SafetyCopies:
    """The copies of one run: the newest complete one, and one in progress.

    Parameters
    ----------
    nbytes : int
        Bytes of the state, to reckon what the first copy costs.
    interval, share : float
        See `INTERVAL` and `SHARE`.
    """

    def __init__(self, nbytes: int, interval: float, share: float) -> None:
        self._interval, self._share, self._last = interval, share, work_clock()
        self._cost = nbytes / PINNING  # seconds that the run waits for a copy to start
        self._coming: Copy | None = None
        self._newest: Copy | None = None

    def after(self, executor: Copier, state: State, iterations: int) -> None:
        """At the end of an iteration, start a copy if one is due, unless the host has the state anyway."""
        if self._coming is not None and self._coming.data.is_complete:
            self._newest, self._coming = self._coming, None
        waits = max(self._interval, self._cost / self._share)
        is_due = self._coming is None and work_clock() - self._last >= waits
        if is_due and not state.is_on_host("values"):
            started = work_clock()
            counts = state.active_count, state.active_edges, state.changeable
            total = None if state.total is None else state.total.copy()
            self._coming = Copy(executor.start_copy(), iterations, counts, total)
            self._last = work_clock()
            self._cost = self._last - started

    def restore(self, state: State) -> int | None:
        """Make `state`, which is lost with the GPU, that of the newest complete copy.

        Returns the number of iterations that were done by then; None if there is no copy.
        """
        copy = self._newest
        if copy is None:
            return None
        state.values = state.next_values = copy.data.values
        state.frontier = VertexSet(copy.data.bits, np.empty_like(state.pending.blocks))
        state.frontier.loosen()
        state.active_count, state.active_edges, state.changeable = copy.counts
        if state.total is not None:
            state.total[:] = copy.total
        state.holders.wrote(HOST)
        return copy.iterations
