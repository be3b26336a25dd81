"""Asynchronous file reads with Linux AIO (io_submit(2)), called through the C library's `syscall`."""

from __future__ import annotations

import ctypes
import errno
import itertools
import os
import struct
import sys
from contextlib import suppress
from typing import Generic, TypeVar

Key = TypeVar("Key")

DEPTH = 8
"""Reads in flight at once: enough to keep a disk busy while the thread handles finished reads."""
SYSCALL_NUMBERS = {
    "x86_64": {"io_setup": 206, "io_destroy": 207, "io_getevents": 208, "io_submit": 209},
    "aarch64": {"io_setup": 0, "io_destroy": 1, "io_getevents": 4, "io_submit": 2},
}
SYSCALLS = SYSCALL_NUMBERS.get(os.uname().machine, {}) if sys.platform == "linux" and sys.maxsize >> 32 else {}
"""Numbers of the system calls on this machine; empty if they are not known."""
PREADV = 7
"""The command IOCB_CMD_PREADV: read into a vector of buffers."""
IOCB = struct.Struct("=QIIHhIQQqQII")
"""struct iocb: request number, -, -, command, -, file descriptor, address and length of the vector, offset, -, -, -."""
EVENT = struct.Struct("=QQqq")
"""struct io_event: request number, -, bytes read or negative errno, -."""
IDLE_CONTEXTS: list[int] = []
"""AIO contexts that are not in use. They are kept for later: destroying one takes about 30 ms (measured)."""
os.register_at_fork(after_in_child=IDLE_CONTEXTS.clear)  # the contexts belong to the parent
ABANDONED_BUFFERS: list[object] = []
"""Buffers of reads whose completion was never confirmed; kept so that the kernel cannot write to freed memory."""

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long


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
        self._numbers, self._events = itertools.count(), ctypes.create_string_buffer(EVENT.size * self.depth)
        self._in_flight = dict[int, tuple[Key, list[memoryview]]]()  # keeps the buffers alive
        self._ended: list[tuple[Key, int]] = []  # results of reads that ended within `begin`

    def begin(self, key: Key, handle: int, views: list[memoryview], offset: int) -> None:
        """Begin to read bytes from `offset` on into consecutive `views`; `wait` returns the result with `key`."""
        try:
            if self._context:
                self._submit(key, handle, views, offset)
            else:
                self._ended.append((key, os.preadv(handle, views, offset)))
        except OSError as error:
            self._ended.append((key, -(error.errno or errno.EIO)))

    def _submit(self, key: Key, handle: int, views: list[memoryview], offset: int) -> None:
        pairs = [(ctypes.addressof(ctypes.c_char.from_buffer(view)), len(view)) for view in views if len(view)]
        vector = (ctypes.c_size_t * (2 * len(pairs)))(*itertools.chain.from_iterable(pairs))
        number, place = next(self._numbers), ctypes.addressof(vector)
        one = ctypes.c_char_p(IOCB.pack(number, 0, 0, PREADV, 0, handle, place, len(pairs), offset, 0, 0, 0))
        self._in_flight[number] = key, views
        try:
            call("io_submit", self._context, 1, ctypes.addressof(one))  # copies the iocb
        except BaseException:
            del self._in_flight[number]
            raise

    def wait(self) -> list[tuple[Key, int]]:
        """Wait for at least one read, if any is in flight; return the key and the result of each read that has ended.

        A result is the number of bytes read (0 at the end of the file), or -errno.
        """
        ended, self._ended = self._ended, []
        if self._in_flight:
            place = ctypes.addressof(self._events)
            count = call("io_getevents", self._context, 0 if ended else 1, self.depth, place, 0)
            for number, _, result, _ in EVENT.iter_unpack(self._events.raw[: count * EVENT.size]):
                ended.append((self._in_flight.pop(number)[0], result))
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


def take_context() -> int:
    """An AIO context, idle or new; 0 if the kernel refuses to make one."""
    with suppress(IndexError):
        return IDLE_CONTEXTS.pop()
    context = ctypes.c_ulong(0)
    try:
        call("io_setup", DEPTH, ctypes.addressof(context))
    except OSError:
        return 0
    return context.value


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
