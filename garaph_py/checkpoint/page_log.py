"""The log of an iteration: what its pages have changed, on top of the newest checkpoint (Garaph section 2.2).

In an asynchronous run, new values are valid as soon as a page has been processed. So a run that dies in an iteration
can go on from the checkpoint before it and the pages in the log: their values replace older ones, and the vertices that
they have changed are active beside those of the checkpoint.

==================  ====================================================================================
bytes               what
==================  ====================================================================================
0 to 7              ``GARAPHPL``
8 to 11             version of the format, uint32
12 to 15            bytes of a value, uint32
16 to 23            the checksum of the checkpoint's header (`format.CHECKSUM`), uint64: the log is for it alone
24 to 31            XXH3-64 of bytes 0 to 23
32 on               records, one for each page, in the order in which the pages ended
==================  ====================================================================================

A record is the page's first vertex, the end of its vertices, and the XXH3-64 of all else in the record, each uint64;
then their values, and the words of a bitmap, from the first vertex's to the last one's, with the vertices that changed.
A checksum's seed is that of the checkpoint, so a record of another log is none of this one. A log ends where a record
is not whole: a run may have died while it wrote it.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import xxhash

from ..graph.vertex_set import WORD
from ..system.memory import enough_memory
from .files import Files
from .format import check_trust, octets, write_all

Array = npt.NDArray[Any]

MAGIC, VERSION = b"GARAPHPL", 1
"""First bytes of a log, and its version."""
PREFIX = struct.Struct("<8sIIQ")
CHECKSUM = struct.Struct("<Q")
PAGE = struct.Struct("<QQ")


class LoggedPage(NamedTuple):
    """What a page has changed.

    Attributes
    ----------
    first, last : int
        It has the vertices [first, last).
    values : ndarray, shape (last - first,)
        Their values.
    active : ndarray of uint64
        The words of a bitmap that hold these vertices, with those that changed.
    """

    first: int
    last: int
    values: Array
    active: Array

    @property
    def words(self) -> slice:
        """The words of a bitmap that hold the page's vertices."""
        return slice(self.first // WORD, -(-self.last // WORD))

    def checksum(self, base: int) -> int:
        """The checksum of the page's record in the log on top of the checkpoint `base`."""
        digest = xxhash.xxh3_64(PAGE.pack(self.first, self.last), seed=base)
        digest.update(octets(self.values))
        digest.update(octets(self.active))
        return digest.intdigest()


class PageLog:
    """A new log, which replaces an older one. The caller syncs the directory after that, and calls `close` at the end.

    Parameters
    ----------
    files : Files
    path : path
    base : int
        The checksum of the checkpoint's header.
    value_bytes : int
        Bytes of a value.

    Raises
    ------
    OSError
        If the log cannot be written. No file is left open in this case.
    """

    def __init__(self, files: Files, path: Path, base: int, value_bytes: int) -> None:
        self._files, self._base = files, base
        with contextlib.suppress(FileNotFoundError):
            files.unlink(path)
        self._handle = files.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            write_all(files, self._handle, header_of(base, value_bytes))
        except BaseException:
            with contextlib.suppress(OSError):
                self.close()
            raise

    def append(self, page: LoggedPage) -> None:
        """Write a page's record durably.

        Raises
        ------
        OSError
            If it cannot be written. No record may follow in this case.
        """
        begin = PAGE.pack(page.first, page.last) + CHECKSUM.pack(page.checksum(self._base))
        write_all(self._files, self._handle, begin, octets(page.values), octets(page.active))
        self._files.sync(self._handle)

    def close(self) -> None:
        self._files.close(self._handle)


def header_of(base: int, value_bytes: int) -> bytes:
    """The header of the log on top of the checkpoint `base`."""
    prefix = PREFIX.pack(MAGIC, VERSION, value_bytes, base)
    return prefix + CHECKSUM.pack(xxhash.xxh3_64_intdigest(prefix))


def logged(files: Files, path: Path, base: int, like: Array) -> Iterator[LoggedPage]:
    """The pages in the log on top of the checkpoint `base`, up to the first that is not whole; none without a log.

    Parameters
    ----------
    files : Files
    path : path
    base : int
    like : ndarray, shape (n,)
        Values of the run, of all vertices.

    Raises
    ------
    OSError
        If the log cannot be read.
    ParameterError
        If another user could have written it.
    """
    try:
        handle = files.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return
    try:
        check_trust(files, handle, path)
        header = header_of(base, like.itemsize)
        found = read(files, handle, len(header), 0)
        if found is None or bytes(found) != header:
            return
        at = len(header)
        while (page := page_at(files, handle, at, base, like)) is not None:
            yield page
            at += PAGE.size + CHECKSUM.size + page.values.nbytes + page.active.nbytes
    finally:
        with contextlib.suppress(OSError):  # all data has already been read
            files.close(handle)


def page_at(files: Files, handle: int, at: int, base: int, like: Array) -> LoggedPage | None:
    """The page whose record begins at byte `at`; None if there is no whole record."""
    begin = read(files, handle, PAGE.size + CHECKSUM.size, at)
    if begin is None:
        return None
    (first, last), (checksum,) = PAGE.unpack_from(begin), CHECKSUM.unpack_from(begin, PAGE.size)
    if not first < last <= len(like):
        return None
    values, words = (last - first) * like.itemsize, -(-last // WORD) - first // WORD
    body = read(files, handle, values + WORD // 8 * words, at + len(begin))
    if body is None:
        return None
    page = LoggedPage(
        first, last, np.frombuffer(body, like.dtype, last - first), np.frombuffer(body, np.uint64, words, values)
    )
    return page if page.checksum(base) == checksum else None


def read(files: Files, handle: int, length: int, offset: int) -> bytearray | None:
    """So many bytes of an open file; None if it ends before."""
    if files.size(handle) < offset + length:
        return None
    with enough_memory("a checkpoint"):
        data = bytearray(length)
    view = memoryview(data)
    while view:
        count = files.read(handle, view, offset)
        if count == 0:
            return None
        view, offset = view[count:], offset + count
    return data
