"""Transitivity."""

from __future__ import annotations

from ..graph import Graph
from ..system.arguments import explained
from .in_memory import in_memory
from .triangles import KERNELS, check_for_triangles, triangle_counts


@explained
def transitivity(graph: Graph, *, threads: int | None = None) -> float:
    """The transitivity: three times the number of triangles, divided by the number of paths of two edges.

    Parameters
    ----------
    graph : Graph
        Undirected. Edges count as in `triangles`.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    float
        0 if there is no path of two edges.

    Raises
    ------
    GraphError
        If the graph is directed, or its edges are on disk.

    Notes
    -----
    It runs a kernel of its own in memory, on all cores; `triangles` says what that costs.

    References
    ----------
    .. [1] Newman, M. E. J., S. H. Strogatz, D. J. Watts, "Random graphs with arbitrary degree distributions and their
       applications", Physical Review E 64, 2001.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c", "c"], ["b", "c", "a", "d"], directed=False)
    >>> gp.algorithms.transitivity(graph)
    0.6
    """
    check_for_triangles(graph, "transitivity")
    with in_memory(graph, "transitivity", KERNELS, threads) as call:
        counts, degrees, _ = triangle_counts(call)
    paths = int((degrees * (degrees - 1)).sum())
    return 2 * int(counts.sum()) / paths if paths else 0.0
