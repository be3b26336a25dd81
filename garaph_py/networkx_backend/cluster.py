"""Core numbers, triangles and clustering."""

from __future__ import annotations

from typing import Any

import networkx as nx

from .. import algorithms
from .functions import implements
from .graph import BackendGraph, bunch_of


def given_weight(weight: Any, **others: Any) -> str | None:
    """Why a function does not run here: it knows no weights."""
    return None if weight is None else "clustering by weight"


def of_nodes(G: BackendGraph, nodes: Any, found: dict[Any, Any]) -> Any:
    """What was found for all nodes, for one of them, or for some."""
    if nodes is None:
        return found
    return found[nodes] if nodes in G else {node: found[node] for node in bunch_of(G, nodes)}


def refuse_multigraph(G: BackendGraph) -> None:
    if G.is_multigraph():
        raise nx.NetworkXNotImplemented("not implemented for multigraph type")


@implements()
def core_number(G: BackendGraph) -> dict[Any, int]:
    """The largest k for which a k-core has the node, for each node."""
    found = algorithms.core_number(G.graph)
    if G.graph._arrays.self_loops:
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; Consider using "
            "G.remove_edges_from(nx.selfloop_edges(G))."
        )
    return G.keyed(found.values)


@implements()
def triangles(G: BackendGraph, nodes: Any = None) -> Any:
    """The number of triangles of one node, or of each."""
    if nodes is not None:
        refuse_multigraph(G)
    return of_nodes(G, nodes, G.keyed(algorithms.triangles(G.graph).values))


@implements(given_weight)
def clustering(G: BackendGraph, nodes: Any = None, weight: str | None = None) -> Any:
    """The share of the pairs of a node's neighbours that are neighbours, of one node, or of each."""
    refuse_multigraph(G)
    return of_nodes(G, nodes, with_whole_zeros(G.keyed(algorithms.clustering(G.graph).values)))


def with_whole_zeros(found: dict[Any, float]) -> dict[Any, float]:
    """The same numbers; those that are 0 as integers, as in NetworkX."""
    return {node: value or 0 for node, value in found.items()}


@implements(given_weight)
def average_clustering(
    G: BackendGraph, nodes: Any = None, weight: str | None = None, count_zeros: bool = True
) -> float:
    """The mean of the clustering of some nodes, or of all."""
    found = clustering(G, nodes).values()
    counted = found if count_zeros else [value for value in found if value]
    return float(sum(counted) / len(counted))


@implements()
def transitivity(G: BackendGraph) -> float:
    """Three times the number of triangles, divided by the number of paths of two edges."""
    refuse_multigraph(G)
    return algorithms.transitivity(G.graph) or 0
