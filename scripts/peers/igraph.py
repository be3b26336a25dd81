"""python-igraph, which computes on one core."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import igraph
import numpy as np

from .edges import STEPS, Arguments, Call, Edges, numbers, places_of, without

VERSION = igraph.__version__


def load(edges: Edges) -> Any:
    pairs = np.column_stack([edges.sources, edges.targets]).astype(np.int64)
    return igraph.Graph(n=edges.n, edges=pairs, directed=edges.directed)


def method(name: str, **given: Any) -> Call:
    """The method of this name, whose answer is a number or a list."""
    return Call(lambda graph, _: getattr(graph, name)(**given), numbers)


def clusters(name: str, **given: Any) -> Call:
    """The method of this name, which divides the vertices."""
    return Call(lambda graph, _: getattr(graph, name)(**given), lambda found: numbers(found.membership))


def forgetful(run: Any, answer: Any = numbers) -> Call:
    """A call before which the graph forgets which properties it was found to have."""

    def called(graph: Any, given: Arguments) -> Any:
        getattr(graph, "__invalidate_cache")()
        return run(graph, given)

    return Call(called, answer)


def levels(found: tuple[int, list[int], list[int], list[int]]) -> Any:
    """The level of each vertex by a search; -1 for those that it does not reach."""
    n, order, starts, _ = found
    values = np.full(n, -1.0)
    for level, (first, last) in enumerate(pairwise(starts)):
        values[order[first:last]] = level
    return values


CALLS = {
    "core_number": method("coreness"),
    "k_core": Call(
        lambda graph, _: (graph, graph.k_core(max(graph.coreness()))), lambda found: numbers(found[1].vcount())
    ),
    "clustering": method("transitivity_local_undirected", mode="zero"),
    "average_clustering": method("transitivity_avglocal_undirected", mode="zero"),
    "transitivity": method("transitivity_undirected", mode="zero"),
    "strongly_connected_components": clusters("connected_components", mode="strong"),
    "is_strongly_connected": forgetful(lambda graph, _: graph.is_connected(mode="strong")),
    "number_strongly_connected_components": Call(
        lambda graph, _: len(graph.connected_components(mode="strong")), numbers
    ),
    "weakly_connected_components": clusters("connected_components", mode="weak"),
    "is_weakly_connected": forgetful(lambda graph, _: graph.is_connected(mode="weak")),
    "number_weakly_connected_components": Call(lambda graph, _: len(graph.connected_components(mode="weak")), numbers),
    "eigenvector_centrality": method("eigenvector_centrality"),
    "hits": Call(lambda graph, _: (graph.hub_score(), graph.authority_score()), lambda found: numbers(found[1])),
    "label_propagation_communities": clusters("community_label_propagation"),
    "topological_generations": Call(lambda graph, _: graph.topological_sorting(), places_of),
    "is_directed_acyclic_graph": forgetful(lambda graph, _: graph.is_dag()),
    "betweenness_centrality": Call(
        lambda graph, given: (given.sources, graph.betweenness(sources=given.sources)),
        lambda found: without(*found),
    ),
    "closeness_centrality": Call(lambda graph, given: graph.closeness(given.hubs[0]), numbers),
    "harmonic_centrality": Call(
        lambda graph, given: (graph.vcount(), graph.harmonic_centrality(given.hubs)),
        lambda found: numbers(sum(found[1]) * (found[0] - 1)),
    ),
    "shortest_path_tree": Call(lambda graph, given: (graph.vcount(), *graph.bfs(given.hubs[0])), levels),
    "shortest_path": Call(
        lambda graph, given: graph.get_shortest_path(*given.hubs[:2]), lambda path: numbers(len(path))
    ),
    "single_source_shortest_path": Call(
        lambda graph, given: graph.get_shortest_paths(given.hubs[0], given.hubs[1:]),
        lambda paths: numbers(sum(map(len, paths))),
    ),
    "random_walks": Call(
        lambda graph, given: [graph.random_walk(hub, STEPS) for hub in given.hubs],
        lambda walks: numbers(np.shape(walks)),
    ),
}
