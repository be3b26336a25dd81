"""Asynchronous file reads with Linux AIO (io_submit(2)), called through the C library's `syscall`."""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

Key = TypeVar("Key")

DEPTH = 8
"""Reads in flight at once: enough to keep a disk busy while the thread handles finished reads."""
SCATTER = 128
"""Parts of a `Scatter` in flight at once, as one of these reads. With more, a part takes less Python: 2.2 us with 32,
0.8 with 128, 0.5 with 256 (one core of an EPYC, 2026-11-29)."""
SYSCALL_NUMBERS = {
    "x86_64": {"io_setup": 206, "io_destroy": 207, "io_getevents": 208, "io_submit": 209},
    "aarch64": {"io_setup": 0, "io_destroy": 1, "io_getevents": 4, "io_submit": 2},
}
SYSCALLS = SYSCALL_NUMBERS.get(os.uname().machine, {}) if sys.platform == "linux" and sys.maxsize >> 32 else {}
"""Numbers of the system calls on this machine; empty if they are not known."""
PREAD, PREADV = 0, 7
"""The commands IOCB_CMD_PREAD and IOCB_CMD_PREADV: read into one buffer, or into a vector of buffers."""
IOCB = np.dtype([
    ("number", "<u8"), ("-1", "<u8"), ("command", "<u2"), ("-2", "<u2"), ("file", "<u4"), ("address", "<u8"),
    ("length", "<u8"), ("offset", "<i8"), ("-3", "<u8", 2),
])  # fmt: skip
"""struct iocb: number of the read, command, file descriptor, address and length of the buffer or vector, offset."""
EVENT = np.dtype([("number", "<i8"), ("-1", "<u8"), ("result", "<i8"), ("-2", "<i8")])
"""struct io_event: number of the read, -, bytes read or negative errno, -."""
IDLE_CONTEXTS: list[int] = []
"""AIO contexts that are not in use. They are kept for later: destroying one takes about 30 ms (measured)."""
os.register_at_fork(after_in_child=IDLE_CONTEXTS.clear)  # the contexts belong to the parent
ABANDONED_BUFFERS: list[object] = []
"""Buffers of reads whose completion was never confirmed; kept so that the kernel cannot write to freed memory."""

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long


@dataclass(frozen=True, eq=False)
class Scatter:
    """Parts of a file, each of which is read to a place of its own in memory.

    Attributes
    ----------
    data : ndarray of uint8
        The memory.
    offsets, nbytes, places : ndarray of int64, shape (k,)
        For each part: its first byte in the file, its size, and its place in `data`.
    needed : ndarray of int64, shape (k,)
        The bytes that the file must have there; the rest is read only because of the alignment.
    """

    data: npt.NDArray[np.uint8]
    offsets: Array
    nbytes: Array
    places: Array
    needed: Array

    def __len__(self) -> int:
        return len(self.offsets)

    def cut(self, first: int, last: int) -> Scatter:
        """Parts [first, last)."""
        own = (array[first:last] for array in (self.offsets, self.nbytes, self.places, self.needed))
        return Scatter(self.data, *own)

    def view(self, part: int) -> memoryview:
        """The memory of a part."""
        return self.data[self.places[part] : self.places[part] + self.nbytes[part]].data


@dataclass(eq=False)
class InFlight(Generic[Key]):
    """A read, or the reads of a `Scatter`'s parts.

    Attributes
    ----------
    key : Key
    views : list of memoryview or Scatter
        Where the bytes go. It keeps this memory alive.
    results : ndarray of int64
        For each read, its result once it has ended.
    left : int
        How many have not ended.
    """

    key: Key
    views: list[memoryview] | Scatter
    results: Array
    left: int


class Reads(Generic[Key]):
    """Asynchronous reads of files, used by one thread.

    If Linux AIO is not available (another system, a sandbox, a limit), `begin` reads synchronously.

    Attributes
    ----------
    depth : int
        Maximal number of reads in flight: `DEPTH`, or 1 without AIO.
    """

    def __init__(self) -> None:
        self._context = take_context()
        self.depth = DEPTH if self._context else 1
        self._next, self._events = 0, np.zeros(self.depth * SCATTER, EVENT)
        # By a number; the system's kernel gets it times `SCATTER`, plus the number of the part.
        self._in_flight = dict[int, InFlight[Key]]()
        self._ended: list[tuple[Key, int | Array]] = []  # results of reads that ended within `begin`

    def begin(self, key: Key, handle: int, views: list[memoryview] | Scatter, offset: int = 0) -> None:
        """Begin to read bytes from `offset` on into consecutive `views`; `wait` returns the result with `key`.

        Or begin to read the parts of a `Scatter`, at most `SCATTER`.
        """
        if isinstance(views, Scatter):
            self._begin_scatter(key, handle, views)
            return
        if not self._context:
            self._ended.append((key, try_read(handle, views, offset)))
            return
        pairs = [(ctypes.addressof(ctypes.c_char.from_buffer(view)), len(view)) for view in views if len(view)]
        vector = (ctypes.c_size_t * (2 * len(pairs)))(*itertools.chain.from_iterable(pairs))
        iocbs = np.zeros(1, IOCB)
        iocbs["command"], iocbs["file"], iocbs["offset"] = PREADV, handle, offset
        iocbs["address"], iocbs["length"] = ctypes.addressof(vector), len(pairs)
        self._submit(iocbs, key, views)

    def _begin_scatter(self, key: Key, handle: int, parts: Scatter) -> None:
        count = len(parts)
        assert 0 < count <= SCATTER
        if not self._context:
            found = [try_read(handle, [parts.view(k)], int(parts.offsets[k])) for k in range(count)]
            self._ended.append((key, np.array(found)))
            return
        iocbs = np.zeros(count, IOCB)
        iocbs["command"], iocbs["file"], iocbs["offset"] = PREAD, handle, parts.offsets
        iocbs["address"], iocbs["length"] = parts.data.ctypes.data + parts.places, parts.nbytes
        self._submit(iocbs, key, parts)

    def _submit(self, iocbs: Array, key: Key, views: list[memoryview] | Scatter) -> None:
        """Number reads, and hand them to the kernel; those that it refuses have ended."""
        number, count = self._next, len(iocbs)
        self._next += 1
        iocbs["number"] = number * SCATTER + np.arange(count)
        places = iocbs.ctypes.data + IOCB.itemsize * np.arange(count)
        self._in_flight[number] = InFlight(key, views, np.zeros(count, np.int64), count)
        begun, refused = 0, errno.EAGAIN
        try:
            begun = call("io_submit", self._context, count, places.ctypes.data)  # copies what it begins
        except OSError as error:
            refused = error.errno or errno.EIO
        except BaseException:
            del self._in_flight[number]
            raise
        if begun < count:
            self._end(number, np.arange(begun, count), -refused, self._ended)

    def _end(self, number: int, parts: Array, results: Any, ended: list[tuple[Key, int | Array]]) -> None:
        """Note the results of parts that have ended; the last ones of a read take it to `ended`."""
        read = self._in_flight[number]
        read.results[parts] = results
        read.left -= len(parts)
        if not read.left:
            del self._in_flight[number]
            ended.append((read.key, read.results if isinstance(read.views, Scatter) else int(read.results[0])))

    def wait(self) -> list[tuple[Key, int | Array]]:
        """Wait until a read may have ended, if any is in flight; return the key and the result of each that has ended.

        A result is the number of bytes read (0 at the end of the file), or -errno; that of a `Scatter`, which ends with
        its last part, an array of these. The list may be empty, because no read ends before as many parts have ended as
        are left of the one that has the fewest, but they may be of several.
        """
        ended, self._ended = self._ended, []
        if self._in_flight:
            least = 0 if ended else min(read.left for read in self._in_flight.values())
            count = call("io_getevents", self._context, least, len(self._events), self._events.ctypes.data, 0)
            numbers, parts = np.divmod(self._events["number"][:count], SCATTER)
            results = self._events["result"][:count]
            for number in dict.fromkeys(numbers.tolist()):
                own = numbers == number
                self._end(number, parts[own], results[own], ended)
        return ended

    def close(self) -> None:
        """Wait for all reads in flight, and keep the AIO context for later use."""
        try:
            while self._in_flight:
                self.wait()
            if self._context:
                IDLE_CONTEXTS.append(self._context)
        except BaseException:  # destroying the context waits for its reads
            try:
                call("io_destroy", self._context)
            except OSError:
                ABANDONED_BUFFERS.append(self._in_flight)
            raise
        finally:
            self._context = 0


def try_read(handle: int, views: list[memoryview], offset: int) -> int:
    """Read into consecutive `views`; return the number of bytes read, or -errno."""
    try:
        return os.preadv(handle, views, offset)
    except OSError as error:
        return -(error.errno or errno.EIO)


def take_context() -> int:
    """An AIO context, idle or new; 0 if the kernel refuses to make one."""
    with suppress(IndexError):
        return IDLE_CONTEXTS.pop()
    context = ctypes.c_ulong(0)
    for reads in DEPTH * SCATTER, DEPTH:  # the limit is for all processes; parts that do not fit are read alone
        with suppress(OSError):
            call("io_setup", reads, ctypes.addressof(context))
            return context.value
    return 0


def call(name: str, *arguments: int) -> int:
    """Make a system call, without the GIL; repeat it if a signal interrupted it.

    Raises
    ------
    OSError
    """
    if name not in SYSCALLS:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    while (result := LIBC.syscall(*map(ctypes.c_long, (SYSCALLS[name], *arguments)))) < 0:
        if ctypes.get_errno() != errno.EINTR:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)
