"""Shortest paths by numbers of edges: breadth-first searches."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from ..apps import BFS
from ..system.garbage import uncollected
from .functions import implements
from .graph import BackendGraph
from .runs import run_on
from .sweeps import levels_from_each

Array = npt.NDArray[Any]


def source_of(G: BackendGraph, node: Any, message: str = "Source {} is not in G") -> int:
    """The vertex that a node is; raise NetworkX's exception if it is not in the graph."""
    vertex = G.find(node)
    if vertex is None:
        raise nx.NodeNotFound(message.format(node))
    return vertex


def searched(G: BackendGraph, source: int, cutoff: float | None = None, backwards: bool = False) -> Array:
    """The ``level`` and ``parent`` of each vertex by a search from `source`; level -1 for those that it leaves out."""
    graph = G.graph._reversed(valued=False) if backwards else G.graph
    depth = None if cutoff is None or cutoff >= graph.n else max(ceil(cutoff), 0)
    found = run_on(graph, BFS(G.id_of(source)), None if depth is None else max(depth, 1)).values
    if depth is not None:
        found["level"][found["level"] > depth] = -1
    return found


def in_order(level: Array) -> Array:
    """The vertices that have a level, by levels; those of a level in their order."""
    reached = np.flatnonzero(level >= 0)
    found = level[reached]
    narrow = found.astype(np.int16) if len(found) and found.max() < 1 << 15 else found  # NumPy sorts these by radix
    ordered: Array = reached[np.argsort(narrow, kind="stable")]
    return ordered


def lengths_of(G: BackendGraph, level: Array) -> dict[Any, int]:
    """The levels of the nodes that have one, the nearest first."""
    order = in_order(level)
    return dict(zip(G.named(order), level[order].tolist(), strict=True))


@implements()
def single_source_shortest_path_length(G: BackendGraph, source: Any, cutoff: float | None = None) -> dict[Any, int]:
    """The number of edges on a shortest path from the source to each node that it reaches."""
    return lengths_of(G, searched(G, source_of(G, source), cutoff)["level"])


@implements()
def single_target_shortest_path_length(G: BackendGraph, target: Any, cutoff: float | None = None) -> dict[Any, int]:
    """The number of edges on a shortest path to the target from each node that reaches it."""
    return lengths_of(G, searched(G, source_of(G, target, "Target {} is not in G"), cutoff, backwards=True)["level"])


@implements()
def all_pairs_shortest_path_length(
    G: BackendGraph, cutoff: float | None = None
) -> Iterator[tuple[Any, dict[Any, int]]]:
    """Each node with the lengths of the shortest paths from it."""
    bound = np.inf if cutoff is None else max(cutoff, 0)
    for source, level in zip(G, levels_from_each(G.graph), strict=True):
        yield source, lengths_of(G, np.where(level < bound + 1, level, -1))


@uncollected()
def paths_of(G: BackendGraph, found: Array, backwards: bool = False) -> dict[Any, list[Any]]:
    """The path from the source of a search to each node, or from each node to it if the search was backwards."""
    order = in_order(found["level"])
    parents = found["parent"][order].tolist()
    vertices, names = order.tolist(), G.named(order)
    paths = {vertices[0]: [names[0]]}
    for vertex, name, parent in zip(vertices[1:], names[1:], parents[1:], strict=True):
        paths[vertex] = [name, *paths[parent]] if backwards else [*paths[parent], name]
    return dict(zip(names, paths.values(), strict=True))


@implements()
def single_source_shortest_path(G: BackendGraph, source: Any, cutoff: float | None = None) -> dict[Any, list[Any]]:
    """A shortest path from the source to each node that it reaches."""
    return paths_of(G, searched(G, source_of(G, source, "Source {} not in G"), cutoff))


@implements()
def all_pairs_shortest_path(G: BackendGraph, cutoff: float | None = None) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    """Each node with a shortest path to each node that it reaches."""
    for node in G:
        yield node, single_source_shortest_path(G, node, cutoff)


@implements()
def single_target_shortest_path(G: BackendGraph, target: Any, cutoff: float | None = None) -> dict[Any, list[Any]]:
    """A shortest path to the target from each node that reaches it."""
    return paths_of(G, searched(G, source_of(G, target, "Target {} not in G"), cutoff, backwards=True), backwards=True)


def walked(G: BackendGraph, parent: Array, source: int, target: int) -> list[Any]:
    """The path from the source to the target along the parents of a search."""
    path = [target]
    while path[-1] != source:
        path.append(int(parent[path[-1]]))
    return G.named(np.array(path[::-1]))


@implements()
def bidirectional_shortest_path(G: BackendGraph, source: Any, target: Any) -> list[Any]:
    """A shortest path from the source to the target. The search is forwards only, but on all cores."""
    start, end = source_of(G, source), source_of(G, target, "Target {} is not in G")
    found = searched(G, start)
    if found["level"][end] < 0:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return walked(G, found["parent"], start, end)


@implements()
def has_path(G: BackendGraph, source: Any, target: Any) -> bool:
    """Whether there is a path from the source to the target."""
    start, end = source_of(G, source), source_of(G, target, "Target {} is not in G")
    return bool(searched(G, start)["level"][end] >= 0)
