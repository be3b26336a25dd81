"""Simulated time: a queue of events, and channels that transfer bytes. The machine's clock is never read."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

Event = Callable[[], None]


class Clock:
    """The simulated time and the queue of future events.

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
        """Schedule an event. Events of the same time happen in the order in which they were scheduled."""
        self._scheduled += 1
        heapq.heappush(self._events, (when, self._scheduled, event))

    def wait(self, until: Callable[[], bool]) -> None:
        """Process events until a condition holds."""
        while not until():
            self._step()

    def sleep(self, seconds: float) -> None:
        """Let `seconds` pass, and process the events of that time."""
        if seconds:
            woken: list[bool] = []
            self.at(self.now + seconds, lambda: woken.append(True))
            self.wait(lambda: bool(woken))

    def run(self) -> None:
        """Process all events."""
        while self._events:
            self._step()

    def _step(self) -> None:
        self.now, _, event = heapq.heappop(self._events)
        event()


@dataclass
class Channel:
    """A link or a set of disks, which does one transfer after the other.

    Attributes
    ----------
    rate : float
        Bytes per second.
    each : float
        Seconds that each call takes beside the bytes.
    free : float
        Time at which the last transfer so far ends.
    nbytes : float
        Bytes of all transfers so far.
    """

    rate: float
    each: float = 0.0
    free: float = 0.0
    nbytes: float = 0.0

    def transfer(self, nbytes: float, now: float, share: float = 1.0, calls: int = 1) -> float:
        """Start a transfer at a share of the rate, by so many `calls`, and return the time at which it ends."""
        if nbytes:
            self.free = max(self.free, now) + self.each * calls + nbytes / (self.rate * share)
            self.nbytes += nbytes
        return max(self.free, now) if nbytes else now
