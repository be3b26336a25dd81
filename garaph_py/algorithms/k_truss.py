"""k-trusses."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..executor.cpu.walk import bit_of
from ..graph import Graph
from ..graph.adjacency import Adjacency
from ..graph.arrays import GraphArrays
from ..native import Kernel, PerCall, atomic_add
from ..system.arguments import explained
from .in_memory import Call, in_memory
from .k_core import check_k, k_core
from .triangles import check_for_triangles, enter

Array = npt.NDArray[Any]

BLOCK = 32
"""Members of a list that are looked up without a branch, before the triangles found are compared with those wanted."""
SPARE = 16
"""Triangles that are counted beyond twice those that an edge needs, so that it can lose many before they are counted
again."""

RECOUNTED = 0.05
"""If a round removes a larger share of the edges, the next one counts all triangles again. Otherwise the triangles of
the removed edges are taken from the counts, which takes a look at each: on R-MAT of scale 16, 12 times as long for an
edge as counting one again."""


def place_of(others, begin, end, v):
    """The first place of [begin, end) in ascending `others` that holds v or more; `end` if none does."""
    while begin < end:
        middle = (begin + end) >> 1
        if others[middle] < v:
            begin = middle + 1
        else:
            end = middle
    return begin


def is_longer(offsets, u, v):
    """Whether the list of u was longer than that of v; of two as long, that of the larger vertex counts as longer."""
    more = (offsets[u + 1] - offsets[u]) - (offsets[v + 1] - offsets[v])
    return more > 0 or (more == 0 and u > v)


# wide: a compiled function takes its arrays one by one.
def copy_simple(first, last, offsets, all_others, others, ends):
    """Copy the lists of [first, last) without self-loops, and with one of parallel edges; say where each ends."""
    for v in range(first, last):
        before, place = np.int64(-1), offsets[v]
        for e in range(offsets[v], offsets[v + 1]):
            u = np.int64(all_others[e])
            if u not in (before, v):
                others[place] = u
                place += 1
            before = u
        ends[v] = place
    return 0


# wide: a compiled function takes its arrays one by one.
def find_leaving(cuts, pieces, taken, offsets, ends, others, least, counts, leaves, waiting, changed, near):
    """Count the triangles of edges that may have too few, and note those that leave; threads take pieces in turn.

    These are the edges from a vertex u that is `waiting` to those whose lists are at most as long, if their count is
    below `least`. The members of the other list are looked up in the set of u's neighbours, until twice as many as
    needed, and `SPARE` more, are found. Returns how many edges leave; ``changed[u]`` says whether some do.
    """
    found, enough = np.int64(0), 2 * least + SPARE
    piece = atomic_add(taken, 0, 1)
    while piece < pieces:
        for u in range(cuts[piece], cuts[piece + 1]):
            if not waiting[u]:
                continue
            waiting[u] = 0
            for e in range(offsets[u], ends[u]):
                near[others[e] >> 6] |= bit_of(np.int64(others[e]))
            before = found
            for e in range(offsets[u], ends[u]):
                v = np.int64(others[e])
                if counts[e] < least and is_longer(offsets, u, v):
                    place, end, count = offsets[v], ends[v], np.int64(0)
                    while place < end and count < enough:
                        stop = min(place + BLOCK, end)
                        for other in range(place, stop):
                            w = np.int64(others[other])
                            count += np.int64((near[w >> 6] >> np.uint64(w & 63)) & np.uint64(1))
                        place = stop
                    counts[e] = count
                    if count < least:
                        leaves[e] = 1
                        found += 1
            changed[u] = found > before
            for e in range(offsets[u], ends[u]):
                near[others[e] >> 6] = 0
        piece = atomic_add(taken, 0, 1)
    return found


# wide: a compiled function takes its arrays one by one.
def take_triangle(offsets, ends, others, least, counts, waiting, u, e, w):
    """Take a triangle from the count of the edge between u and w, which is at place e in the list of u. If too few are
    left, its end with the longer list waits."""
    owner = u
    if not is_longer(offsets, u, w):
        owner, e = w, place_of(others, offsets[w], ends[w], u)
    if atomic_add(counts, e, -1) <= least:
        waiting[owner] = 1


# wide: a compiled function takes its arrays one by one.
def take_triangles(cuts, pieces, taken, offsets, ends, others, least, counts, leaves, waiting, changed, near, places):
    """Take the triangles of edges that leave from the counts of their other two edges.

    Of the vertices in the set `near`, the neighbours of u, `places` says where in the list of u they are.
    """
    piece = atomic_add(taken, 0, 1)
    while piece < pieces:
        for u in range(cuts[piece], cuts[piece + 1]):
            if not changed[u]:
                continue
            enter(others, offsets[u], ends[u], near, places)
            for e in range(offsets[u], ends[u]):
                if leaves[e]:
                    v = np.int64(others[e])
                    for other in range(offsets[v], ends[v]):
                        w = np.int64(others[other])
                        if near[w >> 6] & bit_of(w):
                            place = offsets[u] + np.int64(places[w])
                            take_triangle(offsets, ends, others, least, counts, waiting, u, place, w)
                            take_triangle(offsets, ends, others, least, counts, waiting, v, other, w)
            for e in range(offsets[u], ends[u]):
                near[others[e] >> 6] = 0
        piece = atomic_add(taken, 0, 1)
    return 0


# wide: a compiled function takes its arrays one by one.
def tell_others(first, last, offsets, ends, others, leaves, changed):
    """Mark each edge of [first, last) that leaves in the list of its other end, too."""
    for u in range(first, last):
        if changed[u]:
            for e in range(offsets[u], ends[u]):
                v = np.int64(others[e])
                if leaves[e] and is_longer(offsets, u, v):
                    leaves[place_of(others, offsets[v], ends[v], u)] = changed[v] = 1
    return 0


# wide: a compiled function takes its arrays one by one.
def remove_leaving(first, last, offsets, ends, others, counts, leaves, changed):
    """Remove the edges that leave from the lists of [first, last)."""
    for u in range(first, last):
        if changed[u]:
            changed[u] = 0
            place = offsets[u]
            for e in range(offsets[u], ends[u]):
                if not leaves[e]:
                    others[place], counts[place] = others[e], counts[e]
                    place += 1
                leaves[e] = 0
            ends[u] = place
    return 0


# wide: a compiled function takes its arrays one by one.
def find_kept(first, last, offsets, ends, others, all_others, kept):
    """Say which edges of the given lists of [first, last) are left; of parallel ones, this is the first."""
    for v in range(first, last):
        place = offsets[v]
        for e in range(offsets[v], offsets[v + 1]):
            kept[e] = place < ends[v] and others[place] == all_others[e]
            place += kept[e]
    return 0


ROUND = "i64* i64 i64* i64* i64* u32* i64 i64* u8* u8* u8* u64*"
COPY_SIMPLE = Kernel("i64 i64 i64* u32* u32* i64*", copy_simple)
FIND_LEAVING = Kernel(ROUND, find_leaving)
TAKE_TRIANGLES = Kernel(f"{ROUND} u32*", take_triangles)
TELL_OTHERS = Kernel("i64 i64 i64* i64* u32* u8* u8*", tell_others)
REMOVE_LEAVING = Kernel("i64 i64 i64* i64* u32* i64* u8* u8*", remove_leaving)
FIND_KEPT = Kernel("i64 i64 i64* i64* u32* u32* u8*", find_kept)
KERNELS = [COPY_SIMPLE, FIND_LEAVING, TAKE_TRIANGLES, TELL_OTHERS, REMOVE_LEAVING, FIND_KEPT]


@explained
def k_truss(graph: Graph, *, k: int, threads: int | None = None) -> Graph:
    """The k-truss: the largest subgraph in which each edge is in at least k - 2 triangles, and each vertex has an edge.

    Parameters
    ----------
    graph : Graph
        Undirected. The truss has none of its self-loops, and one of parallel edges.
    k : int
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Graph
        With the edge values that the graph has. Without vertices if there is no such truss.

    Raises
    ------
    ParameterError
        If `k` is not a whole number.
    GraphError
        If the graph is directed, or its edges are on disk.

    Notes
    -----
    It runs kernels of its own in memory, on all cores. They begin with the (k - 1)-core, which contains the truss. In
    each round they count the triangles of edges that may be in too few, at first of all edges, and remove those that
    are; the triangles of removed edges are taken from the counts of their other edges. Counting ends where an edge has
    twice as many as it needs. A first round takes O(m sqrt(m)) time, and so do all later ones together if few edges
    have to be counted again.

    References
    ----------
    .. [1] Cohen, J., "Trusses: cohesive subgraphs for social network analysis", National Security Agency, 2008.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c", "c"], ["b", "c", "a", "d"], directed=False)
    >>> gp.algorithms.k_truss(graph, k=3)
    <Graph: 3 vertices, 3 undirected edges>
    """
    check_for_triangles(graph, "k_truss")
    check_k(k)
    core = k_core(graph, k=max(k - 1, 1), threads=threads)
    with in_memory(core, "k_truss", KERNELS, threads) as call:
        edges = call.arrays.in_edges
        given, offsets = edges.neighbours, edges.offsets
        ends, others, kept = np.empty(core.n, np.int64), np.empty_like(given), np.empty(core.m, np.uint8)
        call.on_vertices(COPY_SIMPLE, offsets, given, others, ends, offsets=offsets)
        if k > 2:
            remove_outside(call, offsets, ends, others, min(k - 2, core.n))  # none is in n triangles
        call.on_vertices(FIND_KEPT, offsets, ends, others, given, kept, offsets=offsets)
        return of_kept(core, edges, kept.view(np.bool_), ends - offsets[:-1])


def remove_outside(call: Call, offsets: Array, ends: Array, others: Array, least: int) -> None:
    """Remove edges from the lists until each is in `least` triangles.

    It works in rounds, in which no edge is removed before all have been counted.
    """
    n, threads, m = call.graph.n, call.pool.size, call.graph.m
    counts, leaves, near = np.zeros(m, np.int64), np.zeros(m, np.uint8), np.zeros((threads, n // 64 + 1), np.uint64)
    waiting, changed, cuts = np.ones(n, np.uint8), np.zeros(n, np.uint8), call.cuts(offsets)
    lists, places = (offsets, ends, others), np.empty((threads, n), np.uint32)
    shared = *lists, least, counts, leaves, waiting, changed, PerCall(near)
    left = int((ends - offsets[:-1]).sum()) // 2
    while lost := int(call.by_threads(FIND_LEAVING, cuts, len(cuts) - 1, np.zeros(1, np.int64), *shared).sum()):
        if lost > left * RECOUNTED:
            counts[:], waiting[:] = 0, 1
        else:
            row = cuts, len(cuts) - 1, np.zeros(1, np.int64), *shared, PerCall(places)
            call.by_threads(TAKE_TRIANGLES, *row)
        left -= lost
        call.on_vertices(TELL_OTHERS, *lists, leaves, changed, offsets=offsets)
        call.on_vertices(REMOVE_LEAVING, *lists, counts, leaves, changed, offsets=offsets)


def of_kept(graph: Graph, edges: Adjacency, kept: Array, degrees: Array) -> Graph:
    """The graph of those `edges` of `graph` that are `kept`, and of their ends; each vertex has `degrees` of them."""
    members, numbers = np.flatnonzero(degrees), np.empty(graph.n, np.uint32)
    numbers[members] = np.arange(len(members), dtype=np.uint32)
    values = None if edges.values is None else edges.values[kept]
    found = Adjacency(np.append(0, np.cumsum(degrees[members])), numbers[edges.neighbours[kept]], values)
    return Graph(GraphArrays(found, found, graph.ids.reordered(members)))
