"""Shortest paths by length from many vertices, one after another on each core (Dijkstra).

The vertices that a search has seen but not settled are in a binary heap, the nearest first. `places` says where each
vertex is in the heap, so that it can rise when a shorter path to it is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..apps.checks import require_edges
from ..native import Kernel, PerCall
from .in_memory import Call

Array = npt.NDArray[Any]

UNSEEN, FIRST = -1, -2
"""The place of a vertex that the search has not seen, and of the first one that it settles; that of the next one is
smaller by 1. Vertices in the heap have places from 0 on."""
SOURCES = 8
"""Sources of each thread between two moments at which an interrupt may end the call."""
WHOLE = 1 << 53
"""Whole numbers up to this one are exact in float64, in which lengths are added."""


def rise(at, heap, places, distances):
    """Let the vertex at `at` in the heap rise to where it belongs."""
    v = np.int64(heap[at])
    while at > 0:
        above = (at - 1) >> 1
        w = np.int64(heap[above])
        if distances[w] <= distances[v]:
            break
        heap[at], places[w] = w, at
        at = above
    heap[at], places[v] = v, at
    return 0


def sink(count, heap, places, distances):
    """Let the first vertex of a heap of `count` sink to where it belongs."""
    v, at = np.int64(heap[0]), np.int64(0)
    while 2 * at + 1 < count:
        below = 2 * at + 1
        if below + 1 < count and distances[heap[below + 1]] < distances[heap[below]]:
            below += 1
        w = np.int64(heap[below])
        if distances[v] <= distances[w]:
            break
        heap[at], places[w] = w, at
        at = below
    heap[at], places[v] = v, at
    return 0


def next_edge(e, end, others, lengths):
    """The neighbour of edge `e`, the shortest of the parallel edges to it, and the first edge behind these."""
    w, length = np.int64(others[e]), lengths[e]
    e += 1
    while e < end and np.int64(others[e]) == w:
        length = min(length, lengths[e])
        e += 1
    return w, length, e


# wide: a compiled function takes its arrays one by one.
def settle(source, offsets, others, lengths, distances, paths, heap, places, order):
    """Search from `source`: distances, how many shortest paths lead to each vertex, and the vertices, nearest first.

    Of parallel edges the shortest one counts. Returns how many vertices are in `order`, and how many edges have been
    followed.
    """
    heap[0], places[source], distances[source], paths[source] = source, 0, 0.0, 1.0
    count, reached, edges = np.int64(1), np.int64(0), np.int64(0)
    while count > 0:
        v = np.int64(heap[0])
        count -= 1
        if count > 0:
            heap[0] = heap[count]
            sink(count, heap, places, distances)
        places[v], order[reached] = FIRST - reached, v
        reached += 1
        e, end = offsets[v], offsets[v + 1]
        edges += end - e
        while e < end:
            w, length, e = next_edge(e, end, others, lengths)
            far = distances[v] + length
            if places[w] == UNSEEN:
                distances[w], paths[w], heap[count] = far, paths[v], w
                rise(count, heap, places, distances)
                count += 1
            elif places[w] >= 0 and far < distances[w]:
                distances[w], paths[w] = far, paths[v]
                rise(places[w], heap, places, distances)
            elif places[w] >= 0 and far == distances[w]:
                paths[w] += paths[v]
    return reached, edges


# wide: a compiled function takes its arrays one by one.
def add_lengths(
    first, last, step, sources, inverse, offsets, others, lengths, distances, paths, heap, places, order, sums, found
):  # fmt: skip
    """Search from the sources ``sources[first:last:step]``.

    For each vertex it adds the distances from those that reach it to `sums`, or 1 divided by each above 0 if `inverse`,
    and their number to `found`, without the vertex itself. Returns the edges followed.
    """
    followed, at = np.int64(0), first
    while at < last:
        reached, edges = settle(sources[at], offsets, others, lengths, distances, paths, heap, places, order)
        followed += edges
        for place in range(reached):
            v = np.int64(order[place])
            places[v] = UNSEEN
            if place > 0:
                found[v] += 1
                if not inverse:
                    sums[v] += distances[v]
                elif distances[v] > 0.0:
                    sums[v] += 1.0 / distances[v]
        at += step
    return followed


# wide: a compiled function takes its arrays one by one.
def add_dependencies(
    reached, endpoints, offsets, others, lengths, distances, paths, places, order, shares, scores
):  # fmt: skip
    """Add to the scores the dependency of the search's source on each vertex: from the farthest to the nearest.

    ``shares[w]`` is ``(1 + delta_w) / sigma_w``. Afterwards no vertex has been seen.
    """
    for at in range(reached - 1, 0, -1):
        v = np.int64(order[at])
        total, e, end = 0.0, offsets[v], offsets[v + 1]
        while e < end:
            w, length, e = next_edge(e, end, others, lengths)
            if places[w] < places[v] and distances[v] + length == distances[w]:  # it was settled later
                total += shares[w]
        dependency = paths[v] * total
        shares[v] = (1.0 + dependency) / paths[v]
        scores[v] += dependency + endpoints
    scores[order[0]] += endpoints * (reached - 1)
    for at in range(reached):
        places[order[at]] = UNSEEN
    return 0


# wide: a compiled function takes its arrays one by one.
def from_sources(
    first, last, step, sources, endpoints, offsets, others, lengths, distances, paths, heap, places, order, shares,
    scores,
):  # fmt: skip
    """Add the dependencies of the sources ``sources[first:last:step]``. Returns the edges followed."""
    followed, at = np.int64(0), first
    while at < last:
        reached, edges = settle(sources[at], offsets, others, lengths, distances, paths, heap, places, order)
        add_dependencies(reached, endpoints, offsets, others, lengths, distances, paths, places, order, shares, scores)
        followed += 2 * edges
        at += step
    return followed


SEARCH = "i64 i64 i64 i64* i64 i64* u32* f64* f64* f64* u32* i64* u32*"
ADD_LENGTHS = Kernel(f"{SEARCH} f64* i64*", add_lengths)
FROM_SOURCES = Kernel(f"{SEARCH} f64* f64*", from_sources)


@dataclass
class Searches:
    """Searches by length over the graph of a call, one at a time in each thread.

    Parameters
    ----------
    call : Call

    Attributes
    ----------
    edges : int
        How many edges were followed.
    """

    call: Call
    edges: int = 0

    def __post_init__(self) -> None:
        call, (n, threads) = self.call, (self.call.graph.n, self.call.pool.size)
        out = call.arrays.valued_out_edges(call.pool)
        lengths = np.ones(0) if out.values is None else out.values.astype(np.float64)
        distances, paths = np.empty((2, threads, n))
        heap, order = np.empty((2, threads, n), np.uint32)
        places = np.full((threads, n), UNSEEN, np.int64)
        self._edges = out.offsets, out.neighbours, lengths
        self._state = [PerCall(each) for each in (distances, paths, heap, places, order)]

    def run(self, kernel: Kernel, sources: Array, flag: int, *sums: Array) -> None:
        """Run a kernel from all sources; each thread has its own of the arrays of `sums`, shape (threads, n)."""
        threads = self.call.pool.size
        batch = SOURCES * threads
        for first in range(0, len(sources), batch):
            last = min(first + batch, len(sources))
            counts = self.call.by_threads(
                kernel, first + np.arange(threads), last, threads, sources, flag, *self._edges, *self._state,
                *map(PerCall, sums),
            )  # fmt: skip
            self.edges += int(counts.sum())


def lengths_from_each(call: Call, sources: Array, inverse: bool) -> tuple[Array, Array, int]:
    """As `distances.distances`, with edge values as the lengths of edges."""
    searches, shape = Searches(call), (call.pool.size, call.graph.n)
    sums, found = np.zeros(shape), np.zeros(shape, np.int64)
    searches.run(ADD_LENGTHS, sources, int(inverse), sums, found)
    return sums.sum(axis=0), found.sum(axis=0), searches.edges


def dependencies_by_length(call: Call, sources: Array, endpoints: bool) -> tuple[Array, int]:
    """The sums of the sources' dependencies on each vertex, and how many edges were followed."""
    searches, shape = Searches(call), (call.pool.size, call.graph.n)
    shares, scores = np.zeros((2, *shape))
    searches.run(FROM_SOURCES, sources, int(endpoints), shares, scores)
    return scores.sum(axis=0), searches.edges


def has_lengths(graph: Any, wanted: bool, function: str, least: float, added: int = 1) -> bool:
    """Whether edge values are lengths in a call of `function`: they are `wanted`, and there are some.

    `added` is how many distances the function adds up.

    Raises
    ------
    GraphError
        If a value is below `least`, infinite or NaN, or if whole numbers are so large that distances are not exact, or
        floats so large that distances, or their sums, may be infinite.
    """
    if not wanted or graph.edge_dtype is None or not graph.m:
        return False
    whole = graph.edge_dtype.kind in "iu"
    most = WHOLE // graph.n if whole else float(np.finfo(graph.edge_dtype).max) / graph.n / added
    above = "0 or more" if least == 0 else "above 0"
    require_edges(function, graph, f"edge values that are {above} and at most {most}", least, most)
    return True
