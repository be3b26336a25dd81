"""Clustering coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph import Graph
from ..output.result import Result
from ..system.arguments import explained
from .in_memory import in_memory
from .triangles import KERNELS, check_for_triangles, triangle_counts


@explained
def clustering(graph: Graph, *, threads: int | None = None) -> Result:
    """The clustering coefficient of each vertex: ``c_v = 2 T_v / (d_v (d_v - 1))``.

    T_v is the number of the vertex's triangles, and d_v that of its neighbours: the coefficient is the share of the
    pairs of neighbours that are neighbours of each other. It is 0 for a vertex with fewer than two.

    Parameters
    ----------
    graph : Graph
        Undirected. Edges count as in `triangles`.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Result
        float64.

    Raises
    ------
    GraphError
        If the graph is directed, or its edges are on disk.

    Notes
    -----
    It runs a kernel of its own in memory, on all cores; `triangles` says what that costs.

    References
    ----------
    .. [1] Watts, D. J., S. H. Strogatz, "Collective dynamics of 'small-world' networks", Nature 393, 1998.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c", "c"], ["b", "c", "a", "d"], directed=False)
    >>> gp.algorithms.clustering(graph).top(4)
    [('a', 1.0), ('b', 1.0), ('c', 0.333...), ('d', 0.0)]
    """
    check_for_triangles(graph, "clustering")
    with in_memory(graph, "clustering", KERNELS, threads) as call:
        counts, degrees, edges = triangle_counts(call)
        return call.result(shares(counts, degrees), edges)


def shares(counts: npt.NDArray[Any], degrees: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The coefficients of vertices with so many triangles and neighbours."""
    pairs = degrees * (degrees - 1)
    found = np.zeros(len(counts))
    np.divide(2 * counts, pairs, out=found, where=pairs > 0)
    return found
