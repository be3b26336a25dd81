"""A shortest path between two vertices by the number of edges: breadth-first searches from both, level by level.

A search has a queue, in which each vertex that it finds is once. The origin of a vertex is the place in the queue of
the vertex before it on the way from where the search began. A set of bits has the vertices that the search has found:
it is all that has to be cleared before a search.

In searches by length, ``steps[v]`` is 1 + the vertex before v on the way, which is v itself where the search began; 0
if it has not found v.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..executor.cpu.walk import bit_of
from ..native import Kernel

Array = npt.NDArray[Any]


class Lists(Protocol):
    """A list of neighbours for each vertex; v's is ``neighbours[offsets[v] : offsets[v + 1]]``."""

    @property
    def offsets(self) -> Array: ...
    @property
    def neighbours(self) -> Array: ...


# wide: a compiled function takes its arrays one by one.
def expand(offsets, others, queue, origins, first, last, seen, far_seen):
    """Follow the edges of ``queue[first:last]``, until one leads to a vertex that the other search has found.

    Returns the new end of the queue; its negative if the last vertex there is that one.
    """
    stop = last
    for place in range(first, last):
        v = np.int64(queue[place])
        for e in range(offsets[v], offsets[v + 1]):
            w = np.int64(others[e])
            bit = bit_of(w)
            if seen[w >> 6] & bit == 0:
                seen[w >> 6] |= bit
                queue[stop], origins[stop] = w, place
                stop += 1
                if far_seen[w >> 6] & bit != 0:
                    return -stop
    return stop


def mark(seen, v):
    """Add the vertex v to a set of bits."""
    seen[v >> 6] |= bit_of(v)


def place_in(queue, v):
    """Where the vertex v is in a queue that has it."""
    place = np.int64(0)
    while queue[place] != v:
        place += 1
    return place


# wide: a compiled function takes its arrays one by one.
def meet(
    source, target, offsets, others, back_offsets, back_others, forward, backward, before, after, seen, far_seen, places
):  # fmt: skip
    """Search forward from `source` and backward from `target`, the smaller level first.

    `before` and `after` are the origins. Returns whether there is a path; then `places` says where in both queues a
    vertex on a shortest path is.
    """
    forward[0], backward[0] = source, target
    mark(seen, source)
    mark(far_seen, target)
    first, last, back_first, back_last = np.int64(0), np.int64(1), np.int64(0), np.int64(1)
    while first < last and back_first < back_last:  # an end that is negative ends it
        if last - first <= back_last - back_first:
            first, last = last, expand(offsets, others, forward, before, first, last, seen, far_seen)
        else:
            ends = back_first, back_last
            back_first, back_last = back_last, expand(back_offsets, back_others, backward, after, *ends, far_seen, seen)
    if last >= 0 and back_last >= 0:
        return False
    met = forward[-last - 1] if last < 0 else backward[-back_last - 1]
    places[0], places[1] = place_in(forward, met), place_in(backward, met)
    return True


MEET = Kernel("i64 i64 i64* u32* i64* u32* u32* u32* u32* u32* u64* u64* i64*", meet)


def path_between(out: Lists, back: Lists, source: int, target: int) -> list[int] | None:
    """The vertices of a shortest path; None if there is none.

    `out` are the edges that leave each vertex, and `back` those that lead to it.
    """
    if source == target:
        return [source]
    n = len(out.offsets) - 1
    queues, origins, sets = *np.empty((2, 2, n), np.uint32), np.zeros((2, n // 64 + 1), np.uint64)
    lists, places = (out.offsets, out.neighbours, back.offsets, back.neighbours), np.empty(2, np.int64)
    if not MEET(source, target, *lists, *queues, *origins, *sets, places):
        return None
    ways = [way(*each) for each in zip(queues, origins, places.tolist(), strict=True)]
    return [*ways[0][:0:-1], *ways[1]]


def way(queue: Array, origins: Array, place: int) -> list[int]:
    """The vertices from the one at a place of a queue to where the search began."""
    path = [int(queue[place])]
    while place:
        place = int(origins[place])
        path.append(int(queue[place]))
    return path


def joined(before: Array, after: Array, middle: int) -> list[int]:
    """The path from where one search began to where the other did, by their steps to a vertex."""
    return [*along(before, middle)[:0:-1], *along(after, middle)]


def along(steps: Array, vertex: int) -> list[int]:
    """The vertices from this one to where the search began."""
    path = [vertex]
    while (following := int(steps[path[-1]]) - 1) != path[-1]:
        path.append(following)
    return path
