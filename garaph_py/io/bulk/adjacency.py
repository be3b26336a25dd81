"""Turn edges into 64-bit sort keys, and sorted keys into adjacency arrays.

The key of an entry holds the vertex whose list the entry is in (the owner) in its high bits, and the neighbour in its
low bits. So sorted keys are grouped by owner, and each list is in ascending order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph.edge_hash import hash_edges, hash_kernel
from ...native import Kernel
from ...native.threads import ThreadPool, shares
from .sort import ExternalSort

Array = npt.NDArray[Any]
OwnedPiece = tuple[int, Array, "Array | None"]
"""The vertex from which the owners in keys are counted, sorted keys, and their values or None."""

SLICE = 1 << 20
"""Keys that are split at a time: their owners and neighbours (8 MiB) fit in the caches."""


# wide: compiled code takes its arrays one by one
def count_entries(sources, targets, start, stop, both, keep_loops, first, last):
    """The number of keys that `make_keys` writes for the edges [start, stop)."""
    entries = 0
    for edge in range(start, stop):
        source, target = np.int64(sources[edge]), np.int64(targets[edge])
        loop = source == target
        if loop and not keep_loops:
            continue
        entries += first <= target < last
        entries += both and not loop and first <= source < last
    return entries


def count_classes(owners, start, stop, shift, counts):
    for k in range(start, stop):
        counts[owners[k] >> np.uint32(shift)] += 1
    return 0


def make_key_kernel(has_values: bool):
    # wide: compiled code takes its arrays one by one
    def make_keys(sources, targets, values, start, stop, at, bits, both, keep_loops, first, last, keys, out_values):
        """Write the keys of edges [start, stop) to ``keys[at:]``: the target's and, if `both`, the source's.

        A self-loop has one key. Owners outside [first, last) have none; the others are counted from `first`.
        """
        for edge in range(start, stop):
            source, target = np.int64(sources[edge]), np.int64(targets[edge])
            loop = source == target
            if loop and not keep_loops:
                continue
            if first <= target < last:
                keys[at] = (np.uint64(target - first) << np.uint64(bits)) | np.uint64(source)
                if has_values:
                    out_values[at] = values[edge]
                at += 1
            if both and not loop and first <= source < last:
                keys[at] = (np.uint64(source - first) << np.uint64(bits)) | np.uint64(target)
                if has_values:
                    out_values[at] = values[edge]
                at += 1
        return 0

    return make_keys


# wide: compiled code takes its arrays one by one
def split_keys(keys, start, stop, bits, first, owner, base, owners, others, offsets):
    """Split the sorted keys [start, stop) into owners and neighbours, and set the offsets of lists that start there.

    Owners in keys are counted from vertex `first`. Key k is entry ``base + k`` of the adjacency. `owner` is that of the
    entry before `start`, or -1.
    """
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for k in range(start, stop):
        vertex = first + np.int64(keys[k] >> np.uint64(bits))
        while owner < vertex:
            owner += 1
            offsets[owner] = base + k
        owners[k] = vertex
        others[k] = keys[k] & mask
    return 0


COUNT_ENTRIES = Kernel("u32* u32* i64 i64 bool bool i64 i64", count_entries)
COUNT_CLASSES = Kernel("u32* i64 i64 i64 i64*", count_classes)
SPLIT_KEYS = Kernel("u64* i64 i64 i64 i64 i64 i64 u32* u32* i64*", split_keys)


@cache
def key_kernel(width: int) -> Kernel:
    """`make_key_kernel` for values of `width` bytes (0: none)."""
    value = f"u{8 * width or 32}*"
    return Kernel(f"u32* u32* {value} i64 i64 i64 i64 bool bool i64 i64 u64* {value}", make_key_kernel(bool(width)))


def kernels(width: int) -> list[Kernel]:
    """Every kernel that this module uses for edge values of `width` bytes."""
    return [COUNT_ENTRIES, COUNT_CLASSES, SPLIT_KEYS, key_kernel(width), hash_kernel(width)]


def key_bits(n: int) -> int:
    """Bits of each half of a key, for vertices 0 to ``n - 1``."""
    return max(n - 1, 1).bit_length()


@dataclass(frozen=True)
class EdgeKeys:
    """Makes the keys of edges.

    Attributes
    ----------
    n : int
        Number of vertices.
    both : bool
        An edge has two keys: it is in the list of its source, too, unless it is a self-loop.
    keep_loops : bool
        Self-loops have a key.
    """

    n: int
    both: bool = False
    keep_loops: bool = True

    def add(
        self, sort: ExternalSort, sources: Array, targets: Array, values: Array | None, owners: range | None = None
    ) -> None:
        """Put the keys and values of some edges into `sort`.

        Parameters
        ----------
        sort : ExternalSort
            Its keys have `key_bits` of the number of `owners`, and ``key_bits(n)`` more.
        sources, targets : ndarray of uint32, shape (m,)
        values : ndarray of uint32 or uint64, shape (m,), or None
            Edge values, viewed as unsigned integers.
        owners : range, optional
            The vertices whose lists are wanted; by default all. In a key they are counted from the first one.
        """
        make_keys, each = key_kernel(0 if values is None else values.dtype.itemsize), 1 + self.both
        owners = range(self.n) if owners is None else owners
        how = self.both, self.keep_loops, owners.start, owners.stop
        has_one_key = self.keep_loops and not self.both and len(owners) == self.n  # every edge
        bits, pool, done = key_bits(self.n), sort.pool, 0
        while done < len(sources):
            keys, out_values = sort.reserve(each)
            count = min(len(keys) // each, len(sources) - done)
            parts = pool.parts(count)
            starts, stops = (done + bounds for bounds in shares(count, parts))
            counts = stops - starts
            if not has_one_key:
                counts = pool.launch(COUNT_ENTRIES.rows(parts, sources, targets, starts, stops, *how))
            places = np.cumsum(counts) - counts
            pool.launch(
                make_keys.rows(parts, sources, targets, values, starts, stops, places, bits, *how, keys, out_values)
            )
            sort.commit(int(counts.sum()))
            done += count


class AdjacencyBuilder:
    """Splits sorted keys, a slice at a time, and fills in the offsets of the adjacency.

    Parameters
    ----------
    n : int
        Number of vertices.
    drop_parallel : bool
        Drop keys that equal the one before.
    pool : ThreadPool

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        Final up to index `owner`, and the next one is `count`; all final after `add`.
    owner : int
        Owner of the last entry so far, -1 if there is none.
    count : int
        Number of entries so far.
    """

    def __init__(self, n: int, drop_parallel: bool, pool: ThreadPool) -> None:
        self.offsets = np.empty(n + 1, np.int64)
        self._bits, self._drop_parallel, self._pool = key_bits(n), drop_parallel, pool
        self.owner, self.count = -1, 0
        self._last: Any = None
        self._owners, self._others = np.empty(SLICE, np.uint32), np.empty(SLICE, np.uint32)

    def add(self, pieces: Iterator[OwnedPiece]) -> Iterator[tuple[Array, Array, Array | None]]:
        """Yield owners (uint32), neighbours (uint32) and values of all keys; each slice overwrites the one before."""
        for first, keys, values in pieces:
            for start in range(0, len(keys), SLICE):
                part = slice(start, start + SLICE)
                yield self._split(first, keys[part], None if values is None else values[part])
            del keys, values  # the memory of the last piece, which the next pass needs
        self.offsets[self.owner + 1 :] = self.count

    def _split(self, first_owner: int, keys: Array, values: Array | None) -> tuple[Array, Array, Array | None]:
        if self._drop_parallel:
            first = np.ones(len(keys), np.bool_)
            first[1:] = keys[1:] != keys[:-1]
            first[0] = self._last != (first_owner, keys[0])
            self._last = first_owner, keys[-1]
            keys, values = keys[first], None if values is None else values[first]
        count, parts = len(keys), self._pool.parts(len(keys))
        owners, others = self._owners[:count], self._others[:count]
        starts, stops = shares(count, parts)
        last_owners = (keys[starts[1:] - 1] >> np.uint64(self._bits)).astype(np.int64)
        before = np.append(self.owner, first_owner + last_owners)
        how = self._bits, first_owner, before, self.count, owners, others, self.offsets
        self._pool.launch(SPLIT_KEYS.rows(parts, keys, starts, stops, *how))
        self.count += count
        self.owner = int(owners[-1]) if count else self.owner
        self.offsets[self.owner + 1] = self.count
        return owners, others, values

    def hash(self, others: Array, values: Array | None, into: bool) -> int:
        """The hash of the last slice's edges; see `graph.edge_hash.hash_edges`."""
        offsets = self.offsets[: self.owner + 2]
        return hash_edges(offsets, 0, self.count - len(others), others, values, into, self._pool)

    def list_starts(self, start: int, stop: int) -> Array:
        """Positions in [start, stop) where a list starts, followed by the greatest int64 as an end mark."""
        low, high = np.searchsorted(self.offsets[: self.owner + 1], (start, stop))
        return np.append(self.offsets[low:high], np.iinfo(np.int64).max)
