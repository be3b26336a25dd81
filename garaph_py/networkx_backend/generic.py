"""Shortest paths and their lengths by whichever arguments are given, with or without weights."""

from __future__ import annotations

from typing import Any

from .functions import implements
from .graph import BackendGraph
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
            return single_target_shortest_path(G, target)
        return (
            single_source_shortest_path(G, source) if target is None else bidirectional_shortest_path(G, source, target)
        )
    if source is None:
        found = single_source_dijkstra_path(G.reversed(), target, weight=weight)
        return {node: path[::-1] for node, path in found.items()}
    if target is None:
        return single_source_dijkstra_path(G, source, weight=weight)
    return (dijkstra_path if method == "dijkstra" else bellman_ford_path)(G, source, target, weight)


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
