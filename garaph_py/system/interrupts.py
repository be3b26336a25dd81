"""Defers signals such as Ctrl-C to safe points, which call `check`, while a run holds threads or pinned memory.

Python raises `KeyboardInterrupt` between any two instructions of the main thread. That may be after a resource was
taken and before the code that frees it is in place, or while another `KeyboardInterrupt` is being handled. No order of
``try`` and ``finally`` is safe against that.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_waiting: list[int] = []
"""The signals that have come and have not been delivered."""
_before: dict[int, Any] = {}
"""The handlers that `check` calls, by signal: those that were set before `held`."""
_patience = 0
"""How many waiting signals `check` ignores; see `patient`."""


@contextmanager
def held(termination: bool = False) -> Iterator[None]:
    """In ``with``: defer Ctrl-C (SIGINT) to the next `check`, or to the end of the block.

    There the handler that was set before is called, once for any number of signals. With `termination`, SIGTERM is
    deferred too; if the process has no handler for it, it raises `SystemExit`.

    The block has no effect in threads other than the main one, which Python does not interrupt; for signals that are
    ignored; and inside another such block.
    """
    installed: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread() and not holding():
        installed = {signal.SIGINT: signal.getsignal(signal.SIGINT)}
        if termination:
            installed[signal.SIGTERM] = signal.getsignal(signal.SIGTERM)
    handlers = {number: passing_on(handler) for number, handler in installed.items()}
    handlers = {number: handler for number, handler in handlers.items() if handler is not None}
    if not handlers:
        yield
        return
    _waiting.clear()
    _before.clear()
    _before.update(handlers)
    for number in handlers:
        signal.signal(number, _note)
    ending = False
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        ending = True
        raise
    finally:
        for number in reversed(handlers):  # once the last handler is back, any line may be interrupted
            if signal.getsignal(number) is _note:  # a callback may have set another handler
                signal.signal(number, installed[number])
        if _waiting and not ending:
            handlers[_waiting[0]](_waiting[0], None)


def holding() -> bool:
    """Whether signals are being deferred."""
    return any(signal.getsignal(number) is _note for number in (signal.SIGINT, signal.SIGTERM))


def passing_on(handler: Any) -> Any:
    """The function to call for a signal with this handler; None if the signal is ignored, or not handled by Python."""
    return _terminate if handler is signal.SIG_DFL else handler if callable(handler) else None


@contextmanager
def patient() -> Iterator[None]:
    """In ``with``: the first signal waits until `leave` is called; `check` delivers only a second one."""
    global _patience
    _patience = 1
    try:
        yield
    finally:
        _patience = 0


def check() -> None:
    """Deliver a deferred signal, if there is one, in the main thread. Called where it is safe to stop."""
    if len(_waiting) > _patience:
        leave()


def waiting() -> bool:
    """Whether there is a deferred signal that the calling thread can deliver."""
    return bool(_waiting) and holding() and threading.current_thread() is threading.main_thread()


def leave() -> None:
    """Deliver a deferred signal, if there is one, even inside a `patient` block."""
    if waiting():
        number = _waiting[0]
        _waiting.clear()
        _before[number](number, None)


def _note(number: int, frame: FrameType | None) -> None:
    """The signal handler in a `held` block."""
    _waiting.append(number)


def _terminate(number: int, frame: FrameType | None) -> None:
    """The handler for a signal whose default action ends the process."""
    raise SystemExit(128 + number)
