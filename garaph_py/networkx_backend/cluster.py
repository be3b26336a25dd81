"""Triangles and clustering."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np

from .. import algorithms
from ..algorithms.in_memory import check_in_memory
from ..graph import Graph
from .functions import implements
from .graph import BackendGraph, bunch_of
from .weighted import callable_weight


def of_nodes(G: BackendGraph, nodes: Any, function: Callable[..., Any], graph: Graph, **given: Any) -> Any:
    """What a function of `algorithms` finds for all nodes, for one of them, or for some."""
    if nodes is None:
        return G.keyed(function(graph, **given).values)
    if (vertex := G.find(nodes)) is not None:
        return function(graph, nodes=G.id_of(vertex), **given)
    bunch = {node: G.find(node) for node in bunch_of(G, nodes)}
    found = function(graph, nodes=graph.ids.take(np.array(list(bunch.values()), np.int64)), **given)
    return dict(zip(bunch, found.values(), strict=True))


def refuse_multigraph(G: BackendGraph) -> None:
    if G.is_multigraph():
        raise nx.NetworkXNotImplemented("not implemented for multigraph type")


@implements()
def triangles(G: BackendGraph, nodes: Any = None) -> Any:
    """The number of triangles of one node, or of each."""
    if nodes is not None:
        refuse_multigraph(G)
    return of_nodes(G, nodes, algorithms.triangles, G.graph)


@implements(callable_weight)
def clustering(G: BackendGraph, nodes: Any = None, weight: str | None = None) -> Any:
    """The share of the pairs of a node's neighbours that are neighbours, of one node, or of each."""
    refuse_multigraph(G)
    found = of_nodes(G, nodes, algorithms.clustering, G.weighted(weight), weight=weight is not None)
    return with_whole_zeros(found) if isinstance(found, dict) else found or 0


def with_whole_zeros(found: dict[Any, float]) -> dict[Any, float]:
    """The same numbers; those that are 0 as integers, as in NetworkX."""
    return {node: value or 0 for node, value in found.items()}


@implements(callable_weight)
def average_clustering(
    G: BackendGraph, nodes: Any = None, weight: str | None = None, count_zeros: bool = True
) -> float:
    """The mean of the clustering of some nodes, or of all."""
    refuse_multigraph(G)
    check_in_memory(G.graph, "average_clustering")
    found = clustering(G, nodes, weight).values()
    counted = found if count_zeros else [value for value in found if value]
    return float(sum(counted) / len(counted))


@implements()
def transitivity(G: BackendGraph) -> float:
    """Three times the number of triangles, divided by the number of paths of two edges."""
    refuse_multigraph(G)
    return algorithms.transitivity(G.graph) or 0
