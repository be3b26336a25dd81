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
from types import FrameType
from typing import Any

_pending: list[int] = []
"""The signals that have come and have not been delivered."""
_before: dict[int, Any] = {}
"""The handlers that `check` calls, by signal: those that were set before `deferred`. Empty outside such blocks."""
_ignored = 0
"""How many pending signals `check` ignores; see `hold_first`."""


@contextmanager
def deferred(termination: bool = False) -> Iterator[None]:
    """In ``with``: defer Ctrl-C (SIGINT) to the next `check`, or to the end of the block.

    There the handler that was set before is called, once for any number of signals. With `termination`, SIGTERM is
    deferred too; if the process has no handler for it, it raises `SystemExit`.

    The block has no effect in threads other than the main one, which Python does not interrupt; for signals that are
    ignored; and inside another such block, unless another handler has been set there, which it then defers.
    """
    installed: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        numbers = (signal.SIGINT, signal.SIGTERM) if termination else (signal.SIGINT,)
        installed = {number: getsignal(number) for number in numbers}
    handlers = {number: passing_on(handler) for number, handler in installed.items()}
    handlers = {number: handler for number, handler in handlers.items() if handler is not None}
    if not handlers or _note in handlers.values():
        yield
        return
    outer = dict(_before)  # not empty if this block is inside another one
    waiting = list(_pending) if outer else []
    _pending.clear()
    _before.update(handlers)
    for number in handlers:
        set_handler(number, _note)
    ending = False
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        ending = True
        raise
    finally:
        _before.clear()
        _before.update(outer)
        for number in reversed(handlers):  # once the last handler is back, any line may be interrupted
            if (last := set_handler(number, installed[number])) is not _note:
                set_handler(number, last)  # a callback has set another handler
        came = [number for number in _pending if number in handlers]
        _pending[:] = waiting + [number for number in _pending if number not in handlers]
        if came and not ending:
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
    """The signal handler in a `deferred` block."""
    _pending.append(number)


def _terminate(number: int, frame: FrameType | None) -> None:
    """The handler for a signal whose default action ends the process."""
    raise SystemExit(128 + number)
