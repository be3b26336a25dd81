"""Triangles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..executor.cpu.walk import bit_of
from ..graph import Graph
from ..graph.adjacency import Adjacency
from ..native import Kernel, PerCall, atomic_add
from ..output.result import Result
from ..system.arguments import explained
from .in_memory import Call, check_in_memory, check_undirected, in_memory
from .nodes import for_nodes
from .simple import COUNT_NEIGHBOURS, simple_degrees

Array = npt.NDArray[Any]


# wide: a compiled function takes its arrays one by one.
def orient(first, last, offsets, others, values, ranks, fill, valued, out_offsets, out, out_values):
    """Write the ranks of those neighbours of each vertex of [first, last) that rank before it, in the list of its rank.

    If `valued`, it also writes the values of these edges, of parallel ones the largest. Without `fill` it writes the
    lengths of the lists, each at the place of the offset that follows.
    """
    for v in range(first, last):
        rank, before = np.int64(ranks[v]), np.int64(-1)
        at = out_offsets[rank] if fill else np.int64(0)
        for e in range(offsets[v], offsets[v + 1]):
            u = np.int64(others[e])
            if ranks[u] < rank and u != before:
                if fill:
                    out[at] = ranks[u]
                    if valued:
                        out_values[at] = values[e]
                at += 1
            elif ranks[u] < rank and fill and valued:
                out_values[at - 1] = max(out_values[at - 1], values[e])
            before = u
        if not fill:
            out_offsets[rank + 1] = at
    return 0


def enter(others, begin, end, near, places):
    """Add the vertices of a list to the set `near`, and note in `places` where in the list each of them is."""
    for e in range(begin, end):
        v = np.int64(others[e])
        near[v >> 6] |= bit_of(v)
        places[v] = e - begin


# wide: a compiled function takes its arrays one by one.
def count_triangles(cuts, pieces, taken, offsets, others, near, places, found, common, counts):
    """Count triangles, each at its last vertex, for all three; threads take pieces of vertices in turn.

    For a vertex u, the set `near` has the vertices of its list, and `places` says where in the list each of them is.
    The array `common` gets what this list and another one share: it is written at every step, and only its end depends
    on the look-up, which no branch could predict. The array `found` counts the triangles of u by the places of their
    other vertices. Returns the edges followed.
    """
    followed = np.int64(0)
    piece = atomic_add(taken, 0, 1)
    while piece < pieces:
        for u in range(cuts[piece], cuts[piece + 1]):
            begin, end = offsets[u], offsets[u + 1]
            if end - begin < 2:
                continue
            enter(others, begin, end, near, places)
            total = np.int64(0)
            for e in range(begin, end):
                v = np.int64(others[e])
                closed = np.int64(0)
                for other in range(offsets[v], offsets[v + 1]):
                    w = np.int64(others[other])
                    common[closed] = w
                    closed += np.int64((near[w >> 6] >> np.uint64(w & 63)) & np.uint64(1))
                for hit in range(closed):
                    found[places[common[hit]]] += 1
                found[e - begin] += closed
                total += closed
                followed += offsets[v + 1] - offsets[v]
            for e in range(begin, end):
                v = np.int64(others[e])
                near[v >> 6] = 0
                if found[e - begin]:
                    atomic_add(counts, v, found[e - begin])
                    found[e - begin] = 0
            if total:
                atomic_add(counts, u, total)
        piece = atomic_add(taken, 0, 1)
    return followed


ORIENT = Kernel("i64 i64 i64* u32* f64* u32* bool bool i64* u32* f64*", orient)
COUNT_TRIANGLES = Kernel("i64* i64 i64* i64* u32* u64* u32* i64* u32* i64*", count_triangles)
KERNELS = [COUNT_NEIGHBOURS, ORIENT, COUNT_TRIANGLES]
"""What `triangle_counts` runs."""


def check_for_triangles(graph: Any, function: str) -> None:
    """Refuse what is no undirected graph in memory, in a call of `function`."""
    check_in_memory(graph, function)
    check_undirected(graph, function)


@dataclass(frozen=True)
class Oriented:
    """Each edge once, in the list of its end that ranks last: by degree, and vertices with most neighbours first.

    Attributes
    ----------
    ranks, degrees : ndarray of int64, shape (n,)
        The rank of each vertex, and the number of its neighbours.
    lists : Adjacency
        Between ranks.
    cuts : ndarray of int64
        The bounds of pieces of ranks, for threads.
    longest : int
        The length of the longest list.
    """

    ranks: Array
    degrees: Array
    lists: Adjacency
    cuts: Array

    @property
    def longest(self) -> int:
        return int(np.diff(self.lists.offsets).max(initial=0))


def oriented(call: Call, edges: Adjacency, values: Array | None = None) -> Oriented:
    """The edges of an undirected graph, with these values (float64, shape (m,)) if there are any."""
    n = call.graph.n
    degrees = simple_degrees(call, [edges])
    ranks = np.empty(n, np.uint32)
    ranks[np.argsort(-degrees, kind="stable")] = np.arange(n, dtype=np.uint32)
    given, offsets = (edges.offsets, edges.neighbours, values, ranks), np.zeros(n + 1, np.int64)
    call.on_vertices(ORIENT, *given, False, False, offsets, None, None, offsets=edges.offsets)
    np.cumsum(offsets, out=offsets)
    others = np.empty(int(offsets[-1]), np.uint32)
    kept = None if values is None else np.empty(len(others))
    call.on_vertices(ORIENT, *given, True, kept is not None, offsets, others, kept, offsets=edges.offsets)
    return Oriented(ranks, degrees, Adjacency(offsets, others, kept), call.cuts(offsets))


def triangle_counts(call: Call) -> tuple[Array, Array, int]:
    """The triangles and the neighbours of each vertex, and how many edges were visited to count them."""
    found, n, threads = oriented(call, call.arrays.in_edges), call.graph.n, call.pool.size
    counts, near, places = np.zeros(n, np.int64), *sets_for(call)
    closed, common = np.zeros((threads, found.longest), np.int64), np.empty((threads, found.longest + 1), np.uint32)
    followed = call.by_threads(
        COUNT_TRIANGLES, found.cuts, len(found.cuts) - 1, np.zeros(1, np.int64), found.lists.offsets,
        found.lists.neighbours, PerCall(near), PerCall(places), PerCall(closed), PerCall(common), counts,
    )  # fmt: skip
    return counts[found.ranks], found.degrees, 3 * call.graph.m + int(followed.sum())


def sets_for(call: Call) -> tuple[Array, Array]:
    """For each thread an empty set of vertices, and memory for a place of each vertex."""
    n, threads = call.graph.n, call.pool.size
    return np.zeros((threads, n // 64 + 1), np.uint64), np.empty((threads, n), np.uint32)


@explained
def triangles(graph: Graph, *, nodes: Any = None, threads: int | None = None) -> Result | dict[Any, int] | int:
    """The number of triangles of each vertex: pairs of its neighbours that are neighbours of each other.

    Parameters
    ----------
    graph : Graph
        Undirected. Self-loops do not count, and parallel edges count as one.
    nodes : vertex id or iterable, optional
        Count the triangles of this vertex, or of these; by default of all.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Result, dict or int
        int64. The graph has a third as many triangles as all vertices together. With `nodes`, a number for the vertex,
        or a dictionary from the vertices to numbers.

    Raises
    ------
    GraphError
        If the graph is directed, or its edges are on disk.
    UnknownVertexError
        If the graph lacks one of the `nodes`.

    Notes
    -----
    It runs a kernel of its own in memory, on all cores. The kernel keeps each edge once, at the end with fewer
    neighbours, so no list is longer than sqrt(2 m). It intersects the lists of both ends of each edge, in O(m sqrt(m))
    time for all edges [1]_. With `nodes` it counts in the subgraph of these and of their neighbours. It takes 44 bytes
    for each vertex, 4.1 more for each vertex and thread, and 4 for each edge.

    References
    ----------
    .. [1] Latapy, M., "Main-memory triangle computations for very large (sparse (power-law)) graphs", Theoretical
       Computer Science 407, 2008.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c", "c"], ["b", "c", "a", "d"], directed=False)
    >>> dict(gp.algorithms.triangles(graph))
    {'a': 1, 'b': 1, 'c': 1, 'd': 0}
    """
    check_for_triangles(graph, "triangles")
    if nodes is not None:
        found: dict[Any, int] | int = for_nodes(lambda near: all_triangles(near, threads), graph, nodes, threads)
        return found
    return all_triangles(graph, threads)


def all_triangles(graph: Graph, threads: int | None) -> Result:
    """The triangles of all vertices of an undirected graph."""
    with in_memory(graph, "triangles", KERNELS, threads) as call:
        counts, _, edges = triangle_counts(call)
        return call.result(counts, edges)
