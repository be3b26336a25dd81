"""Eccentricities and what follows from them, and the mean distance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from .functions import implements
from .graph import BackendGraph, bunch_of
from .sweeps import distances_from_each, sweep
from .weighted import callable_weight, graph_of, reached_by

Array = npt.NDArray[Any]


def known_paths(sp: Any, weight: Any, **others: Any) -> str | None:
    """Why `eccentricity` does not run here with these arguments; None if it does."""
    return "the paths are known" if sp is not None else callable_weight(weight)


def known_eccentricities(e: Any, weight: Any, **others: Any) -> str | None:
    """Why a function of eccentricities does not run here with these arguments; None if it does."""
    return "the eccentricities are known" if e is not None else callable_weight(weight)


def other_method(method: Any, weight: Any) -> str | None:
    """Why `average_shortest_path_length` does not run here with these arguments; None if it does."""
    if str(method).startswith("floyd-warshall"):
        return f"{method} is another algorithm"
    return callable_weight(weight)


def spread(G: BackendGraph, vertices: Array, weight: str | None) -> tuple[Array, list[Any], list[Any]]:
    """Of the shortest paths from each vertex: how many there are, the longest, and the sum of their lengths."""
    if weight is None:
        found = sweep(G.graph, vertices)
        return found.reached, found.farthest.tolist(), found.total.tolist()
    graph, reached, farthest, total = graph_of(G, weight), [], [], []
    for distance in distances_from_each(graph, vertices):
        distance = distance[reached_by(distance)]
        reached.append(len(distance))
        farthest.append(distance.max().item())
        total.append(sum(distance.tolist()))
    return np.array(reached, np.int64), farthest, total


def eccentricities(G: BackendGraph, vertices: Array, weight: str | None, usebounds: bool = False) -> list[Any]:
    """The distance from each vertex to the farthest; raise NetworkX's exception if there is no path to some node."""
    reached, farthest, _ = spread(G, vertices, weight)
    if (reached != len(G)).any():
        if G.is_directed():
            raise nx.NetworkXError("Found infinite path length because the digraph is not strongly connected")
        raise nx.NetworkXError(
            "Cannot compute metric because graph is not connected."
            if usebounds
            else "Found infinite path length because the graph is not connected"
        )
    return farthest


def all_eccentricities(G: BackendGraph, weight: str | None, usebounds: bool) -> list[Any]:
    """The eccentricities of all vertices."""
    return eccentricities(G, np.arange(len(G)), weight, usebounds is True)


@implements(known_paths)
def eccentricity(G: BackendGraph, v: Any = None, sp: Any = None, weight: str | None = None) -> Any:
    """The distance from a node, or from each of several, to the farthest."""
    if v is not None and (vertex := G.find(v)) is not None:
        return eccentricities(G, np.array([vertex]), weight)[0]
    nodes = list(G) if v is None else list(dict.fromkeys(bunch_of(G, v)))
    vertices = np.array([G.find(node) for node in nodes], np.int64)
    return dict(zip(nodes, eccentricities(G, vertices, weight), strict=True))


def nodes_at(G: BackendGraph, which: Callable[[list[Any]], Any], weight: str | None, usebounds: bool) -> list[Any]:
    """The nodes whose eccentricity is the `which`, ``max`` or ``min``, of all."""
    found = all_eccentricities(G, weight, usebounds)
    bound = which(found)
    return [node for node, each in zip(G, found, strict=True) if each == bound]


@implements(known_eccentricities)
def diameter(G: BackendGraph, e: Any = None, usebounds: bool = False, weight: str | None = None) -> Any:
    """The greatest distance."""
    return max(all_eccentricities(G, weight, usebounds))


@implements(known_eccentricities)
def radius(G: BackendGraph, e: Any = None, usebounds: bool = False, weight: str | None = None) -> Any:
    """The least eccentricity."""
    return min(all_eccentricities(G, weight, usebounds))


@implements(known_eccentricities)
def periphery(G: BackendGraph, e: Any = None, usebounds: bool = False, weight: str | None = None) -> list[Any]:
    """The nodes whose eccentricity is the greatest."""
    return nodes_at(G, max, weight, usebounds)


@implements(known_eccentricities)
def center(G: BackendGraph, e: Any = None, usebounds: bool = False, weight: str | None = None) -> list[Any]:
    """The nodes whose eccentricity is the least."""
    if len(G) == 0 and weight is None and not usebounds and not G.is_directed():
        raise nx.NetworkXPointlessConcept("G has no nodes.")  # NetworkX asks first whether it is a tree
    return nodes_at(G, min, weight, usebounds)


@implements(callable_weight)
def wiener_index(G: BackendGraph, weight: str | None = None) -> Any:
    """The sum of the distances of all pairs of two nodes."""
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    reached, _, total = spread(G, np.arange(len(G)), weight)
    if (reached != len(G)).any():
        return float("inf")
    return sum(total) if G.is_directed() else sum(total) / 2


@implements(other_method)
def average_shortest_path_length(G: BackendGraph, weight: str | None = None, method: str | None = None) -> float:
    """The mean distance over all pairs of two nodes."""
    method = method or ("unweighted" if weight is None else "dijkstra")
    if method not in ("unweighted", "dijkstra", "bellman-ford"):
        raise ValueError(f"method not supported: {method}")
    n = len(G)
    if n == 0:
        raise nx.NetworkXPointlessConcept("the null graph has no paths, thus there is no average shortest path length")
    if n == 1:
        return 0
    reached, _, total = spread(G, np.arange(n), None if method == "unweighted" else weight)
    if (reached != n).any():
        raise nx.NetworkXError("Graph is not strongly connected." if G.is_directed() else "Graph is not connected.")
    return sum(total) / (n * (n - 1))  # type: ignore[no-any-return]
