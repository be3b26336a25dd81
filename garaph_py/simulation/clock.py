"""Simulated time: events at their times, and channels through which bytes pass. No clock of the machine is read."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

Event = Callable[[], None]


class Clock:
    """The simulated time, and the events that are to come.

    Attributes
    ----------
    now : float
        Seconds since the beginning.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Event]] = []
        self._scheduled = 0

    def at(self, when: float, event: Event) -> None:
        """Schedule an event. Events of one moment happen in the order in which they were scheduled."""
        self._scheduled += 1
        heapq.heappush(self._events, (when, self._scheduled, event))

    def wait(self, until: Callable[[], bool]) -> None:
        """Let events happen until a condition holds."""
        while not until():
            self._step()

    def sleep(self, seconds: float) -> None:
        """Let so many seconds pass, with all events in them."""
        if seconds:
            woken: list[bool] = []
            self.at(self.now + seconds, lambda: woken.append(True))
            self.wait(lambda: bool(woken))

    def run(self) -> None:
        """Let all events happen."""
        while self._events:
            self._step()

    def _step(self) -> None:
        self.now, _, event = heapq.heappop(self._events)
        event()


@dataclass
class Channel:
    """A link or a set of disks: bytes pass through it, one transfer after the other.

    Attributes
    ----------
    rate : float
        Bytes a second.
    free : float
        Time at which the last transfer so far will have ended.
    nbytes : float
        Bytes of all transfers so far.
    """

    rate: float
    free: float = 0.0
    nbytes: float = 0.0

    def transfer(self, nbytes: float, now: float, share: float = 1.0) -> float:
        """Start a transfer at a share of the rate; the time at which it ends."""
        if nbytes:
            self.free = max(self.free, now) + nbytes / (self.rate * share)
            self.nbytes += nbytes
        return max(self.free, now) if nbytes else now
