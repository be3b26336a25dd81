"""CUDA streams and events that are made once and used again by later runs."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ...native.threads import available_cores

NON_BLOCKING = 1
"""CU_STREAM_NON_BLOCKING of the CUDA driver: the default stream does not wait for the stream."""

FEW_CORES = 4
"""With at most this many cores, the GPU thread sleeps while it waits for the GPU. It wakes about 50 microseconds later
than a thread that spins, but leaves its core to the threads that compute."""


class Handles:
    """The streams and events of one run at a time. The device's context must be current.

    To make and destroy the 70 of a run over 16 pages takes half a millisecond.
    """

    def __init__(self, driver: Any) -> None:
        self._driver = driver
        self._made: dict[tuple[str, int], list[Any]] = defaultdict(list)
        self._used: dict[tuple[str, int], int] = defaultdict(int)

    def begin(self) -> None:
        """Begin another run; none uses the handles any more."""
        self._used.clear()

    def stream(self, flags: int = 0) -> Any:
        return self._next("Stream", flags)

    def event(self, flags: int = 0) -> Any:
        return self._next("Event", flags)

    def _next(self, kind: str, flags: int) -> Any:
        made, used = self._made[kind, flags], self._used[kind, flags]
        if used == len(made):
            made.append(getattr(self._driver, kind)(flags))
        self._used[kind, flags] = used + 1
        return made[used]

    def close(self) -> None:
        """Destroy all handles, unless somebody still refers to them."""
        self._made.clear()
        self._used.clear()


def event_flags(driver: Any) -> int:
    """The flags of the events that threads wait for."""
    known = driver.event_flags
    return int(known.DISABLE_TIMING) | (int(known.BLOCKING_SYNC) if available_cores() <= FEW_CORES else 0)
