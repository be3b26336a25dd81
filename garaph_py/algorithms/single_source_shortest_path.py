"""Shortest paths from one vertex."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import Graph
from ..graph.arguments import check_graph
from ..system.arguments import explained
from .shortest_path_tree import NONE, path_to, shortest_path_tree


@explained
def single_source_shortest_path(
    graph: Graph, source: Any, *, targets: Any = None, weight: bool = False, threads: int | None = None
) -> dict[Any, list[Any]]:
    """A shortest path from the source to each of some vertices.

    Parameters
    ----------
    graph : Graph
    source : vertex id
        The vertex at which all paths start.
    targets : iterable, optional
        The vertices at which paths end; by default all that the source reaches. The paths to all of these together may
        take far more memory than the graph: `shortest_path_tree` has them in two numbers a vertex.
    weight : bool
        Whether edge values, numbers of 0 or more, are lengths; otherwise every edge has length 1.
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

    Notes
    -----
    `shortest_path_tree`, which says what it costs.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "a"], ["b", "c", "d"])
    >>> gp.algorithms.single_source_shortest_path(graph, "a", targets=["c", "d"])
    {'c': ['a', 'b', 'c'], 'd': ['a', 'd']}
    """
    check_graph(graph, "single_source_shortest_path")
    ends = None if targets is None else graph.ids.indices(targets)
    parent = shortest_path_tree(graph, source, weight=weight, threads=threads).values["parent"]
    if ends is None:
        ends = np.arange(graph.n)
    paths = [path_to(parent, end) for end in ends[parent[ends] != NONE].tolist()]
    names = graph.ids.take(np.concatenate([*paths, np.zeros(0, np.int64)]).astype(np.int64)).tolist()
    found, start = {}, 0
    for path in paths:
        found[names[start + len(path) - 1]] = names[start : start + len(path)]
        start += len(path)
    return found
