"""A hash of a graph's edges that does not depend on their order, so that in-edges and out-edges have the same.

It is the sum over all edges, modulo 2^64, of mix(source) * mix(target), times mix(value) if edges have values. Each of
the three has a factor of its own (docs/format.md, "The hash of the edges"). If two sets of edges differ, the difference
of their hashes is a product of a vector, a matrix and a vector of numbers that behave as random ones, as in Freivalds'
test of a matrix product: the chance that it is 0 is below 2^-50.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..native import From, Kernel, PerCall
from ..native.threads import ThreadPool, shares

Array = npt.NDArray[Any]

SOURCE, TARGET, VALUE, ADDED = map(
    np.uint64, (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63)
)
"""The factors of sources, targets and values, and what `mix` adds: the first four 64-bit primes of XXH64."""
HALF, LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
"""The number of bits in half a word, and the lower half of a word."""
STEP = 1024
"""Edges that are mixed at a time: their running sums, 8 KiB, stay in the first-level cache."""


def mix(number, factor):
    """A 64-bit number that behaves as a random one. Compiled code mixes several numbers with one instruction."""
    spread = number * factor + ADDED
    return (spread & LOW) * (spread >> HALF) + spread


def make_hash(has_values: bool):
    # wide: a compiled function takes its arrays one by one.
    def hash_lists(offsets, lists, vertex, first, others, values, count, into, sums):
        """The hash of elements [first, first + count) of lists whose owners are `vertex` and the vertices after it.

        The `lists` + 1 `offsets` begin with the list that holds element `first`. `sums` is scratch memory. The running
        sums spare a loop over each list, whose end the processor could not predict.
        """
        of_owner, of_other = (TARGET, SOURCE) if into else (SOURCE, TARGET)
        total, v = np.uint64(0), np.int64(0)
        sums[0] = np.uint64(0)
        for begin in range(0, count, STEP):
            length = min(STEP, count - begin)
            for k in range(length):
                mixed = mix(np.uint64(others[begin + k]), of_other)
                if has_values:
                    value = np.uint64(values[begin + k])
                    mixed *= mix(value ^ (value >> HALF), VALUE)
                sums[k + 1] = mixed
            running = np.uint64(0)
            for k in range(length):
                running += sums[k + 1]
                sums[k + 1] = running
            before = np.int64(0)
            while v < lists and offsets[v + 1] - first <= begin + length:
                end = offsets[v + 1] - first - begin
                total += mix(np.uint64(vertex + v), of_owner) * (sums[end] - sums[before])
                before = end
                v += 1
            total += mix(np.uint64(vertex + v), of_owner) * (sums[length] - sums[before])
        return np.int64(total)

    return hash_lists


@cache
def hash_kernel(width: int) -> Kernel:
    """`make_hash` for edge values of `width` bytes (0: none)."""
    return Kernel(f"i64* i64 i64 i64 u32* u{8 * width or 32}* i64 bool u64*", make_hash(bool(width)))


# wide: the parts of an adjacency, which a caller may have only a piece of
def hash_edges(
    offsets: Array, vertex: int, first: int, others: Array, values: Array | None, into: bool,
    pool: ThreadPool | None = None,
) -> int:  # fmt: skip
    """The hash of a piece of an adjacency; those of all pieces add up, modulo 2^64, to the hash of the graph's edges.

    Parameters
    ----------
    offsets : ndarray of int64
        Where the lists of `vertex` and of the vertices after it begin, and where the last of them ends.
    vertex : int
    first : int
        The first edge of the piece. All edges of the piece lie in the lists that `offsets` gives.
    others : ndarray of uint32
        The other endpoints of the piece's edges.
    values : ndarray, optional
        Their values, of 4 or 8 bytes.
    into : bool
        Whether these are in-edges.
    pool : ThreadPool, optional
        The threads that share the work; by default there is only this one.
    """
    parts = 1 if pool is None else pool.size
    width = 0 if values is None else values.dtype.itemsize
    begins, ends = shares(len(others), parts)
    bits = None if values is None else From(values.view(f"u{width}"), begins)
    low = np.searchsorted(offsets, first + begins, "right") - 1
    rows = hash_kernel(width).rows(
        parts, From(offsets, low), len(offsets) - 1 - low, vertex + low, first + begins, From(others, begins), bits,
        ends - begins, into, PerCall(np.empty((parts, STEP + 1), np.uint64)),
    )  # fmt: skip
    hashes = [rows(0)] if pool is None else pool.launch(rows).tolist()
    return sum(hashes) % 2**64
