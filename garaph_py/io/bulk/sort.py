"""Sort more keys than fit in memory: a stable external bucket sort of 64-bit keys, each with an optional value.

The caller fills a buffer with keys. A full buffer is a run: the sort scatters its keys into buckets by their highest
bits and appends the run to a temporary file, where a key takes as few bytes as its other bits fill. At the end the sort
reads groups of neighbouring buckets, as many as fit in memory. A group is one contiguous piece of every run, because
each run stores its buckets in order. The sort then sorts each bucket with a radix sort, lowest digit first, in the
cache; all threads divide a large one. A bucket larger than memory gets an external sort of its own, by the bits that
follow. The runs are in `runs.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...native import Kernel, PerCall
from ...native.threads import ThreadPool, shares
from ...system import interrupts
from .runs import KeyBuffers, Piece, Runs

Array = npt.NDArray[Any]

BUCKET_BITS = 10
"""At most 2^10 buckets, as in `graph.group`: scattering into more of them misses the caches."""
DIGIT_BITS = 11
"""Most bits of a digit of the radix sort."""
MIN_KEYS = 64
"""Least keys of a run, and of a bucket in a run on average."""
BUCKETS_PER_LAUNCH = 256
"""Buckets sorted by one launch of the thread pool; each needs counters of its own (up to 16 KiB)."""
TASKS = 4
"""Tasks for each thread into which large buckets are divided, so that threads end at about the same time."""
MIN_SHARE = 1 << 16
"""Keys up to which a bucket is sorted by one thread, however small its group."""
RUNS = 16
"""Number of runs, and of groups of buckets, although memory may allow fewer: reading, sorting and writing overlap."""
MIN_RUN_KEYS = 1 << 22
"""Least keys of a run or group, unless memory holds fewer; see `run_keys`."""
PIECE_KEYS = 1 << 15
"""Least keys of one read on average (256 KiB): a disk reads larger pieces at about the same speed."""


def count_keys(keys, start, stop, shift, mask, counts):
    for k in range(start, stop):
        counts[(keys[k] >> np.uint64(shift)) & np.uint64(mask)] += 1
    return 0


def make_scatter(has_values: bool, shortens: bool):
    # wide: compiled code takes its arrays one by one
    def scatter_keys(keys, values, start, stop, shift, mask, cursor, each, out_keys, out_values):
        """Move each key to the place of its bucket in `out_keys`: the lowest `each` bytes if it `shortens`."""
        for k in range(start, stop):
            key = keys[k]
            bucket = (key >> np.uint64(shift)) & np.uint64(mask)
            place = cursor[bucket]
            cursor[bucket] = place + 1
            if shortens:
                for byte in range(place * each, place * each + each):
                    out_keys[byte] = key
                    key >>= np.uint64(8)
            else:
                out_keys[place] = key
            if has_values:
                out_values[place] = values[k]
        return 0

    return scatter_keys


def make_lengthen(has_values: bool):
    # wide: compiled code takes its arrays one by one
    def lengthen_keys(short, values, start, stop, each, high, at, keys, out_values):
        """Copy the keys [start, stop) of `each` bytes (at most 7) to ``keys[at:]``, with the bits `high` added.

        Eight bytes are read for each, which one instruction does.
        """
        mask = (np.uint64(1) << np.uint64(8 * each)) - np.uint64(1)
        for k in range(start, stop):
            key = np.uint64(0)
            for byte in range(8):
                key |= np.uint64(short[k * each + byte]) << np.uint64(8 * byte)
            keys[at + k - start] = key & mask | np.uint64(high)
            if has_values:
                out_values[at + k - start] = values[k]
        return 0

    return lengthen_keys


def make_sort(has_values: bool):
    scatter = make_scatter(has_values, False)

    # wide: compiled code takes its arrays one by one
    def sort_bucket(
        keys, values, start, stop, at, digits, bits, cursor, keys_a, values_a, keys_b, values_b
    ):  # fmt: skip
        """Sort one bucket, the keys [start, stop), by the lowest `digits` digits of `bits` bits each.

        Each digit moves the keys to ``[at:]`` of the other buffer, a first. The result is in buffer a if `digits` is
        odd, else in b.
        """
        mask, count = (1 << bits) - 1, stop - start
        for digit in range(digits):
            shift = digit * bits
            for k in range(mask + 1):
                cursor[k] = 0
            if digit == 0:
                count_keys(keys, start, stop, shift, mask, cursor)
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
                scatter(keys, values, start, stop, shift, mask, cursor, 8, keys_a, values_a)
            elif digit & 1:
                scatter(keys_a, values_a, at, at + count, shift, mask, cursor, 8, keys_b, values_b)
            else:
                scatter(keys_b, values_b, at, at + count, shift, mask, cursor, 8, keys_a, values_a)
        return 0

    return sort_bucket


COUNT_KEYS = Kernel("u64* i64 i64 i64 i64 i64*", count_keys)


@cache
def scatter_kernel(width: int, shortens: bool) -> Kernel:
    """`make_scatter` for values of `width` bytes (0: none)."""
    value, out = f"u{8 * width or 32}*", "u8*" if shortens else "u64*"
    return Kernel(f"u64* {value} i64 i64 i64 i64 i64* i64 {out} {value}", make_scatter(bool(width), shortens))


@cache
def lengthen_kernel(width: int) -> Kernel:
    value = f"u{8 * width or 32}*"
    return Kernel(f"u8* {value} i64 i64 i64 i64 i64 u64* {value}", make_lengthen(bool(width)))


@cache
def sort_kernel(width: int) -> Kernel:
    value = f"u{8 * width or 32}*"
    pair = f"u64* {value}"
    return Kernel(f"{pair} i64 i64 i64 i64 i64 i64* {pair} {pair}", make_sort(bool(width)))


def kernels(width: int) -> list[Kernel]:
    """Every kernel that sorts keys in memory with values of `width` bytes."""
    return [COUNT_KEYS, scatter_kernel(width, False), sort_kernel(width)]


def external_kernels(width: int) -> list[Kernel]:
    """Every kernel that an `ExternalSort` uses for values of `width` bytes."""
    return [*kernels(width), scatter_kernel(width, True), lengthen_kernel(width)]


def key_bytes(bits: int) -> int:
    """Bytes that the lowest `bits` bits of a key take in the temporary file; at least one."""
    return max(-(-bits // 8), 1)


# wide: where keys are, by which bits they are scattered, and where to
def scatter(
    pool: ThreadPool, source: Piece, starts: Array, stops: Array, shift: int, bits: int, out: Piece, at: int = 0,
    each: int = 8,
) -> Array:  # fmt: skip
    """Scatter the keys in the parts [starts, stops) of `source` into ``out[at:]``, by the `bits` bits from `shift` on.

    Keys with equal bits keep their order. In `out` they are whole, or `ShortKeys` of `each` bytes if these are fewer.
    Returns where each of the 2^bits buckets begins in `out`, and the end.
    """
    parts, buckets, width = len(starts), 1 << bits, 0 if source[1] is None else source[1].itemsize
    counts = np.zeros((parts, buckets), np.int64)
    pool.launch(COUNT_KEYS.rows(parts, source[0], starts, stops, shift, buckets - 1, PerCall(counts)))
    bounds = np.zeros(parts * buckets + 1, np.int64)
    np.cumsum(counts.T.ravel(), out=bounds[1:])  # bucket by bucket, part by part: stable
    bounds += at
    cursors = bounds[:-1].reshape(buckets, parts).T.copy()
    kernel, how = scatter_kernel(width, each < 8), (shift, buckets - 1, PerCall(cursors), each)
    pool.launch(kernel.rows(parts, *source, starts, stops, *how, *out))
    return bounds[::parts]


# wide: the pieces of buckets, their bits, and a buffer
def lengthen(
    pool: ThreadPool, source: Piece, begins: Array, ends: Array, buckets: range, shift: int, out: KeyBuffers
) -> Array:
    """Copy the keys of some `buckets` to `out`, whole, one bucket after the other.

    `begins` and `ends` are the places of their pieces in `source`, shape (buckets, runs). Returns where each bucket
    begins in `out`, and the end.
    """
    width, counts = 0 if source[1] is None else source[1].itemsize, (ends - begins).ravel()
    places = np.append(0, np.cumsum(counts))
    high = np.repeat(np.array(buckets, np.uint64) << np.uint64(shift), begins.shape[1]).view(np.int64)
    some = np.flatnonzero(counts)
    pieces = begins.ravel()[some], ends.ravel()[some], key_bytes(shift), high[some], places[some]
    pool.launch(lengthen_kernel(width).rows(len(some), *source, *pieces, out.keys, out.values))
    return places[:: begins.shape[1]]


# wide: where buckets are, their bits, and buffers
def sort_buckets(
    pool: ThreadPool, source: Piece, begins: Array, ends: Array, bits: int, a: KeyBuffers, b: KeyBuffers
) -> Piece:
    """Sort the buckets [begins, ends) of `source` by their lowest `bits` bits, and return their keys, one bucket after
    the other, in `a` or `b`.

    A thread sorts a bucket, lowest digit first. If a bucket holds more than its share, because a few vertices have many
    edges, all threads scatter it by its highest digit first; those that this makes are sorted by the digits below.
    `source` may be in `b` if the buckets follow each other there.
    """
    digits = max(1, -(-bits // DIGIT_BITS))
    bits = -(-bits // digits)
    counts = ends - begins
    total, at = int(counts.sum()), np.cumsum(counts) - counts
    result, share = a if digits & 1 else b, max(total // (TASKS * pool.size), MIN_SHARE)
    while len(at):
        large = ends - begins > (share if digits > 1 else total)
        sort_whole(pool, source, begins[~large], ends[~large], at[~large], digits, bits, a, b)
        made, out = [np.zeros((2, 0), np.int64)], a.part(0, total)
        for bucket in np.flatnonzero(large).tolist():
            starts, stops = shares(int(ends[bucket] - begins[bucket]), TASKS * pool.size)
            parts = begins[bucket] + starts, begins[bucket] + stops
            bounds = scatter(pool, source, *parts, bits * (digits - 1), bits, out, int(at[bucket]))
            made.append(np.stack([bounds[:-1], bounds[1:]])[:, bounds[:-1] < bounds[1:]])
        begins, ends = np.concatenate(made, axis=1)
        at, source, a, b, digits = begins, out, b, a, digits - 1
    return result.part(0, total)


def sort_in_memory(
    pool: ThreadPool, begins: Array, ends: Array, bits: int, keys: KeyBuffers, scratch: KeyBuffers
) -> Piece:
    """Sort the parts [begins, ends) of `keys` by their lowest `bits` bits, and return the keys, in either buffer."""
    bucket_bits, total = min(bits, BUCKET_BITS), int((ends - begins).sum())
    rest, whole, out = bits - bucket_bits, keys.part(0, int(ends[-1])), scratch.part(0, total)
    bounds = scatter(pool, whole, begins, ends, rest, bucket_bits, out)
    return sort_buckets(pool, out, bounds[:-1], bounds[1:], rest, keys, scratch) if rest else out


# wide: compiled code takes its arrays one by one
def sort_whole(
    pool: ThreadPool, source: Piece, begins: Array, ends: Array, at: Array, digits: int, bits: int,
    a: KeyBuffers, b: KeyBuffers,
) -> None:  # fmt: skip
    """Sort buckets as `make_sort` does, each by one thread."""
    sort, filled = sort_kernel(0 if source[1] is None else source[1].itemsize), np.flatnonzero(begins < ends)
    cursors = np.empty((min(BUCKETS_PER_LAUNCH, len(filled)), 1 << bits), np.int64)
    for first in range(0, len(filled), BUCKETS_PER_LAUNCH):
        some = filled[first : first + BUCKETS_PER_LAUNCH]
        pool.launch(
            sort.rows(
                len(some), *source, begins[some], ends[some], at[some], digits, bits, PerCall(cursors),
                a.keys, a.values, b.keys, b.values,
            )
        )  # fmt: skip


def file_bytes(bits: int, width: int) -> int:
    """Bytes that each key of an `ExternalSort`, with its value, takes in the temporary file."""
    return key_bytes(bits - BUCKET_BITS) + width


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
        self._shift = max(bits - BUCKET_BITS, 0)
        self._short = key_bytes(self._shift)
        self._capacity = run_keys(expected, max(memory // (8 + 2 * self._short + 3 * width), MIN_KEYS))
        self._filling: KeyBuffers | None = None
        self._filled = self.count = 0
        self._runs = Runs(folder, width, self._short, self._capacity)

    def reserve(self, least: int) -> Piece:
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
        assert self._filling is not None
        parts = self.pool.parts(self._filled)
        source, out = self._filling.part(0, self._filled), self._runs.target(self._filled)
        bounds, bits = shares(self._filled, parts), self.bits - self._shift
        self._runs.add(scatter(self.pool, source, *bounds, self._shift, bits, out, each=self._short))
        self._filled = 0

    def sorted(self, memory: int | None = None) -> Iterator[Piece]:
        """Yield all keys and values in pieces; each piece overwrites the one before. Ends the sort: call it once, last.

        Parameters
        ----------
        memory : int, optional
            Bytes that the buffers may take from now on.
        """
        memory = self._memory if memory is None else memory
        if self._filled:
            self._write_run()
        self._filling = None
        self._runs.finish()
        short, whole = self._short + self._width, 8 + self._width
        room = max((memory - 2 * short * self._runs.slack) // (2 * (short + whole)), MIN_KEYS)
        capacity = max(run_keys(self.count, room), min(PIECE_KEYS * len(self._runs), room))
        totals, first = self._runs.totals, 0
        for bucket in [*np.flatnonzero(totals > capacity).tolist(), len(totals)]:
            yield from self._sorted_groups(groups(totals, first, bucket, capacity))
            if bucket < len(totals):
                yield from self._sorted_bucket(bucket, int(totals[bucket]), memory)
            first = bucket + 1
        self.close()

    def _sorted_groups(self, bounds: list[tuple[int, int]]) -> Iterator[Piece]:
        """Sort groups of buckets that fit in memory."""
        if not bounds:
            return
        totals = self._runs.totals
        most = max(int(totals[first:last].sum()) for first, last in bounds)
        a, b = KeyBuffers(most, self._width), KeyBuffers(most, self._width)
        for group, pieces in zip(bounds, self._runs.groups(bounds), strict=True):
            interrupts.check()
            places = lengthen(self.pool, *pieces, range(*group), self._shift, b)
            yield sort_buckets(self.pool, b.part(0, most), places[:-1], places[1:], self._shift, a, b)

    def _sorted_bucket(self, bucket: int, count: int, memory: int) -> Iterator[Piece]:
        """Sort a bucket larger than memory by the bits that follow; if none follow, its keys are all equal."""
        pieces = self._pieces(bucket, max(memory // (2 * (8 + self._short + 2 * self._width)), MIN_KEYS))
        if not self._shift:
            yield from pieces
            return
        finer = ExternalSort(self._folder, self._shift, self._width, memory // 2, self.pool, count)
        try:
            for piece in pieces:
                finer.extend(*piece)
            for keys, values in finer.sorted(memory):
                keys |= np.uint64(bucket) << np.uint64(self._shift)
                yield keys, values
        finally:
            finer.close()

    def _pieces(self, bucket: int, most: int) -> Iterator[Piece]:
        """The keys of a bucket, run by run, in pieces of at most `most` keys; each overwrites the one before."""
        whole = KeyBuffers(most, self._width)
        for piece in self._runs.pieces(bucket, most):
            count = len(piece[0]) // self._short
            begins, ends = (bounds[None] for bounds in shares(count, self.pool.size))
            lengthen(self.pool, piece, begins, ends, range(bucket, bucket + 1), self._shift, whole)
            yield whole.part(0, count)

    def close(self) -> None:
        """Free the buffers and delete the temporary file."""
        self._runs.close()
        self._filling = None


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
