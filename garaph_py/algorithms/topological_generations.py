"""The generations of a directed acyclic graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError
from ..graph import Graph
from ..system.arguments import explained
from .in_memory import Call, in_memory
from .peeling import Peeling, kernels
from .strongly_connected_components import check_directed

Array = npt.NDArray[Any]

KERNELS = kernels(simple=False)
"""What `peeled` runs."""


def peeled(call: Call) -> Peeling:
    """Remove vertices without in-edges from a directed graph, until none is left that has none."""
    peeling = Peeling(call, [call.arrays.out_edges], np.diff(call.arrays.in_edges.offsets), simple=False)
    if call.graph.n:
        peeling.take(peeling.segments(), 0)
        peeling.remove(0)
    return peeling


@explained
def topological_generations(graph: Graph, *, threads: int | None = None) -> list[Array]:
    """The generations of a directed acyclic graph: ``g_v = 1 + max of g_u over u -> v``, 0 without in-edges.

    Each edge leads from a generation to a later one.

    Parameters
    ----------
    graph : Graph
        Directed. Parallel edges do not matter; a self-loop is a cycle.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    list of ndarray
        The vertices of each generation, by the user's ids, in the order of ``graph.ids``.

    Raises
    ------
    GraphError
        If the graph has a cycle, if it is undirected, or if its edges are on disk.

    Notes
    -----
    It runs a kernel of its own in memory, on all cores, which again and again removes the vertices that have no
    in-edges left [1]_. It takes O(n + m) time and 28 bytes for each vertex.

    References
    ----------
    .. [1] Kahn, A. B., "Topological sorting of large networks", Communications of the ACM 5, 1962.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "a", "b"], ["b", "c", "c"])
    >>> [generation.tolist() for generation in gp.algorithms.topological_generations(graph)]
    [['a'], ['b'], ['c']]
    """
    check_directed(graph, "topological_generations", "an undirected one has no order")
    with in_memory(graph, "topological_generations", KERNELS, threads) as call:
        peeling = peeled(call)
    found, numbers = int(peeling.end[0]), peeling.generations
    if found < graph.n:
        left = np.ones(graph.n, np.bool_)
        left[peeling.queue[:found]] = False
        raise GraphError(
            f"topological_generations: the graph has a cycle; vertex {graph.ids[int(np.argmax(left))]} is on one or "
            "reached from one; strongly_connected_components finds cycles"
        )
    order = np.argsort(numbers, kind="stable")
    bounds = np.cumsum(np.bincount(numbers))
    return [graph.ids.take(part) for part in np.split(order, bounds[:-1])] if graph.n else []
