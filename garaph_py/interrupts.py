"""Ctrl-C at safe points: while a run holds threads, streams and pinned memory, an interrupt waits for `check`.

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

_pending = False
_before: Any = None
"""The handler whose turn it is in `check`, where interrupts are held."""


@contextmanager
def held() -> Iterator[None]:
    """Interrupts reach the handler that was there before in `check`, or at the end; any number of them as one.

    Nothing changes in threads other than the main one, which interrupts do not reach, where there is no handler, and
    within another such block.
    """
    global _pending, _before
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before) or before is _note:
        yield
        return
    _pending, _before = False, before
    signal.signal(signal.SIGINT, _note)
    interrupted = False
    try:
        yield
    except KeyboardInterrupt:
        interrupted = True
        raise
    finally:
        if signal.getsignal(signal.SIGINT) is _note:  # else a callback has set one of its own
            signal.signal(signal.SIGINT, before)
        if _pending and not interrupted:
            before(signal.SIGINT, None)


def check() -> None:
    """Let an interrupt that is held have its way, in the main thread: here nothing is half done."""
    global _pending
    main = threading.main_thread()
    if _pending and threading.current_thread() is main and signal.getsignal(signal.SIGINT) is _note:
        _pending = False
        _before(signal.SIGINT, None)


def _note(number: int, frame: FrameType | None) -> None:
    global _pending
    _pending = True
