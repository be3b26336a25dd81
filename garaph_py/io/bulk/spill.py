"""Temporary files for arrays that do not fit in memory, and background threads that write and read them."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import secrets
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ...system.memory import on_own_pages
from ...system.threads import submit

Array = npt.NDArray[Any]
T = TypeVar("T")

MAX_CALL_BYTES = 1 << 24
"""Most bytes of one write call, so that an interrupt or a full disk is noticed soon."""
TRIAL_BYTES = 1 << 26
"""Bytes that are written to see how fast a disk is: some hundredths of a second on a solid-state disk."""
PAGE = 4096
"""Alignment of writes with O_DIRECT, in bytes: offset and length are multiples of it."""
SECTOR = 512
"""Alignment of reads with O_DIRECT, in bytes."""
KEEP_SIZE, PUNCH_HOLE = 1, 2
"""Flags of fallocate (linux/falloc.h): a part of a file loses its room on the disk, and the file keeps its size."""
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.fallocate.argtypes = ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64


class SpillFile:
    """A file without a name in `folder`; the system deletes it when it is closed or the process ends.

    Parameters
    ----------
    folder : Path
    direct : bool
        Bypass the page cache (O_DIRECT) if the filesystem can: copying into the cache takes a core longer than the
        disk takes to write. The caller then writes multiples of `PAGE` bytes, reads multiples of `SECTOR` bytes, and
        uses memory that begins at a page.

    Attributes
    ----------
    size : int
        Bytes written.
    forgets : bool
        Whether the filesystem can take back a part of the file, as far as is known.
    """

    def __init__(self, folder: Path, direct: bool = False) -> None:
        path = folder / f"spill-{secrets.token_hex(8)}"
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.unlink(path)
        except OSError:
            os.close(self._handle)
            raise
        self._direct = False
        if direct:
            with suppress(OSError):  # a filesystem that cannot
                fcntl.fcntl(self._handle, fcntl.F_SETFL, os.O_DIRECT)
                self._direct = True
        self.size, self.forgets = 0, True

    def append(self, array: Array) -> int:
        """Append `array` (contiguous) and return its offset in the file.

        Raises
        ------
        OSError
        """
        start, raw = self.size, array.view(np.uint8).data
        while raw:
            count = self._call(os.pwrite, raw[:MAX_CALL_BYTES], self.size)
            self.size += count
            raw = raw[count:]
        return start

    def read(self, out: Array, offset: int) -> Array:
        """Fill `out` (contiguous) with the bytes at `offset`, and return it.

        Raises
        ------
        OSError
        """
        raw = out.view(np.uint8).data
        while raw:
            count = self._call(os.preadv, [raw], offset)
            if not count:
                raise OSError("a temporary file has become shorter")
            raw, offset = raw[count:], offset + count
        return out

    def forget(self, start: int, stop: int) -> None:
        """Give back the room of the bytes [start, stop), which are not read again, and nor are those before in a page.

        A page that they fill in part stays, unless `stop` is in the next one.
        """
        first, last = start // PAGE * PAGE, stop // PAGE * PAGE
        if self.forgets and first < last:
            self.forgets = LIBC.fallocate(self._handle, KEEP_SIZE | PUNCH_HOLE, first, last - first) == 0

    def _call(self, function: Callable[..., int], *arguments: Any) -> int:
        direct = self._direct  # other threads, whose calls fail as well, may change it meanwhile
        try:
            return function(self._handle, *arguments)
        except OSError as error:
            if error.errno != errno.EINVAL or not direct:
                raise
            # Sectors are larger, or a file size limit cut a write: use the page cache.
            fcntl.fcntl(self._handle, fcntl.F_SETFL, 0)
            self._direct = False
            return function(self._handle, *arguments)

    def close(self) -> None:
        if self._handle >= 0:
            handle, self._handle = self._handle, -1
            os.close(handle)


def forgets(folder: Path) -> bool:
    """Whether the filesystem of `folder` can take back a part of a file.

    Raises
    ------
    OSError
        If no file can be written there.
    """
    spill = SpillFile(folder)
    try:
        spill.append(np.zeros(PAGE, np.uint8))
        spill.forget(0, PAGE)
        return spill.forgets
    finally:
        spill.close()


def seconds_to_write(folder: Path, nbytes: int) -> float:
    """How long it takes to write a temporary file of so many bytes, by the time that `TRIAL_BYTES` take.

    Raises
    ------
    OSError
        If no file can be written there.
    """
    spill, piece = SpillFile(folder, direct=True), on_own_pages(MAX_CALL_BYTES, np.dtype(np.uint8))
    try:
        started = time.perf_counter()
        while spill.size < min(nbytes, TRIAL_BYTES):
            spill.append(piece)
        return (time.perf_counter() - started) * nbytes / max(spill.size, 1)
    finally:
        spill.close()


class BackgroundCalls:
    """Runs one call at a time in a background thread. The next `wait` or `start` raises the call's exception."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="garaph-spill")
        self._last: Any = None

    def wait(self) -> None:
        last, self._last = self._last, None
        if last is not None:
            last.result()

    def start(self, function: Callable[..., object], *arguments: Any) -> None:
        self.wait()
        self._last = submit(self._pool, function, *arguments)

    def close(self) -> None:
        """Wait for the running call and end the thread; an exception of the call is dropped."""
        self._pool.shutdown(cancel_futures=True)


def whole_pages(nbytes: int) -> int:
    """`nbytes` rounded up to whole pages."""
    return -(-nbytes // PAGE) * PAGE


def prefetched(items: Iterator[T]) -> Generator[T, None, None]:
    """`items`; a background thread makes the next one while the caller uses the current one, and ends with `close`."""
    end: Any = object()
    with ThreadPoolExecutor(1, thread_name_prefix="garaph-ahead") as pool:
        coming = submit(pool, next, items, end)
        while (item := coming.result()) is not end:
            coming = submit(pool, next, items, end)
            yield item
