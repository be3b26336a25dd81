"""Shortest paths and their lengths by whichever arguments are given, with or without weights."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from .bidirectional import shortest_between
from .functions import implements
from .graph import BackendGraph, vertex_of
from .unweighted import (
    all_pairs_shortest_path,
    all_pairs_shortest_path_length,
    bidirectional_shortest_path,
    single_source_shortest_path,
    single_source_shortest_path_length,
    single_target_shortest_path,
)
from .weighted import (
    all_pairs_dijkstra_path,
    all_pairs_dijkstra_path_length,
    bellman_ford_path,
    bellman_ford_path_length,
    callable_weight,
    dijkstra_path,
    dijkstra_path_length,
    graph_of,
    single_source_bellman_ford_path_length,
    single_source_dijkstra_path,
    single_source_dijkstra_path_length,
)

METHODS = "dijkstra", "bellman-ford"


def checked(method: str) -> None:
    """Raise NetworkX's exception for an unknown method."""
    if method not in METHODS:
        raise ValueError(f"method not supported: {method}")


@implements(callable_weight)
def shortest_path(
    G: BackendGraph, source: Any = None, target: Any = None, weight: str | None = None, method: str = "dijkstra"
) -> Any:
    """The path between two nodes, or a dictionary of those from the source to all nodes, or from all to the target."""
    checked(method)
    if source is None and target is None:
        return all_pairs_shortest_path(G) if weight is None else all_pairs_dijkstra_path(G, weight=weight)
    if weight is None:
        if source is None:
            vertex_of(G, target, "Source {} not in G")  # NetworkX turns the graph round, and searches from the target
            return single_target_shortest_path(G, target)
        return (
            single_source_shortest_path(G, source) if target is None else bidirectional_shortest_path(G, source, target)
        )
    if source is None:
        found = single_source_dijkstra_path(G.reversed(), target, weight=weight)
        return {node: path[::-1] for node, path in found.items()}
    if target is None:
        return single_source_dijkstra_path(G, source, weight=weight)
    return (path_by_weight if method == "dijkstra" else bellman_ford_path)(G, source, target, weight)


def path_by_weight(G: BackendGraph, source: Any, target: Any, weight: str) -> Any:
    """A shortest path between two nodes, with the exceptions of NetworkX's search from both."""
    start, end = vertex_of(G, source), vertex_of(G, target, "Target {} is not in G")
    graph = graph_of(G, weight)
    if G.rows is None or graph.edge_dtype is None or start == end:
        try:
            return dijkstra_path(G, source, target, weight)
        except nx.NetworkXNoPath as error:
            raise nx.NetworkXNoPath(f"No path between {source} and {target}.") from error
    path = shortest_between(G.rows, G.row_lengths, *G.weighted_back_rows, start, end)
    if path is None:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return G.named(np.array(path))


@implements(callable_weight)
def shortest_path_length(
    G: BackendGraph, source: Any = None, target: Any = None, weight: str | None = None, method: str = "dijkstra"
) -> Any:
    """The length between two nodes, or a dictionary of those from the source or to the target, or of all pairs."""
    checked(method)
    if source is None and target is None:
        return all_pairs_shortest_path_length(G) if weight is None else all_pairs_dijkstra_path_length(G, weight=weight)
    if weight is None:
        if source is not None and target is not None:
            return len(bidirectional_shortest_path(G, source, target)) - 1
        return single_source_shortest_path_length(
            G.reversed() if source is None else G, target if source is None else source
        )
    one = single_source_dijkstra_path_length if method == "dijkstra" else single_source_bellman_ford_path_length
    if source is None:
        return one(G.reversed(), target, weight=weight)
    if target is None:
        return one(G, source, weight=weight)
    return (dijkstra_path_length if method == "dijkstra" else bellman_ford_path_length)(G, source, target, weight)


@implements()
def has_path(G: BackendGraph, source: Any, target: Any) -> bool:
    """Whether there is a path from the source to the target. As in NetworkX, one of them may be None."""
    try:
        shortest_path(G, source, target)
    except nx.NetworkXNoPath:
        return False
    return True
