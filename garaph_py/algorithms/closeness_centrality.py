"""Closeness centrality."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..apps import BFS, SSSP
from ..apps.sssp import has_distance
from ..graph import Graph
from ..graph.arguments import check_graph
from ..output.result import Result
from ..runtime.options import ANY
from ..runtime.run import run
from ..system.arguments import explained
from .dijkstra import has_lengths
from .distance_sums import summed_distances

Array = npt.NDArray[Any]


@explained
# wide: NetworkX's arguments, and those that say how to run.
def closeness_centrality(
    graph: Graph,
    *,
    u: Any = None,
    distance: bool = False,
    wf_improved: bool = True,
    device: str = ANY,
    threads: int | None = None,
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
    device : {"auto", "cpu", "gpu", "hybrid"}
        With `u`, as for `garaph_py.run`. Without, if it is ``"gpu"`` or ``"hybrid"``, if the edges are on disk, or if a
        few searches show that it takes less time, vertex programs find the distances, on the device that
        `garaph_py.run_many` would use. Otherwise a kernel on the CPU finds them (see Notes).
    threads : int, optional
        By default every core that this process may use. With `distance`, the last bits of sums
        depend on it, and on `device`.

    Returns
    -------
    Result or float
        float64; a number if `u` is given.

    Raises
    ------
    GraphError
        With `distance`, if an edge value is negative, infinite, NaN, or so large that distances are not exact, or their
        sums may be infinite; if the edges are on disk, and the graph was opened with too little memory to read them.
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used.
    UnknownVertexError
        If the graph has no vertex `u`.

    Notes
    -----
    With `u` it runs the vertex program `garaph_py.apps.BFS` or, by length, `garaph_py.apps.SSSP`, on the reversed
    graph. Without `u`, in memory, it runs a kernel of its own on all cores, which searches from 64 sources at once
    [3]_. That takes O(n m) time, at best a 64th of that, and 48 bytes for each vertex and thread. By length, each core
    searches from one source after the other, in O(n m log n) time, with 48 bytes for each vertex and thread, and 8 for
    each edge.

    On a GPU, over edges on disk, and in a graph of many edges whose vertices are a few steps apart, the same programs
    run from all vertices that have out-edges, as in `garaph_py.run_many`: `BFS` from 64 at once, which takes 165 bytes
    for each vertex (five times as much if distances are above 127), and `SSSP` from up to 16, which takes 380. These
    visit each edge at most once in a superstep.

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
    name = "closeness_centrality"
    check_graph(graph, name)
    by_length = has_lengths(graph, distance, name, 0, added=graph.n)
    if u is not None:
        found = distances_to(u, graph, by_length, device, threads)
        sums, reached = np.array([found.sum(dtype=np.float64)]), np.array([len(found) - 1])
        return float(closeness(sums, reached, graph.n, wf_improved)[0])
    result, reached = summed_distances(name, graph, np.arange(graph.n), by_length, False, device, threads)
    return replace(result, values=closeness(result.values, reached, graph.n, wf_improved))


def distances_to(u: Any, graph: Graph, by_length: bool, device: str, threads: int | None) -> Array:
    """The distances to the vertex `u` from the vertices that reach it, `u` included."""
    if by_length:
        lengths = run(SSSP(source=u), graph._reversed(valued=True), device=device, threads=threads).values
        reaching: Array = lengths[has_distance(lengths)]
        return reaching
    found = run(BFS(source=u), graph._reversed(valued=False), device=device, threads=threads)
    levels: Array = found.values["level"]
    return levels[levels >= 0]


def closeness(sums: Array, reached: Array, n: int, wf_improved: bool) -> Array:
    """The closeness of vertices that `reached` of the `n` vertices reach, over distances with these sums."""
    values = np.zeros(len(sums))
    with np.errstate(over="ignore"):  # the inverse of a sum that is nearly 0
        np.divide(reached, sums, out=values, where=sums > 0)
    if wf_improved and n > 1:
        values *= reached / (n - 1)
    return values
