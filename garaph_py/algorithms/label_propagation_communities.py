"""Communities by label propagation."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph import Graph
from ..native import Kernel, PerCall, atomic_add
from ..output.result import Result
from ..system.arguments import explained
from .in_memory import Call, check_in_memory, check_undirected, in_memory
from .simple import COUNT_NEIGHBOURS, simple_degrees

Array = npt.NDArray[Any]

NONE = 0xFFFFFFFF
"""The colour of a vertex that has none yet."""
PIECE = 64
"""Vertices of the smallest piece of a colour that a thread takes."""


def colour(order, n, offsets, others, colours, taken):
    """Give each vertex, in this order, the least colour that no neighbour has. Returns the number of colours.

    ``taken[c]`` is 1 more than the vertex that has last found colour c at a neighbour.
    """
    most = np.int64(0)
    for place in range(n):
        v = order[place]
        for e in range(offsets[v], offsets[v + 1]):
            found = colours[others[e]]
            if found != NONE:
                taken[found] = v + 1
        least = np.int64(0)
        while taken[least] == v + 1:
            least += 1
        colours[v] = least
        most = max(most, least + 1)
    return most


# wide: a compiled function takes its arrays one by one.
def propagate(vertices, count, piece, done, offsets, others, labels, waiting, counts):
    """Give each vertex that waits a label that most of its neighbours have, and let its neighbours wait if that is new.

    Threads take pieces of the vertices, which have one colour, in turn; `done` counts these. A vertex keeps its label
    if that is one of the most frequent; otherwise it gets the largest of these. Returns the edges visited.
    """
    visited = np.int64(0)
    start = atomic_add(done, 0, 1) * piece
    while start < count:
        for place in range(start, min(start + piece, count)):
            v = np.int64(vertices[place])
            if not waiting[v]:
                continue
            waiting[v] = 0
            begin, end = offsets[v], offsets[v + 1]
            most, before = np.int64(0), np.int64(-1)
            for e in range(begin, end):
                u = np.int64(others[e])
                if u != before and u != v:
                    counts[labels[u]] += 1
                    most = max(most, np.int64(counts[labels[u]]))
                before = u
            keeps, best = counts[labels[v]] == most, np.int64(-1)
            for e in range(begin, end):
                label = np.int64(labels[others[e]])
                if counts[label] == most and label > best:
                    best = label
                counts[label] = 0
            visited += 2 * (end - begin)
            if not keeps:
                labels[v] = best
                for e in range(begin, end):
                    if others[e] != v:
                        waiting[others[e]] = 1
        start = atomic_add(done, 0, 1) * piece
    return visited


COLOUR = Kernel("i64* i64 i64* u32* u32* i64*", colour)
PROPAGATE = Kernel("u32* i64 i64 i64* i64* u32* u32* u8* u32*", propagate)


def coloured(call: Call) -> tuple[Array, Array]:
    """The vertices ordered by colour, those of many neighbours coloured first; and where each colour begins and ends.

    Neighbours have different colours.
    """
    edges = call.arrays.in_edges
    degrees = simple_degrees(call, [edges])
    order = np.argsort(-degrees, kind="stable")
    colours = np.full(call.graph.n, NONE, np.uint32)
    most = COLOUR(order, call.graph.n, edges.offsets, edges.neighbours, colours, np.zeros(degrees.max() + 2, np.int64))
    bounds = np.append(0, np.cumsum(np.bincount(colours, minlength=most)))
    return np.argsort(colours, kind="stable").astype(np.uint32), bounds


@explained
def label_propagation_communities(graph: Graph, *, threads: int | None = None) -> Result:
    """Communities by label propagation: each vertex has a label that is one of the most frequent among its neighbours.

    At first each vertex has a label of its own. Then vertices take the most frequent label of their neighbours, until
    all have one. A vertex keeps its label if that is one of the most frequent; otherwise it takes the largest of these.

    Parameters
    ----------
    graph : Graph
        Undirected. Self-loops do not count, and parallel edges count as one.
    threads : int, optional
        By default every core that this process may use. The answer does not depend on it.

    Returns
    -------
    Result
        The community of each vertex: the vertex with the smallest internal id in it. NetworkX gives sets of vertices:
        ``result.to_pandas().groupby("value").groups`` has these. They are the same if NetworkX has the vertices in the
        order of ``graph.ids``.

    Raises
    ------
    GraphError
        If the graph is directed, or its edges are on disk.

    Notes
    -----
    It runs a kernel of its own in memory, on all cores, because a vertex program cannot gather the most frequent label
    as a sum. The kernel updates vertices of one colour together, no two of which are neighbours. So with each change,
    more edges join vertices of the same label, and the updates come to an end [1]_. Labels are those of [2]_. It takes
    O(m) time for each pass, 48 bytes for each vertex, and 4 more for each vertex and thread.

    References
    ----------
    .. [1] Cordasco, G., L. Gargano, "Community detection via semi-synchronous label propagation algorithms", BASNA
       2010.
    .. [2] Raghavan, U. N., R. Albert, S. Kumara, "Near linear time algorithm to detect community structures in
       large-scale networks", Physical Review E 76, 2007.

    Examples
    --------
    >>> graph = gp.from_edges([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3], directed=False)
    >>> gp.algorithms.label_propagation_communities(graph).column()
    array([0, 0, 0, 3, 3, 3])
    """
    name = "label_propagation_communities"
    check_in_memory(graph, name)
    check_undirected(graph, name)
    with in_memory(graph, name, [COUNT_NEIGHBOURS, COLOUR, PROPAGATE], threads) as call:
        if not graph.n:
            return call.result(np.zeros(0, np.int64), 0, ("value",))
        labels, visited = propagated(call)
        _, first, places = np.unique(labels, return_index=True, return_inverse=True)
        return call.result(first[places], visited + 2 * graph.m, ("value",))


def propagated(call: Call) -> tuple[Array, int]:
    """The labels at the end, and how many edges were visited."""
    n, edges, threads = call.graph.n, call.arrays.in_edges, call.pool.size
    offsets, others = edges.offsets, edges.neighbours
    vertices, bounds = coloured(call)
    labels, waiting = np.arange(n, dtype=np.uint32), (np.diff(offsets) > 0).astype(np.uint8)
    counts, visited = np.zeros((threads, n), np.uint32), 0
    while waiting.any():
        for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            calls = min(threads, -(-(last - first) // PIECE))
            rows = PROPAGATE.rows(
                calls, vertices[first:last], last - first, PIECE, np.zeros(1, np.int64), offsets, others, labels,
                waiting, PerCall(counts),
            )  # fmt: skip
            visited += int(call.pool.launch(rows).sum())
    return labels, visited
