"""The average clustering coefficient."""

from __future__ import annotations

from ..errors import GraphError
from ..graph import Graph
from ..system.arguments import explained
from .clustering import clustering
from .in_memory import check_vertices
from .triangles import check_for_triangles


@explained
def average_clustering(graph: Graph, *, count_zeros: bool = True, threads: int | None = None) -> float:
    """The mean of the clustering coefficients of all vertices.

    Parameters
    ----------
    graph : Graph
        Undirected. Edges count as in `triangles`.
    count_zeros : bool
        Whether vertices without a triangle count.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    float

    Raises
    ------
    GraphError
        If the graph is directed, if its edges are on disk, or if there are no coefficients to average.

    Notes
    -----
    It runs a kernel of its own in memory, on all cores; `triangles` says what that costs.

    References
    ----------
    .. [1] Kaiser, M., "Mean clustering coefficients: the role of isolated nodes and leafs on clustering measures for
       small-world networks", New Journal of Physics 10, 2008.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c", "c"], ["b", "c", "a", "d"], directed=False)
    >>> gp.algorithms.average_clustering(graph)
    0.583...
    """
    check_for_triangles(graph, "average_clustering")
    check_vertices(graph, "average_clustering")
    values = clustering(graph, threads=threads).values
    if not count_zeros:
        values = values[values > 0]
        if not len(values):
            raise GraphError("average_clustering: no vertex is in a triangle; leave count_zeros=False out")
    return float(values.mean())
