"""Logs what each part of a run is doing if there is no progress for a while. The run goes on."""

from __future__ import annotations

import contextlib
import logging
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
    """In ``with``: a thread that looks at the parts of a run regularly, and logs a line if none has changed for long.

    It is progress if any part does something else than before: another page, another iteration, or more calls for the
    same page.

    Attributes
    ----------
    parts : list
        The parts. ``str(part)`` says what a part is doing.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self.parts: list[Any] = []
        self._patience, self._interval = patience, patience / LOOKS
        self._seen: tuple[str, ...] | None = None
        self._since, self._limit = 0.0, patience
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="garaph-watchdog", daemon=True)

    def look(self, now: float) -> str | None:
        """The report that is due at the time `now` (seconds); None if none is."""
        seen = tuple(map(str, self.parts))
        if seen != self._seen:
            self._seen, self._since, self._limit = seen, now, self._patience
        elif now - self._since >= self._limit:
            self._limit = 2 * (now - self._since)
            return f"no progress for {now - self._since:.0f} s; {'; '.join(seen)}"
        return None

    def _watch(self) -> None:
        while not self._ended.wait(self._interval):
            report = self.look(time.monotonic())
            if report is not None:
                log.warning("%s", report)

    def __enter__(self) -> Watchdog:
        with contextlib.suppress(RuntimeError):  # the system allows no further thread: the run goes on unwatched
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
