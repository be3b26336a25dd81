"""A shortest path between two vertices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..codec.arrays import RAW
from ..errors import GraphError
from ..graph import Graph
from ..graph.arguments import check_graph
from ..runtime.options import ANY
from ..system.arguments import explained
from .bidirectional import MEET, path_between
from .in_memory import called
from .runs import by_programs
from .shortest_path_tree import NONE, path_to, shortest_path_tree


@explained
def shortest_path(
    graph: Graph, source: Any, target: Any, *, weight: bool = False, device: str = ANY, threads: int | None = None
) -> list[Any]:
    """A shortest path from the source to the target.

    Parameters
    ----------
    graph : Graph
    source, target : vertex id
        The ends of the path.
    weight : bool
        Whether edge values, numbers of 0 or more, are lengths; otherwise every edge has length 1.
    device : {"auto", "cpu", "gpu", "hybrid"}
        If it is ``"gpu"`` or ``"hybrid"``, a `shortest_path_tree` is made there, also where a kernel on the CPU would
        find the path, which is faster (see Notes).
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    list
        The vertices of the path, by the user's ids, both ends included.

    Raises
    ------
    UnknownVertexError
        If the graph lacks one of the vertices.
    GraphError
        If there is no path, or an edge value is negative.
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used.

    Notes
    -----
    Without lengths, and if the edges are in memory and not packed, a kernel of its own searches from both ends on one
    core of the CPU [1]_, with 16 bytes for each vertex. Otherwise it makes a `shortest_path_tree`, which says what that
    costs. For several targets, `single_source_shortest_path` makes one tree.

    References
    ----------
    .. [1] Pohl, I., "Bi-directional search", Machine Intelligence 6, 1971.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "a", "b"], ["b", "c", "c"], weights=[1, 5, 2])
    >>> gp.algorithms.shortest_path(graph, "a", "c")
    ['a', 'c']
    >>> gp.algorithms.shortest_path(graph, "a", "c", weight=True)
    ['a', 'b', 'c']
    """
    check_graph(graph, "shortest_path")
    start, end = graph.ids.index(source), graph.ids.index(target)
    found: list[int] | None
    if graph.encoding == RAW and not by_programs(graph, device) and (not weight or graph.edge_dtype is None):
        with called(graph, "shortest_path", [MEET], threads) as call:
            found = path_between(call.arrays.out_edges, call.arrays.in_edges, start, end)
    else:
        parent = shortest_path_tree(graph, source, weight=weight, device=device, threads=threads).values["parent"]
        found = None if parent[end] == NONE else path_to(parent, end)
    if found is None:
        raise GraphError(f"shortest_path: no path leads from {source} to {target}; give a target that it reaches")
    path: list[Any] = graph.ids.take(np.array(found)).tolist()
    return path
