"""Searches in NetworkX's order: what it finds first comes first, and shortest paths are the ones that it takes.

NetworkX follows the edges of a node in the order in which they were added. The lists of a `Graph` ascend, so `Rows`
keeps that order beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..native import Kernel

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Rows:
    """The edges of each node of a NetworkX graph, in its order.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
    neighbours : ndarray of uint32, shape (m,)
        An undirected edge is there in both directions.
    values : ndarray, shape (m,), optional
        Edge values.
    """

    offsets: Array
    neighbours: Array
    values: Array | None = None


@dataclass(frozen=True)
class Search:
    """What a search has found.

    Attributes
    ----------
    order : ndarray of uint32
        The vertices that it reaches, first the sources.
    level : ndarray of int32, shape (n,)
        The number of edges to each vertex; -1 for those that it does not reach.
    parent : ndarray of int64, shape (n,)
        The vertex before on the path to each vertex; defined for those that it reaches. That of a source is itself.
    """

    order: Array
    level: Array
    parent: Array


# wide: a compiled function takes its arrays one by one.
def search(offsets, others, queue, stop, depth, level, parent):
    """Search from ``queue[:stop]``, at most `depth` edges far. Returns how many vertices are in the queue then."""
    place = 0
    while place < stop:
        v = np.int64(queue[place])
        place += 1
        if level[v] >= depth:
            break
        for e in range(offsets[v], offsets[v + 1]):
            w = np.int64(others[e])
            if level[w] < 0:
                level[w], parent[w], queue[stop] = level[v] + 1, v, w
                stop += 1
    return stop


# wide: a compiled function takes its arrays one by one.
def claim(count, offsets, others, lengths, distances, groups, cursors, order, parents):
    """Complete the order in which Dijkstra's algorithm settles vertices, and their parents.

    Vertices of one distance are a group. The one that was first seen at that distance comes first: on an edge from the
    vertex that was settled first. ``cursors[g]`` is the place for the next vertex of group g in `order`, which has the
    sources; ``groups[v]`` is below 0 for them, and for vertices that are not to be reached.
    """
    for place in range(count):
        v = np.int64(order[place])
        for e in range(offsets[v], offsets[v + 1]):
            w = np.int64(others[e])
            group = groups[w]
            if group >= 0 and distances[v] + lengths[e] == distances[w]:
                groups[w], parents[w] = -1, v
                order[cursors[group]] = w
                cursors[group] += 1
    return 0


# wide: a compiled function takes its arrays one by one.
def see(count, offsets, others, order, seen, queue):
    """Queue the vertices to which edges lead from the first of `order`, then from the second, and so on.

    The first of `order` is in the queue already.
    """
    stop = np.int64(1)
    for place in range(count):
        v = np.int64(order[place])
        for e in range(offsets[v], offsets[v + 1]):
            w = np.int64(others[e])
            if not seen[w]:
                seen[w], queue[stop] = 1, w
                stop += 1
    return 0


# wide: a compiled function takes its arrays one by one.
def remove(n, offsets, others, waiting, queue, bounds):
    """Queue the vertices without in-edges, those that only these lead to, and so on; return how many such levels.

    Level k is ``queue[bounds[k] : bounds[k + 1]]``. ``waiting[v]`` is the number of v's in-edges.
    """
    stop, place, count = np.int64(0), np.int64(0), np.int64(0)
    for v in range(n):
        if waiting[v] == 0:
            queue[stop] = v
            stop += 1
    bounds[0] = 0
    while place < stop:
        last = stop
        while place < last:
            v = np.int64(queue[place])
            place += 1
            for e in range(offsets[v], offsets[v + 1]):
                w = np.int64(others[e])
                waiting[w] -= 1
                if waiting[w] == 0:
                    queue[stop] = w
                    stop += 1
        count += 1
        bounds[count] = last
    return count


# wide: a compiled function takes its arrays one by one.
def precede(count, offsets, others, lengths, step, distances, order, reached, last, cursors, lists, before):
    """Count the vertices before each reached vertex on shortest paths, or list them as they come in `order`.

    If `lists` is true, the kernel writes those before w from ``before[cursors[w]]`` on; otherwise ``cursors[w]`` counts
    them. Edge e has the length ``lengths[e * step]``; with a step of 0, all have the first. ``last[w]`` is the vertex
    that was found last before w, and below 0 at first, so that parallel edges count once.
    """
    for place in range(count):
        v = np.int64(order[place])
        for e in range(offsets[v], offsets[v + 1]):
            w = np.int64(others[e])
            if distances[v] + lengths[e * step] == distances[w] and reached[w] and last[w] != v:
                if lists:
                    before[cursors[w]] = v
                last[w] = v
                cursors[w] += 1
    return 0


SEARCH = Kernel("i64* u32* u32* i64 i64 i32* i64*", search)
SEE = Kernel("i64 i64* u32* u32* u8* u32*", see)
REMOVE = Kernel("i64 i64* u32* i64* u32* i64*", remove)
TYPES: dict[np.dtype[Any], str] = {
    np.dtype(np.int64): "i64*",
    np.dtype(np.float32): "f32*",
    np.dtype(np.float64): "f64*",
}
"""The types of distances."""
CLAIM = {
    dtype: Kernel(f"i64 i64* u32* {name} {name} i64* i64* u32* i64*", claim) for dtype, name in TYPES.items()
}  # fmt: skip
PRECEDE = {
    dtype: Kernel(f"i64 i64* u32* {name} i64 {name} u32* u8* i64* i64* i64 u32*", precede)
    for dtype, name in TYPES.items()
}


def search_from(rows: Rows, sources: Sequence[int], depth: int | None = None) -> Search:
    """Search from some vertices, at most `depth` edges far."""
    n = len(rows.offsets) - 1
    level, parent, queue = np.full(n, -1, np.int32), np.empty(n, np.int64), np.empty(n, np.uint32)
    queue[: len(sources)] = parent[list(sources)] = sources
    level[list(sources)] = 0
    stop = SEARCH(rows.offsets, rows.neighbours, queue, len(sources), n if depth is None else depth, level, parent)
    return Search(queue[:stop], level, parent)


def preceding(rows: Rows, lengths: Array | None, distance: Array, order: Array, keys: Array) -> tuple[Array, Array]:
    """The vertices before each vertex on shortest paths, and the bounds of those of each of `keys`.

    Parameters
    ----------
    rows : Rows
    lengths : ndarray, shape (m,), optional
        Those of the edges of `rows`, of the type of `distance`. None: all are 1.
    distance : ndarray, shape (n,)
    order : ndarray of uint32
        The vertices that are reached, in the order in which they are to be listed.
    keys : ndarray
        The same vertices in the order of the answer.
    """
    n, distance = len(distance), distance if distance.dtype in TYPES else distance.astype(np.int64)
    given = lengths if lengths is not None else np.ones(1, distance.dtype)
    reached, cursors, before = np.zeros(n, np.uint8), np.zeros(n, np.int64), np.empty(0, np.uint32)
    reached[order] = 1
    for lists in (False, True):
        PRECEDE[distance.dtype](
            len(order), rows.offsets, rows.neighbours, given, lengths is not None, distance, order, reached,
            np.full(n, -1, np.int64), cursors, lists, before,
        )  # fmt: skip
        if not lists:
            starts = np.append(0, np.cumsum(cursors[keys]))
            cursors[keys], before = starts[:-1], np.empty(starts[-1], np.uint32)
    return before, starts


def levels_in_order(rows: Rows) -> tuple[list[Array], bool]:
    """The vertices without in-edges, those that only these lead to, and so on, and whether they are all vertices."""
    n = len(rows.offsets) - 1
    in_degrees = np.bincount(rows.neighbours, minlength=n)
    queue, bounds = np.empty(n, np.uint32), np.empty(n + 1, np.int64)
    count = REMOVE(n, rows.offsets, rows.neighbours, in_degrees, queue, bounds)
    cuts = bounds[: count + 1].tolist()
    return [queue[first:last] for first, last in pairwise(cuts)], cuts[-1] == n


def settled_in_order(
    rows: Rows, lengths: Array, distance: Array, sources: Sequence[int], reached: Array
) -> tuple[Array, Array]:
    """The reached vertices in the order in which Dijkstra's algorithm settles them, and their parents.

    Parameters
    ----------
    rows : Rows
    lengths : ndarray, shape (m,)
        Those of the edges of `rows`, of the type of distances.
    distance : ndarray, shape (n,)
        The distance of each vertex from the nearest of the sources.
    sources : sequence of int
        Distinct.
    reached : ndarray of bool, shape (n,)
        Which vertices are wanted; with each, all nearer ones that can be reached.

    Returns
    -------
    order : ndarray of uint32
    parents : ndarray of int64, shape (n,)
        Defined for those that are reached. That of a source is itself.
    """
    first, places = list(sources), np.flatnonzero(reached)
    _, inverse, counts = np.unique(distance[places], return_inverse=True, return_counts=True)
    groups, parents = np.full(len(distance), -1, np.int64), np.empty(len(distance), np.int64)
    groups[places] = inverse
    cursors = np.cumsum(counts) - counts
    order = np.empty(len(places), np.uint32)
    order[: len(first)] = parents[first] = first
    groups[first] = -1
    cursors[0] = len(first)
    CLAIM[distance.dtype](
        len(places), rows.offsets, rows.neighbours, lengths, distance, groups, cursors, order, parents
    )  # fmt: skip
    return order, parents


def first_seen(rows: Rows, order: Array) -> Array:
    """The vertices of `order`, which has all that the first one reaches, in the order in which edges from these lead
    to them."""
    seen, queue = np.zeros(len(rows.offsets) - 1, np.uint8), np.empty(len(order), np.uint32)
    queue[0], seen[order[0]] = order[0], 1
    SEE(len(order), rows.offsets, rows.neighbours, order, seen, queue)
    return queue
