"""Shortest paths from one vertex."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.arrays import RAW
from ..graph import Graph
from ..graph.arguments import check_graph
from ..native import Kernel
from ..runtime.options import ANY
from ..system.arguments import explained
from .bidirectional import along
from .in_memory import called
from .numbers import cutoff_of
from .runs import by_programs
from .shortest_path_tree import NONE, path_to, shortest_path_tree

Array = npt.NDArray[Any]

FAR = 16
"""A search goes far if it follows more than this part of the edges: a tree, for which threads share the work, then
takes about as long as the search has taken."""
FEW_EDGES = 1 << 20
"""Edges up to which no search goes far: over all 815,198 edges of a graph it took 2.3 ms, and a tree 11 ms of processor
time (two cores of a Zen 5, 2026-11-28)."""


# wide: a compiled function takes its arrays one by one.
def search_nearby(source, offsets, others, most, left, wanted, queue, steps):
    """Search from `source` for the `left` vertices that are `wanted`; `steps` are those of `bidirectional`.

    Returns 0 if it would follow more than `most` edges, else 1.
    """
    queue[0], steps[source] = source, source + 1
    left -= wanted[source]
    place, stop, edges = np.int64(0), np.int64(1), np.int64(0)
    while place < stop and left > 0:
        v = np.int64(queue[place])
        place += 1
        edges += offsets[v + 1] - offsets[v]
        if edges > most:
            return 0
        for e in range(offsets[v], offsets[v + 1]):
            w = np.int64(others[e])
            if steps[w] == 0:
                steps[w], queue[stop] = v + 1, w
                stop += 1
                left -= wanted[w]
    return 1


SEARCH_NEARBY = Kernel("i64 i64* u32* i64 i64 u8* u32* i64*", search_nearby)


@explained
def single_source_shortest_path(
    graph: Graph, source: Any, *, cutoff: float | None = None, targets: Any = None, weight: bool = False,
    device: str = ANY, threads: int | None = None,
) -> dict[Any, list[Any]]:  # fmt: skip
    """A shortest path from the source to each of some vertices.

    Parameters
    ----------
    graph : Graph
    source : vertex id
        The vertex at which all paths start.
    cutoff : float, optional
        Find no paths that are longer. The search ends there.
    targets : iterable, optional
        The vertices at which paths end; by default all that the source reaches. The paths to all of these together may
        take far more memory than the graph: `shortest_path_tree` has them in two numbers a vertex.
    weight : bool
        Whether edge values, numbers of 0 or more, are lengths; otherwise every edge has length 1.
    device : {"auto", "cpu", "gpu", "hybrid"}
        If it is ``"gpu"`` or ``"hybrid"``, a `shortest_path_tree` is made there, also where a kernel on the CPU would
        first search nearby (see Notes).
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    dict
        For each target that the source reaches, the vertices of the path, by the user's ids, both ends included.

    Raises
    ------
    UnknownVertexError
        If the graph lacks one of the vertices.
    GraphError
        If an edge value is negative.
    ParameterError
        If `cutoff` is not a number of 0 or more.
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used.

    Notes
    -----
    It makes a `shortest_path_tree` [1]_, which says what that costs. If there are `targets`, no lengths, and raw edges
    in memory, a kernel of its own on one core of the CPU first searches up to a million edges, or a sixteenth of all if
    these are more, which is enough for targets nearby.

    References
    ----------
    .. [1] Dijkstra, E. W., "A note on two problems in connexion with graphs", Numerische Mathematik 1, 1959.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "a"], ["b", "c", "d"])
    >>> gp.algorithms.single_source_shortest_path(graph, "a", targets=["c", "d"])
    {'c': ['a', 'b', 'c'], 'd': ['a', 'd']}
    """
    check_graph(graph, "single_source_shortest_path")
    ends = None if targets is None else graph.ids.indices(targets)
    bound, paths = cutoff_of(cutoff, "single_source_shortest_path"), None
    by_steps = not weight or graph.edge_dtype is None
    if ends is not None and by_steps and graph.encoding == RAW and not by_programs(graph, device):
        paths = paths_nearby(graph, graph.ids.index(source), ends, threads)
    if paths is not None and bound is not None:
        paths = [path for path in paths if len(path) - 1 <= bound]
    if paths is None:
        tree = shortest_path_tree(graph, source, cutoff=bound, weight=weight, device=device, threads=threads)
        parent = tree.values["parent"]
        ends = np.arange(graph.n) if ends is None else ends
        paths = [path_to(parent, end) for end in ends[parent[ends] != NONE].tolist()]
    names = graph.ids.take(np.concatenate([*paths, np.zeros(0, np.int64)]).astype(np.int64)).tolist()
    found, start = {}, 0
    for path in paths:
        found[names[start + len(path) - 1]] = names[start : start + len(path)]
        start += len(path)
    return found


def paths_nearby(graph: Graph, source: int, ends: Array, threads: int | None) -> list[list[int]] | None:
    """The shortest paths to those vertices that the source reaches; None if the search would have to go far."""
    out = graph._arrays.out_edges
    wanted, steps, queue = np.zeros(graph.n, np.uint8), np.zeros(graph.n, np.int64), np.empty(graph.n, np.uint32)
    wanted[ends] = 1
    left, most = len(np.unique(ends)), max(FEW_EDGES, graph.m // FAR)
    with called(graph, "single_source_shortest_path", [SEARCH_NEARBY], threads):
        if not SEARCH_NEARBY(source, out.offsets, out.neighbours, most, left, wanted, queue, steps):
            return None
    return [along(steps, end)[::-1] for end in ends[steps[ends] != 0].tolist()]
