"""Graphs without cycles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx

from .. import algorithms
from ..algorithms.longest_paths import WAITING
from ..algorithms.topological_generations import generation_numbers, grouped
from .functions import implements
from .graph import BackendGraph
from .searches import levels_in_order


@implements()
def is_directed_acyclic_graph(G: BackendGraph) -> bool:
    """Whether the graph is directed and has no cycle."""
    if G.rows is None:
        return algorithms.is_directed_acyclic_graph(G.graph)
    return G.is_directed() and levels_in_order(G.rows)[1]


@implements()
def topological_generations(G: BackendGraph) -> Iterator[list[Any]]:
    """The nodes without in-edges, those that only these lead to, and so on."""
    if not G.is_directed():
        raise nx.NetworkXError("Topological sort not defined on undirected graphs.")
    if G.rows is not None:
        generations, whole = levels_in_order(G.rows)
        for vertices in generations:
            yield G.named(vertices)
    else:
        numbers = generation_numbers(G.graph, "topological_generations")
        whole = bool((numbers != WAITING).all())
        if whole:
            for ids in grouped(G.graph, numbers):
                yield ids.tolist()
    if not whole:
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")


@implements()
def topological_sort(G: BackendGraph) -> Iterator[Any]:
    """The nodes, each after those from which edges lead to it."""
    for generation in topological_generations(G):
        yield from generation
