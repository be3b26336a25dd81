"""NetworkX."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from .edges import ALPHA, Arguments, Call, Edges, by_node, labels_of, numbers, without

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


def independent(graph: Any, _: Arguments) -> Any:
    return len(graph), nx.maximal_independent_set(graph, seed=1)


CALLS = {
    "core_number": dictionary("core_number"),
    "k_core": Call(lambda graph, _: nx.k_core(graph), lambda core: np.sort(list(core))),
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
}
"""Betweenness from given sources is `betweenness_centrality_subset`: NetworkX chooses those of `k` itself."""
