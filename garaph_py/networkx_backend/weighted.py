"""Shortest paths by the sums of their edges' weights.

Weights of 0 or more only: others are refused, and NetworkX falls back to itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import floor, isfinite
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import numpy.typing as npt

from ..algorithms.multi_source_dijkstra_path_length import NearestSSSP
from ..algorithms.shortest_path_tree import parents_of
from ..apps import SSSP
from ..apps.checks import require_edges
from ..apps.sssp import has_distance
from ..graph import Graph
from ..system.garbage import uncollected
from .functions import implements
from .graph import BackendGraph, vertex_of
from .paths import paths_along
from .runs import run_on
from .searches import search_from, settled_in_order
from .sweeps import distances_from_each
from .unweighted import walked

Array = npt.NDArray[Any]

NOT_FOUND = "Node {} not found in graph"


def callable_weight(weight: Any, **others: Any) -> str | None:
    """Why a function does not run here: programs cannot call a function of Python for each edge."""
    return "weight is a function" if callable(weight) else None


def graph_of(G: BackendGraph, weight: str | None) -> Graph:
    """The graph with a weight as edge values; raise `GraphError` if one is below 0."""
    graph = G.weighted(weight)
    require_edges("a distance", graph, "edge values of 0 or more", 0, np.inf)
    return graph


def measured(graph: Graph, G: BackendGraph, sources: list[int]) -> Array:
    """The distance of each vertex of `graph`, which has G's vertices, from the nearest source; infinite if none."""
    first = G.id_of(sources[0])
    if len(sources) == 1:
        program = SSSP(first)
    else:
        starts = np.zeros(graph.n, np.int32)
        starts[sources] = 1
        program = NearestSSSP(first, starts)
    return run_on(graph, program).values


def start_of(G: BackendGraph, node: Any, message: str = NOT_FOUND) -> int:
    """The vertex that a source is; NetworkX's exceptions if it is none, or a list or the like, which no node can be."""
    hash(node)
    return vertex_of(G, node, message)


def reached_by(distance: Array, cutoff: float | None = None) -> Array:
    """Which vertices have a distance, and none above the cutoff."""
    has = has_distance(distance)
    if cutoff is None:
        return has
    if distance.dtype.kind in "iu" and isinstance(cutoff, float) and isfinite(cutoff):
        cutoff = floor(cutoff)  # NumPy would compare floats, which do not tell large integers apart
    return has & ~(distance > cutoff)  # as in NetworkX, nothing is above a cutoff that is not a number


class Settled(NamedTuple):
    """What a search by weight has found.

    Attributes
    ----------
    graph : Graph
        With the lengths of edges.
    distance : ndarray, shape (n,)
        Of each vertex from the nearest source.
    sources : list of int
    order : ndarray
        The sources and the other vertices within the cutoff, the nearest first. It is NetworkX's order if the graph is
        converted.
    parents : ndarray, shape (n,), or None
        The vertex before each of these on NetworkX's path to it; None if the graph is not converted.
    """

    graph: Graph
    distance: Array
    sources: list[int]
    order: Array
    parents: Array | None


def settled(G: BackendGraph, graph: Graph, distance: Array, sources: list[int], cutoff: float | None = None) -> Settled:
    """The search that found these distances, up to the cutoff."""
    reached = reached_by(distance, cutoff)
    reached[sources] = True
    parents: Array | None = None
    if G.rows is None:
        places = np.flatnonzero(reached)
        places = places[np.argsort(distance[places], kind="stable")]
        order = np.concatenate([sources, places[~np.isin(places, sources)]])
    elif graph.edge_dtype is None:
        found = search_from(G.rows, sources)
        order, parents = found.order[reached[found.order]], found.parent
    else:
        order, parents = settled_in_order(G.rows, G.row_lengths, distance, sources, reached)
    return Settled(graph, distance, sources, order, parents)


def settled_from(G: BackendGraph, weight: str | None, sources: list[int], cutoff: float | None = None) -> Settled:
    """A search by a weight from the nearest of the sources, up to the cutoff."""
    graph = graph_of(G, weight)
    return settled(G, graph, measured(graph, G, sources), sources, cutoff)


def settled_from_each(G: BackendGraph, weight: str | None, cutoff: float | None) -> Iterator[Settled]:
    """A search by a weight from each vertex; weights are checked at once."""
    graph = graph_of(G, weight)
    found = enumerate(distances_from_each(graph, np.arange(len(G))))
    return (settled(G, graph, distance, [source], cutoff) for source, distance in found)


def distances_of(G: BackendGraph, found: Settled) -> dict[Any, Any]:
    """The distances of the nodes within the cutoff, the nearest first; those of sources are the integer 0."""
    first = len(found.sources)
    distances = dict.fromkeys(G.named(found.order[:first]), 0)
    rest = found.order[first:]
    distances.update(zip(G.named(rest), found.distance[rest].tolist(), strict=True))
    return distances


@uncollected()
def paths_from(G: BackendGraph, found: Settled) -> dict[Any, list[Any]]:
    """A shortest path from the nearest source to each node within the cutoff, the nearest first."""
    if found.parents is not None:
        return paths_along(G, found.order, found.parents)
    parents = parents_of(found.graph, found.distance, found.sources).tolist()
    nodes, vertices = G.nodes, found.order.tolist()
    paths: dict[int, list[Any]] = {source: [nodes[source]] for source in found.sources}
    for vertex in vertices:
        way = []  # from a vertex whose path is known
        while vertex not in paths:
            way.append(vertex)
            vertex = parents[vertex]
        known = paths[vertex]
        for passed in reversed(way):
            known = paths[passed] = [*known, nodes[passed]]
    return {nodes[vertex]: paths[vertex] for vertex in vertices}


def starts_of(G: BackendGraph, sources: Any) -> list[int]:
    """The vertices that some sources are, with NetworkX's exceptions."""
    if not sources:
        raise ValueError("sources must not be empty")
    return list(dict.fromkeys(vertex_of(G, node, NOT_FOUND) for node in sources))


@implements(callable_weight)
def multi_source_dijkstra_path_length(
    G: BackendGraph, sources: Any, cutoff: float | None = None, weight: str | None = "weight"
) -> dict[Any, Any]:
    """The distance of each node from the nearest of the sources."""
    return distances_of(G, settled_from(G, weight, starts_of(G, sources), cutoff))


@implements(callable_weight)
def multi_source_dijkstra_path(
    G: BackendGraph, sources: Any, cutoff: float | None = None, weight: str | None = "weight"
) -> dict[Any, list[Any]]:
    """A shortest path to each node from the nearest of the sources."""
    return paths_from(G, settled_from(G, weight, starts_of(G, sources), cutoff))


@implements(callable_weight)
def multi_source_dijkstra(
    G: BackendGraph, sources: Any, target: Any = None, cutoff: float | None = None, weight: str | None = "weight"
) -> tuple[Any, Any]:
    """Distances and shortest paths from the nearest of the sources: of all nodes, or of the target."""
    starts = starts_of(G, sources)
    if target in sources:
        return 0, [target]
    hash(target)
    if target is None:
        found = settled_from(G, weight, starts, cutoff)
        return distances_of(G, found), paths_from(G, found)
    graph = graph_of(G, weight)
    distance, end = measured(graph, G, starts), G.find(target)
    if end is None or not reached_by(distance, cutoff)[end]:
        raise nx.NetworkXNoPath(f"No path to {target}.")
    return distance[end].item(), path_to(G, graph, distance, starts, end)


@implements(callable_weight)
def single_source_dijkstra_path_length(
    G: BackendGraph, source: Any, cutoff: float | None = None, weight: str | None = "weight"
) -> dict[Any, Any]:
    """The distance of each node from the source."""
    return distances_of(G, settled_from(G, weight, [start_of(G, source)], cutoff))


@implements(callable_weight)
def all_pairs_dijkstra_path_length(
    G: BackendGraph, cutoff: float | None = None, weight: str | None = "weight"
) -> Iterator[tuple[Any, dict[Any, Any]]]:
    """Each node with the distances from it."""
    return ((G.nodes[each.sources[0]], distances_of(G, each)) for each in settled_from_each(G, weight, cutoff))


@implements(callable_weight)
def all_pairs_bellman_ford_path_length(
    G: BackendGraph, weight: str | None = "weight"
) -> Iterator[tuple[Any, dict[Any, Any]]]:
    """Each node with the distances from it."""
    return all_pairs_dijkstra_path_length(G, weight=weight)


@implements(callable_weight)
def single_source_dijkstra_path(
    G: BackendGraph, source: Any, cutoff: float | None = None, weight: str | None = "weight"
) -> dict[Any, list[Any]]:
    """A shortest path from the source to each node."""
    return paths_from(G, settled_from(G, weight, [start_of(G, source)], cutoff))


@implements(callable_weight)
def single_source_dijkstra(
    G: BackendGraph, source: Any, target: Any = None, cutoff: float | None = None, weight: str | None = "weight"
) -> tuple[Any, Any]:
    """Distances and shortest paths from the source: of all nodes, or of the target."""
    start_of(G, source)
    found: tuple[Any, Any] = multi_source_dijkstra(G, [source], target, cutoff, weight)
    return found


def path_to(G: BackendGraph, graph: Graph, distance: Array, sources: list[int], target: int) -> list[Any]:
    """A shortest path from the nearest source to the target."""
    parents = settled(G, graph, distance, sources, distance[target]).parents
    return walked(G, parents_of(graph, distance, sources) if parents is None else parents, target)


@implements(callable_weight)
def all_pairs_dijkstra(
    G: BackendGraph, cutoff: float | None = None, weight: str | None = "weight"
) -> Iterator[tuple[Any, tuple[dict[Any, Any], dict[Any, list[Any]]]]]:
    """Each node with the distances from it and the shortest paths."""
    every = settled_from_each(G, weight, cutoff)
    return ((G.nodes[each.sources[0]], (distances_of(G, each), paths_from(G, each))) for each in every)


@implements(callable_weight)
def all_pairs_dijkstra_path(
    G: BackendGraph, cutoff: float | None = None, weight: str | None = "weight"
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    """Each node with a shortest path to each node that it reaches."""
    return ((G.nodes[each.sources[0]], paths_from(G, each)) for each in settled_from_each(G, weight, cutoff))


@implements(callable_weight)
def all_pairs_bellman_ford_path(
    G: BackendGraph, weight: str | None = "weight"
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    """Each node with a shortest path to each node that it reaches."""
    return all_pairs_dijkstra_path(G, weight=weight)


@implements(callable_weight)
def dijkstra_path(G: BackendGraph, source: Any, target: Any, weight: str | None = "weight") -> Any:
    """A shortest path from the source to the target; if that is None, one to each node."""
    _, path = single_source_dijkstra(G, source, target, weight=weight)
    return path


@implements(callable_weight)
def dijkstra_path_length(G: BackendGraph, source: Any, target: Any, weight: str | None = "weight") -> Any:
    """The distance of the target from the source."""
    start = vertex_of(G, source, NOT_FOUND)
    return distance_to(G, start, source, target, weight, "Node")


def distance_to(G: BackendGraph, start: int, source: Any, target: Any, weight: str | None, word: str) -> Any:
    """The distance of the target; `word` begins NetworkX's message if there is no path."""
    if source == target:
        return 0
    hash(target)
    end, graph = G.find(target), graph_of(G, weight)
    distance = None if end is None else measured(graph, G, [start])
    if distance is None or not reached_by(distance)[end]:
        raise nx.NetworkXNoPath(f"{word} {target} not reachable from {source}")
    return distance[end].item()


@implements(callable_weight)
def bellman_ford_path_length(G: BackendGraph, source: Any, target: Any, weight: str | None = "weight") -> Any:
    """The distance of the target from the source."""
    start = vertex_of(G, source, NOT_FOUND) if source == target else start_of(G, source, "Source {} not in G")
    return distance_to(G, start, source, target, weight, "node")


@implements(callable_weight)
def bellman_ford_path(G: BackendGraph, source: Any, target: Any, weight: str | None = "weight") -> Any:
    """A shortest path from the source to the target; if that is None, one to each node."""
    _, path = single_source_bellman_ford(G, source, target, weight)
    return path


@implements(callable_weight)
def single_source_bellman_ford_path_length(
    G: BackendGraph, source: Any, weight: str | None = "weight"
) -> dict[Any, Any]:
    """The distance of each node from the source."""
    return distances_of(G, settled_from(G, weight, [start_of(G, source, "Source {} not in G")]))


@implements(callable_weight)
def single_source_bellman_ford_path(
    G: BackendGraph, source: Any, weight: str | None = "weight"
) -> dict[Any, list[Any]]:
    """A shortest path from the source to each node."""
    _, paths = single_source_bellman_ford(G, source, weight=weight)
    return dict(paths)


@implements(callable_weight)
def single_source_bellman_ford(
    G: BackendGraph, source: Any, target: Any = None, weight: str | None = "weight"
) -> tuple[Any, Any]:
    """Distances and shortest paths from the source: of all nodes, or of the target."""
    if source == target:
        vertex_of(G, source, "Node {} is not found in the graph")
    start_of(G, source, "Source {} not in G")
    try:
        return single_source_dijkstra(G, source, target, weight=weight)
    except nx.NetworkXNoPath as error:
        raise nx.NetworkXNoPath(f"Target {target} cannot be reached from given sources") from error
