"""The number of weakly connected components."""

from __future__ import annotations

from ..graph import Graph
from ..graph.arguments import check_graph
from ..runtime.options import ANY
from ..system.arguments import explained
from .weakly_connected_components import count_labels, weakly_connected_components


@explained
def number_weakly_connected_components(graph: Graph, *, device: str = ANY, threads: int | None = None) -> int:
    """The number of weakly connected components.

    Parameters
    ----------
    graph : Graph
        If it is undirected: the number of its connected components.
    device : {"auto", "cpu", "gpu", "hybrid"}
        As for `weakly_connected_components`.
    threads : int, optional
        By default every core that this process may use.

    Raises
    ------
    GraphError
        As in `weakly_connected_components`.
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
    >>> gp.algorithms.number_weakly_connected_components(gp.from_edges([0, 2], [1, 1], vertices=range(5)))
    3
    """
    check_graph(graph, "number_weakly_connected_components")
    return count_labels(weakly_connected_components(graph, device=device, threads=threads).values)
