"""Read and write binary files that consist of arrays; sizes are checked before memory is allocated."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import events
from ...errors import FormatError
from .format import MAX_EDGES, check_memory, malformed
from .streams import compression

Array = npt.NDArray[Any]

PIECE = 1 << 24
"""Bytes that are read or written at a time, with a progress event after each piece."""


class ArrayFile:
    """A file of consecutive arrays, open for reading.

    Attributes
    ----------
    path : Path
    size : int
        Bytes of the file.
    place : int
        Offset of the next byte to read.
    """

    def __init__(self, path: Path, listener: events.Listener) -> None:
        self.path, self.place, self._listener = path, 0, listener
        with malformed(path, "not readable"):
            self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed by __exit__
            self.size = os.fstat(self._file.fileno()).st_size

    def __enter__(self) -> ArrayFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def header(self, dtype: np.dtype[Any]) -> list[int]:
        """Read the header: the fields of `dtype`, all of them integers."""
        with malformed(self.path, "not readable"):
            beginning = self._file.read(dtype.itemsize)
        if method := compression(beginning):
            raise FormatError(self.path, f"compressed with {method}; decompress it first")
        if len(beginning) < dtype.itemsize:
            raise FormatError(self.path, f"{self.size} bytes long, but its header has {dtype.itemsize}; make it again")
        self.place = dtype.itemsize
        return [int(field) for field in np.frombuffer(beginning, dtype)[0]]

    def check_size(self, n: int, m: int, *sizes: int) -> None:
        """Refuse a file whose size is none of `sizes`, or that does not fit in memory."""
        if self.size not in sizes:
            raise FormatError(
                self.path,
                f"{self.size:,} bytes long, but {n:,} vertices and {m:,} edges take {sizes[0]:,}; it is cut off, or "
                "not what its name says: fetch or make it again",
            )
        check_memory(self.path, self.size, "its arrays")

    def fill(self, array: Array) -> Array:
        """Read the next bytes into `array` (1-d, contiguous)."""
        raw = array.view(np.uint8).data
        while raw:
            with malformed(self.path, "not readable"):
                count = self._file.readinto(raw[:PIECE])
            if not count:
                raise FormatError(self.path, "the file ends early; it was changed while it was read", offset=self.place)
            self.place += count
            raw = raw[count:]
            self._listener(events.Step("reading", min(self.place, self.size - 1), self.size))
        return array

    def array(self, dtype: Any, count: int) -> Array:
        return self.fill(np.empty(count, dtype))

    def skip(self, count: int) -> None:
        """Skip `count` bytes."""
        self.place += count
        with malformed(self.path, "not readable"):
            self._file.seek(self.place)

    def pieces(self, dtype: Any, count: int, nbytes: int = PIECE) -> Iterator[tuple[slice, Array]]:
        """Read `count` elements in pieces; yield the slice and the elements of each, which the next overwrites."""
        buffer = np.empty(min(count, max(1, nbytes // np.dtype(dtype).itemsize)), dtype)
        for start in range(0, count, len(buffer) or 1):
            stop = min(start + len(buffer), count)
            yield slice(start, stop), self.fill(buffer[: stop - start])

    def finish(self) -> None:
        self._listener(events.Step("reading", self.size, self.size))


def check_counts(path: Path, n: int, m: int, max_vertices: int, places: tuple[int, int]) -> None:
    """Refuse impossible counts of vertices and edges; `places` are their offsets in the file."""
    for count, most, what, place in (
        (n, max_vertices, "vertices", places[0]),
        (m, MAX_EDGES, "edges", places[1]),
    ):
        if not 0 <= count <= most:
            raise FormatError(path, f"{count} {what}; 0 to {most} are possible", offset=place)


def check_offsets(path: Path, offsets: Array, m: int, place: int) -> None:
    """Refuse offsets (int64, the first at byte `place`) that do not ascend from 0 to `m`."""
    if offsets[0] != 0:
        raise FormatError(path, f"the first list starts at edge {offsets[0]}, not 0", offset=place)
    if offsets[-1] != m:
        end = place + 8 * (len(offsets) - 1)
        raise FormatError(path, f"the last list ends with edge {offsets[-1]}, but there are {m}", offset=end)
    for start in range(0, len(offsets) - 1, PIECE):
        piece = offsets[start : start + PIECE + 1]
        falls = np.flatnonzero(piece[1:] < piece[:-1])
        if len(falls):
            vertex = start + int(falls[0])
            problem = f"the list of vertex {vertex} ends before it starts; offsets never fall"
            raise FormatError(path, problem, offset=place + 8 * (vertex + 1))


class ArrayWriter:
    """Writes consecutive arrays, with progress events."""

    def __init__(self, file: Any, total: int, listener: events.Listener) -> None:
        self._file, self._done, self._total, self._listener = file, 0, total, listener

    def write(self, array: Array) -> None:
        raw = np.ascontiguousarray(array).view(np.uint8).data
        for start in range(0, len(raw), PIECE):
            self._file.write(raw[start : start + PIECE])
            self._done += len(raw[start : start + PIECE])
            self._listener(events.Step("writing", self._done, self._total))
