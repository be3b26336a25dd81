"""Memory of the host."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError
from . import cgroup


def total_memory() -> int:
    """Bytes of memory that this process may use at most: the machine's, or what its control group allows."""
    import psutil

    return int(min(psutil.virtual_memory().total, cgroup.memory()[0]))


def available_memory() -> int:
    """Bytes of it that are not in use."""
    import psutil

    return int(min(psutil.virtual_memory().available, cgroup.memory()[1]))


def on_own_pages(length: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """A new array of zeros that shares no page of memory with others, so that a GPU can pin it.

    Raises
    ------
    MemoryError
    """
    nbytes = length * dtype.itemsize
    try:
        pages = mmap.mmap(-1, max(nbytes, mmap.PAGESIZE), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        raise MemoryError(f"{nbytes} bytes") from None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without them
            pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, np.uint8)[:nbytes].view(dtype)


def give_back() -> None:
    """Return to the system what has been freed but is kept for later: by Arrow, and by the C library."""
    if arrow := sys.modules.get("pyarrow"):
        arrow.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


class TooLittleMemoryError(GraphError):
    """What is to be made does not fit the memory."""


@contextlib.contextmanager
def enough_memory(what: str) -> Iterator[None]:
    """Turn a lack of memory for `what` into an error that says what to do, and for what as the caller knows it."""
    try:
        yield
    except (MemoryError, TooLittleMemoryError):
        problem = f"there is not enough memory for {what}"
        raise TooLittleMemoryError(f"{problem}; use a smaller graph, or a machine with more") from None
