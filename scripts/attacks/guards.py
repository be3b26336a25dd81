"""Memory in which a kernel that reads or writes outside its arrays dies at once.

A kernel gets bare pointers, so nothing checks its indices. While `guarded`, every call of a kernel works on copies of
its arrays. Each copy begins right after, or ends right before, 32 GiB of addresses that nobody may touch: an access
outside ends the process with SIGSEGV. That is the machine code as users run it. Only the calls of one job, which
otherwise run at the same time, run one after the other.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

from garaph_py.native import kernel
from garaph_py.native.job import KERNELS
from garaph_py.native.threads import ThreadPool

GUARD = 1 << 35
"""Bytes of forbidden addresses on each side of an array: what 32 bits can count, times 8 bytes of an element."""
PAGE = mmap.PAGESIZE
NAME_BYTES = 64
"""Bytes of a kernel's name in the file of notes."""
NO_ACCESS, READ_AND_WRITE = 0, 3
RESERVED = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE: addresses only

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Place:
    """Addresses for one array at a time; the array `at_end` ends at the guard behind, else it begins at that before."""

    def __init__(self, at_end: bool) -> None:
        start = libc.mmap(None, 2 * GUARD, NO_ACCESS, RESERVED, -1, 0)
        if start == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), "mmap")
        self._edge, self._at_end, self._pages = start + GUARD, at_end, 0

    def take(self, nbytes: int) -> int:
        """The address of room for so many bytes."""
        pages = -(-nbytes // PAGE)
        if pages != self._pages:
            self._protect(self._pages, NO_ACCESS)
            self._protect(pages, READ_AND_WRITE)
            self._pages = pages
        return self._edge - nbytes if self._at_end else self._edge

    def _protect(self, pages: int, access: int) -> None:
        begin = self._edge - pages * PAGE if self._at_end else self._edge
        if pages and libc.mprotect(begin, pages * PAGE, access):
            raise OSError(ctypes.get_errno(), "mprotect")


class Guards:
    """Runs the calls of kernels on guarded copies of their arrays.

    Parameters
    ----------
    at_end : bool
        Whether copies end at the guard behind them; else they begin at the guard before them.
    notes : int
        An open file, which receives the name of each kernel before it runs.
    """

    def __init__(self, at_end: bool, notes: int) -> None:
        self._at_end, self._notes = at_end, notes
        self._places: list[Place] = []
        self._lock = threading.Lock()
        self.calls = 0

    def call(self, table: kernel.ArgumentTable, k: int = 0) -> int:
        """What call `k` of the table returns."""
        with self._lock:
            words, spans = table.words[k].copy(), merged(arrays_of(table, k))
            while len(self._places) < len(spans):
                self._places.append(Place(self._at_end))
            copies = []
            for place, (begin, end, arguments, writable) in zip(self._places, spans, strict=False):
                address = place.take(end - begin)
                ctypes.memmove(address, begin, end - begin)
                before = ctypes.string_at(begin, end - begin)
                copies.append((address, begin, before, writable))
                words[arguments] += address - begin
            os.pwrite(self._notes, table.kernel.name.encode().ljust(NAME_BYTES)[:NAME_BYTES], 0)
            self.calls += 1
            results, failure = kernel.address_of(table.results) + 8 * k, kernel.exception_address
            if table._native(results, failure, kernel.address_of(words)):
                raise table.failure()
            for address, begin, before, writable in copies:
                write_back(address, begin, before, writable)
            return int(table.results[k])


def arrays_of(table: kernel.ArgumentTable, k: int) -> Iterator[tuple[int, int, int, bool]]:
    """The arrays that call `k` of the table gets: begin, end, which argument, and whether it may be written to."""
    for argument, (held, plain) in enumerate(zip(table.held, table.kernel.plain, strict=True)):
        if plain is not np.ndarray:
            continue
        begin = int(table.words[k, argument])
        if isinstance(held, np.ndarray):
            yield begin, begin + held.nbytes, argument, held.flags.writeable
        elif isinstance(held, kernel.PerCall):
            yield begin, begin + held.array.strides[0], argument, held.array.flags.writeable
        elif isinstance(held, tuple):  # a `kernel.From`
            array = held[0].array
            yield begin, kernel.address_of(array) + array.nbytes, argument, array.flags.writeable


def merged(arrays: Iterator[tuple[int, int, int, bool]]) -> list[tuple[int, int, list[int], bool]]:
    """The `arrays`, those that share memory as one: begin, end, which arguments, and whether any may be written."""
    spans: list[tuple[int, int, list[int], bool]] = []
    for begin, end, argument, writable in sorted(arrays):
        if spans and (begin < spans[-1][1] or (begin, end) == spans[-1][:2]):
            first, last, others, written = spans[-1]
            spans[-1] = first, max(last, end), [*others, argument], written or writable
        else:
            spans.append((begin, end, [argument], writable))
    return spans


def write_back(address: int, begin: int, before: bytes, writable: bool) -> None:
    """Write what a kernel changed in a copy to the array itself, and nothing else: another thread may use the rest."""
    after = ctypes.string_at(address, len(before))
    if after == before:
        return
    assert writable, "a kernel has written to an array that may only be read"
    old, new = np.frombuffer(before, np.uint8), np.frombuffer(after, np.uint8)
    array = np.frombuffer((ctypes.c_char * len(before)).from_address(begin), np.uint8)
    changed = old != new
    array[changed] = new[changed]


def one_by_one(pool: ThreadPool, rows: kernel.ArgumentTable) -> bool:
    """In place of `ThreadPool._launch`, whose compiled code calls kernels past Python."""
    for k in range(len(rows)):
        rows(k)
    return False


@contextmanager
def guarded(at_end: bool, notes: int) -> Iterator[Guards]:
    """In ``with``: every kernel works on guarded memory, in all threads of this process.

    Those by which threads wait for each other (`native.job`) need the memory that all of them see.
    """
    guards, plain = Guards(at_end, notes), kernel.ArgumentTable.__call__

    def call(table: kernel.ArgumentTable, k: int = 0) -> Any:
        return plain(table, k) if table.kernel in KERNELS else guards.call(table, k)

    with mock.patch.object(kernel.ArgumentTable, "__call__", call), \
            mock.patch.object(ThreadPool, "_launch", one_by_one):  # fmt: skip
        yield guards
