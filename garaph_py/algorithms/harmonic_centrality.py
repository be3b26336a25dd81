"""Harmonic centrality."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import Graph
from ..output.result import Result
from ..system.arguments import explained
from .dijkstra import ADD_LENGTHS, has_lengths, lengths_from_each
from .distances import ADD_DISTANCES, distances
from .in_memory import check_in_memory, in_memory


@explained
def harmonic_centrality(
    graph: Graph, *, distance: bool = False, sources: Any = None, threads: int | None = None
) -> Result:
    """Harmonic centrality: ``c_v = sum of 1 / d(s, v)`` over all other vertices s that reach v.

    d(s, v) is the length of a shortest path from s to v. Distances of 0 do not count.

    Parameters
    ----------
    graph : Graph
        If it is directed, distances are those to the vertex, as in NetworkX; ``graph.reversed()`` has those from it.
    distance : bool
        Whether edge values, numbers of 0 or more, are lengths; otherwise, and in a graph without edge values, every
        edge has length 1.
    sources : iterable, optional
        Sum over these vertices s only; by default over all.
    threads : int, optional
        By default every core that this process may use. The last bits of sums depend on it.

    Returns
    -------
    Result
        float64.

    Raises
    ------
    GraphError
        If the edges are on disk; with `distance`, if an edge value is negative.
    UnknownVertexError
        If one of the `sources` is not in the graph.

    Notes
    -----
    It runs a kernel of its own in memory, on all cores, which searches from 64 sources at once [2]_. It takes O(n m)
    time, or O(m) for each of the `sources`, at best a 64th of that, and 48 bytes for each vertex and thread. By length,
    each core searches from one source after the other, which takes log n times as long, and 8 bytes more for each edge.

    References
    ----------
    .. [1] Boldi, P., S. Vigna, "Axioms for centrality", Internet Mathematics 10, 2014.
    .. [2] Then, M., et al., "The more the merrier: efficient multi-source graph traversal", VLDB 2014.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b"], ["b", "c"], directed=False)
    >>> dict(gp.algorithms.harmonic_centrality(graph))
    {'a': 1.5, 'b': 2.0, 'c': 1.5}
    """
    check_in_memory(graph, "harmonic_centrality")
    places = np.arange(graph.n) if sources is None else np.unique(graph.ids.indices(sources))
    by_length = has_lengths(graph, distance, "harmonic_centrality", 0)
    kernel, add = (ADD_LENGTHS, lengths_from_each) if by_length else (ADD_DISTANCES, distances)
    with in_memory(graph, "harmonic_centrality", [kernel], threads) as call:
        sums, _, edges = add(call, places, True)
        return call.result(sums, edges)
