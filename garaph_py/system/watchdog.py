"""Logs what each part of a run is doing if there is no progress for a while. The run goes on."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any

log = logging.getLogger("garaph_py")

PATIENCE = 30.0
"""Seconds without progress until the first report: longer than one thread needs for a page, or to compile a function.
The time until each further report is twice as long."""
LOOKS = 3
"""How often the watchdog looks at the parts in `PATIENCE` seconds."""


@dataclass
class Heartbeat:
    """A part of a run, which states what it is doing.

    Attributes
    ----------
    name : str
        The part's name.
    doing : tuple
        What it is doing, as words and numbers. The part only sets this tuple; the watchdog makes a text of it.
    """

    name: str
    doing: tuple[Any, ...] = ("idle",)

    def __str__(self) -> str:
        return f"{self.name}: {' '.join(map(str, self.doing))}"


class Watchdog:
    """In ``with``: a thread looks at the parts of a run regularly, and logs a line if none has changed for long.

    It is progress if any part does something else than before: another page, another iteration, or more calls for the
    same page.

    Attributes
    ----------
    parts : list
        The parts. ``str(part)`` says what a part is doing.
    interval : float
        Seconds between two looks; the thread may look more often.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self.parts: list[Any] = []
        self.interval = patience / LOOKS
        self._patience = patience
        self._seen: tuple[str, ...] | None = None
        self._since, self._limit = 0.0, patience
        self._ended, self._looking = False, threading.Lock()

    def look(self, now: float) -> str | None:
        """The report that is due at the time `now` (seconds); None if none is."""
        seen = tuple(map(str, self.parts))
        if seen != self._seen:
            self._seen, self._since, self._limit = seen, now, self._patience
        elif now - self._since >= self._limit:
            self._limit = 2 * (now - self._since)
            return f"no progress for {now - self._since:.0f} s; {'; '.join(seen)}"
        return None

    def report(self) -> None:
        """Log the report that is due, if one is and the block has not ended."""
        with self._looking:
            if not self._ended and (report := self.look(time.monotonic())) is not None:
                log.warning("%s", report)

    def __enter__(self) -> Watchdog:
        _watch.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _watch.remove(self)
        with self._looking:
            self._ended = True


class Watch:
    """The thread that looks at all watchdogs. It starts with the first run, and ends after an interval without runs:
    starting it for each would take a tenth of a millisecond."""

    def __init__(self) -> None:
        self._dogs: list[Watchdog] = []
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._waits = 0.0  # seconds until the thread looks again

    def add(self, dog: Watchdog) -> None:
        """Look at `dog` from now on."""
        with self._changed:
            self._dogs.append(dog)
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="garaph-watchdog", daemon=True)
                with contextlib.suppress(RuntimeError):  # the system allows no further thread: runs go on unwatched
                    thread.start()
                    self._thread = thread
            elif dog.interval < self._waits:
                self._changed.notify()

    def remove(self, dog: Watchdog) -> None:
        """Look at `dog` no more."""
        with self._changed:
            if dog in self._dogs:  # it is not in a child whose parent forked during the run
                self._dogs.remove(dog)

    def end_idle(self) -> None:
        """End the thread, unless there are runs."""
        with self._changed:
            thread = None if self._dogs else self._thread
            self._changed.notify()
        if thread is not None:
            thread.join(1.0)  # unless a run has begun since

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._dogs:
                    self._thread = None
                    return
                self._waits = min(dog.interval for dog in self._dogs)
                self._changed.wait(self._waits)
                dogs = list(self._dogs)
            for dog in dogs:
                dog.report()


_watch = Watch()


def end_idle() -> None:
    """End the thread of the watchdogs, unless there are runs."""
    _watch.end_idle()


def _forget() -> None:
    """Forget the thread and the runs of the parent, which a child does not have."""
    global _watch
    _watch = Watch()


os.register_at_fork(before=end_idle, after_in_child=_forget)
