"""How far the reading or writing of a graph directory has come."""

from __future__ import annotations

import threading

from .. import events

TELL_EVERY = 1 << 25  # bytes between two progress events


class Progress:
    """Counts bytes from any thread; tells the listener now and then, in the thread that made it."""

    def __init__(self, name: str, total: int, on_event: events.Listener) -> None:
        self._name, self._total, self._on_event = name, total, on_event
        self._done = self._told = 0
        self._lock, self._thread = threading.Lock(), threading.get_ident()

    def advance(self, count: int) -> None:
        with self._lock:
            self._done += count
        if threading.get_ident() == self._thread and self._told + TELL_EVERY <= self._done < self._total:
            self._told = self._done
            self._on_event(events.Step(self._name, self._done, self._total))

    def finish(self) -> None:
        self._on_event(events.Step(self._name, self._total, self._total))
