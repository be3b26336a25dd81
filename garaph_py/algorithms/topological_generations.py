"""The generations of a directed acyclic graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError
from ..graph import Graph
from ..runtime.options import ANY
from ..system.arguments import explained
from .in_memory import Call, in_memory
from .longest_paths import WAITING, longest_paths
from .peeling import Peeling, kernels
from .runs import Runs, by_programs
from .strongly_connected_components import check_directed

Array = npt.NDArray[Any]


def generation_numbers(graph: Graph, function: str, device: str = ANY, threads: int | None = None) -> Array:
    """The number of the generation of each vertex of a directed graph, in a call of `function`: uint32, shape (n,).

    Vertices that are on a cycle or reached from one have `WAITING`.
    """
    if by_programs(graph, device):
        return longest_paths(Runs(graph, device, threads, 0))
    with in_memory(graph, function, kernels(simple=False), threads) as call:
        return peeled(call)


def peeled(call: Call) -> Array:
    """`generation_numbers`: vertices without in-edges are removed, until none is left that has none."""
    peeling = Peeling(call, [call.arrays.out_edges], np.diff(call.arrays.in_edges.offsets), simple=False)
    if call.graph.n:
        peeling.take(peeling.segments(), 0)
        peeling.remove(0)
    numbers, removed = np.full(call.graph.n, WAITING, np.uint32), peeling.queue[: peeling.end[0]]
    numbers[removed] = peeling.generations[removed]
    return numbers


def grouped(graph: Graph, numbers: Array) -> list[Array]:
    """The vertices of each generation, by the user's ids."""
    order = np.argsort(numbers, kind="stable")
    bounds = np.cumsum(np.bincount(numbers))
    return [graph.ids.take(part) for part in np.split(order, bounds[:-1])] if graph.n else []


@explained
def topological_generations(graph: Graph, *, device: str = ANY, threads: int | None = None) -> list[Array]:
    """The generations of a directed acyclic graph: ``g_v = 1 + max of g_u over u -> v``, 0 without in-edges.

    Each edge leads from a generation to a later one.

    Parameters
    ----------
    graph : Graph
        Directed. Parallel edges do not matter; a self-loop is a cycle.
    device : {"auto", "cpu", "gpu", "hybrid"}
        If it is ``"gpu"`` or ``"hybrid"``, or if the edges are on disk, a vertex program finds the generations, on the
        device that `garaph_py.run` would use. Otherwise a kernel on the CPU finds them, which is faster (see Notes).
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    list of ndarray
        The vertices of each generation, by the user's ids, in the order of ``graph.ids``.

    Raises
    ------
    GraphError
        If the graph has a cycle, if it is undirected, or if its edges are on disk, and it was opened with too little
        memory to read them.
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used.

    Notes
    -----
    In memory, it runs a kernel of its own on all cores, which again and again removes the vertices that have no
    in-edges left [1]_. It takes O(n + m) time and 28 bytes for each vertex.

    On a GPU, and over edges on disk, a vertex program numbers the generations: a vertex gets its number once all of its
    in-neighbours have theirs. Each time that one of them gets its number, the vertex looks at all of them again, so the
    program visits most edges several times.

    References
    ----------
    .. [1] Kahn, A. B., "Topological sorting of large networks", Communications of the ACM 5, 1962.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "a", "b"], ["b", "c", "c"])
    >>> [generation.tolist() for generation in gp.algorithms.topological_generations(graph)]
    [['a'], ['b'], ['c']]
    """
    name = "topological_generations"
    check_directed(graph, name, "an undirected one has no order")
    numbers = generation_numbers(graph, name, device, threads)
    if (left := numbers == WAITING).any():
        raise GraphError(
            f"{name}: the graph has a cycle; vertex {graph.ids[int(np.argmax(left))]} is on one or reached from one; "
            "strongly_connected_components finds cycles"
        )
    return grouped(graph, numbers)
