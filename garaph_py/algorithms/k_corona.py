"""k-coronas."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph import Graph
from ..graph.arguments import check_graph
from ..native import Kernel
from ..pages.passes import listed
from ..runtime.options import ANY
from ..system.arguments import explained
from .in_memory import in_memory
from .k_core import check_k, cores

Array = npt.NDArray[Any]


def count_in_core(first, last, offsets, others, numbers, k, counts):
    """Count, for each vertex of [first, last) with core number k, the other vertices in its list with k or more.

    Lists ascend, so parallel edges follow one another; they count once.
    """
    for v in range(first, last):
        if numbers[v] != k:
            continue
        before = np.int64(-1)
        for e in range(offsets[v], offsets[v + 1]):
            u = np.int64(others[e])
            counts[v] += (u != before) & (u != v) & (numbers[u] >= k)
            before = u
    return 0


COUNT_IN_CORE = Kernel("i64 i64 i64* u32* i64* i64 i64*", count_in_core)


@explained
def k_corona(graph: Graph, *, k: int, device: str = ANY, threads: int | None = None) -> Graph:
    """The k-corona: the vertices of the k-shell that have k neighbours in the k-core, and the edges between them.

    Parameters
    ----------
    graph : Graph
        Edges count as in `core_number`; if it is directed, neighbours are those to which a vertex has edges, as in
        NetworkX. The subgraph has all edges between its vertices, also self-loops.
    k : int
    device : {"auto", "cpu", "gpu", "hybrid"}
        As for `core_number`. The CPU counts neighbours.
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
        If `core_number` refuses the graph.
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used.

    Notes
    -----
    `core_number`, a count of the neighbours of the k-shell, and `Graph.subgraph`. In memory, the count runs a kernel of
    its own on all cores; over edges on disk, it is one more pass over them, on one core.

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
    check_graph(graph, "k_corona")
    check_k(k)
    numbers, _ = cores(graph, k, device, threads)
    shell = numbers == k
    if shell.any():  # so the kernel can take k
        counts = counts_on_disk(graph, numbers, k) if graph.on_disk else counts_in_memory(graph, numbers, k, threads)
        shell &= counts == k
    return graph._induced(np.flatnonzero(shell), threads)


def counts_in_memory(graph: Graph, numbers: Array, k: int, threads: int | None) -> Array:
    """How many neighbours with a core number of k or more each vertex with core number k has: int64, shape (n,)."""
    counts = np.zeros(graph.n, np.int64)
    with in_memory(graph, "k_corona", [COUNT_IN_CORE], threads) as call:
        edges = call.arrays.out_edges
        arguments = edges.offsets, edges.neighbours, numbers, k, counts
        call.on_vertices(COUNT_IN_CORE, *arguments, offsets=edges.offsets)
    return counts


def counts_on_disk(graph: Graph, numbers: Array, k: int) -> Array:
    """The same, from the edges on disk, page by page."""
    counts = np.zeros(graph.n, np.int64)
    for edges in listed(graph, values=False):
        u, v = edges.sources, edges.targets
        np.add.at(counts, u[edges.first & (u != v) & (numbers[u] == k) & (numbers[v] >= k)], 1)
    return counts
