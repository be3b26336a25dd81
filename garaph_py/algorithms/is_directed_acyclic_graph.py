"""Whether a graph is directed and has no cycle."""

from __future__ import annotations

from ..graph import Graph
from ..graph.arguments import check_graph
from ..pages.passes import has_loops
from ..system.arguments import explained
from .in_memory import in_memory
from .number_strongly_connected_components import number_strongly_connected_components
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
        If the edges are on disk, and the graph was opened with too little memory to read them.

    Notes
    -----
    In memory, it runs a kernel of its own on all cores, which again and again removes the vertices that have no
    in-edges left [1]_; `topological_generations` says what that costs. Over edges on disk, it looks for self-loops, and
    then `strongly_connected_components` runs: there is no cycle if each vertex is a component of its own.

    References
    ----------
    .. [1] Kahn, A. B., "Topological sorting of large networks", Communications of the ACM 5, 1962.

    Examples
    --------
    >>> gp.algorithms.is_directed_acyclic_graph(gp.from_edges([0, 0, 1], [1, 2, 2]))
    True
    """
    check_graph(graph, "is_directed_acyclic_graph")
    if not graph.directed:
        return False
    if graph.on_disk:
        return not has_loops(graph) and number_strongly_connected_components(graph, threads=threads) == graph.n
    with in_memory(graph, "is_directed_acyclic_graph", KERNELS, threads) as call:
        return int(peeled(call).end[0]) == graph.n
