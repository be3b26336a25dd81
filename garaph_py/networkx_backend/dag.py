"""Graphs without cycles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx

from .. import algorithms
from .functions import implements
from .graph import BackendGraph


@implements()
def is_directed_acyclic_graph(G: BackendGraph) -> bool:
    """Whether the graph is directed and has no cycle."""
    return algorithms.is_directed_acyclic_graph(G.graph)


@implements()
def topological_generations(G: BackendGraph) -> Iterator[list[Any]]:
    """The nodes without in-edges, those that only these lead to, and so on."""
    if not G.is_directed():
        raise nx.NetworkXError("Topological sort not defined on undirected graphs.")
    if not algorithms.is_directed_acyclic_graph(G.graph):
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")
    for ids in algorithms.topological_generations(G.graph):
        yield G.named(ids) if G.converted else ids.tolist()
