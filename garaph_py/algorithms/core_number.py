"""Core numbers, by peeling."""

from __future__ import annotations

from ..graph import Graph
from ..output.result import Result
from ..system.arguments import explained
from .in_memory import in_memory
from .peeling import Peeling, kernels
from .simple import COUNT_NEIGHBOURS, simple_degrees


@explained
def core_number(graph: Graph, *, threads: int | None = None) -> Result:
    """The core number of each vertex: the largest k for which a k-core contains it.

    The k-core is the largest subgraph in which each vertex has at least k edges. Peeling finds it: remove vertices that
    have fewer than k edges to remaining vertices, until there are none. A vertex that peeling removes for k + 1, but
    not for k, has the core number k.

    Parameters
    ----------
    graph : Graph
        If it is directed, a vertex's in-edges and its out-edges both count, as in NetworkX. A self-loop does not count,
        and parallel edges count as one; NetworkX refuses both.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Result
        int64.

    Raises
    ------
    GraphError
        If the edges are on disk.

    Notes
    -----
    It runs a kernel of its own in memory, on all cores. The kernel removes the vertices of a level in parallel, and
    follows each edge once [2]_. It takes O(n + m) time and, with the answer, 16 bytes for each vertex.

    References
    ----------
    .. [1] Seidman, S. B., "Network structure and minimum degree", Social Networks 5, 1983.
    .. [2] Kabir, H., K. Madduri, "Parallel k-core decomposition on multicore platforms", IPDPS workshops 2017.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c", "c"], ["b", "c", "a", "d"], directed=False)
    >>> dict(gp.algorithms.core_number(graph))
    {'a': 2, 'b': 2, 'c': 2, 'd': 1}
    """
    with in_memory(graph, "core_number", [COUNT_NEIGHBOURS, *kernels(simple=True)], threads) as call:
        arrays = call.arrays
        sides = [arrays.in_edges, arrays.out_edges] if graph.directed else [arrays.in_edges]
        counts = simple_degrees(call, sides)
        peeling = Peeling(call, sides, counts, simple=True)
        segments, level = peeling.segments(), 0
        while peeling.end[0] < graph.n:
            before = int(peeling.end[0])
            least = peeling.take(segments, level)
            peeling.remove(level)
            level = least if peeling.end[0] == before else level + 1
        return call.result(counts, 2 * len(sides) * graph.m)
