"""Breadth-first searches from 64 sources at once, and sums over the distances of each vertex from all sources.

A set of sources is a word, with a bit for each. A vertex has the set of those that have reached it, and the set of
those that reach it on the present level. So an edge is followed once for all sources whose search leaves its vertex on
the same level (Then, M., M. Kaufmann, F. Chirigati, T.-A. Hoang-Vu, K. Pham, A. Kemper, T. Neumann, H. T. Vo, "The more
the merrier: efficient multi-source graph traversal", VLDB 2014).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..native import Kernel, PerCall
from .in_memory import Call

Array = npt.NDArray[Any]

BITS = 64
"""Sources of a search."""


def bits_in(word):
    """How many bits of a word are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


# wide: a compiled function takes its arrays one by one.
def spread(count, queue, after, offsets, others, seen, now, new):
    """Go on by a level from the `count` vertices in `queue`; `after` gets those that this reaches.

    Returns how many they are, and how many edges have been followed.
    """
    found, followed = np.int64(0), np.int64(0)
    for place in range(count):
        v = np.int64(queue[place])
        sources = now[v]
        followed += offsets[v + 1] - offsets[v]
        for e in range(offsets[v], offsets[v + 1]):
            w = np.int64(others[e])
            fresh = sources & ~seen[w]
            if fresh:
                if new[w] == 0:
                    after[found] = w
                    found += 1
                new[w] |= fresh
    return found, followed


# wide: a compiled function takes its arrays one by one.
def add_distances(
    first, last, n, sources, inverse, offsets, others, seen, now, new, queue, after, sums, reached
):  # fmt: skip
    """Search from the sources [first, last), at most 64 of them, along the lists of neighbours.

    For each vertex it adds the distances from those that reach it to `sums`, or 1 divided by each if `inverse`, and
    their number to `reached`, without the vertex itself. Returns how many edges have been followed.
    """
    for v in range(n):
        seen[v], now[v], new[v] = 0, 0, 0
    count, followed = np.int64(0), np.int64(0)
    for place in range(first, last):
        v = sources[place]
        seen[v] = now[v] = np.uint64(1) << np.uint64(place - first)
        queue[count] = v
        count += 1
    level = np.int64(0)
    while count > 0:
        level += 1
        found, edges = spread(count, queue, after, offsets, others, seen, now, new)
        followed += edges
        weight = 1.0 / level if inverse else float(level)
        for place in range(found):
            w = np.int64(after[place])
            amount = bits_in(new[w])
            sums[w] += weight * amount
            reached[w] += amount
            seen[w] |= new[w]
            now[w], new[w] = new[w], 0
            queue[place] = w
        count = found
    return followed


ADD_DISTANCES = Kernel(
    "i64 i64 i64 i64* bool i64* u32* u64* u64* u64* u32* u32* f64* i64*", add_distances
)  # fmt: skip


def distances(call: Call, sources: Array, inverse: bool) -> tuple[Array, Array, int]:
    """Sums over the distances from the sources, which are distinct, along the edges.

    Parameters
    ----------
    call : Call
    sources : ndarray of int64
        Internal ids.
    inverse : bool
        Add ``1 / d`` instead of d.

    Returns
    -------
    sums, reached : ndarray, shape (n,)
        For each vertex the sum over the sources that reach it, and the number of these; the vertex itself not counted.
    edges : int
        How many edges were followed.
    """
    n, threads, out = call.graph.n, call.pool.size, call.arrays.out_edges
    seen, now, new = np.empty((3, threads, n), np.uint64)
    queue, after = np.empty((2, threads, n), np.uint32)
    sums, reached = np.zeros((threads, n)), np.zeros((threads, n), np.int64)
    followed = 0
    for start in range(0, len(sources), BITS * threads):
        first = np.minimum(start + BITS * np.arange(threads), len(sources))
        counts = call.by_threads(
            ADD_DISTANCES, first, np.minimum(first + BITS, len(sources)), n, sources, inverse, out.offsets,
            out.neighbours, PerCall(seen), PerCall(now), PerCall(new), PerCall(queue), PerCall(after), PerCall(sums),
            PerCall(reached),
        )  # fmt: skip
        followed += int(counts.sum())
    return sums.sum(axis=0), reached.sum(axis=0), followed
