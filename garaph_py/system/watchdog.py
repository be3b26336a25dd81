"""A run without progress says what each of its parts is doing; it goes on all the same, for slow is not wrong."""

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
"""Seconds without progress until the first report, and then each time twice as many: more than a page takes on one
thread, or a function to compile."""
LOOKS = 3
"""Looks at the parts while patience lasts."""


@dataclass
class Heartbeat:
    """Of a run.

    Attributes
    ----------
    name : str
    doing : tuple
        What it is doing, words and numbers. A part sets it and goes on; who wants to know makes a text of it.
    """

    name: str
    doing: tuple[Any, ...] = ("idle",)

    def __str__(self) -> str:
        return f"{self.name}: {' '.join(map(str, self.doing))}"


class Watchdog:
    """In ``with``: a thread that looks at the parts now and then, and logs a line where nothing has changed for long.

    What counts as progress is that any part does something else than before: another page, another iteration, more
    calls of the same page.

    Attributes
    ----------
    parts : list
        Whose ``str`` says what each is doing.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self.parts: list[Any] = []
        self._patience, self._interval = patience, patience / LOOKS
        self._seen: tuple[str, ...] | None = None
        self._since, self._limit = 0.0, patience
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="garaph-watchdog", daemon=True)

    def look(self, now: float) -> str | None:
        """What there is to report at the time `now`."""
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
        with contextlib.suppress(RuntimeError):  # no more threads can be had: then nobody watches
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
