"""Core numbers, by peeling; on a GPU and over edges on disk, by estimates."""

from __future__ import annotations

from ..graph import Graph
from ..graph.arguments import check_graph
from ..output.result import Result
from ..runtime.options import ANY
from ..system.arguments import explained
from .core_estimates import VERTEX_BYTES, estimated_cores
from .in_memory import in_memory
from .peeling import Peeling, kernels
from .runs import Runs, by_programs
from .simple import COUNT_NEIGHBOURS, simple_degrees


@explained
def core_number(graph: Graph, *, device: str = ANY, threads: int | None = None) -> Result:
    """The core number of each vertex: the largest k for which a k-core contains it.

    The k-core is the largest subgraph in which each vertex has at least k edges. Peeling finds it: remove vertices that
    have fewer than k edges to remaining vertices, until there are none. A vertex that peeling removes for k + 1, but
    not for k, has the core number k.

    Parameters
    ----------
    graph : Graph
        If it is directed, a vertex's in-edges and its out-edges both count, as in NetworkX. A self-loop does not count,
        and parallel edges count as one; NetworkX refuses both.
    device : {"auto", "cpu", "gpu", "hybrid"}
        If it is ``"gpu"`` or ``"hybrid"``, or if the edges are on disk, a vertex program finds the numbers, on the
        device that `garaph_py.run` would use. Otherwise a kernel on the CPU finds them, which is faster (see Notes).
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Result
        int64.

    Raises
    ------
    GraphError
        If a vertex program would run, and the graph has parallel edges; if the edges are on disk, and the graph was
        opened with too little memory to read them.
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used.

    Notes
    -----
    In memory, it runs a kernel of its own, on all cores. The kernel removes the vertices of a level in parallel, and
    follows each edge once [2]_. It takes O(n + m) time and, with the answer, 16 bytes for each vertex.

    On a GPU, and over edges on disk, to remove the vertices of each level would take passes over the edges for each
    core number. Instead, a vertex program lowers estimates of all numbers at once [3]_. A vertex starts with its
    degree. The largest h for which h of its neighbours have estimates of at least h is its next estimate, and in the
    end its core number [4]_. An h-index is no sum; but how many neighbours have at least some number is one, and four
    such sums bound the h-index. So an iteration brings the estimate to that bound, and a run takes few more iterations
    than with h-indices. In an undirected graph, an estimate is used as soon as it is made. In a directed graph, an
    iteration takes a pass over in-edges and one over out-edges, and uses the estimates of the one before. A vertex
    program cannot tell parallel edges apart, so a pass over the edges first looks for them.

    References
    ----------
    .. [1] Seidman, S. B., "Network structure and minimum degree", Social Networks 5, 1983.
    .. [2] Kabir, H., K. Madduri, "Parallel k-core decomposition on multicore platforms", IPDPS workshops 2017.
    .. [3] Montresor, A., F. De Pellegrini, D. Miorandi, "Distributed k-core decomposition", IEEE Transactions on
       Parallel and Distributed Systems 24, 2013.
    .. [4] Lü, L., T. Zhou, Q.-M. Zhang, H. E. Stanley, "The H-index of a network node and its relation to degree and
       coreness", Nature Communications 7, 2016.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c", "c"], ["b", "c", "a", "d"], directed=False)
    >>> dict(gp.algorithms.core_number(graph))
    {'a': 2, 'b': 2, 'c': 2, 'd': 1}
    """
    check_graph(graph, "core_number")
    if by_programs(graph, device):
        runs = Runs(graph, device, threads, VERTEX_BYTES)
        return runs.result(estimated_cores(runs), "core_number")
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
