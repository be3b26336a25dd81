"""Clustering coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph import Graph
from ..output.result import Result
from ..system.arguments import explained
from . import directed_triangles, intensities
from .directed_triangles import directed_sums
from .in_memory import check_in_memory, in_memory
from .intensities import intensity_sums, largest_weight, roots_of
from .nodes import for_nodes
from .triangles import KERNELS, triangle_counts


@explained
def clustering(
    graph: Graph, *, nodes: Any = None, weight: bool = False, threads: int | None = None
) -> Result | dict[Any, float] | float:
    """The clustering coefficient of each vertex: the share of the triangles that it could have.

    In an undirected graph it is ``2 T_v / (d_v (d_v - 1))`` [1]_. T_v is the number of the vertex's triangles, and d_v
    that of its neighbours.

    In a directed graph it is ``T_v / (d_v (d_v - 1) - 2 r_v)`` [2]_. T_v is the number of the vertex's directed
    triangles. A directed triangle has three vertices and, between each two of them, one edge in either direction; three
    vertices form up to eight. d_v is the number of the vertex's edges, in both directions, and r_v that of the
    neighbours to and from which it has one.

    It is 0 for a vertex with fewer than two neighbours. With `weight`, T_v is the sum of the intensities of the
    vertex's triangles [3]_: ``(w_uv w_vx w_xu)^(1/3)``, where w is the value of an edge divided by the largest in the
    graph.

    Parameters
    ----------
    graph : Graph
        Directed or undirected. Self-loops do not count, and parallel edges count as one, with their largest value. In
        a directed graph, two edges of opposite directions are not parallel.
    nodes : vertex id or iterable, optional
        Compute the coefficient of this vertex, or of these; by default of all.
    weight : bool
        Whether edge values are weights, which may be below 0; otherwise, and in a graph without edge values, every
        edge has weight 1.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Result, dict or float
        float64. With `nodes`, a number for the vertex, or a dictionary from the vertices to numbers.

    Raises
    ------
    GraphError
        If the edges are on disk; with `weight`, if the largest edge value is 0, or one is not finite.
    UnknownVertexError
        If the graph lacks one of the `nodes`.

    Notes
    -----
    It runs a kernel of its own in memory, on all cores; `triangles` says what that costs. With `weight` it takes
    8 bytes more for each vertex and thread, and 32 for each edge, and threads add up in no fixed order, so the last
    bits of sums differ from call to call. In a directed graph it takes instead 88 bytes for each vertex, 12.1 more for
    each vertex and thread, and 36 for each edge. With `weight`, it takes 48 for each edge; the values of out-edges,
    which are part of these, stay in memory, as after `Graph.reversed`.

    References
    ----------
    .. [1] Watts, D. J., S. H. Strogatz, "Collective dynamics of 'small-world' networks", Nature 393, 1998.
    .. [2] Fagiolo, G., "Clustering in complex directed networks", Physical Review E 76, 2007.
    .. [3] Onnela, J.-P., J. Saramäki, J. Kertész, K. Kaski, "Intensity and coherence of motifs in weighted complex
       networks", Physical Review E 71, 2005.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c", "c"], ["b", "c", "a", "d"], directed=False)
    >>> gp.algorithms.clustering(graph).top(4)
    [('a', 1.0), ('b', 1.0), ('c', 0.333...), ('d', 0.0)]
    >>> gp.algorithms.clustering(gp.from_edges(["a", "b", "c", "c"], ["b", "c", "a", "d"])).top(4)
    [('a', 0.5), ('b', 0.5), ('c', 0.166...), ('d', 0.0)]
    """
    check_in_memory(graph, "clustering")
    largest = None
    if weight and graph.edge_dtype is not None:
        graph = graph.unpacked(threads)
        largest = largest_weight(graph, "clustering")
    if nodes is not None:
        found: dict[Any, float] | float = for_nodes(
            lambda near: coefficients(near, largest, threads), graph, nodes, threads
        )
        return found
    return coefficients(graph, largest, threads)


def coefficients(graph: Graph, largest: float | None, threads: int | None) -> Result:
    """The coefficients of all vertices, without weights if there is no `largest` weight."""
    undirected = KERNELS if largest is None else intensities.KERNELS
    with in_memory(graph, "clustering", directed_triangles.KERNELS if graph.directed else undirected, threads) as call:
        if graph.directed:
            counts, most, edges = directed_sums(call, largest)
            return call.result(shares(counts, most), edges)
        into = call.arrays.in_edges
        counts, degrees, edges = (
            triangle_counts(call) if largest is None else intensity_sums(call, into, roots_of(into, largest))
        )
        return call.result(shares(2 * counts, degrees * (degrees - 1)), edges)


def shares(counts: npt.NDArray[Any], most: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The number of triangles of each vertex divided by the largest possible number; 0 where none is possible."""
    found = np.zeros(len(counts))
    np.divide(counts, most, out=found, where=most > 0)
    return found
