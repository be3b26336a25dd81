"""Shortest paths by numbers of edges: breadth-first searches."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from ..algorithms.bidirectional import path_between
from ..algorithms.shortest_path_tree import path_to
from ..apps import BFS
from .functions import implements
from .graph import BackendGraph, vertex_of
from .paths import paths_along
from .runs import run_on
from .searches import Search, search_from

Array = npt.NDArray[Any]


def searched(G: BackendGraph, source: int, cutoff: float | None = None, backwards: bool = False) -> Search:
    """A search from `source`: in NetworkX's order if the graph is converted, else by a vertex program."""
    depth = depth_of(G, cutoff)
    rows = G.back_rows if backwards else G.rows
    if rows is not None:
        return search_from(rows, [source], depth)
    graph = G.graph._reversed(valued=False) if backwards else G.graph
    found = run_on(graph, BFS(G.id_of(source)), None if depth is None else max(depth, 1)).values
    level = found["level"]
    if depth is not None:
        level[level > depth] = -1
    return Search(in_order(level), level, found["parent"])


def searched_from_each(G: BackendGraph, cutoff: float | None) -> Iterator[Search]:
    """A search from each vertex in turn, on one core if the edges are in memory: a run takes longer to begin."""
    rows = None if G.graph.on_disk else G.own_rows
    for vertex in range(len(G)):
        yield searched(G, vertex, cutoff) if rows is None else search_from(rows, [vertex], depth_of(G, cutoff))


def depth_of(G: BackendGraph, cutoff: float | None) -> int | None:
    """The number of edges on the longest path that a cutoff allows; None if it excludes no path.

    One that is not a number allows no edge, as in NetworkX.
    """
    if cutoff is None or cutoff >= len(G):
        return None
    return ceil(cutoff) if cutoff > 0 else 0


def in_order(level: Array) -> Array:
    """The vertices that have a level, by levels; those of a level in their order."""
    reached = np.flatnonzero(level >= 0)
    found = level[reached]
    narrow = found.astype(np.int16) if len(found) and found.max() < 1 << 15 else found  # NumPy sorts these by radix
    ordered: Array = reached[np.argsort(narrow, kind="stable")]
    return ordered


def lengths_of(G: BackendGraph, found: Search) -> dict[Any, int]:
    """The levels of the nodes that a search has found, in its order."""
    return dict(zip(G.named(found.order), found.level[found.order].tolist(), strict=True))


@implements()
def single_source_shortest_path_length(G: BackendGraph, source: Any, cutoff: float | None = None) -> dict[Any, int]:
    """The number of edges on a shortest path from the source to each node that it reaches."""
    return lengths_of(G, searched(G, vertex_of(G, source), cutoff))


@implements()
def single_target_shortest_path_length(G: BackendGraph, target: Any, cutoff: float | None = None) -> dict[Any, int]:
    """The number of edges on a shortest path to the target from each node that reaches it."""
    return lengths_of(G, searched(G, vertex_of(G, target, "Target {} is not in G"), cutoff, backwards=True))


@implements()
def all_pairs_shortest_path_length(
    G: BackendGraph, cutoff: float | None = None
) -> Iterator[tuple[Any, dict[Any, int]]]:
    """Each node with the lengths of the shortest paths from it."""
    for source, found in zip(G, searched_from_each(G, cutoff), strict=True):
        yield source, lengths_of(G, found)


def paths_of(G: BackendGraph, found: Search, backwards: bool = False) -> dict[Any, list[Any]]:
    """The path from the source of a search to each node, or from each node to it if the search was backwards."""
    return paths_along(G, found.order, found.parent, backwards)


@implements()
def single_source_shortest_path(G: BackendGraph, source: Any, cutoff: float | None = None) -> dict[Any, list[Any]]:
    """A shortest path from the source to each node that it reaches."""
    return paths_of(G, searched(G, vertex_of(G, source, "Source {} not in G"), cutoff))


@implements()
def all_pairs_shortest_path(G: BackendGraph, cutoff: float | None = None) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    """Each node with a shortest path to each node that it reaches."""
    for source, found in zip(G, searched_from_each(G, cutoff), strict=True):
        yield source, paths_of(G, found)


@implements()
def single_target_shortest_path(G: BackendGraph, target: Any, cutoff: float | None = None) -> dict[Any, list[Any]]:
    """A shortest path to the target from each node that reaches it."""
    return paths_of(G, searched(G, vertex_of(G, target, "Target {} not in G"), cutoff, backwards=True), backwards=True)


def walked(G: BackendGraph, parent: Array, target: int) -> list[Any]:
    """The path to the target along the parents of a search, from the vertex that is its own parent."""
    return G.named(np.array(path_to(parent, target)))


@implements()
def bidirectional_shortest_path(G: BackendGraph, source: Any, target: Any) -> list[Any]:
    """A shortest path from the source to the target."""
    start, end = vertex_of(G, source), vertex_of(G, target, "Target {} is not in G")
    if G.rows is not None and G.back_rows is not None:  # searches from both
        path = path_between(G.rows, G.back_rows, start, end)
        if path is not None:
            return G.named(np.array(path))
    else:
        found = searched(G, start)
        if found.level[end] >= 0:
            return walked(G, found.parent, end)
    raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
