"""The runs of an external sort, in a temporary file."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...system import interrupts
from ...system.memory import enough_memory, on_own_pages
from ...system.threads import submit
from .spill import SECTOR, BackgroundCalls, SpillFile, prefetched, whole_pages

Array = npt.NDArray[Any]
Piece = tuple[Array, "Array | None"]

READ_KEYS = SECTOR
"""Reads start and end at multiples of this many keys or values: whole sectors, however many bytes each takes."""
READERS = 4
"""Threads that read pieces of runs: with one read at a time, a disk is slower (docs/results/import.md)."""


def whole_reads(keys: int) -> int:
    """The number of `keys`, rounded up so that a read may end after them."""
    return -(-keys // READ_KEYS) * READ_KEYS


class KeyBuffers:
    """Buffers for `length` keys and as many values, each in memory pages of its own, so that freeing them takes effect.

    Attributes
    ----------
    keys : ndarray of uint64
    values : ndarray of uint32 or uint64, or None
        Values, viewed as unsigned integers.
    """

    def __init__(self, length: int, width: int) -> None:
        with enough_memory("sorting"):
            length = whole_pages(4 * length) // 4
            self.keys = on_own_pages(length, np.dtype(np.uint64))
            self.values = on_own_pages(length, np.dtype(f"u{width}")) if width else None

    def part(self, start: int, stop: int) -> Piece:
        return self.keys[start:stop], None if self.values is None else self.values[start:stop]


class ShortKeys:
    """Like `KeyBuffers`, for the lowest `key_bytes` bytes of each key, the lowest first (uint8).

    Eight bytes can be read where the last key begins.
    """

    def __init__(self, length: int, width: int, key_bytes: int) -> None:
        self._key_bytes, length = key_bytes, whole_reads(length)
        with enough_memory("sorting"):
            self.keys = on_own_pages(whole_pages(key_bytes * length + 8), np.dtype(np.uint8))
            self.values = on_own_pages(whole_pages(width * length) // width, np.dtype(f"u{width}")) if width else None

    def part(self, start: int, stop: int) -> Piece:
        keys = self.keys[self._key_bytes * start : self._key_bytes * stop]
        return keys, None if self.values is None else self.values[start:stop]


class Runs:
    """Runs in a temporary file, which a background thread writes, and others read; what has been read leaves the file.

    A key is stored as its lowest `key_bytes` bytes: its bucket says the rest.

    Parameters
    ----------
    folder : Path
        For a temporary file without a name.
    width : int
        Bytes of a value; 0 for none.
    key_bytes : int
    capacity : int
        The most keys of a run.
    """

    def __init__(self, folder: Path, width: int, key_bytes: int, capacity: int) -> None:
        self._width, self._key_bytes, self._capacity = width, key_bytes, capacity
        self._scattered: list[ShortKeys] = []
        self._starts: list[Array] = []
        self._places: list[tuple[int, int]] = []  # per run: file offsets of its keys and values
        self._reading: Generator[Any, None, None] | None = None
        self._spill, self._writer = SpillFile(folder, direct=True), BackgroundCalls()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="garaph-read")

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def slack(self) -> int:
        """Keys that the buffer for a group has room for beside its own: reads end at multiples of `READ_KEYS`."""
        return 2 * READ_KEYS * len(self)

    def target(self, count: int) -> Piece:
        """The buffers for a run of `count` keys; fill them, then call `add`.

        There are two, so that the caller fills one while the other is written.
        """
        if len(self._scattered) < 2:
            self._scattered.append(ShortKeys(self._capacity, self._width, self._key_bytes))
        return self._scattered[len(self) % 2].part(0, count)

    def add(self, starts: Array) -> None:
        """Keep the run in the `target`, whose buckets begin at `starts`, which has one more number: the end."""
        run = self._scattered[len(self) % 2]
        self._starts.append(starts.copy())  # it may be a view of a table for every thread
        self._writer.start(self._append, run, int(starts[-1]))  # waits until the run before has been written

    def _append(self, run: ShortKeys, count: int) -> None:
        count = whole_reads(count)
        place = self._spill.append(run.keys[: whole_pages(self._key_bytes * count)])
        values = None if run.values is None else run.values[: whole_pages(self._width * count) // self._width]
        self._places.append((place, place if values is None else self._spill.append(values)))

    def finish(self) -> None:
        """Wait until the last run is in the file."""
        self._writer.wait()
        self._scattered.clear()

    @property
    def totals(self) -> Array:
        """The number of keys of each bucket, in all runs."""
        return np.diff(self._starts, axis=1).sum(axis=0) if self._starts else np.zeros(0, np.int64)

    def groups(self, bounds: Sequence[tuple[int, int]]) -> Iterator[tuple[Piece, Array, Array]]:
        """Read groups of buckets [first, last): each as buffers, and where in them the pieces of each bucket begin and
        end (arrays with a row for each bucket, and a column for each run).

        A group is read while the caller has the one before, and overwrites the one before that.
        """
        totals = self.totals
        most = max(int(totals[first:last].sum()) for first, last in bounds) + self.slack
        buffers = [ShortKeys(most, self._width, self._key_bytes) for _ in range(2)]

        def read() -> Iterator[tuple[Piece, Array, Array]]:
            for number, group in enumerate(bounds):
                out = buffers[number % 2]
                yield out.part(0, most), *self._read(out, *group)

        self._reading = prefetched(read())
        yield from self._reading

    def _read(self, out: ShortKeys, first: int, last: int) -> tuple[Array, Array]:
        """Read the buckets [first, last) of every run; return where each bucket's pieces begin and end in `out`."""
        begins = np.empty((last - first, len(self._starts)), np.int64)
        ends, place, reads = np.empty_like(begins), 0, []
        for run, starts in enumerate(self._starts):
            low, high = int(starts[first]), int(starts[last])
            begin = place + low % READ_KEYS
            reads.append(submit(self._readers, self._read_piece, out, place, run, low, high))
            begins[:, run] = starts[first:last] - low + begin
            ends[:, run] = starts[first + 1 : last + 1] - low + begin
            place += whole_reads(low % READ_KEYS + high - low)
        for read in reads:
            read.result()
        return begins, ends

    def _read_piece(self, out: ShortKeys, place: int, run: int, low: int, high: int) -> tuple[int, int]:
        """Read keys [low, high) of a run into `out` near `place`, once; return where they begin and end there.

        `place` is a multiple of `READ_KEYS`, and so is the position in the file from which it reads.
        """
        first, last = low // READ_KEYS * READ_KEYS, whole_reads(high)
        (keys, values), (keys_at, values_at) = out.part(place, place + last - first), self._places[run]
        for column, at, each in ((keys, keys_at, self._key_bytes), (values, values_at, self._width)):
            if column is not None:
                self._spill.read(column, at + each * first)
                self._spill.forget(at + each * low, at + each * high)
        return place + low - first, place + high - first

    def pieces(self, bucket: int, most: int) -> Iterator[Piece]:
        """The keys of one bucket, run by run, in pieces of at most `most` keys; each overwrites the one before."""
        columns = ShortKeys(most + 2 * READ_KEYS, self._width, self._key_bytes)
        for run, starts in enumerate(self._starts):
            for low in range(int(starts[bucket]), int(starts[bucket + 1]), most):
                interrupts.check()
                high = min(low + most, int(starts[bucket + 1]))
                yield columns.part(*self._read_piece(columns, 0, run, low, high))

    def close(self) -> None:
        """End the threads and delete the temporary file."""
        if self._reading is not None:
            self._reading.close()
        self._readers.shutdown()
        self._writer.close()
        self._spill.close()
