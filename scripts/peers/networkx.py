"""NetworkX."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from .edges import ALPHA, CORE, Arguments, Call, Edges, by_node, labels_of, numbers, without

VERSION = nx.__version__


def load(edges: Edges) -> Any:
    graph = (nx.DiGraph if edges.directed else nx.Graph)()
    graph.add_nodes_from(range(edges.n))
    graph.add_edges_from(zip(edges.sources.tolist(), edges.targets.tolist(), strict=True))
    return graph


def dictionary(name: str, **given: Any) -> Call:
    """The function of this name, which returns a dictionary."""
    return Call(lambda graph, _: getattr(nx, name)(graph, **given), by_node)


def single(name: str) -> Call:
    return Call(lambda graph, _: getattr(nx, name)(graph), numbers)


def parts(name: str, module: Any = nx) -> Call:
    """The function of this name, which yields sets of all nodes."""
    return Call(
        lambda graph, _: list(getattr(module, name)(graph)), lambda found: labels_of(found, sum(map(len, found)))
    )


def members(name: str, **given: Any) -> Call:
    """The function of this name, whose answer is a graph of some nodes."""
    return Call(lambda graph, _: getattr(nx, name)(graph, **given), lambda found: np.sort(list(found)))


def reached(found: tuple[int, dict[int, Any]]) -> Any:
    """The distances of all nodes; -1 for those that have none."""
    values = np.full(found[0], -1.0)
    values[list(found[1])] = list(found[1].values())
    return values


def independent(graph: Any, _: Arguments) -> Any:
    return len(graph), nx.maximal_independent_set(graph, seed=1)


CALLS = {
    "core_number": dictionary("core_number"),
    "k_core": members("k_core"),
    "k_shell": members("k_shell", k=CORE),
    "k_crust": members("k_crust"),
    "k_corona": members("k_corona", k=CORE),
    "k_truss": members("k_truss", k=CORE),
    "triangles": dictionary("triangles"),
    "clustering": dictionary("clustering"),
    "average_clustering": single("average_clustering"),
    "transitivity": single("transitivity"),
    "strongly_connected_components": parts("strongly_connected_components"),
    "is_strongly_connected": single("is_strongly_connected"),
    "number_strongly_connected_components": single("number_strongly_connected_components"),
    "weakly_connected_components": parts("weakly_connected_components"),
    "is_weakly_connected": single("is_weakly_connected"),
    "number_weakly_connected_components": single("number_weakly_connected_components"),
    "katz_centrality": dictionary("katz_centrality", alpha=ALPHA, tol=1e-9),
    "eigenvector_centrality": dictionary("eigenvector_centrality", tol=1e-9, max_iter=1000),
    "hits": Call(lambda graph, _: nx.hits(graph), lambda found: by_node(found[1])),
    "maximal_independent_set": Call(
        independent, lambda found: np.isin(np.arange(found[0]), found[1]).astype(np.float64)
    ),
    "label_propagation_communities": parts("label_propagation_communities", nx.community),
    "topological_generations": parts("topological_generations"),
    "is_directed_acyclic_graph": single("is_directed_acyclic_graph"),
    "betweenness_centrality": Call(
        lambda graph, given: (
            given.sources,
            nx.betweenness_centrality_subset(graph, given.sources, list(graph), normalized=True),
        ),
        lambda found: without(found[0], by_node(found[1])),
    ),
    "closeness_centrality": Call(
        lambda graph, given: nx.closeness_centrality(graph, u=given.hubs[0], wf_improved=False), numbers
    ),
    "harmonic_centrality": Call(
        lambda graph, given: nx.harmonic_centrality(graph, sources=given.hubs),
        lambda found: numbers(sum(found.values())),
    ),
    "shortest_path_tree": Call(
        lambda graph, given: (len(graph), nx.predecessor(graph, given.hubs[0], return_seen=True)[1]), reached
    ),
    "shortest_path": Call(
        lambda graph, given: nx.shortest_path(graph, *given.hubs[:2]), lambda path: numbers(len(path))
    ),
    "single_source_shortest_path": Call(
        lambda graph, given: (nx.single_source_shortest_path(graph, given.hubs[0]), given.hubs[1:]),
        lambda found: numbers(sum(len(found[0][hub]) for hub in found[1])),
    ),
    "multi_source_dijkstra_path_length": Call(
        lambda graph, given: (len(graph), nx.multi_source_dijkstra_path_length(graph, given.hubs)), reached
    ),
}
"""Betweenness from given sources is `betweenness_centrality_subset`: NetworkX chooses those of `k` itself."""
