"""k-trusses."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph import Graph
from ..graph.arrays import GraphArrays
from ..graph.compress import compress
from ..native import Kernel
from ..system.arguments import explained
from .in_memory import Call, in_memory
from .k_core import check_k, k_core
from .triangles import check_for_triangles

Array = npt.NDArray[Any]


def place_of(others, begin, end, v):
    """The first place of [begin, end) in ascending `others` that holds v or more; `end` if none does."""
    while begin < end:
        middle = (begin + end) >> 1
        if others[middle] < v:
            begin = middle + 1
        else:
            end = middle
    return begin


# wide: a compiled function takes its arrays one by one.
def supported(first, last, offsets, others, least, changed, keeps):
    """Say of each edge between u of [first, last) and v > u, in both lists, whether `least` triangles have it.

    Edges between vertices of which none has changed are left as they are. The members of the shorter list are looked up
    in the longer one, until they are enough or too few are left.
    """
    for u in range(first, last):
        for e in range(offsets[u], offsets[u + 1]):
            v = np.int64(others[e])
            if v < u or not (changed[u] or changed[v]):
                continue
            short, long = u, v
            if offsets[u + 1] - offsets[u] > offsets[v + 1] - offsets[v]:
                short, long = v, u
            place, end, found = offsets[long], offsets[long + 1], np.int64(0)
            for other in range(offsets[short], offsets[short + 1]):
                if found >= least or found + offsets[short + 1] - other < least:
                    break
                place = place_of(others, place, end, others[other])
                found += place < end and others[place] == others[other]
            keeps[e] = keeps[place_of(others, offsets[v], offsets[v + 1], u)] = found >= least
    return 0


SUPPORTED = Kernel("i64 i64 i64* u32* i64 u8* u8*", supported)


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
    It runs a kernel of its own in memory, on all cores. The kernel begins with the (k - 1)-core, which contains the
    truss. In each round it removes all edges that are in too few triangles, until a round finds none. From the second
    round on, it looks only at edges of vertices that have lost an edge. A round takes O(m sqrt(m) log(m)) time.

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
    with in_memory(core, "k_truss", [SUPPORTED], threads) as call:
        edges = call.arrays.in_edges
        owners, others = owners_of(edges.offsets), edges.neighbours
        kept = np.flatnonzero(first_of_parallel(owners, others) & (owners != others))
        kept = truss(call, owners, others, kept, k - 2)
        once = kept[owners[kept] < others[kept]]
        values = None if edges.values is None else edges.values[once]
        members = np.unique(owners[kept])
        columns = [np.searchsorted(members, ends[once]).astype(np.uint32) for ends in (owners, others)]
        ids = core.ids.reordered(members)
        into, out, names = compress([*columns, values], ids, directed=False, threads=threads)
        return Graph(GraphArrays(into, out, names))


def owners_of(offsets: Array) -> Array:
    """The vertex in whose list each edge is."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.uint32), np.diff(offsets))


def first_of_parallel(owners: Array, others: Array) -> Array:
    """Whether an edge is no parallel one to that before."""
    found = np.ones(len(owners), np.bool_)
    found[1:] = (owners[1:] != owners[:-1]) | (others[1:] != others[:-1])
    return found


def truss(call: Call, owners: Array, others: Array, kept: Array, least: int) -> Array:
    """Those of the `kept` edges that are in the truss whose edges are in at least `least` triangles."""
    n = call.graph.n
    changed = np.ones(n, np.uint8)
    while True:
        offsets = np.append(0, np.cumsum(np.bincount(owners[kept], minlength=n)))
        keeps = np.ones(len(kept), np.uint8)
        call.on_vertices(SUPPORTED, offsets, others[kept], least, changed, keeps, offsets=offsets)
        if keeps.all():
            return kept
        changed[:] = 0
        changed[owners[kept[keeps == 0]]] = 1
        kept = kept[keeps > 0]
