"""Progress of reading or writing a graph directory."""

from __future__ import annotations

import threading

from .. import events

EVENT_BYTES = 1 << 25
"""Minimal bytes between two progress events."""


class Progress:
    """Counts bytes in any thread; sends events to the listener only in the thread that created the object."""

    def __init__(self, name: str, total: int, on_event: events.Listener) -> None:
        self._name, self._total, self._on_event = name, total, on_event
        self._done = self._sent = 0
        self._lock, self._thread = threading.Lock(), threading.get_ident()

    def advance(self, count: int) -> None:
        with self._lock:
            self._done += count
        if threading.get_ident() == self._thread and self._sent + EVENT_BYTES <= self._done < self._total:
            self._sent = self._done
            self._on_event(events.Step(self._name, self._done, self._total))

    def finish(self) -> None:
        self._on_event(events.Step(self._name, self._total, self._total))
