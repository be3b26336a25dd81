"""Memory of large arrays of vertex values, which is kept for the next run when nobody uses it any more.

The system gives a new array pages of zeros, each when it is first written to. To fill memory that is there already
takes a third of that time (2 EPYC cores, 33 MB: 0.7 and 2.1 ms). While it is kept, the system may take it when it is
short of memory (``MADV_FREE``). A run with a limit counts it (`within`): such memory is that of its own arrays, and
never comes in addition to them.
"""

from __future__ import annotations

import contextlib
import mmap
import weakref
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..system.memory import own_pages, total_memory

LEAST_BYTES = 1 << 20
"""Bytes from which an array's memory is kept here. That of smaller ones is kept by `malloc`."""
KEPT_SHARE = 1 / 16
"""The share of the process's memory that is kept at most."""

_unused: list[mmap.mmap] = []  # a finalizer may change it at any time, so each use is one operation on the list
_limits: list[int] = []  # the bytes of the arrays of each run that is in `within`


class Lease:
    """What every array on some pages refers to. When none is left, the pages are kept."""

    def __init__(self, pages: mmap.mmap) -> None:
        place = np.frombuffer(pages, np.uint8).__array_interface__["data"][0]
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "shape": (len(pages),), "data": (place, False)}
        weakref.finalize(self, keep, pages).atexit = False


def empty(length: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """A new array of shape (length,) with any contents, like `numpy.empty`."""
    kind = np.dtype(dtype)
    if length * kind.itemsize < LEAST_BYTES:
        return np.empty(length, kind)
    return np.asarray(Lease(take(length * kind.itemsize) or new_pages(length * kind.itemsize))).view(kind)


def new_pages(nbytes: int) -> mmap.mmap:
    """New pages; a run with a limit gives back what is kept before, so that its arrays have the room."""
    if _limits:
        release()
    return own_pages(nbytes)


def take(nbytes: int) -> mmap.mmap | None:
    """Pages of `nbytes` that were kept, if there are any; they are the caller's now."""
    for pages in list(_unused):
        if len(pages) == nbytes:
            with contextlib.suppress(ValueError):  # another thread has taken them
                _unused.remove(pages)
                return pages
    return None


def keep(pages: mmap.mmap) -> None:
    """Keep pages that no array uses any more, unless too many are kept."""
    if unused_bytes() + len(pages) <= min([*_limits, most_bytes()]):
        with contextlib.suppress(OSError):  # this Linux kernel cannot take them back by itself
            pages.madvise(mmap.MADV_FREE)
        _unused.append(pages)


@cache
def most_bytes() -> int:
    """Bytes that are kept at most."""
    return int(KEPT_SHARE * total_memory())


def unused_bytes() -> int:
    """Bytes that are kept for later arrays."""
    return sum(map(len, list(_unused)))


@contextlib.contextmanager
def within(nbytes: int) -> Iterator[None]:
    """In ``with``: a run with a limit, which counts `nbytes` for arrays that are made here.

    What is kept never exceeds that when it begins. As long as the run finds the memory of its arrays here, arrays and
    kept memory together take no more; once it does not, nothing is kept but what it has used.

    The limit is that of the whole process. Meanwhile a run without a limit in another thread keeps no more than this,
    either, and what it has kept is given back as well when new memory is needed.
    """
    while unused_bytes() > nbytes:
        with contextlib.suppress(IndexError):  # another thread has taken them
            _unused.pop(0)
    _limits.append(nbytes)
    try:
        yield
    finally:
        _limits.remove(nbytes)


def release() -> None:
    """Give all memory that no array uses back to the system."""
    _unused.clear()
