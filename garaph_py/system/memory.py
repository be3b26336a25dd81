"""The host's memory: how much there is, special allocations, and errors when it is too little."""

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
    """The bytes of memory that this process may use: all of the machine's, or what its control group allows."""
    import psutil

    return int(min(psutil.virtual_memory().total, cgroup.memory()[0]))


def available_memory() -> int:
    """The free bytes of the memory that this process may use."""
    import psutil

    return int(min(psutil.virtual_memory().available, cgroup.memory()[1]))


def on_own_pages(length: int, dtype: np.dtype[Any], sparse: bool = False) -> npt.NDArray[Any]:
    """A new array of zeros that shares no page of memory with others, so that a GPU can pin it.

    A page takes memory once it is written to. Pages are large, unless the array is `sparse`.

    Raises
    ------
    MemoryError
        If the system refuses it.
    """
    nbytes = length * dtype.itemsize
    return np.frombuffer(own_pages(nbytes, sparse), np.uint8)[:nbytes].view(dtype)


def own_pages(nbytes: int, sparse: bool = False) -> mmap.mmap:
    """Memory of so many bytes, at least a page, as `on_own_pages` says.

    Raises
    ------
    MemoryError
        If the system refuses it.
    """
    try:
        pages = mmap.mmap(-1, max(nbytes, mmap.PAGESIZE), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        raise MemoryError(f"{nbytes} bytes") from None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # this Linux kernel has no huge pages
            pages.madvise(mmap.MADV_NOHUGEPAGE if sparse else mmap.MADV_HUGEPAGE)
    return pages


def release_unused() -> None:
    """Return memory to the system that has been freed, but that Arrow and the C library keep for later."""
    if arrow := sys.modules.get("pyarrow"):
        arrow.default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError):  # C libraries other than glibc have no malloc_trim
        ctypes.CDLL(None).malloc_trim(0)


class TooLittleMemoryError(GraphError):
    """The host's memory is too small for a graph, or for what is computed from it."""


@contextlib.contextmanager
def enough_memory(what: str) -> Iterator[None]:
    """In ``with``: replace an error about too little memory by one that names `what` needed it and says what to do."""
    try:
        yield
    except (MemoryError, TooLittleMemoryError):
        problem = f"there is not enough memory for {what}"
        raise TooLittleMemoryError(f"{problem}; use a smaller graph, or a machine with more") from None
