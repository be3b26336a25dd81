"""Measures how a thread that runs both compiled code and Python spends its time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ...system.watchdog import Heartbeat


@dataclass
class ThreadTime(Heartbeat):
    """What a thread is doing, and how it has spent its time.

    Attributes
    ----------
    wall : float
        Seconds inside `running`.
    waited : float
        The part of `wall` inside `waiting`, in seconds.
    used : float
        The part of `wall` that the thread spent on a core outside `waiting`, in seconds.
    """

    wall: float = 0.0
    waited: float = 0.0
    used: float = 0.0

    @property
    def lost(self) -> float:
        """Seconds in which the thread waited for the GIL or for a core."""
        return self.wall - self.waited - self.used

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time inside ``with``."""
        wall, used = time.perf_counter(), time.thread_time()
        try:
            yield
        finally:
            self.wall += time.perf_counter() - wall
            self.used += time.thread_time() - used

    def waiting(self, *what: object) -> Wait:
        """Count the time inside ``with`` as waiting for `what`, in compiled code without the GIL.

        If the driver spins inside ``with``, its core time does not count as `used`.
        """
        self.doing = "waiting for", *what
        return Wait(self)


class Wait:
    """The context manager of `ThreadTime.waiting`."""

    def __init__(self, thread: ThreadTime) -> None:
        self._thread = thread

    def __enter__(self) -> None:
        self._wall, self._used = time.perf_counter(), time.thread_time()

    def __exit__(self, *_: object) -> None:
        self._thread.waited += time.perf_counter() - self._wall
        self._thread.used -= time.thread_time() - self._used
