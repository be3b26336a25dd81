"""Temporary files: columns that do not fit memory, written one after the other and read again."""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
T = TypeVar("T")
MAX_CALL_BYTES = 1 << 24  # of a write, so that an interrupt or a full disk shows soon


PAGE = 4096
"""What writes past the page cache are multiples of, and begin at."""
SECTOR = 512
"""Likewise reads."""


class SpillFile:
    """A file without a name in `folder`, which the system takes back when it is closed or the process has ended.

    Parameters
    ----------
    folder : Path
    direct : bool
        Past the page cache where the filesystem can, for copying there takes a core longer than the disk. Whatever is
        written and read is then on pages of its own: bytes `PAGE` by `PAGE` written, by `SECTOR` read.

    Attributes
    ----------
    size : int
        Bytes written.
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
        self.size = 0

    def append(self, array: Array) -> int:
        """Write `array` (contiguous); where it begins.

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
        """Fill `out` (contiguous) from `offset` on.

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

    def _call(self, function: Callable[..., int], *arguments: Any) -> int:
        try:
            return function(self._handle, *arguments)
        except OSError as error:
            if error.errno != errno.EINVAL or not self._direct:
                raise
            fcntl.fcntl(self._handle, fcntl.F_SETFL, 0)  # sectors are larger, or the last one is cut by a limit
            self._direct = False
            return function(self._handle, *arguments)

    def close(self) -> None:
        if self._handle >= 0:
            handle, self._handle = self._handle, -1
            os.close(handle)


class BackgroundCalls:
    """Calls made by a thread of its own, one at a time, while the caller goes on; a failure is raised by the next."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="garaph-spill")
        self._last: Any = None

    def wait(self) -> None:
        last, self._last = self._last, None
        if last is not None:
            last.result()

    def start(self, function: Callable[..., object], *arguments: Any) -> None:
        self.wait()
        self._last = self._pool.submit(function, *arguments)

    def close(self) -> None:
        """Wait for what is under way, whatever becomes of it."""
        self._pool.shutdown(cancel_futures=True)


def whole_pages(nbytes: int) -> int:
    """`nbytes` rounded up to whole pages."""
    return -(-nbytes // PAGE) * PAGE


def prefetched(items: Iterator[T]) -> Generator[T, None, None]:
    """`items`, each made by a thread of its own while the caller works on the one before; idle when it is closed."""
    end: Any = object()
    with ThreadPoolExecutor(1, thread_name_prefix="garaph-ahead") as pool:
        coming = pool.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, items, end)
            yield item
