"""Degree centrality and isolated nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph.edges import edge_batches
from ..graph.graph import ROWS
from .functions import implements
from .graph import BackendGraph, bunch_of

Array = npt.NDArray[Any]


def degrees(G: BackendGraph) -> Array:
    """The degree of each vertex. A self-loop counts twice; an undirected graph stores it once."""
    graph = G.graph
    if graph.directed:
        return graph.in_degrees + graph.out_degrees
    loops = np.zeros(graph.n, np.int64)
    for edges in edge_batches(graph._arrays.in_edges.without_values(), directed=True, rows=ROWS):
        loops += np.bincount(edges.targets[edges.sources == edges.targets], minlength=graph.n)
    return graph.in_degrees + loops


def centrality(G: BackendGraph, degree: Array) -> dict[Any, float]:
    """Degrees divided by the number of other nodes; 1 if there are none."""
    return dict.fromkeys(G, 1) if len(G) <= 1 else G.keyed(degree * (1.0 / (len(G) - 1.0)))


@implements()
def degree_centrality(G: BackendGraph) -> dict[Any, float]:
    """The degree of each node, divided by the number of other nodes."""
    return centrality(G, degrees(G))


@implements()
def in_degree_centrality(G: BackendGraph) -> dict[Any, float]:
    """The number of in-edges of each node, divided by the number of other nodes."""
    return centrality(G, G.graph.in_degrees)


@implements()
def out_degree_centrality(G: BackendGraph) -> dict[Any, float]:
    """The number of out-edges of each node, divided by the number of other nodes."""
    return centrality(G, G.graph.out_degrees)


def alone(G: BackendGraph) -> Array:
    """Which vertices have no edge."""
    found: Array = (G.graph.in_degrees == 0) & (G.graph.out_degrees == 0)
    return found


@implements()
def isolates(G: BackendGraph) -> Iterator[Any]:
    """The nodes without edges."""
    yield from G.named(np.flatnonzero(alone(G)))


@implements()
def number_of_isolates(G: BackendGraph) -> int:
    """The number of nodes without edges."""
    return int(alone(G).sum())


@implements()
def is_isolate(G: BackendGraph, n: Any) -> bool:
    """Whether a node has no edge."""
    vertex = G.find(n)
    if n is None:  # NetworkX takes it for all nodes
        return False
    if vertex is None:
        bunch_of(G, n)  # NetworkX takes a missing name for several nodes
        return False
    return bool(alone(G)[vertex])
