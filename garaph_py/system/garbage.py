"""Python's collector of cyclic garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """In ``with``, or as a decorator: Python does not look for garbage. If it was off before, it stays off.

    Python looks for garbage after every 700 new lists, sets and the like, and from time to time among all that it has:
    that is long if a process has a large graph of NetworkX, and in vain if all that is new is kept.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
