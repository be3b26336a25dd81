"""Clustering coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph import Graph
from ..output.result import Result
from ..system.arguments import explained
from . import intensities
from .in_memory import in_memory
from .intensities import intensity_sums, largest_weight
from .nodes import for_nodes
from .triangles import KERNELS, check_for_triangles, triangle_counts


@explained
def clustering(
    graph: Graph, *, nodes: Any = None, weight: bool = False, threads: int | None = None
) -> Result | dict[Any, float] | float:
    """The clustering coefficient of each vertex: ``c_v = 2 T_v / (d_v (d_v - 1))``.

    T_v is the number of the vertex's triangles, and d_v that of its neighbours: the coefficient is the share of the
    pairs of neighbours that are neighbours of each other. It is 0 for a vertex with fewer than two.

    With `weight`, T_v is the sum of the intensities of the vertex's triangles [2]_: ``(w_uv w_vx w_xu)^(1/3)``, where
    w is the value of an edge divided by the largest in the graph.

    Parameters
    ----------
    graph : Graph
        Undirected. Edges count as in `triangles`; of parallel edges, the largest value counts.
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
        If the graph is directed, or its edges are on disk; with `weight`, if the largest edge value is 0, or one is not
        finite.
    UnknownVertexError
        If the graph lacks one of the `nodes`.

    Notes
    -----
    It runs a kernel of its own in memory, on all cores; `triangles` says what that costs. With `weight` it takes
    8 bytes more for each vertex and thread, and 32 for each edge, and threads add up in no fixed order, so the last
    bits of sums differ from call to call.

    References
    ----------
    .. [1] Watts, D. J., S. H. Strogatz, "Collective dynamics of 'small-world' networks", Nature 393, 1998.
    .. [2] Onnela, J.-P., J. Saramäki, J. Kertész, K. Kaski, "Intensity and coherence of motifs in weighted complex
       networks", Physical Review E 71, 2005.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c", "c"], ["b", "c", "a", "d"], directed=False)
    >>> gp.algorithms.clustering(graph).top(4)
    [('a', 1.0), ('b', 1.0), ('c', 0.333...), ('d', 0.0)]
    """
    check_for_triangles(graph, "clustering")
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
    with in_memory(graph, "clustering", KERNELS if largest is None else intensities.KERNELS, threads) as call:
        counts, degrees, edges = triangle_counts(call) if largest is None else intensity_sums(call, largest)
        return call.result(shares(counts, degrees), edges)


def shares(counts: npt.NDArray[Any], degrees: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The coefficients of vertices with so many triangles and neighbours."""
    pairs = degrees * (degrees - 1)
    found = np.zeros(len(counts))
    np.divide(2 * counts, pairs, out=found, where=pairs > 0)
    return found
