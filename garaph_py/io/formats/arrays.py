"""Binary files of arrays: read straight into memory once the file is known to have them, and written."""

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
from .format import check_memory, malformed
from .streams import compression

Array = npt.NDArray[Any]

PIECE = 1 << 24  # bytes between two progress events, and of what is read to be rearranged
MOST_EDGES = 1 << 48


class ArrayFile:
    """A file of arrays, read one after the other.

    Attributes
    ----------
    path : Path
    size : int
        Bytes there are.
    place : int
        Offset of the next byte.
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
        """The fields of `dtype`, all integers, as which the file begins."""
        with malformed(self.path, "not readable"):
            beginning = self._file.read(dtype.itemsize)
        if method := compression(beginning):
            raise FormatError(self.path, f"compressed with {method}; decompress it first")
        if len(beginning) < dtype.itemsize:
            raise FormatError(self.path, f"{self.size} bytes long, but its header has {dtype.itemsize}; make it again")
        self.place = dtype.itemsize
        return [int(field) for field in np.frombuffer(beginning, dtype)[0]]

    def check_size(self, n: int, m: int, *sizes: int) -> None:
        """Refuse a file that does not have exactly one of `sizes`, or whose arrays memory cannot hold."""
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
                raise FormatError(self.path, "the file ends early; it was changed meanwhile", offset=self.place)
            self.place += count
            raw = raw[count:]
            self._listener(events.Step("reading", min(self.place, self.size - 1), self.size))
        return array

    def array(self, dtype: Any, count: int) -> Array:
        return self.fill(np.empty(count, dtype))

    def skip(self, count: int) -> None:
        """Go on so many bytes further."""
        self.place += count
        with malformed(self.path, "not readable"):
            self._file.seek(self.place)

    def pieces(self, dtype: Any, count: int, nbytes: int = PIECE) -> Iterator[tuple[slice, Array]]:
        """The next `count` elements in pieces that are overwritten by the next: where each goes, and what it holds."""
        buffer = np.empty(min(count, max(1, nbytes // np.dtype(dtype).itemsize)), dtype)
        for start in range(0, count, len(buffer) or 1):
            stop = min(start + len(buffer), count)
            yield slice(start, stop), self.fill(buffer[: stop - start])

    def finish(self) -> None:
        self._listener(events.Step("reading", self.size, self.size))


def check_counts(path: Path, n: int, m: int, most_vertices: int, places: tuple[int, int]) -> None:
    """Refuse counts that no such file has; `places` are the bytes they stand at."""
    for count, most, what, place in (
        (n, most_vertices, "vertices", places[0]),
        (m, MOST_EDGES, "edges", places[1]),
    ):
        if not 0 <= count <= most:
            raise FormatError(path, f"{count} {what}; 0 to {most} are possible", offset=place)


def check_offsets(path: Path, offsets: Array, m: int, place: int) -> None:
    """Refuse offsets (int64, the first at byte `place`) that do not rise from 0 to `m`."""
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
    """Writes arrays one after the other, telling how far it is."""

    def __init__(self, file: Any, total: int, listener: events.Listener) -> None:
        self._file, self._done, self._total, self._listener = file, 0, total, listener

    def write(self, array: Array) -> None:
        raw = np.ascontiguousarray(array).view(np.uint8).data
        for start in range(0, len(raw), PIECE):
            self._file.write(raw[start : start + PIECE])
            self._done += len(raw[start : start + PIECE])
            self._listener(events.Step("writing", self._done, self._total))
