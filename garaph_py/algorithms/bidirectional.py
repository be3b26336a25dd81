"""A shortest path between two vertices by the number of edges: breadth-first searches from both, level by level.

``steps[v]`` is 1 + the vertex before v on the way from where a search began, which is v itself there; 0 if the search
has not found v. So memory that is never touched says that nothing is found.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..native import Kernel

Array = npt.NDArray[Any]


class Lists(Protocol):
    """A list of neighbours for each vertex; v's is ``neighbours[offsets[v] : offsets[v + 1]]``."""

    @property
    def offsets(self) -> Array: ...
    @property
    def neighbours(self) -> Array: ...


# wide: a compiled function takes its arrays one by one.
def expand(offsets, others, queue, first, last, steps, far_steps):
    """Follow the edges of ``queue[first:last]``, until one leads to a vertex that the other search has found.

    Returns that vertex, or -1 and the negative of the new end of the queue.
    """
    stop = last
    for place in range(first, last):
        v = np.int64(queue[place])
        for e in range(offsets[v], offsets[v + 1]):
            w = np.int64(others[e])
            if steps[w] == 0:
                steps[w], queue[stop] = v + 1, w
                stop += 1
            if far_steps[w] != 0:
                return w
    return -1 - stop


# wide: a compiled function takes its arrays one by one.
def meet(source, target, offsets, others, back_offsets, back_others, forward, backward, before, after):
    """Search forward from `source` and backward from `target`, the smaller level first.

    Returns a vertex on a shortest path between both, or -1 if there is none.
    """
    forward[0], backward[0], before[source], after[target] = source, target, source + 1, target + 1
    first, last, back_first, back_last = np.int64(0), np.int64(1), np.int64(0), np.int64(1)
    while first < last and back_first < back_last:
        if last - first <= back_last - back_first:
            found = expand(offsets, others, forward, first, last, before, after)
            first, last = last, -1 - found
        else:
            found = expand(back_offsets, back_others, backward, back_first, back_last, after, before)
            back_first, back_last = back_last, -1 - found
        if found >= 0:
            return found
    return np.int64(-1)


MEET = Kernel("i64 i64 i64* u32* i64* u32* u32* u32* i64* i64*", meet)


def path_between(out: Lists, back: Lists, source: int, target: int) -> list[int] | None:
    """The vertices of a shortest path; None if there is none.

    `out` are the edges that leave each vertex, and `back` those that lead to it.
    """
    if source == target:
        return [source]
    n = len(out.offsets) - 1
    queues, (before, after) = np.empty((2, n), np.uint32), np.zeros((2, n), np.int64)
    middle = MEET(source, target, out.offsets, out.neighbours, back.offsets, back.neighbours, *queues, before, after)
    return None if middle < 0 else joined(before, after, middle)


def joined(before: Array, after: Array, middle: int) -> list[int]:
    """The path from where one search began to where the other did, by their steps to a vertex."""
    return [*along(before, middle)[:0:-1], *along(after, middle)]


def along(steps: Array, vertex: int) -> list[int]:
    """The vertices from this one to where the search began."""
    path = [vertex]
    while (following := int(steps[path[-1]]) - 1) != path[-1]:
        path.append(following)
    return path
