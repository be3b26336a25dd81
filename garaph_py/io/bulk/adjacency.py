"""Edges as keys to sort: entries of an adjacency, grouped vertex above, neighbour below."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ...native import Kernel
from ...native.threads import ThreadPool, split
from .sort import ExternalSort

Array = npt.NDArray[Any]

SLICE = 1 << 20  # keys that are taken apart at a time, which the caches hold


def count_loops(sources, targets, start, stop):
    loops = 0
    for edge in range(start, stop):
        loops += sources[edge] == targets[edge]
    return loops


def make_key_kernel(has_values: bool):
    def make_keys(sources, targets, values, start, stop, at, bits, both, keep_loops, keys, out_values):
        """Entries of edges [start, stop), from `at` on: of the target, then if `both` of the source; a loop has one."""
        for edge in range(start, stop):
            source, target = np.uint64(sources[edge]), np.uint64(targets[edge])
            loop = source == target
            if loop and not keep_loops:
                continue
            keys[at] = (target << np.uint64(bits)) | source
            if has_values:
                out_values[at] = values[edge]
            at += 1
            if both and not loop:
                keys[at] = (source << np.uint64(bits)) | target
                if has_values:
                    out_values[at] = values[edge]
                at += 1
        return 0

    return make_keys


def split_keys(keys, start, stop, bits, owner, base, owners, others, offsets):
    """Both ends of the sorted entries [start, stop), of which the first stands at `base` + `start` in the adjacency.

    `owner` is the vertex of the entry before, or -1: the lists of those above it, up to the last entry's, begin here.
    """
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for k in range(start, stop):
        vertex = np.int64(keys[k] >> np.uint64(bits))
        while owner < vertex:
            owner += 1
            offsets[owner] = base + k
        owners[k] = vertex
        others[k] = keys[k] & mask
    return 0


COUNT_LOOPS = Kernel("u32* u32* i64 i64", count_loops)
SPLIT_KEYS = Kernel("u64* i64 i64 i64 i64 i64 u32* u32* i64*", split_keys)


@cache
def key_kernel(width: int) -> Kernel:
    """`make_key_kernel` for values of `width` bytes (0: none)."""
    value = f"u{8 * width or 32}*"
    return Kernel(f"u32* u32* {value} i64 i64 i64 i64 bool bool u64* {value}", make_key_kernel(bool(width)))


def kernels(width: int) -> list[Kernel]:
    """Every kernel that entries with values of `width` bytes need."""
    return [COUNT_LOOPS, SPLIT_KEYS, key_kernel(width)]


def key_bits(n: int) -> int:
    """Bits of either half of a key, for numbers below `n`."""
    return max(n - 1, 1).bit_length()


def add_edges(
    sort: ExternalSort,
    sources: Array,
    targets: Array,
    values: Array | None,
    *,
    bits: int,
    both: bool,
    keep_loops: bool,
    pool: ThreadPool,
) -> None:
    """Give the entries of some edges to `sort`.

    Parameters
    ----------
    sources, targets : ndarray of uint32, shape (m,)
    values : ndarray of uint32 or uint64, shape (m,), or None
        Their bits.
    bits : int
        See `key_bits`.
    both : bool
        An entry of the source follows that of the target, but for self-loops.
    keep_loops : bool
    """
    width = 0 if values is None else values.dtype.itemsize
    make_keys, each = key_kernel(width), 1 + both
    done = 0
    while done < len(sources):
        keys, out_values = sort.reserve(each)
        count = min(len(keys) // each, len(sources) - done)
        parts = pool.size if count > 1 << 16 else 1
        bounds = [done + bound for bound in split(count, parts)]
        loops = [0] * parts
        if both or not keep_loops:
            loops = pool.run(COUNT_LOOPS, [(sources, targets, *part) for part in pairwise(bounds)])
        counts = np.diff(bounds) * each - np.array(loops) * (each - keep_loops)
        places = np.cumsum(counts) - counts
        pool.run(
            make_keys,
            [
                (sources, targets, values, *part, place, bits, both, keep_loops, keys, out_values)
                for part, place in zip(pairwise(bounds), places.tolist(), strict=True)
            ],
        )
        sort.commit(int(counts.sum()))
        done += count


class AdjacencyBuilder:
    """Sorted keys taken apart, a slice at a time, while the adjacency's offsets grow.

    Parameters
    ----------
    n : int
        Number of vertices.
    drop_parallel : bool
        Of equal keys only the first counts.
    pool : ThreadPool

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        Up to `owner` as they will be.
    owner : int
        The vertex that has the last entry so far, -1 if there is none.
    count : int
        Entries so far.
    """

    def __init__(self, n: int, drop_parallel: bool, pool: ThreadPool) -> None:
        self.offsets = np.empty(n + 1, np.int64)
        self._bits, self._drop_parallel, self._pool = key_bits(n), drop_parallel, pool
        self.owner, self.count = -1, 0
        self._last: Any = None
        self._owners, self._others = np.empty(SLICE, np.uint32), np.empty(SLICE, np.uint32)

    def of(self, pieces: Iterator[tuple[Array, Array | None]]) -> Iterator[tuple[Array, Array, Array | None]]:
        """Vertices (uint32), their neighbours and the bits of values; overwritten by the next."""
        for keys, values in pieces:
            for start in range(0, len(keys), SLICE):
                part = slice(start, start + SLICE)
                yield self._taken_apart(keys[part], None if values is None else values[part])
        self.offsets[self.owner + 1 :] = self.count

    def _taken_apart(self, keys: Array, values: Array | None) -> tuple[Array, Array, Array | None]:
        if self._drop_parallel:
            first = np.ones(len(keys), np.bool_)
            first[1:] = keys[1:] != keys[:-1]
            first[0] = self._last is None or keys[0] != self._last
            self._last = keys[-1]
            keys, values = keys[first], None if values is None else values[first]
        count, parts = len(keys), self._pool.size if len(keys) > 1 << 16 else 1
        owners, others = self._owners[:count], self._others[:count]
        bounds = split(count, parts)
        before = [self.owner, *(int(keys[bound - 1] >> np.uint64(self._bits)) for bound in bounds[1:-1])]
        self._pool.run(
            SPLIT_KEYS,
            [
                (keys, *part, self._bits, owner, self.count, owners, others, self.offsets)
                for part, owner in zip(pairwise(bounds), before, strict=True)
            ],
        )
        self.count += count
        self.owner = int(owners[-1]) if count else self.owner
        return owners, others, values

    def list_starts(self, start: int, stop: int) -> Array:
        """Where the lists begin that begin at entries [start, stop), and one far behind."""
        low, high = np.searchsorted(self.offsets[: self.owner + 1], (start, stop))
        return np.append(self.offsets[low:high], np.iinfo(np.int64).max)
