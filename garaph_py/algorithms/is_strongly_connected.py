"""Whether a graph is strongly connected."""

from __future__ import annotations

from ..graph import Graph
from ..runtime.options import ANY
from ..system.arguments import explained
from .in_memory import check_vertices
from .strongly_connected_components import check_directed, strongly_connected_components


@explained
def is_strongly_connected(graph: Graph, *, device: str = ANY, threads: int | None = None) -> bool:
    """Whether each vertex of a directed graph reaches all others.

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
        If the graph is undirected, has no vertices, or has its edges on disk and was opened with too little memory to
        read them.
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
    >>> gp.algorithms.is_strongly_connected(gp.from_edges([0, 1, 2], [1, 2, 0]))
    True
    """
    check_directed(graph, "is_strongly_connected", "call is_weakly_connected")
    check_vertices(graph, "is_strongly_connected")
    return not strongly_connected_components(graph, device=device, threads=threads).values.any()
