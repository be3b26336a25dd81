"""Removes vertices from a graph, and with them those that this leaves with too few edges, on all cores.

Each vertex has a count, at first of its edges. Vertices wait in a queue to be removed. The removal of a vertex lowers
the count of each neighbour, and a neighbour whose count falls to the *level* enters the queue. k-cores and the
generations of a directed acyclic graph are found so. Every edge is followed once (Kabir, H., K. Madduri, "Parallel
k-core decomposition on multicore platforms", IPDPS workshops 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph.adjacency import Adjacency
from ..native import Kernel, PerCall, atomic_add
from ..native.threads import bounds_of
from .in_memory import PIECES, Call

Array = npt.NDArray[Any]

FEW = 1 << 12
"""Vertices in the queue up to which one thread alone goes on. Of 256 to 2**14, this was the best or nearly so, for core
numbers and for generations of R-MAT 20 on two cores."""
PIECE = 64
"""Vertices of the smallest piece of the queue that a thread takes."""


def make_lower(shared: bool, simple: bool):
    # wide: a compiled function takes its arrays one by one.
    def lower(offsets, others, v, counts, level, queue, end, generations):
        """Lower the counts of the neighbours in the list of `v`; queue those whose count falls to `level`."""
        before = np.int64(-1)
        for e in range(offsets[v], offsets[v + 1]):
            u = np.int64(others[e])
            if counts[u] > level and (not simple or (u != before and u != v)):
                if shared:
                    had = atomic_add(counts, u, -1)
                else:
                    had = counts[u]
                    counts[u] = had - 1
                if had == level + 1:
                    if not simple:
                        generations[u] = generations[v] + 1
                    if shared:
                        queue[atomic_add(end, 0, 1)] = u
                    else:
                        queue[end[0]] = u
                        end[0] += 1
                elif shared and had <= level:
                    atomic_add(counts, u, 1)  # another thread was first
            before = u

    return lower


def make_remove(simple: bool):
    lower = make_lower(True, simple)

    # wide: a compiled function takes its arrays one by one.
    def remove(
        first, last, offsets, others, more_offsets, more_others, sides, counts, level, queue, end, generations
    ):  # fmt: skip
        """Remove the vertices at [first, last) of the queue, while other threads remove others."""
        for place in range(first, last):
            v = np.int64(queue[place])
            lower(offsets, others, v, counts, level, queue, end, generations)
            if sides == 2:
                lower(more_offsets, more_others, v, counts, level, queue, end, generations)
        return 0

    return remove


def make_remove_few(simple: bool):
    lower = make_lower(False, simple)

    # wide: a compiled function takes its arrays one by one.
    def remove_few(
        first, most, offsets, others, more_offsets, more_others, sides, counts, level, queue, end, generations
    ):  # fmt: skip
        """Remove the vertices of the queue from place `first` on, until it is empty or more than `most` wait.

        Returns the place of the next vertex.
        """
        while first < end[0] <= first + most:
            v = np.int64(queue[first])
            lower(offsets, others, v, counts, level, queue, end, generations)
            if sides == 2:
                lower(more_offsets, more_others, v, counts, level, queue, end, generations)
            first += 1
        return first

    return remove_few


# wide: a compiled function takes its arrays one by one.
def take(start, count, alive, counts, level, queue, end, least):
    """Queue those of the vertices ``alive[start : start + count]`` whose count is `level`; forget those with less.

    The others move to the beginning of that part. Returns how many they are; ``least[0]`` is their least count.
    """
    found = 0
    for i in range(start, start + count):
        found += counts[alive[i]] == level
    place, kept = atomic_add(end, 0, found), start
    lowest = np.int64(1) << 62
    for i in range(start, start + count):
        v = alive[i]
        has = counts[v]
        if has == level:
            queue[place] = v
            place += 1
        elif has > level:
            alive[kept] = v
            kept += 1
            lowest = min(lowest, has)
    least[0] = lowest
    return kept - start


TAKE = Kernel("i64 i64 u32* i64* i64 u32* i64* i64*", take)


@cache
def remove_kernel(simple: bool, few: bool) -> Kernel:
    """`make_remove_few` if `few`, else `make_remove`."""
    signature = "i64 i64 i64* u32* i64* u32* i64 i64* i64 u32* i64* u32*"
    return Kernel(signature, (make_remove_few if few else make_remove)(simple))


def kernels(simple: bool) -> list[Kernel]:
    """The kernels of a `Peeling`."""
    return [TAKE, remove_kernel(simple, True), remove_kernel(simple, False)]


class Peeling:
    """Removes vertices from a graph.

    Parameters
    ----------
    call : Call
    sides : sequence of Adjacency
        One or two lists of neighbours for each vertex, whose counts its removal lowers.
    counts : ndarray of int64, shape (n,)
        The count of each vertex. Of one that has been removed, this is the level at which it was.
    simple : bool
        Whether self-loops do not count, and parallel edges count as one. If not, `generations` are numbered: that of a
        vertex is 1 more than the generation of the neighbour that was removed last.

    Attributes
    ----------
    queue : ndarray of uint32, shape (n,)
        The vertices in the order in which they are removed.
    end : ndarray of int64, shape (1,)
        How many vertices have entered the queue.
    generations : ndarray of uint32, shape (n,) or (0,)
    """

    def __init__(self, call: Call, sides: Sequence[Adjacency], counts: Array, simple: bool) -> None:
        n = len(counts)
        self._call, self._counts = call, counts
        self._lists = [array for side in (sides[0], sides[-1]) for array in (side.offsets, side.neighbours)]
        self._sides = len(sides)
        self._few, self._many = remove_kernel(simple, True), remove_kernel(simple, False)
        self.queue, self.end, self._next = np.empty(n, np.uint32), np.zeros(1, np.int64), 0
        self.generations = np.zeros(0 if simple else n, np.uint32)

    def segments(self) -> tuple[Array, Array, Array]:
        """All vertices, cut into pieces: the vertices, and the start and the length of each piece."""
        cuts = bounds_of(len(self._counts), self._call.count(len(self._counts)))
        return np.arange(len(self._counts), dtype=np.uint32), cuts[:-1], np.diff(cuts)

    def take(self, segments: tuple[Array, Array, Array], level: int) -> int:
        """Queue the vertices with this count, and leave those with more in the segments; return their least count."""
        alive, starts, lengths = segments
        least = np.empty(len(starts), np.int64)
        rows = TAKE.rows(
            len(starts), starts, lengths, alive, self._counts, level, self.queue, self.end, PerCall(least)
        )  # fmt: skip
        lengths[:] = self._call.pool.launch(rows)
        return int(least.min())

    def remove(self, level: int) -> None:
        """Remove the vertices in the queue, and all whose count falls to `level`."""
        shared = *self._lists, self._sides, self._counts, level, self.queue, self.end, self.generations
        pool, most = self._call.pool, FEW if self._call.pool.size > 1 else len(self.queue)
        while self._next < self.end[0]:
            self._next = self._few(self._next, most, *shared)
            waiting = self._together()
            if waiting:
                cuts = bounds_of(waiting, min(PIECES * pool.size, -(-waiting // PIECE))) + self._next
                pool.launch(self._many.rows(len(cuts) - 1, cuts[:-1], cuts[1:], *shared))
                self._next += waiting

    def _together(self) -> int:
        """How many of the vertices in the queue, from its head on, may be removed at the same time.

        These are all, or those of one generation: the number of a generation comes from the neighbour that was removed
        last, so that those before must be removed first.
        """
        waiting = self.queue[self._next : self.end[0]]
        if not len(self.generations) or not len(waiting):
            return len(waiting)
        numbers = self.generations[waiting]
        return int(np.searchsorted(numbers, numbers[0], "right"))
