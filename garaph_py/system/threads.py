"""Starts threads where the system may allow no more of them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from ..errors import DeviceError

T = TypeVar("T")


@contextlib.contextmanager
def _starting(name: str) -> Iterator[None]:
    """In ``with``: replace the error that a thread called `name` cannot be started."""
    try:
        yield
    except RuntimeError as error:
        raise DeviceError(f"{name}: {error}; allow more threads (ulimit -u), or use fewer") from None


def start(name: str, function: Callable[..., None], *arguments: Any) -> threading.Thread:
    """Start a thread that runs ``function(*arguments)`` and ends with the process.

    Raises
    ------
    DeviceError
        If the system allows no further thread.
    """
    thread = threading.Thread(target=function, args=arguments, name=name, daemon=True)
    with _starting(name):
        thread.start()
    return thread


def submit(pool: ThreadPoolExecutor, function: Callable[..., T], *arguments: Any) -> Future[T]:
    """``pool.submit(function, *arguments)``.

    Raises
    ------
    DeviceError
        If the pool needs a thread for that, and the system allows no further one.
    """
    with _starting("a thread of garaph_py"):
        return pool.submit(function, *arguments)
