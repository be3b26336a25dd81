"""Whether a graph is directed and has no cycle."""

from __future__ import annotations

from ..graph import Graph
from ..system.arguments import explained
from .in_memory import check_in_memory, in_memory
from .topological_generations import KERNELS, peeled


@explained
def is_directed_acyclic_graph(graph: Graph, *, threads: int | None = None) -> bool:
    """Whether a graph is directed and has no cycle. A self-loop is a cycle.

    Parameters
    ----------
    graph : Graph
    threads : int, optional
        By default every core that this process may use.

    Raises
    ------
    GraphError
        If the edges are on disk.

    Notes
    -----
    It runs a kernel of its own in memory, on all cores, which again and again removes the vertices that have no
    in-edges left [1]_; `topological_generations` says what that costs.

    References
    ----------
    .. [1] Kahn, A. B., "Topological sorting of large networks", Communications of the ACM 5, 1962.

    Examples
    --------
    >>> gp.algorithms.is_directed_acyclic_graph(gp.from_edges([0, 0, 1], [1, 2, 2]))
    True
    """
    check_in_memory(graph, "is_directed_acyclic_graph")
    if not graph.directed:
        return False
    with in_memory(graph, "is_directed_acyclic_graph", KERNELS, threads) as call:
        return int(peeled(call).end[0]) == graph.n
