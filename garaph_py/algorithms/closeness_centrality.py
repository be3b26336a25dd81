"""Closeness centrality."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..apps import BFS, SSSP
from ..apps.sssp import has_distance
from ..graph import Graph
from ..graph.arguments import check_graph
from ..output.result import Result
from ..runtime.run import run
from ..system.arguments import explained
from .dijkstra import ADD_LENGTHS, has_lengths, lengths_from_each
from .distances import ADD_DISTANCES, distances
from .in_memory import check_in_memory, in_memory

Array = npt.NDArray[Any]


@explained
def closeness_centrality(
    graph: Graph, *, u: Any = None, distance: bool = False, wf_improved: bool = True, threads: int | None = None
) -> Result | float:
    """Closeness: ``c_v = r_v / sum of d(s, v)``, over the r_v other vertices s that reach v.

    d(s, v) is the length of a shortest path from s to v. A vertex that no other one reaches has 0.

    Parameters
    ----------
    graph : Graph
        If it is directed, distances are those to the vertex, as in NetworkX; give ``graph.reversed()`` for distances
        from it.
    u : vertex id, optional
        Compute the closeness of this vertex only.
    distance : bool
        Whether edge values, numbers of 0 or more, are lengths; otherwise, and in a graph without edge values, every
        edge has length 1.
    wf_improved : bool
        Multiply by ``r_v / (n - 1)``, the share of the other vertices that reach v [2]_.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Result or float
        float64; a number if `u` is given.

    Raises
    ------
    GraphError
        If the edges are on disk, and `u` is not given; with `distance`, if an edge value is negative.
    UnknownVertexError
        If the graph has no vertex `u`.

    Notes
    -----
    With `u` it runs the vertex program `garaph_py.apps.BFS` or, by length, `garaph_py.apps.SSSP`, on the reversed
    graph. Without `u` it runs a kernel of its own in memory, on all cores, which searches from 64 sources at once [3]_.
    That takes O(n m) time, at best a 64th of that, and 48 bytes for each vertex and thread. By length, each core
    searches from one source after the other, in O(n m log n) time, with 48 bytes for each vertex and thread, and 8 for
    each edge.

    References
    ----------
    .. [1] Freeman, L. C., "Centrality in social networks: conceptual clarification", Social Networks 1, 1978.
    .. [2] Wasserman, S., K. Faust, "Social network analysis: methods and applications", 1994, page 201.
    .. [3] Then, M., et al., "The more the merrier: efficient multi-source graph traversal", VLDB 2014.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b"], ["b", "c"], directed=False)
    >>> dict(gp.algorithms.closeness_centrality(graph))
    {'a': 0.666..., 'b': 1.0, 'c': 0.666...}
    >>> gp.algorithms.closeness_centrality(graph, u="b")
    1.0
    """
    check_graph(graph, "closeness_centrality")
    if u is not None:
        found = distances_to(u, graph, distance, threads)
        sums, reached = np.array([found.sum(dtype=np.float64)]), np.array([len(found) - 1])
        return float(closeness(sums, reached, graph.n, wf_improved)[0])
    check_in_memory(graph, "closeness_centrality")
    by_length = has_lengths(graph, distance, "closeness_centrality", 0)
    kernel, add = (ADD_LENGTHS, lengths_from_each) if by_length else (ADD_DISTANCES, distances)
    with in_memory(graph, "closeness_centrality", [kernel], threads) as call:
        sums, reached, edges = add(call, np.arange(graph.n), False)
        return call.result(closeness(sums, reached, graph.n, wf_improved), edges)


def distances_to(u: Any, graph: Graph, by_length: bool, threads: int | None) -> Array:
    """The distances to the vertex `u` from the vertices that reach it, `u` included."""
    if by_length and graph.edge_dtype is not None:
        lengths = run(SSSP(source=u), graph._reversed(valued=True), threads=threads).values
        reaching: Array = lengths[has_distance(lengths)]
        return reaching
    levels: Array = run(BFS(source=u), graph._reversed(valued=False), threads=threads).values["level"]
    return levels[levels >= 0]


def closeness(sums: Array, reached: Array, n: int, wf_improved: bool) -> Array:
    """The closeness of vertices that `reached` of the `n` vertices reach, over distances with these sums."""
    values = np.zeros(len(sums))
    np.divide(reached, sums, out=values, where=sums > 0)
    if wf_improved and n > 1:
        values *= reached / (n - 1)
    return values
