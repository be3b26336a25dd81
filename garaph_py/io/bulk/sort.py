"""Sort more keys than fit in memory: a stable external bucket sort of 64-bit keys, each with an optional value.

The caller fills a buffer with keys. A full buffer is a run: the sort scatters its keys into buckets by their highest
bits and appends the run to a temporary file. At the end the sort reads groups of neighbouring buckets, as many as fit
in memory. A group is one contiguous piece of every run, because each run stores its buckets in order. The sort then
sorts each bucket with a radix sort, lowest digit first, in the cache. A bucket larger than memory gets an external sort
of its own, by the bits that follow.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...native import Kernel, PerCall
from ...native.threads import ThreadPool, shares
from ...system import interrupts
from ...system.memory import enough_memory, on_own_pages
from .spill import SECTOR, BackgroundCalls, SpillFile, prefetched, whole_pages

Array = npt.NDArray[Any]

BUCKET_BITS = 10
"""At most 2^10 buckets, as in `graph.group`: scattering into more of them misses the caches."""
DIGIT_BITS = 11
"""Most bits of a digit of the radix sort."""
MIN_KEYS = 64
"""Least keys of a run, and of a bucket in a run on average."""
BUCKETS_PER_LAUNCH = 64
"""Buckets sorted by one launch of the thread pool; each needs counters of its own (up to 16 KiB)."""
RUNS = 16
"""Number of runs, and of groups of buckets, although memory may allow fewer: reading, sorting and writing overlap."""
MIN_RUN_KEYS = 1 << 22
"""Least keys of a run or group, unless memory holds fewer; see `run_keys`."""
PIECE_KEYS = 1 << 15
"""Least keys of one read on average (256 KiB): a disk reads larger pieces at about the same speed."""
READ_KEYS = SECTOR // 4
"""Reads start and end at multiples of this many keys or values: a sector of 4-byte values."""


def count_keys(keys, start, stop, shift, mask, counts):
    for k in range(start, stop):
        counts[(keys[k] >> np.uint64(shift)) & np.uint64(mask)] += 1
    return 0


def make_scatter(has_values: bool):
    # wide: compiled code takes its arrays one by one
    def scatter_keys(keys, values, start, stop, shift, mask, cursor, out_keys, out_values):
        for k in range(start, stop):
            key = keys[k]
            bucket = (key >> np.uint64(shift)) & np.uint64(mask)
            place = cursor[bucket]
            cursor[bucket] = place + 1
            out_keys[place] = key
            if has_values:
                out_values[place] = values[k]
        return 0

    return scatter_keys


def make_sort(has_values: bool):
    scatter = make_scatter(has_values)

    # wide: compiled code takes its arrays one by one
    def sort_bucket(
        keys, values, starts, stops, runs, at, digits, bits, cursor, keys_a, values_a, keys_b, values_b
    ):  # fmt: skip
        """Sort one bucket, which is in `runs` pieces of `keys`, by the lowest `digits` digits of `bits` bits each.

        Each digit moves the keys to ``[at:]`` of the other buffer, a first. The result is in buffer a if `digits` is
        odd, else in b.
        """
        mask, count = (1 << bits) - 1, 0
        for run in range(runs):
            count += stops[run] - starts[run]
        for digit in range(digits):
            shift = digit * bits
            for k in range(mask + 1):
                cursor[k] = 0
            if digit == 0:
                for run in range(runs):
                    count_keys(keys, starts[run], stops[run], shift, mask, cursor)
            elif digit & 1:
                count_keys(keys_a, at, at + count, shift, mask, cursor)
            else:
                count_keys(keys_b, at, at + count, shift, mask, cursor)
            place = at
            for k in range(mask + 1):
                here = cursor[k]
                cursor[k] = place
                place += here
            if digit == 0:
                for run in range(runs):
                    scatter(keys, values, starts[run], stops[run], shift, mask, cursor, keys_a, values_a)
            elif digit & 1:
                scatter(keys_a, values_a, at, at + count, shift, mask, cursor, keys_b, values_b)
            else:
                scatter(keys_b, values_b, at, at + count, shift, mask, cursor, keys_a, values_a)
        return 0

    return sort_bucket


COUNT_KEYS = Kernel("u64* i64 i64 i64 i64 i64*", count_keys)


@cache
def scatter_kernel(width: int) -> Kernel:
    """`make_scatter` for values of `width` bytes (0: none)."""
    value = f"u{8 * width or 32}*"
    return Kernel(f"u64* {value} i64 i64 i64 i64 i64* u64* {value}", make_scatter(bool(width)))


@cache
def sort_kernel(width: int) -> Kernel:
    value = f"u{8 * width or 32}*"
    pair = f"u64* {value}"
    return Kernel(f"{pair} i64* i64* i64 i64 i64 i64 i64* {pair} {pair}", make_sort(bool(width)))


def kernels(width: int) -> list[Kernel]:
    """Every kernel that an `ExternalSort` uses for values of `width` bytes."""
    return [COUNT_KEYS, scatter_kernel(width), sort_kernel(width)]


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

    def part(self, start: int, stop: int) -> tuple[Array, Array | None]:
        return self.keys[start:stop], None if self.values is None else self.values[start:stop]


class ExternalSort:
    """An external sort: takes keys in any order and yields them in ascending order; equal keys keep their order.

    Parameters
    ----------
    folder : Path
        For a temporary file without a name.
    bits : int
        The keys differ in their lowest `bits` bits only; 0 to 64.
    width : int
        Bytes of a value: 4, 8, or 0 for none.
    memory : int
        Bytes that the buffers may take.
    pool : ThreadPool
    expected : int
        Approximate number of keys.

    Attributes
    ----------
    bits, pool
        As given.
    count : int
        Number of keys committed so far.
    """

    def __init__(self, folder: Path, bits: int, width: int, memory: int, pool: ThreadPool, expected: int) -> None:
        self._folder, self.bits, self._width, self._memory, self.pool = folder, bits, width, memory, pool
        self._capacity = run_keys(expected, max(memory // (2 * (8 + width)), MIN_KEYS))
        own = min(bits, BUCKET_BITS, max(1, (self._capacity // MIN_KEYS).bit_length()))
        self._shift, self._buckets = bits - own, 1 << own
        self._filling: KeyBuffers | None = None
        self._scattered: KeyBuffers | None = None
        self._filled = self.count = 0
        self._starts: list[Array] = []  # per run: the first key of each bucket, and the end
        self._places: list[tuple[int, int]] = []  # per run: file offsets of its keys and values
        self._reading: Generator[Any, None, None] | None = None
        self._spill, self._writer = SpillFile(folder, direct=True), BackgroundCalls()

    def reserve(self, least: int) -> tuple[Array, Array | None]:
        """Buffers for `least` (at most `MIN_KEYS`) or more keys and values; fill them, then call `commit`."""
        if self._capacity - self._filled < least:
            self._write_run()
        if self._filling is None:
            self._filling = KeyBuffers(self._capacity, self._width)
        return self._filling.part(self._filled, self._capacity)

    def commit(self, count: int) -> None:
        """Add the first `count` keys and values that the caller has written to the buffers from `reserve`."""
        self._filled += count
        self.count += count

    def extend(self, keys: Array, values: Array | None) -> None:
        """Add keys and their values."""
        done = 0
        while done < len(keys):
            to_keys, to_values = self.reserve(1)
            count = min(len(to_keys), len(keys) - done)
            to_keys[:count] = keys[done : done + count]
            if values is not None and to_values is not None:
                to_values[:count] = values[done : done + count]
            self.commit(count)
            done += count

    def _write_run(self) -> None:
        interrupts.check()
        if self._scattered is None:
            self._scattered = KeyBuffers(self._capacity, self._width)
        self._writer.wait()  # until the run before has been written from this buffer
        assert self._filling is not None
        (keys, values), (out_keys, out_values) = (c.part(0, self._filled) for c in (self._filling, self._scattered))
        parts, mask = self.pool.size if self._filled > 1 << 16 else 1, self._buckets - 1
        part = shares(self._filled, parts)
        counts = np.zeros((parts, self._buckets), np.int64)
        self.pool.launch(COUNT_KEYS.rows(parts, keys, *part, self._shift, mask, PerCall(counts)))
        starts = np.zeros(parts * self._buckets + 1, np.int64)
        np.cumsum(counts.T.ravel(), out=starts[1:])  # bucket by bucket, thread by thread: stable
        cursors = starts[:-1].reshape(self._buckets, parts).T.copy()
        scatter = scatter_kernel(self._width)
        self.pool.launch(
            scatter.rows(parts, keys, values, *part, self._shift, mask, PerCall(cursors), out_keys, out_values)
        )
        self._starts.append(np.append(starts[:-1:parts], self._filled))
        self._writer.start(self._append, self._scattered, self._filled)
        self._filled = 0

    def _append(self, run: KeyBuffers, count: int) -> None:
        place = self._spill.append(run.keys[: whole_pages(8 * count) // 8])
        values = None if run.values is None else run.values[: whole_pages(self._width * count) // self._width]
        self._places.append((place, place if values is None else self._spill.append(values)))

    def sorted(self, memory: int | None = None) -> Iterator[tuple[Array, Array | None]]:
        """Yield all keys and values in pieces; each piece overwrites the one before. Ends the sort: call it once, last.

        Parameters
        ----------
        memory : int, optional
            Bytes that the buffers may take from now on.
        """
        memory = self._memory if memory is None else memory
        if self._filled:
            self._write_run()
        self._writer.wait()
        self._filling = self._scattered = None
        starts = np.array(self._starts).reshape(-1, self._buckets + 1)
        slack = 2 * READ_KEYS * len(starts)  # reads round outwards to multiples of READ_KEYS
        capacity = max((memory // (8 + self._width) - 2 * slack) // 4, MIN_KEYS)
        capacity = max(run_keys(self.count, capacity), min(PIECE_KEYS * len(starts), capacity))
        totals = np.diff(starts, axis=1).sum(axis=0)
        first = 0
        while first < self._buckets:
            small = int(np.argmax(totals[first:] > capacity)) if (totals[first:] > capacity).any() else self._buckets
            last = min(first + small, self._buckets)
            yield from self._sorted_groups(groups(totals, first, last, capacity), starts, capacity)
            if last < self._buckets:
                yield from self._sorted_bucket(last, starts, memory)
            first = last + 1
        self.close()

    def _sorted_groups(
        self, bounds: list[tuple[int, int]], starts: Array, capacity: int
    ) -> Iterator[tuple[Array, Array | None]]:
        """Sort groups of buckets that fit in memory; a background thread reads a group while the last one is sorted."""
        if not bounds:
            return
        lengths = np.diff(starts, axis=1).sum(axis=0)
        most = max(int(lengths[first:last].sum()) for first, last in bounds)
        most_read = most + 2 * READ_KEYS * len(starts)
        read = KeyBuffers(most_read, self._width), KeyBuffers(most_read, self._width)
        a, b = KeyBuffers(most, self._width), KeyBuffers(most, self._width)
        digits = max(1, -(-self._shift // DIGIT_BITS))
        bits = -(-self._shift // digits)
        sort, result = sort_kernel(self._width), a if digits & 1 else b
        cursors = np.empty((BUCKETS_PER_LAUNCH, 1 << bits), np.int64)

        def pieces() -> Iterator[tuple[KeyBuffers, Array, Array, Array]]:
            for number, (first, last) in enumerate(bounds):
                columns = read[number % 2]
                begins, ends = self._read(columns, starts, first, last)
                yield columns, begins, ends, lengths[first:last]

        self._reading = prefetched(pieces())
        for columns, begins, ends, counts in self._reading:
            interrupts.check()
            at = np.cumsum(counts) - counts
            for some in (slice(k, k + BUCKETS_PER_LAUNCH) for k in range(0, len(counts), BUCKETS_PER_LAUNCH)):
                self.pool.launch(
                    sort.rows(
                        len(at[some]), columns.keys, columns.values, PerCall(begins[some]), PerCall(ends[some]),
                        begins.shape[1], at[some], digits, bits, PerCall(cursors), a.keys, a.values, b.keys, b.values,
                    )
                )  # fmt: skip
            yield result.part(0, int(counts.sum()))

    def _read(self, out: KeyBuffers, starts: Array, first: int, last: int) -> tuple[Array, Array]:
        """Read the buckets [first, last) of every run; return where each bucket's pieces begin and end in `out`."""
        begins = np.empty((last - first, len(starts)), np.int64)
        ends, place = np.empty_like(begins), 0
        for run in range(len(starts)):
            low, high = int(starts[run, first]), int(starts[run, last])
            begin, end = self._read_piece(out, place, run, low, high)
            begins[:, run] = starts[run, first:last] - low + begin
            ends[:, run] = starts[run, first + 1 : last + 1] - low + begin
            place = -(-end // READ_KEYS) * READ_KEYS
        return begins, ends

    def _read_piece(self, out: KeyBuffers, place: int, run: int, low: int, high: int) -> tuple[int, int]:
        """Read keys [low, high) of a run into `out` near `place`; return where they begin and end there.

        `place` is a multiple of `READ_KEYS`, and so is the position in the file from which it reads.
        """
        first, last = low // READ_KEYS * READ_KEYS, -(-high // READ_KEYS) * READ_KEYS
        (keys, values), (keys_at, values_at) = out.part(place, place + last - first), self._places[run]
        self._spill.read(keys, keys_at + 8 * first)
        if values is not None:
            self._spill.read(values, values_at + self._width * first)
        return place + low - first, place + high - first

    def _sorted_bucket(self, bucket: int, starts: Array, memory: int) -> Iterator[tuple[Array, Array | None]]:
        """Sort a bucket larger than memory by the bits that follow; if none follow, its keys are all equal."""
        if not self._shift:
            yield from self._bucket_pieces(bucket, starts, memory)
            return
        expected = int(np.diff(starts[:, bucket : bucket + 2]).sum())
        finer = ExternalSort(self._folder, self._shift, self._width, memory // 2, self.pool, expected)
        try:
            for piece in self._bucket_pieces(bucket, starts, memory // 2):
                finer.extend(*piece)
            yield from finer.sorted(memory)
        finally:
            finer.close()

    def _bucket_pieces(self, bucket: int, starts: Array, memory: int) -> Iterator[tuple[Array, Array | None]]:
        most = max(memory // (8 + self._width), MIN_KEYS)
        columns = KeyBuffers(most + 2 * READ_KEYS, self._width)
        for run, (first, last) in enumerate(starts[:, bucket : bucket + 2].tolist()):
            for low in range(first, last, most):
                interrupts.check()
                yield columns.part(*self._read_piece(columns, 0, run, low, min(low + most, last)))

    def close(self) -> None:
        """Free the buffers and delete the temporary file."""
        if self._reading is not None:
            self._reading.close()
        self._writer.close()
        self._spill.close()
        self._filling = self._scattered = None


def run_keys(count: int, most: int) -> int:
    """Keys of a run or group: `count` / `RUNS`, but at least `MIN_RUN_KEYS`, and at most `most`."""
    return min(max(count // RUNS, MIN_RUN_KEYS), most)


def groups(totals: Array, first: int, last: int, capacity: int) -> list[tuple[int, int]]:
    """Ranges of the buckets [first, last) of at most `capacity` keys each; ranges without keys are left out."""
    found, ends = [], np.concatenate([[0], np.cumsum(totals)])
    while first < last:
        end = min(int(np.searchsorted(ends, ends[first] + capacity, "right")) - 1, last)
        if ends[end] > ends[first]:
            found.append((first, end))
        first = max(end, first + 1)
    return found
