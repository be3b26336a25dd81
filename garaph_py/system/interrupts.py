"""Defers signals such as Ctrl-C to safe points, which call `check`, while a run holds threads or pinned memory.

Python raises `KeyboardInterrupt` between any two instructions of the main thread. That may be after a resource was
taken and before the code that frees it is in place, or while another `KeyboardInterrupt` is being handled. No order of
``try`` and ``finally`` is safe against that.

Those functions of the module `signal` that set and return handlers call the ones of `_signal`, which are used here, and
then look for an enum's member that equals the handler. There is none for a function, and with three such calls a run
over ten edges took a twentieth longer (Python 3.11).
"""

from __future__ import annotations

import signal
import threading
from _signal import getsignal  # type: ignore[import-not-found]
from _signal import signal as set_handler
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

_pending: list[int] = []
"""The signals that have come and have not been delivered."""
_before: dict[int, Any] = {}
"""The handlers that `check` calls, by signal: those that were set before `Deferred`. Empty outside such blocks."""
_ignored = 0
"""How many pending signals `check` ignores; see `hold_first`."""


class Deferred:
    """In ``with``: defer Ctrl-C (SIGINT) to the next `check`, or to the end of the block.

    There the handler that was set before is called, once for any number of signals. With `termination`, SIGTERM is
    deferred too; if the process has no handler for it, it raises `SystemExit`.

    The block has no effect in threads other than the main one, which Python does not interrupt; for signals that are
    ignored; and inside another such block, unless another handler has been set there, which it then defers.
    """

    def __init__(self, termination: bool = False) -> None:
        self._numbers: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM) if termination else (signal.SIGINT,)
        self._installed: dict[int, Any] = {}  # the handlers that were set before
        self._handlers: dict[int, Any] = {}  # what is called at the end instead of these
        self._outer: dict[int, Any] = {}  # `_before` and `_pending` of a block around this one
        self._waiting: list[int] = []

    def __enter__(self) -> None:
        installed, handlers = self._installed, self._handlers
        if threading.current_thread() is threading.main_thread():
            for number in self._numbers:
                installed[number] = handler = getsignal(number)
                if (call := passing_on(handler)) is not None:
                    handlers[number] = call
        if _note in handlers.values():
            handlers.clear()
        if not handlers:
            return
        self._outer = dict(_before)  # not empty if this block is inside another one
        self._waiting = list(_pending) if self._outer else []
        _pending.clear()
        _before.update(handlers)
        for number in handlers:
            set_handler(number, _note)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        handlers = self._handlers
        if not handlers:
            return
        _before.clear()
        _before.update(self._outer)
        for number in reversed(handlers):  # once the last handler is back, any line may be interrupted
            if (last := set_handler(number, self._installed[number])) is not _note:
                set_handler(number, last)  # a callback has set another handler
        came = [number for number in _pending if number in handlers]
        _pending[:] = self._waiting + [number for number in _pending if number not in handlers]
        if came and not isinstance(error, (KeyboardInterrupt, SystemExit)):
            handlers[came[0]](came[0], None)


def deferring() -> bool:
    """Whether signals are being deferred."""
    return any(getsignal(number) is _note for number in (signal.SIGINT, signal.SIGTERM))


def passing_on(handler: Any) -> Any:
    """The function to call for a signal with this handler; None if the signal is ignored, or not handled by Python."""
    return _terminate if handler == signal.SIG_DFL else handler if callable(handler) else None


@contextmanager
def hold_first() -> Iterator[None]:
    """In ``with``: the first signal waits until `deliver` is called; `check` delivers only a second one."""
    global _ignored
    _ignored = 1
    try:
        yield
    finally:
        _ignored = 0


def check() -> None:
    """Deliver a deferred signal, if there is one, in the main thread. Called where it is safe to stop."""
    if len(_pending) > _ignored:
        deliver()


def pending() -> bool:
    """Whether there is a deferred signal that the calling thread can deliver."""
    return bool(_pending) and deferring() and threading.current_thread() is threading.main_thread()


def deliver() -> None:
    """Deliver a deferred signal, if there is one, even inside a `hold_first` block."""
    if pending():
        number = _pending[0]
        _pending.clear()
        _before[number](number, None)


def _note(number: int, frame: FrameType | None) -> None:
    """The signal handler in a `Deferred` block."""
    _pending.append(number)


def _terminate(number: int, frame: FrameType | None) -> None:
    """The handler for a signal whose default action ends the process."""
    raise SystemExit(128 + number)
