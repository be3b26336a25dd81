"""Whether a graph is weakly connected."""

from __future__ import annotations

from ..graph import Graph
from ..graph.arguments import check_graph
from ..runtime.options import ANY
from ..system.arguments import explained
from .in_memory import check_vertices
from .weakly_connected_components import weakly_connected_components


@explained
def is_weakly_connected(graph: Graph, *, device: str = ANY, threads: int | None = None) -> bool:
    """Whether each vertex reaches all others if edges can be followed in both directions.

    Parameters
    ----------
    graph : Graph
        If it is undirected: whether it is connected.
    device : {"auto", "cpu", "gpu", "hybrid"}
        As for `weakly_connected_components`.
    threads : int, optional
        By default every core that this process may use.

    Raises
    ------
    GraphError
        If the graph has no vertices; or as in `weakly_connected_components`.
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used.

    Notes
    -----
    It runs `weakly_connected_components` [1]_, which says what that costs.

    References
    ----------
    .. [1] Sutton, M., T. Ben-Nun, A. Barak, "Optimizing parallel graph connectivity computation via subgraph sampling",
       IPDPS 2018.

    Examples
    --------
    >>> gp.algorithms.is_weakly_connected(gp.from_edges([0, 2], [1, 1]))
    True
    """
    check_graph(graph, "is_weakly_connected")
    check_vertices(graph, "is_weakly_connected")
    return not weakly_connected_components(graph, device=device, threads=threads).values.any()
