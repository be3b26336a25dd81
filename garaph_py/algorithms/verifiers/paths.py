"""Verifiers of distances, of shortest paths, and of walks."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from ...apps.checks import edge_numbers
from ...apps.sssp import has_distance, verify_distances
from ...errors import ParameterError
from ...graph import Graph
from ...graph.arguments import kind_of
from ...graph.build import without_values
from ...pages.passes import listed
from ..multi_source_dijkstra_path_length import multi_source_dijkstra_path_length
from .evidence import places_of, refute, require, values_of
from .lengths import Lengths

Array = npt.NDArray[Any]


def verify_multi_source_dijkstra_path_length(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless these are the distances, as for `SSSP`."""
    values = values_of("multi_source_dijkstra_path_length", graph, answer)
    require_distances(graph, values, graph.ids.indices(given.sources), given)


def require_distances(graph: Graph, distances: Array, sources: Array, given: Any) -> None:
    """Raise `VerificationError` unless these are the distances from the nearest of the sources, up to a cutoff."""
    first = np.zeros(graph.n, bool)
    first[sources] = True
    cutoff = np.inf if given.cutoff is None else given.cutoff
    verify_distances(graph if given.weight else without_values(graph), distances, first, cutoff)


def verify_shortest_path_tree(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless distances are right, and lead along edges from parents."""
    name, values = "shortest_path_tree", values_of("shortest_path_tree", graph, answer)
    distance, parent, source = values["distance"], values["parent"], graph.ids.index(given.source)
    if not given.weight or graph.edge_dtype is None:  # levels, -1 for unreached vertices
        distance = np.where(distance < 0, np.iinfo(np.int64).max, distance.astype(np.int64))
    require_distances(graph, distance, np.array([source]), given)
    reached = has_distance(distance)
    refute(name, graph, reached != (parent >= 0), lambda v: "has a parent, or none, though it is not reached, or is")
    children = np.flatnonzero(reached & (np.arange(graph.n) != source))
    require(parent[source] == source, name, "the source is not its own parent")
    require_steps(name, graph, distance, parent[children], children, given.weight)


# wide: the steps, and what they must lead to.
def require_steps(function: str, graph: Graph, distances: Array, u: Array, v: Array, by_length: bool) -> None:
    """Raise `VerificationError` unless there is an edge from each u to its v that is as long as v is farther."""
    lengths = Lengths.of(graph, by_length).of_steps(function, graph, u, v)
    wrong = np.zeros(graph.n, bool)
    wrong[v] = distances[u] + lengths.astype(distances.dtype) != distances[v]
    refute(function, graph, wrong, lambda v: "is reached by a way that is longer than its distance")


def verify_shortest_path(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless it is a shortest path from the source to the target."""
    given.cutoff = None
    require_paths("shortest_path", graph, {given.target: answer}, given)


def verify_single_source_shortest_path(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless there is a shortest path to each target that the source reaches."""
    if not isinstance(answer, dict):
        kind = kind_of(answer)
        raise ParameterError(f"check takes the dict of single_source_shortest_path, not {kind}; give what it returned")
    distances = require_paths("single_source_shortest_path", graph, answer, given)
    wanted, found = has_distance(distances), np.zeros(graph.n, bool)
    if given.targets is not None:
        wanted &= np.isin(np.arange(graph.n), graph.ids.indices(given.targets))
    found[graph.ids.indices(list(answer))] = True
    refute("single_source_shortest_path", graph, wanted != found, lambda v: "lacks a path, or has one to no target")


def require_paths(function: str, graph: Graph, paths: dict[Any, list[Any]], given: Any) -> Array:
    """The distances from the source; `VerificationError` unless each path is a shortest one to its target."""
    source = graph.ids.index(given.source)
    distances: Array = multi_source_dijkstra_path_length(
        graph, [given.source], cutoff=given.cutoff, weight=given.weight
    ).values  # fmt: skip
    require_distances(graph, distances, np.array([source]), given)
    places, first = places_of(function, graph, list(chain.from_iterable(paths.values()))), 0
    steps = np.ones(len(places), bool)
    for target, path in paths.items():
        last = first + len(path) - 1
        ends = len(path) > 0 and places[first] == source and path[-1] == target
        require(ends, function, f"the path to {target} does not lead from {given.source} to there")
        require(len(set(path)) == len(path), function, f"the path to {target} has a vertex twice")
        steps[last], first = False, last + 1
    before = np.flatnonzero(steps)
    require_steps(function, graph, distances, places[before], places[before + 1], given.weight)
    return distances


def verify_random_walks(graph: Graph, answer: Any, given: Any) -> None:
    """Raise `VerificationError` unless walks begin where they should, and each step is along an edge.

    A step may stay at a vertex only along a self-loop, or if no edge of a weight above 0 leaves it.
    """
    name = "random_walks"
    starts = np.arange(graph.n) if given.starts is None else graph.ids.indices(given.starts)
    shape = (len(starts), given.length + 1)
    require(np.shape(answer) == shape, name, f"the walks have the shape {np.shape(answer)}, not {shape}")
    walks = places_of(name, graph, np.ravel(answer)).reshape(shape)
    require(bool((walks[:, 0] == starts).all()), name, "a walk begins elsewhere")
    stuck, steps = np.ones(graph.n, bool), np.unique(walks[:, :-1] * graph.n + walks[:, 1:])
    known = np.zeros(len(steps), bool)
    for edges in listed(graph, values=given.weight):
        passable = edge_numbers(edges) > 0
        u, v = edges.sources[passable].astype(np.int64), edges.targets[passable]
        stuck[u] = False
        known |= np.isin(steps, u * graph.n + v)
    u, v = steps // max(graph.n, 1), steps % max(graph.n, 1)
    wrong = np.zeros(graph.n, bool)
    wrong[u[~known & ~((u == v) & stuck[u])]] = True
    refute(name, graph, wrong, lambda v: "is left along no edge, or stays though it has edges")
