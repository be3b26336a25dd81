"""Connected components of undirected graphs, and weakly connected ones of directed graphs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from .. import algorithms
from ..algorithms.weakly_connected_components import count_labels
from ..apps import ConnectedComponents
from ..graph import Graph
from ..graph.build import from_numbered_edges
from ..graph.edges import edge_batches
from ..graph.graph import ROWS
from .functions import implements
from .graph import BackendGraph
from .runs import run_on

Array = npt.NDArray[Any]


def labels(G: BackendGraph) -> Array:
    """The component of each vertex: the first vertex of the same component. Directions of edges do not count."""
    found: Array = run_on(G.undirected, ConnectedComponents()).values if len(G) else np.zeros(0, np.uint32)
    return found


def sets(G: BackendGraph, label: Array) -> Iterator[set[Any]]:
    """The nodes of each component, in the order of the first nodes."""
    order = np.argsort(label, kind="stable")
    names, ends = G.named(order), np.flatnonzero(np.diff(label[order])) + 1
    for first, last in pairwise([0, *ends.tolist(), len(names)]):
        if names:
            yield set(names[first:last])


def count(G: BackendGraph) -> int:
    """The number of components."""
    return count_labels(labels(G))


def is_one(G: BackendGraph) -> bool:
    """Whether the graph is one component; NetworkX's exception if it has no nodes."""
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return count(G) == 1


@implements()
def connected_components(G: BackendGraph) -> Iterator[set[Any]]:
    """The nodes of each component, in the order of the first nodes."""
    return sets(G, labels(G))


@implements()
def number_connected_components(G: BackendGraph) -> int:
    """The number of components."""
    return count(G)


@implements()
def is_connected(G: BackendGraph) -> bool:
    """Whether there is a path between every two nodes."""
    return is_one(G)


@implements()
def node_connected_component(G: BackendGraph, n: Any) -> set[Any]:
    """The nodes of the component of a node."""
    vertex = G.find(n)
    if vertex is None:
        raise KeyError(n)
    label = labels(G)
    return set(G.named(np.flatnonzero(label == label[vertex])))


@implements()
def weakly_connected_components(G: BackendGraph) -> Iterator[set[Any]]:
    """The nodes of each weakly connected component, in the order of the first nodes."""
    return sets(G, labels(G))


@implements()
def number_weakly_connected_components(G: BackendGraph) -> int:
    """The number of weakly connected components."""
    return count(G)


@implements()
def is_weakly_connected(G: BackendGraph) -> bool:
    """Whether there would be a path between every two nodes if edges had no directions."""
    return is_one(G)


def sinks_first(graph: Graph, label: Array) -> Array:
    """Other labels of the components, so that edges between components lead to smaller ones.

    A component gets its label after those that it leads to, as in Tarjan's algorithm, which NetworkX uses.
    """
    _, component = np.unique(label, return_inverse=True)
    edges = [
        (component[batch.targets], component[batch.sources])
        for batch in edge_batches(graph._arrays.in_edges.without_values(), directed=True, rows=ROWS)
    ]
    targets, sources = (np.concatenate([np.zeros(0, np.int64), *ends]) for ends in zip(*edges, strict=True))
    turned = from_numbered_edges(targets, sources, int(component.max()) + 1, drop_self_loops=True, drop_parallel=True)
    order = np.concatenate(algorithms.topological_generations(turned))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    found: Array = rank[component]
    return found


@implements()
def strongly_connected_components(G: BackendGraph) -> Iterator[set[Any]]:
    """The nodes of each strongly connected component, those first that lead to no other."""
    label = algorithms.strongly_connected_components(G.graph).values
    return sets(G, sinks_first(G.graph, label) if G.graph.m else label)


@implements()
def number_strongly_connected_components(G: BackendGraph) -> int:
    """The number of strongly connected components."""
    return algorithms.number_strongly_connected_components(G.graph)


@implements()
def is_strongly_connected(G: BackendGraph) -> bool:
    """Whether each node reaches all others."""
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return algorithms.is_strongly_connected(G.graph)
