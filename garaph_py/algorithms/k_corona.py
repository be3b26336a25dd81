"""k-coronas."""

from __future__ import annotations

from ..graph import Graph
from ..system.arguments import explained
from .in_memory import check_in_memory, in_memory
from .k_core import check_k, cores
from .simple import COUNT_NEIGHBOURS, simple_degrees


@explained
def k_corona(graph: Graph, *, k: int, threads: int | None = None) -> Graph:
    """The k-corona: the vertices of the k-shell that have k neighbours in the k-core, and the edges between them.

    Parameters
    ----------
    graph : Graph
        Edges count as in `core_number`; if it is directed, neighbours are those to which a vertex has edges, as in
        NetworkX. The subgraph has all edges between its vertices, also self-loops.
    k : int
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Graph
        Without vertices if there are none.

    Raises
    ------
    ParameterError
        If `k` is not a whole number.
    GraphError
        If the edges are on disk.

    Notes
    -----
    `core_number`, a count of neighbours, and `Graph.subgraph`.

    References
    ----------
    .. [1] Goltsev, A. V., S. N. Dorogovtsev, J. F. F. Mendes, "k-core (bootstrap) percolation on complex networks:
       critical phenomena and nonlocal effects", Physical Review E 73, 2006.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c", "c"], ["b", "c", "a", "d"], directed=False)
    >>> list(gp.algorithms.k_corona(graph, k=2).ids)
    ['a', 'b', 'c']
    """
    check_in_memory(graph, "k_corona")
    check_k(k)
    numbers, _ = cores(graph, k, threads)
    core = graph.subgraph(graph.ids[numbers >= k], threads=threads)
    with in_memory(core, "k_corona", [COUNT_NEIGHBOURS], threads) as call:
        counts = simple_degrees(call, [call.arrays.out_edges])
    chosen = (counts == k) & (numbers[numbers >= k] == k)
    return graph.subgraph(core.ids[chosen], threads=threads)
