"""Groups edges by one endpoint, the key, with a stable and parallel counting sort. This builds CSC and CSR.

There are two passes over the edges (Garaph, section 6.5). The first scatters them to buckets, each of which covers a
range of keys. The second sorts each bucket; a counter for each of its keys fits in the cache. Each thread handles a
part of the edges in the first pass, and some of the buckets in the second.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..native import Kernel, atomic_add
from ..native.threads import ThreadPool, even_cuts, split

Array = npt.NDArray[Any]
BUCKET_BITS = 10
"""There are at most 2**10 buckets. Each thread writes to all of them at once, which the TLB still allows, and the
counters for one bucket's keys fit in the cache."""
KEY_BITS = 6
"""A bucket has at least 2**6 keys."""


def owners(offsets: Array, start: int, stop: int) -> Array:
    """The vertex (uint32) in whose list each of the entries [start, stop) of an adjacency is."""
    first, last = int(np.searchsorted(offsets, start, "right")) - 1, int(np.searchsorted(offsets, stop, "left"))
    degrees = np.diff(np.clip(offsets[first : last + 1], start, stop))
    return np.repeat(np.arange(first, last, dtype=np.uint32), degrees)


# Kernels have a parameter for each array and number: compiled functions take no structures of arrays.
def count_buckets(keys, start, stop, shift, counts):
    """Count the edges [start, stop) by bucket."""
    for edge in range(start, stop):
        counts[keys[edge] >> shift] += 1
    return 0


# wide: a compiled function takes its arrays one by one.
def count_ends(ends, others, start, stop, skip_loops, counters, degrees):
    """Count the edges [start, stop) at one end, in counters of 8 bits that only this thread writes.

    A counter that is full moves 256 edges to the `degrees`, to which other threads add, too. With `skip_loops`, an edge
    whose other end, in `others`, is the same does not count.
    """
    for edge in range(start, stop):
        end = ends[edge]
        if skip_loops and others[edge] == end:
            continue
        count = np.uint8(counters[end] + 1)
        counters[end] = count
        if count == 0:
            atomic_add(degrees, end, 256)
    return 0


def add_counters(counters, parts, n, first, last, degrees):
    """Add to the degrees of the vertices [first, last) what `parts` threads have counted since; `n` counters each."""
    for part in range(parts):
        for vertex in range(first, last):
            degrees[vertex] += np.int64(counters[part * n + vertex])
    return 0


def expand_offsets(offsets, first, last, out):
    """Write each vertex of [first, last) to `out` once for each of its edges."""
    for vertex in range(first, last):
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            out[edge] = vertex
    return 0


def make_scatter(has_values: bool):
    # wide: a compiled function takes its arrays one by one.
    def scatter(keys, others, values, start, stop, shift, cursor, out_keys, out_others, out_values):
        """Write the edges [start, stop) to their buckets; `cursor` holds the next place in each bucket."""
        for edge in range(start, stop):
            bucket = keys[edge] >> shift
            place = cursor[bucket]
            cursor[bucket] = place + 1
            out_keys[place] = keys[edge]
            out_others[place] = others[edge]
            if has_values:
                out_values[place] = values[edge]
        return 0

    return scatter


def make_place(has_values: bool):
    # wide: a compiled function takes its arrays one by one.
    def place(
        keys, others, values, starts, first_bucket, last_bucket, shift, n, offsets, cursor, out_others, out_values
    ):  # fmt: skip
        """Sort the edges of each of the buckets [first_bucket, last_bucket) by counting.

        Bucket b has the keys from ``b << shift`` on, below `n`, and the edges from ``starts[b]`` on; `cursor` is
        scratch memory for a bucket's keys.
        """
        for bucket in range(first_bucket, last_bucket):
            first, start, stop = bucket << shift, starts[bucket], starts[bucket + 1]
            last = min((bucket + 1) << shift, n)
            for key in range(last - first):
                cursor[key] = 0
            for edge in range(start, stop):
                cursor[keys[edge] - first] += 1
            position = start
            for key in range(last - first):
                count = cursor[key]
                offsets[first + key] = position
                cursor[key] = position
                position += count
            for edge in range(start, stop):
                target = cursor[keys[edge] - first]
                cursor[keys[edge] - first] = target + 1
                out_others[target] = others[edge]
                if has_values:
                    out_values[target] = values[edge]
        return 0

    return place


# wide: a compiled function takes its arrays one by one.
def carry_values(others, values, count, first, last, cursor, out_values, m):
    """Copy the values of `count` edges to the groups of their other endpoints, if these lie in [first, last).

    `cursor` holds the next place in each group. Places from `m` on, which only a damaged graph has, are not written.
    """
    for edge in range(count):
        other = others[edge]
        if first <= other < last:
            place = cursor[other]
            cursor[other] = place + 1
            if place < m:
                out_values[place] = values[edge]
    return 0


def add_values(others, values, count, first, last, sums):
    """Add the values of `count` edges to the sums of their other endpoints, if these lie in [first, last)."""
    for edge in range(count):
        other = others[edge]
        if first <= other < last:
            sums[other] += values[edge]
    return 0


COUNT_BUCKETS = Kernel("u32* i64 i64 i64 i64*", count_buckets)
COUNT_ENDS = Kernel("u32* u32* i64 i64 bool u8* i64*", count_ends)
ADD_COUNTERS = Kernel("u8* i64 i64 i64 i64 i64*", add_counters)
EXPAND_OFFSETS = Kernel("i64* i64 i64 u32*", expand_offsets)

ADD_VALUES = Kernel("u32* f64* i64 i64 i64 f64*", add_values)


@cache
def scatter_kernel(width: int) -> Kernel:
    """`make_scatter` for edge values of `width` bytes (0: none)."""
    value = f"u{8 * width or 32}*"
    signature = f"u32* u32* {value} i64 i64 i64 i64* u32* u32* {value}"
    return Kernel(signature, make_scatter(bool(width)))


@cache
def place_kernel(width: int) -> Kernel:
    """`make_place` for edge values of `width` bytes (0: none)."""
    value = f"u{8 * width or 32}*"
    signature = f"u32* u32* {value} i64* i64 i64 i64 i64 i64* i64* u32* {value}"
    return Kernel(signature, make_place(bool(width)))


@cache
def carry_kernel(width: int) -> Kernel:
    """`carry_values` for edge values of `width` bytes."""
    value = f"u{8 * width}*"
    return Kernel(f"u32* {value} i64 i64 i64 i64* {value} i64", carry_values)


def kernels(width: int) -> list[Kernel]:
    """The kernels that `group` uses for edge values of `width` bytes (0: none)."""
    return [COUNT_BUCKETS, EXPAND_OFFSETS, scatter_kernel(width), place_kernel(width)]


def group(columns: list[Any], n: int, pool: ThreadPool) -> tuple[Array, Array, Array | None]:
    """Sort edges by their key. Edges with the same key keep their order.

    Parameters
    ----------
    columns : list
        The keys, each below `n`, and the other endpoints (uint32, shape (m,)); and values of 4 or 8 bytes, or None. The
        list is emptied. Columns to which the caller keeps no other reference are freed after the first pass.
    n : int
        The number of vertices.
    pool : ThreadPool

    Returns
    -------
    offsets : ndarray of int64, shape (n + 1,)
        The edges of key k are at ``offsets[k]`` to ``offsets[k + 1]``.
    others, values : ndarray
        The other columns in the new order.
    """
    keys, others, values = columns
    columns.clear()
    m = len(keys)
    offsets = np.zeros(n + 1, np.int64)
    if n == 0:
        return offsets, others, values
    dtype = None if values is None else values.dtype
    width = 0 if dtype is None else dtype.itemsize
    raw = None if values is None else values.view(f"u{width}")
    shift = max(KEY_BITS, (n - 1).bit_length() - BUCKET_BITS)
    buckets = ((n - 1) >> shift) + 1
    parts = pool.parts(m)
    bounds = split(m, parts)
    counts = np.zeros((parts, buckets), np.int64)
    pool.run(COUNT_BUCKETS, [(keys, bounds[p], bounds[p + 1], shift, counts[p]) for p in range(parts)])
    starts = np.zeros(parts * buckets + 1, np.int64)
    np.cumsum(counts.T.ravel(), out=starts[1:])  # within a bucket in the order of the threads, so the sort is stable
    cursors = starts[:-1].reshape(buckets, parts).T.copy()
    bucket_keys, bucket_others = np.empty(m, np.uint32), np.empty(m, np.uint32)
    bucket_values = None if raw is None else np.empty(m, raw.dtype)
    pool.run(
        scatter_kernel(width),
        [
            (keys, others, raw, bounds[p], bounds[p + 1], shift, cursors[p], bucket_keys, bucket_others, bucket_values)
            for p in range(parts)
        ],
    )
    del keys, others, values, raw
    out_others = np.empty(m, np.uint32)
    out_values = None if bucket_values is None else np.empty(m, bucket_values.dtype)
    bucket_starts = np.append(starts[:-1:parts], m)
    cuts = even_cuts(bucket_starts, parts).tolist()
    scratch = np.empty((parts, 1 << shift), np.int64)
    pool.run(
        place_kernel(width),
        [
            (
                bucket_keys, bucket_others, bucket_values, bucket_starts, *cut, shift, n, offsets, cursor, out_others,
                out_values,
            )
            for cut, cursor in zip(pairwise(cuts), scratch, strict=True)
        ],
    )  # fmt: skip
    offsets[n] = m
    return offsets, out_others, None if out_values is None else out_values.view(dtype)


def expand(offsets: Array, pool: ThreadPool) -> Array:
    """The key of every edge (uint32, shape (m,)): each vertex is repeated as many times as it has edges."""
    out = np.empty(int(offsets[-1]), np.uint32)
    parts = pool.parts(len(out))
    cuts = even_cuts(offsets, parts).tolist()
    pool.run(EXPAND_OFFSETS, [(offsets, cuts[p], cuts[p + 1], out) for p in range(parts)])
    return out
