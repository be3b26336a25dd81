"""Whether a graph is directed and has no cycle."""

from __future__ import annotations

from ..graph import Graph
from ..graph.arguments import check_graph
from ..runtime.options import ANY
from ..system.arguments import explained
from .longest_paths import WAITING
from .topological_generations import generation_numbers


@explained
def is_directed_acyclic_graph(graph: Graph, *, device: str = ANY, threads: int | None = None) -> bool:
    """Whether a graph is directed and has no cycle. A self-loop is a cycle.

    Parameters
    ----------
    graph : Graph
    device : {"auto", "cpu", "gpu", "hybrid"}
        As for `topological_generations`.
    threads : int, optional
        By default every core that this process may use.

    Raises
    ------
    GraphError
        If the edges are on disk, and the graph was opened with too little memory to read them.
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used. For an undirected graph, none is looked for.

    Notes
    -----
    It finds the generations of the vertices, as `topological_generations` does [1]_, which says what that costs. If
    there is a cycle, the vertices on it have none.

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
    numbers = generation_numbers(graph, "is_directed_acyclic_graph", device, threads)
    return bool((numbers != WAITING).all())
