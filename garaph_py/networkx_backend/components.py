"""Connected components of undirected graphs, and weakly connected ones of directed graphs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from .. import algorithms
from ..algorithms.in_memory import check_in_memory
from ..algorithms.strongly_connected_components import components_in_order
from ..algorithms.weakly_connected_components import count_labels, labels_of
from ..system.garbage import uncollected
from .functions import implements
from .graph import BackendGraph
from .runs import threads_for

Array = npt.NDArray[Any]


def labels(G: BackendGraph) -> Array:
    """The component of each vertex: the first vertex of the same component. Directions of edges do not count."""
    if G.rows is not None:
        return labels_of(G.rows.offsets, G.rows.neighbours, not G.is_directed(), threads_for(len(G.rows.neighbours)))
    return algorithms.weakly_connected_components(G.graph, threads=threads_for(G.graph.m)).values


@uncollected()
def parts(G: BackendGraph, order: Array, starts: Array) -> list[set[Any]]:
    """The nodes of consecutive vertices in this order; each set of nodes starts at one of the places."""
    names = G.named(order)
    if not names:
        return []
    return [set(names[first:last]) for first, last in pairwise([*starts.tolist(), len(names)])]


def sets(G: BackendGraph, label: Array) -> list[set[Any]]:
    """The nodes of each component, in the order of the first nodes."""
    order = np.argsort(label, kind="stable")
    return parts(G, order, np.append(0, np.flatnonzero(np.diff(label[order])) + 1))


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
    yield from sets(G, labels(G))


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
    hash(n)  # a list is a TypeError, as in NetworkX
    vertex = G.find(n)
    if vertex is None:
        raise KeyError(n)
    label = labels(G)
    return set(G.named(np.flatnonzero(label == label[vertex])))


@implements()
def weakly_connected_components(G: BackendGraph) -> Iterator[set[Any]]:
    """The nodes of each weakly connected component, in the order of the first nodes."""
    yield from sets(G, labels(G))


@implements()
def number_weakly_connected_components(G: BackendGraph) -> int:
    """The number of weakly connected components."""
    return count(G)


@implements()
def is_weakly_connected(G: BackendGraph) -> bool:
    """Whether there would be a path between every two nodes if edges had no directions."""
    return is_one(G)


def strong_parts(G: BackendGraph) -> tuple[Array, Array]:
    """The vertices in the order of strongly connected components, and the place where each component starts.

    A component comes after those that it leads to. The order is NetworkX's. The edges must be in memory.
    """
    rows = G.own_rows
    return components_in_order((rows.offsets, rows.neighbours))


@implements()
def strongly_connected_components(G: BackendGraph) -> Iterator[set[Any]]:
    """The nodes of each strongly connected component, a component after those that it leads to.

    If the edges are on disk, they are in the order of the first nodes.
    """
    if G.rows is None and G.graph.on_disk:
        yield from sets(G, algorithms.strongly_connected_components(G.graph).values)
    else:
        yield from parts(G, *strong_parts(G))


def given_components(scc: Any) -> str | None:
    return None if scc is None else "the components are given"


@implements(given_components)
@uncollected()
def condensation(G: BackendGraph, scc: Any = None) -> Any:
    """The graph of the strongly connected components, of NetworkX: an edge for those between two of them."""
    if G.rows is None:
        check_in_memory(G.graph, "condensation")
    order, starts = strong_parts(G)
    count, label = len(starts), np.empty(len(order), np.int64)
    label[order] = np.repeat(np.arange(count), np.diff(starts, append=len(order)))
    members = parts(G, order, starts)
    made = nx.DiGraph(mapping={node: k for k, nodes in enumerate(members) for node in nodes})
    made.add_nodes_from((k, {"members": nodes}) for k, nodes in enumerate(members))
    rows = G.own_rows
    ends = np.repeat(label, np.diff(rows.offsets)), label[rows.neighbours]
    pair = ends[0] * count + ends[1]
    pair = pair[ends[0] != ends[1]]
    _, first = np.unique(pair, return_index=True)
    pair = pair[np.sort(first)]  # each once, in the order of edges
    made.add_edges_from(zip((pair // count).tolist(), (pair % count).tolist(), strict=True))
    return made


def strong_count(G: BackendGraph) -> int:
    """The number of strongly connected components."""
    return algorithms.number_strongly_connected_components(G.graph) if G.rows is None else len(strong_parts(G)[1])


@implements()
def number_strongly_connected_components(G: BackendGraph) -> int:
    """The number of strongly connected components."""
    return strong_count(G)


@implements()
def is_strongly_connected(G: BackendGraph) -> bool:
    """Whether each node reaches all others."""
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return algorithms.is_strongly_connected(G.graph) if G.rows is None else strong_count(G) == 1
