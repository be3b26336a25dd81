"""The h-index of each vertex over its neighbours' values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph import Graph
from ..native import Kernel, PerCall, atomic_add
from ..output.result import Result
from ..program import PerVertex
from ..system.arguments import explained
from .in_memory import in_memory
from .numbers import vertex_values
from .simple import COUNT_NEIGHBOURS, simple_degrees

Array = npt.NDArray[Any]


# wide: a compiled function takes its arrays one by one.
def find_indices(cuts, pieces, taken, offsets, others, limits, counts, found):
    """Find the h-index of each vertex; threads take pieces of vertices in turn.

    For a vertex with a list of d edges, ``counts[h]`` counts the neighbours whose `limits` are h, or d or more for
    h = d. The counts are added up from the top until they reach h. All are 0 before and after.
    """
    piece = atomic_add(taken, 0, 1)
    while piece < pieces:
        for v in range(cuts[piece], cuts[piece + 1]):
            begin, end = offsets[v], offsets[v + 1]
            h, before = end - begin, np.int64(-1)
            for e in range(begin, end):
                u = np.int64(others[e])
                if u != before and u != v:
                    counts[min(np.int64(limits[u]), h)] += 1
                before = u
            reach = counts[h]
            counts[h] = 0
            while reach < h:
                h -= 1
                reach += counts[h]
                counts[h] = 0
            for less in range(h):
                counts[less] = 0
            found[v] = h
        piece = atomic_add(taken, 0, 1)
    return 0


FIND_INDICES = Kernel("i64* i64 i64* i64* u32* u32* i64* i64*", find_indices)


@explained
def h_index(graph: Graph, *, values: PerVertex = None, threads: int | None = None) -> Result:
    """The h-index of each vertex: the largest h such that at least h neighbours have a value of h or more.

    With degrees as values, the default, it is the h-index of [1]_. In an undirected graph, repeated calls, each with
    the last answer as `values`, fall to the core numbers and then stay.

    Parameters
    ----------
    graph : Graph
        If it is directed, neighbours are those from which an edge leads to the vertex; ``graph.reversed()`` has those
        to which one leads. Self-loops do not count, and parallel edges count as one.
    values : per vertex, optional
        Finite numbers in an array, a result or a mapping, in which vertices that are left out have 0. By default the
        number of each vertex's neighbours.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Result
        int64.

    Raises
    ------
    ParameterError
        If `values` are not a finite number for each vertex.
    UnknownVertexError
        If `values` name a vertex that the graph lacks.
    GraphError
        If the edges are on disk.

    Notes
    -----
    It runs a kernel of its own in memory, on all cores, because a vertex program cannot gather an h-index as a sum. The
    kernel counts a vertex's neighbours by value. It takes O(n + m) time, 20 bytes for each vertex, and for each thread
    8 bytes for each edge of the longest list.

    References
    ----------
    .. [1] Lü, L., T. Zhou, Q.-M. Zhang, H. E. Stanley, "The H-index of a network node and its relation to degree and
       coreness", Nature Communications 7, 2016; `h_index` is their operator H.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c", "c"], ["b", "c", "a", "d"], directed=False)
    >>> dict(gp.algorithms.h_index(graph))
    {'a': 2, 'b': 2, 'c': 2, 'd': 1}
    >>> dict(gp.algorithms.h_index(graph, values={"a": 1, "d": 5}))
    {'a': 0, 'b': 1, 'c': 1, 'd': 0}
    """
    with in_memory(graph, "h_index", [COUNT_NEIGHBOURS, FIND_INDICES], threads) as call:
        edges, n = call.arrays.in_edges, call.graph.n
        given = simple_degrees(call, [edges]) if values is None else vertex_values(values, graph, "h_index", "values")
        limits = np.clip(given, 0, n).astype(np.uint32)  # an index is a whole number of at most n
        cuts, found = call.cuts(edges.offsets), np.zeros(n, np.int64)
        counts = np.zeros((call.pool.size, int(np.diff(edges.offsets).max(initial=0)) + 1), np.int64)
        call.by_threads(
            FIND_INDICES, cuts, len(cuts) - 1, np.zeros(1, np.int64), edges.offsets, edges.neighbours, limits,
            PerCall(counts), found,
        )  # fmt: skip
        return call.result(found, (2 if values is None else 1) * graph.m)
