"""The number of weakly connected components."""

from __future__ import annotations

from ..graph import Graph
from ..system.arguments import explained
from .weakly_connected_components import check_undirected_on_disk, count_labels, weakly_connected_components


@explained
def number_weakly_connected_components(graph: Graph, *, threads: int | None = None) -> int:
    """The number of weakly connected components.

    Parameters
    ----------
    graph : Graph
        If it is undirected: the number of its connected components.
    threads : int, optional
        By default every core that this process may use.

    Raises
    ------
    GraphError
        If the graph is directed, and its edges are on disk.

    Notes
    -----
    `weakly_connected_components`, which says what it costs.

    Examples
    --------
    >>> gp.algorithms.number_weakly_connected_components(gp.from_edges([0, 2], [1, 1], vertices=range(5)))
    3
    """
    check_undirected_on_disk(graph, "number_weakly_connected_components")
    return count_labels(weakly_connected_components(graph, threads=threads).values)
