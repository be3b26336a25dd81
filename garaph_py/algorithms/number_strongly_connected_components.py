"""The number of strongly connected components."""

from __future__ import annotations

from ..graph import Graph
from ..runtime.options import ANY
from ..system.arguments import explained
from .strongly_connected_components import check_directed, strongly_connected_components
from .weakly_connected_components import count_labels


@explained
def number_strongly_connected_components(graph: Graph, *, device: str = ANY, threads: int | None = None) -> int:
    """The number of strongly connected components of a directed graph.

    Parameters
    ----------
    graph : Graph
        Directed.
    device : {"auto", "cpu", "gpu", "hybrid"}
        As for `strongly_connected_components`.
    threads : int, optional
        By default every core that this process may use.

    Raises
    ------
    GraphError
        If the graph is undirected, or its edges are on disk, and it was opened with too little memory to read them.
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used. If each vertex has only in-edges or only
        out-edges, nothing is run, and no GPU is looked for.

    Notes
    -----
    It runs `strongly_connected_components` [1]_ [2]_ [3]_ [4]_, which says what that costs.

    References
    ----------
    .. [1] Fleischer, L. K., B. Hendrickson, A. Pinar, "On identifying strongly connected components in parallel",
       IPDPS workshops 2000.
    .. [2] Slota, G. M., S. Rajamanickam, K. Madduri, "BFS and coloring-based parallel algorithms for strongly connected
       components and related problems", IPDPS 2014.
    .. [3] Tarjan, R., "Depth-first search and linear graph algorithms", SIAM Journal on Computing 1, 1972.
    .. [4] Blelloch, G. E., Y. Gu, J. Shun, Y. Sun, "Parallelism in randomized incremental algorithms", SPAA 2016.

    Examples
    --------
    >>> gp.algorithms.number_strongly_connected_components(gp.from_edges([0, 1, 1], [1, 0, 2]))
    2
    """
    check_directed(graph, "number_strongly_connected_components", "call number_weakly_connected_components")
    return count_labels(strongly_connected_components(graph, device=device, threads=threads).values)
