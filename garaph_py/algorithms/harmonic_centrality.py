"""Harmonic centrality."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import Graph
from ..output.result import Result
from ..system.arguments import explained
from .distances import ADD_DISTANCES, distances
from .in_memory import check_in_memory, in_memory


@explained
def harmonic_centrality(graph: Graph, *, sources: Any = None, threads: int | None = None) -> Result:
    """Harmonic centrality: ``c_v = sum of 1 / d(s, v)`` over all other vertices s that reach v.

    d(s, v) is the number of edges on a shortest path from s to v.

    Parameters
    ----------
    graph : Graph
        If it is directed, distances are those to the vertex, as in NetworkX; ``graph.reversed()`` has those from it.
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
        If the edges are on disk.
    UnknownVertexError
        If one of the `sources` is not in the graph.

    Notes
    -----
    A kernel of its own, in memory, on all cores, which searches from 64 sources at once [2]_. It takes O(n m) time, or
    O(m) for each of the `sources`, at best a 64th of it, and 48 bytes for each vertex and thread.

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
    with in_memory(graph, "harmonic_centrality", [ADD_DISTANCES], threads) as call:
        sums, _, edges = distances(call, places, inverse=True)
        return call.result(sums, edges)
