"""Compiling: one thread at a time does it, apart from the time of the work, and those who wait for it are told."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator

from .. import events

log = logging.getLogger("garaph_py")

PATIENCE = 2.0
"""Seconds of compiling until `Notice` says so: a user who waits longer than that begins to wonder."""

lock = threading.RLock()
"""The lock that a thread holds while it compiles or loads code. Compiling silences warnings in the whole process."""


class _Spent(threading.local):
    """The seconds that a thread has spent compiling."""

    seconds = 0.0


_spent = _Spent()


def compile_seconds() -> float:
    """The seconds that the calling thread has spent compiling so far."""
    return _spent.seconds


def work_clock() -> float:
    """``time.perf_counter``, except that it stands still while the calling thread compiles."""
    return time.perf_counter() - _spent.seconds


@contextlib.contextmanager
def compiling(name: str, total: int, listener: events.Listener) -> Iterator[Callable[[int], None]]:
    """In ``with``: count the time as compiling, and report it to `listener`, or to `notice` if that is `events.ignore`.

    It yields a function that reports how many of `total` functions are compiled. The end is also reported after an
    error, because nobody compiles any more.
    """
    hears = notice if listener is events.ignore else listener
    before, started = _spent.seconds, time.perf_counter()

    def report(done: int) -> None:
        hears(events.Step(name, done, total, "functions"))

    report(0)
    try:
        yield report
    finally:
        _spent.seconds = before + time.perf_counter() - started  # blocks inside this one have added their own time
        report(total)


class Notice:
    """A listener that logs one line in the life of a process, once compiling has taken `PATIENCE` seconds in all."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._left, self._started, self._said = patience, 0.0, False
        self._timer: threading.Timer | None = None

    def __call__(self, event: events.Event) -> None:
        if not isinstance(event, events.Step) or event.unit != "functions" or self._said:
            return
        timer, self._timer = self._timer, None
        if event.done < event.total:
            self._timer = timer or self._start()
        elif timer is not None:
            timer.cancel()
            self._left = max(self._left - (time.perf_counter() - self._started), 0.0)

    def _start(self) -> threading.Timer:
        """Start to wait for the rest of the time."""
        timer, self._started = threading.Timer(self._left, self._say), time.perf_counter()
        timer.daemon = True
        with contextlib.suppress(RuntimeError):  # the system allows no further thread: nothing is said
            timer.start()
        return timer

    def _say(self) -> None:
        self._said = True
        log.warning("compiling, once; later runs load it from disk")


notice = Notice()
"""The listener for those who have given none."""
