"""Signals at safe points: while a run holds threads, streams and pinned memory, Ctrl-C waits for `check`.

Python raises `KeyboardInterrupt` between any two instructions of the main thread: where something has been taken and
not yet noted, and again while the first is being handled. No order of ``try`` and ``finally`` withstands that.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_waiting: list[int] = []
"""Signals that have come, where they are held."""
_before: dict[int, Any] = {}
"""The handlers whose turn it is in `check`, by signal."""
_patience = 0
"""So many signals `check` leaves to `leave`."""


@contextmanager
def held(termination: bool = False) -> Iterator[None]:
    """Interrupts reach the handler that was there before in `check`, or at the end; any number of them as one.

    With `termination`, SIGTERM likewise; where nobody handles it, it then raises `SystemExit`.

    Nothing changes in threads other than the main one, which signals do not reach, where there is no handler, and
    within another such block.
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
        for number in reversed(handlers):  # from the last one on, any line may be interrupted
            if signal.getsignal(number) is _note:  # else a callback has set one of its own
                signal.signal(number, installed[number])
        if _waiting and not ending:
            handlers[_waiting[0]](_waiting[0], None)


def holding() -> bool:
    """Whether signals are held."""
    return any(signal.getsignal(number) is _note for number in (signal.SIGINT, signal.SIGTERM))


def passing_on(handler: Any) -> Any:
    """What to call for a signal with this handler; None if it is ignored, or not Python's."""
    return _terminate if handler is signal.SIG_DFL else handler if callable(handler) else None


@contextmanager
def patient() -> Iterator[None]:
    """The first signal waits for `leave`; `check` only lets a second one have its way."""
    global _patience
    _patience = 1
    try:
        yield
    finally:
        _patience = 0


def check() -> None:
    """Let a signal that is held have its way, in the main thread: here nothing is half done."""
    if len(_waiting) > _patience:
        leave()


def waiting() -> bool:
    """Whether a signal is held that the calling thread can let have its way."""
    return bool(_waiting) and holding() and threading.current_thread() is threading.main_thread()


def leave() -> None:
    """Let a signal that is held have its way, whoever is patient."""
    if waiting():
        number = _waiting[0]
        _waiting.clear()
        _before[number](number, None)


def _note(number: int, frame: FrameType | None) -> None:
    _waiting.append(number)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
