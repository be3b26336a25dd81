"""Harmonic centrality."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import Graph
from ..graph.arguments import check_graph
from ..output.result import Result
from ..runtime.options import ANY
from ..system.arguments import explained
from .dijkstra import has_lengths
from .distance_sums import summed_distances


@explained
def harmonic_centrality(
    graph: Graph, *, distance: bool = False, sources: Any = None, device: str = ANY, threads: int | None = None
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
    device : {"auto", "cpu", "gpu", "hybrid"}
        If it is ``"gpu"`` or ``"hybrid"``, if the edges are on disk, or if a few searches show that it takes less time,
        vertex programs find the distances, on the device that `garaph_py.run_many` would use. Otherwise a kernel on the
        CPU finds them (see Notes).
    threads : int, optional
        By default every core that this process may use. The last bits of sums depend on it, and on `device`.

    Returns
    -------
    Result
        float64.

    Raises
    ------
    GraphError
        With `distance`, if an edge value is negative, infinite, NaN, or so large that distances are not exact; if the
        edges are on disk, and the graph was opened with too little memory to read them.
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used.
    UnknownVertexError
        If one of the `sources` is not in the graph.

    Notes
    -----
    In memory, it runs a kernel of its own on all cores, which searches from 64 sources at once [2]_. It takes O(n m)
    time, or O(m) for each of the `sources`, at best a 64th of that, and 48 bytes for each vertex and thread. By length,
    each core searches from one source after the other, which takes log n times as long, and 8 bytes more for each edge.

    On a GPU, over edges on disk, and in a graph of many edges whose vertices are a few steps apart, it finds the
    distances as `closeness_centrality` does, which says what that costs.

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
    name = "harmonic_centrality"
    check_graph(graph, name)
    places = np.arange(graph.n) if sources is None else np.unique(graph.ids.indices(sources))
    by_length = has_lengths(graph, distance, name, 0)
    return summed_distances(name, graph, places, by_length, True, device, threads)[0]
