"""Graphs without cycles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx

from .. import algorithms
from ..algorithms.in_memory import check_in_memory
from .functions import implements
from .graph import BackendGraph
from .searches import levels_in_order


@implements()
def is_directed_acyclic_graph(G: BackendGraph) -> bool:
    """Whether the graph is directed and has no cycle."""
    return algorithms.is_directed_acyclic_graph(G.graph)


@implements()
def topological_generations(G: BackendGraph) -> Iterator[list[Any]]:
    """The nodes without in-edges, those that only these lead to, and so on."""
    if not G.is_directed():
        raise nx.NetworkXError("Topological sort not defined on undirected graphs.")
    if G.rows is not None:
        generations, whole = levels_in_order(G.rows, G.graph.in_degrees)
        for vertices in generations:
            yield G.named(vertices)
    else:
        check_in_memory(G.graph, "topological_generations")
        whole = algorithms.is_directed_acyclic_graph(G.graph)
        if whole:
            for ids in algorithms.topological_generations(G.graph):
                yield ids.tolist()
    if not whole:
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")


@implements()
def topological_sort(G: BackendGraph) -> Iterator[Any]:
    """The nodes, each after those from which edges lead to it."""
    check_in_memory(G.graph, "topological_sort")
    for generation in topological_generations(G):
        yield from generation
