"""Reads that the kernel has under way while one thread goes on: Linux AIO, by its system calls (io_submit(2))."""

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
"""Reads that are under way at once: a disk has enough to do while what it has read is checked."""
NUMBERS = {
    "x86_64": {"io_setup": 206, "io_destroy": 207, "io_getevents": 208, "io_submit": 209},
    "aarch64": {"io_setup": 0, "io_destroy": 1, "io_getevents": 4, "io_submit": 2},
}
HERE = NUMBERS.get(os.uname().machine, {}) if sys.platform == "linux" and sys.maxsize >> 32 else {}
"""Numbers of system calls; none where they are not known."""
PREADV = 7
"""IOCB_CMD_PREADV."""
IOCB = struct.Struct("=QIIHhIQQqQII")
"""What is submitted: a number, -, -, the command, -, file, address and length of the vector, offset, -, -, -."""
EVENT = struct.Struct("=QQqq")
"""What came of it: its number, -, bytes read or the negative error, -."""
IDLE: list[int] = []
"""Contexts that nobody uses. They are kept: to give one back takes the kernel some thirty milliseconds."""
os.register_at_fork(after_in_child=IDLE.clear)  # they are the parent's
LOST: list[object] = []
"""Memory to which the kernel may write for ever: it would neither say when it has, nor stop."""

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long


class Reads(Generic[Key]):
    """Reads of files into memory, several under way at a time; for one thread.

    Where the kernel does not offer that (another system, a sandbox, a limit), each is done when it is begun.

    Attributes
    ----------
    depth : int
        Most that may be under way: `DEPTH`, or 1.
    """

    def __init__(self) -> None:
        self._context = context()
        self.depth = DEPTH if self._context else 1
        self._numbers, self._events = itertools.count(), ctypes.create_string_buffer(EVENT.size * self.depth)
        self._under_way = dict[int, tuple[Key, list[memoryview]]]()  # the kernel writes to this memory
        self._ended: list[tuple[Key, int]] = []  # already when they were begun

    def begin(self, key: Key, handle: int, views: list[memoryview], offset: int) -> None:
        """Read to `views`, one after the other, from `offset` on; `wait` tells under `key` what came of it."""
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
        self._under_way[number] = key, views
        try:
            call("io_submit", self._context, 1, ctypes.addressof(one))  # copies what it is given
        except BaseException:
            del self._under_way[number]
            raise

    def wait(self) -> list[tuple[Key, int]]:
        """Those that have ended, at least one if any was begun: bytes read, 0 behind the file's end, or -errno."""
        ended, self._ended = self._ended, []
        if self._under_way:
            place = ctypes.addressof(self._events)
            count = call("io_getevents", self._context, 0 if ended else 1, self.depth, place, 0)
            for number, _, result, _ in EVENT.iter_unpack(self._events.raw[: count * EVENT.size]):
                ended.append((self._under_way.pop(number)[0], result))
        return ended

    def close(self) -> None:
        """Wait until nothing is under way any more."""
        try:
            while self._under_way:
                self.wait()
            if self._context:
                IDLE.append(self._context)
        except BaseException:  # the kernel does not tell: it has nothing under way any more when it has destroyed that
            try:
                call("io_destroy", self._context)
            except OSError:
                LOST.append(self._under_way)
            raise
        finally:
            self._context = 0


def context() -> int:
    """The kernel's name for a queue of reads; 0 if there is none to be had."""
    with suppress(IndexError):
        return IDLE.pop()
    made = ctypes.c_ulong(0)
    try:
        call("io_setup", DEPTH, ctypes.addressof(made))
    except OSError:
        return 0
    return made.value


def call(name: str, *arguments: int) -> int:
    """A system call, without the GIL, and again where a signal ends it.

    Raises
    ------
    OSError
    """
    if name not in HERE:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    while (result := LIBC.syscall(*map(ctypes.c_long, (HERE[name], *arguments)))) < 0:
        if ctypes.get_errno() != errno.EINTR:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)
