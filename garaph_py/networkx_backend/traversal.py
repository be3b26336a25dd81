"""Breadth-first searches: the nodes that others reach, level by level, and the tree of a search."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from ..system.garbage import uncollected
from .functions import implements
from .graph import BackendGraph, vertex_of
from .searches import search_from
from .unweighted import in_order, searched
from .weighted import measured, reached_by

Array = npt.NDArray[Any]

ABSENT = "The node {} is not in the graph."


def start_of(G: BackendGraph, source: Any) -> int:
    """The vertex that a source is, with the exceptions of NetworkX's lists of neighbours."""
    hash(source)  # a list is a TypeError, as in NetworkX
    kind = "digraph" if G.is_directed() else "graph"
    return vertex_of(G, source, f"The node {{}} is not in the {kind}.", nx.NetworkXError)


def others(G: BackendGraph, source: Any, backwards: bool) -> set[Any]:
    """All nodes but the source that it reaches, or that reach it."""
    return set(G.named(searched(G, start_of(G, source), backwards=backwards).order[1:]))


@implements()
def descendants(G: BackendGraph, source: Any) -> set[Any]:
    """The nodes that the source reaches."""
    return others(G, source, backwards=False)


@implements()
def ancestors(G: BackendGraph, source: Any) -> set[Any]:
    """The nodes that reach the source."""
    return others(G, source, backwards=True)


@implements()
def descendants_at_distance(G: BackendGraph, source: Any, distance: int) -> set[Any]:
    """The nodes to which a shortest path from the source has so many edges."""
    level = searched(G, vertex_of(G, source, ABSENT, nx.NetworkXError)).level
    return next((set(G.named(np.flatnonzero(level == k))) for k in range(level.max() + 1) if k == distance), set())


@implements()
def bfs_layers(G: BackendGraph, sources: Any) -> Iterator[list[Any]]:
    """The sources, the nodes one edge from them, and so on."""
    starts = [vertex_of(G, node, ABSENT, nx.NetworkXError) for node in ([sources] if sources in G else set(sources))]
    if not starts:
        return
    if G.rows is not None:
        found = search_from(G.rows, starts)
        order, level = found.order, found.level
    else:
        distance = measured(G.unweighted, G, starts)
        level = np.where(reached_by(distance), distance, -1)
        order = in_order(level)
    for layer in np.split(order, np.flatnonzero(np.diff(level[order])) + 1):
        yield G.named(layer)


def another_order(reverse: bool = False, sort_neighbors: Any = None, **others: Any) -> str | None:
    """Why a search does not run here: it would follow edges in another order than that of their nodes' lists."""
    if sort_neighbors is not None:
        return "a function sorts the neighbours"
    return "the order of edges backward is not known" if reverse else None


@implements(another_order)
def bfs_edges(
    G: BackendGraph, source: Any, reverse: bool = False, depth_limit: float | None = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any]]:
    """The edges of the tree of a search, in the order in which it finds their ends."""
    found = searched(G, start_of(G, source), depth_limit)
    reached = found.order[1:]
    if G.rows is None:  # put the nodes that are found from one after the other
        reached = reached[np.lexsort((found.parent[reached], found.level[reached]))]
    yield from zip(G.named(found.parent[reached]), G.named(reached), strict=True)


@implements(another_order)
def bfs_predecessors(
    G: BackendGraph, source: Any, depth_limit: float | None = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, Any]]:
    """Each node that a search finds with the one from which it finds it."""
    for parent, child in bfs_edges(G, source, depth_limit=depth_limit):
        yield child, parent


@implements(another_order)
def bfs_successors(
    G: BackendGraph, source: Any, depth_limit: float | None = None, sort_neighbors: Any = None
) -> Iterator[tuple[Any, list[Any]]]:
    """Each node from which a search finds others, with these; if it finds none, the source with an empty list."""
    parent = None
    for parent, edges in groupby(bfs_edges(G, source, depth_limit=depth_limit), itemgetter(0)):
        yield parent, [child for _, child in edges]
    if parent is None:  # None is not a node
        yield source, []


@implements(another_order)
def bfs_tree(
    G: BackendGraph, source: Any, reverse: bool = False, depth_limit: float | None = None, sort_neighbors: Any = None
) -> Any:
    """The tree of a search, as a graph of NetworkX."""
    tree = nx.DiGraph()
    tree.add_node(source)
    nodes, into, out = tree._node, tree._pred, tree._succ
    with uncollected():
        # Each child is new. NetworkX's `add_edges_from` would look for both ends of each edge.
        for parent, child in bfs_edges(G, source, depth_limit=depth_limit):
            data: dict[str, Any] = {}
            nodes[child], into[child], out[child], out[parent][child] = {}, {parent: data}, {}, data
    return tree
