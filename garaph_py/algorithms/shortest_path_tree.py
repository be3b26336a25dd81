"""Shortest-path trees, and paths in them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..apps import BFS, SSSP
from ..apps.checks import edge_numbers
from ..apps.sssp import has_distance
from ..graph import Graph
from ..graph.arguments import check_graph
from ..output.result import Result
from ..pages.passes import listed
from ..runtime.options import ANY
from ..runtime.run import run
from ..system.arguments import explained
from .multi_source_dijkstra_path_length import distances_from
from .numbers import cutoff_of

Array = npt.NDArray[Any]

NONE = -1
"""The parent of a vertex that the source does not reach."""


@explained
def shortest_path_tree(
    graph: Graph, source: Any, *, cutoff: float | None = None, weight: bool = True, device: str = ANY,
    threads: int | None = None,
) -> Result:  # fmt: skip
    """A tree of shortest paths: ``d_v = d_p + w_pv``, where p is the parent of v.

    Parameters
    ----------
    graph : Graph
    source : vertex id
        The vertex at which all paths start.
    cutoff : float, optional
        Find no paths that are longer. The search ends there.
    weight : bool
        Whether edge values, numbers of 0 or more, are the lengths w; otherwise, and in a graph without edge values,
        every edge has length 1.
    device : {"auto", "cpu", "gpu", "hybrid"}
        Where the vertex program runs, as for `garaph_py.run`.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Result
        The fields ``distance`` and ``parent``. Distances are those of `garaph_py.apps.SSSP` with edge values, and the
        levels of `garaph_py.apps.BFS` without. The source is its own parent; unreached vertices have none. If several
        nearer vertices could be the parent, it is the one with the smallest internal id.

    Raises
    ------
    UnknownVertexError
        If the graph has no vertex `source`.
    GraphError
        If an edge value is negative.
    ParameterError
        If `cutoff` is not a number of 0 or more.
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used.

    Notes
    -----
    Without lengths it runs the vertex program `BFS`, which reports parents; with lengths `SSSP`, after which one pass
    over the edges finds the parents. A chain of edges of length 0 takes a further pass for each of its edges. It takes
    9 bytes for each vertex besides the program's. Edges may be on disk.

    References
    ----------
    .. [1] Dijkstra, E. W., "A note on two problems in connexion with graphs", Numerische Mathematik 1, 1959.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "a", "b"], ["b", "c", "c"], weights=[1, 5, 2])
    >>> gp.algorithms.shortest_path_tree(graph, "a").to_dict()
    {'a': {'distance': 0, 'parent': 'a'}, 'b': {'distance': 1, 'parent': 'a'}, 'c': {'distance': 3, 'parent': 'b'}}
    """
    check_graph(graph, "shortest_path_tree")
    bound, start = cutoff_of(cutoff, "shortest_path_tree"), graph.ids.index(source)
    if weight and graph.edge_dtype is not None:
        if bound is None:
            found = run(SSSP(source), graph, device=device, threads=threads)
        else:
            found = distances_from(graph, np.array([start]), bound, device, threads)
        distance = found.values
        parent = parents_of(graph, distance, [start])
    else:
        depth = None if bound is None else min(int(bound), graph.n)
        found = run(BFS(source), graph, iterations=depth, device=device, threads=threads)
        distance, parent = found.values["level"], found.values["parent"]
    values = np.empty(graph.n, [("distance", distance.dtype), ("parent", np.int64)])
    values["distance"], values["parent"] = distance, parent
    return replace(found, values=values, program="shortest_path_tree", vertex_fields=("parent",))


def parents_of(graph: Graph, distance: Array, sources: list[int]) -> Array:
    """The parent of each vertex in trees of shortest paths from some sources, -1 if it has none; int64.

    An edge u -> v is *tight* if ``d_v == d_u + w_uv``. The parent is the first from which a tight edge comes and
    that is nearer. Tight edges of length 0 may form cycles; so they count only from vertices that have a parent.
    """
    reached, parent = has_distance(distance), np.full(graph.n, NONE, np.int64)
    parent[sources] = sources
    waiting, first = reached & (parent == NONE), True
    while waiting.any():
        before = parent.copy()
        for edges in listed(graph):
            u, v = edges.sources, edges.targets
            with np.errstate(over="ignore"):  # a path whose length is infinite is not tight
                through = distance[u] + edge_numbers(edges).astype(distance.dtype)
            nearer = distance[u] < distance[v] if first else parent[u] != NONE
            chosen = np.flatnonzero(waiting[v] & reached[u] & nearer & (through == distance[v]))[::-1]
            parent[v[chosen]] = u[chosen]  # of a vertex's edges, the first is written last
        waiting &= parent == NONE
        if not first and (parent == before).all():
            break
        first = False
    return parent


def path_to(parent: Array, target: int) -> list[int]:
    """The vertices from the root of a tree to the target, which is in it."""
    path = [target]
    while (above := int(parent[path[-1]])) != path[-1]:
        path.append(above)
    return path[::-1]
