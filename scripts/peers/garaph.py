"""This package."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

import garaph_py as gp
from garaph_py import algorithms as ours
from garaph_py.apps.sssp import has_distance

from .edges import ALPHA, CORE, STEPS, Call, Edges, labels_of, numbers, without

VERSION = gp.__version__


def load(edges: Edges) -> gp.Graph:
    return gp.from_edges(edges.sources, edges.targets, vertices=np.arange(edges.n), directed=edges.directed)


def values(result: Any) -> Any:
    return numbers(result.values)


def reached(result: Any) -> Any:
    return numbers(np.where(has_distance(result.values), result.values, -1))


def same(name: str, **given: Any) -> Call:
    """The function of this name, with these arguments, which has a value for each vertex."""
    return Call(lambda graph, _: getattr(ours, name)(graph, **given), values)


def single(name: str, **given: Any) -> Call:
    """The function of this name, with these arguments, whose answer is one number."""
    return Call(lambda graph, _: getattr(ours, name)(graph, **given), numbers)


def members(name: str, **given: Any) -> Call:
    """The function of this name, whose answer is a graph of some vertices."""
    return Call(lambda graph, _: getattr(ours, name)(graph, **given), lambda found: np.sort(found.ids[:]))


def independent(graph: gp.Graph, **given: Any) -> Any:
    chosen = np.zeros(graph.n)
    chosen[ours.maximal_independent_set(graph, seed=1, **given)] = 1
    return chosen


def programs(**on: Any) -> dict[str, Call]:
    """The functions that run vertex programs, each with the arguments `on`: a device."""
    return {
        "core_number": same("core_number", **on),
        "strongly_connected_components": same("strongly_connected_components", **on),
        "is_strongly_connected": single("is_strongly_connected", **on),
        "number_strongly_connected_components": single("number_strongly_connected_components", **on),
        "weakly_connected_components": same("weakly_connected_components", **on),
        "is_weakly_connected": single("is_weakly_connected", **on),
        "number_weakly_connected_components": single("number_weakly_connected_components", **on),
        "katz_centrality": same("katz_centrality", alpha=ALPHA, tol=1e-9, **on),
        "eigenvector_centrality": same("eigenvector_centrality", tol=1e-9, max_iter=1000, **on),
        "hits": Call(
            lambda graph, _: ours.hits(graph, max_iter=1000, **on), lambda result: numbers(result.values["authority"])
        ),
        "maximal_independent_set": Call(lambda graph, _: independent(graph, **on), numbers),
        "topological_generations": Call(
            lambda graph, _: (graph.n, ours.topological_generations(graph, **on)),
            lambda found: labels_of(found[1], found[0]),
        ),
        "is_directed_acyclic_graph": single("is_directed_acyclic_graph", **on),
        "closeness_centrality": Call(
            lambda graph, given: ours.closeness_centrality(graph, u=given.hubs[0], wf_improved=False, **on), numbers
        ),
        "harmonic_centrality": Call(
            lambda graph, given: ours.harmonic_centrality(graph, sources=given.hubs, **on),
            lambda result: numbers(result.values.sum()),
        ),
        "shortest_path_tree": Call(
            lambda graph, given: ours.shortest_path_tree(graph, given.hubs[0], **on),
            lambda result: numbers(result.values["distance"]),
        ),
        "shortest_path": Call(
            lambda graph, given: ours.shortest_path(graph, *given.hubs[:2], **on), lambda path: numbers(len(path))
        ),
        "single_source_shortest_path": Call(
            lambda graph, given: ours.single_source_shortest_path(graph, given.hubs[0], targets=given.hubs[1:], **on),
            lambda paths: numbers(sum(map(len, paths.values()))),
        ),
        "multi_source_dijkstra_path_length": Call(
            lambda graph, given: ours.multi_source_dijkstra_path_length(graph, given.hubs, **on), reached
        ),
        "betweenness_centrality": Call(
            lambda graph, given: (
                given.sources,
                ours.betweenness_centrality(graph, k=len(given.sources), seed=1, **on),
            ),
            lambda found: without(found[0], found[1].values),
        ),
    }


CALLS = programs() | {
    "k_core": members("k_core"),
    "k_shell": members("k_shell", k=CORE),
    "k_crust": members("k_crust"),
    "k_corona": members("k_corona", k=CORE),
    "h_index": same("h_index"),
    "k_truss": members("k_truss", k=CORE),
    "triangles": same("triangles"),
    "clustering": same("clustering"),
    "average_clustering": single("average_clustering"),
    "transitivity": single("transitivity"),
    "label_propagation_communities": same("label_propagation_communities"),
    "random_walks": Call(
        lambda graph, given: ours.random_walks(graph, given.hubs, length=STEPS, seed=1),
        lambda walks: numbers(walks.shape),
    ),
}
"""The functions of `garaph_py.algorithms`. The 64 sources' harmonic centralities are compared by their sum over all
vertices, which in an undirected graph is the sum of the 64 vertices' own; paths by the number of their vertices."""

DIRECTED_PROGRAMS = "strongly_connected_components", "katz_centrality", "hits"
UNDIRECTED_PROGRAMS = (
    "core_number", "weakly_connected_components", "is_weakly_connected", "number_weakly_connected_components",
    "eigenvector_centrality", "maximal_independent_set", "betweenness_centrality", "closeness_centrality",
    "harmonic_centrality", "shortest_path_tree", "shortest_path", "single_source_shortest_path",
    "multi_source_dijkstra_path_length",
)  # fmt: skip
ACYCLIC_PROGRAMS = "topological_generations", "is_directed_acyclic_graph"
"""Those of `programs` that are timed on several devices."""


def on_device(device: str) -> Any:
    """This package with a device that has been chosen, as if it were another library: only what runs a program."""
    return SimpleNamespace(VERSION=VERSION, load=load, CALLS=programs(device=device))
