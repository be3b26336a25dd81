"""Core numbers, and subgraphs of a `Graph` of garaph_py.

Subgraphs of a graph of NetworkX have all its attributes, which no conversion keeps, so NetworkX makes these itself. It
calls `core_number`, which may run here.
"""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from .. import algorithms
from ..algorithms.in_memory import check_in_memory
from ..graph import Graph
from ..pages.passes import has_loops
from .functions import implements
from .graph import BackendGraph


def refuse_loops(G: BackendGraph) -> None:
    """Raise NetworkX's exception if the graph has self-loops."""
    if has_loops(G.graph):
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; Consider using "
            "G.remove_edges_from(nx.selfloop_edges(G))."
        )


@implements()
def core_number(G: BackendGraph) -> dict[Any, int]:
    """The largest k for which a k-core has the node, for each node."""
    found = algorithms.core_number(G.graph)
    refuse_loops(G)
    return G.keyed(found.values)


def no_whole_number(k: Any, **others: Any) -> str | None:
    return None if k is None or isinstance(k, (int, np.integer)) else "k is not a whole number"


def known_numbers(k: Any, core_number: Any) -> str | None:
    return no_whole_number(k) if core_number is None else "the core numbers are known"


def graph_for(G: BackendGraph, name: str, on_disk: bool = False) -> Graph:
    """The graph of which a function makes a subgraph, with NetworkX's exceptions.

    Raises
    ------
    NotImplementedError
        If it was made of a graph of NetworkX.
    GraphError
        If its edges are on disk, unless the function takes them from there.
    """
    if G.converted:
        raise NotImplementedError(f"{name} of a graph of NetworkX has all its attributes, and garaph keeps one at most")
    if not on_disk:
        check_in_memory(G.graph, name)
    refuse_loops(G)
    return G.graph


@implements(known_numbers)
def k_core(G: BackendGraph, k: int | None = None, core_number: Any = None) -> Graph:
    """The subgraph in which each node has at least k edges."""
    return algorithms.k_core(graph_for(G, "k_core", on_disk=True), k=k)


@implements(known_numbers)
def k_shell(G: BackendGraph, k: int | None = None, core_number: Any = None) -> Graph:
    """The subgraph of the nodes whose core number is k."""
    return algorithms.k_shell(graph_for(G, "k_shell", on_disk=True), k=k)


@implements(known_numbers)
def k_crust(G: BackendGraph, k: int | None = None, core_number: Any = None) -> Graph:
    """The subgraph of the nodes whose core number is at most k."""
    return algorithms.k_crust(graph_for(G, "k_crust", on_disk=True), k=k)


@implements(known_numbers)
def k_corona(G: BackendGraph, k: int, core_number: Any = None) -> Graph:
    """The subgraph of the nodes of the k-shell that have k neighbours in the k-core."""
    return algorithms.k_corona(graph_for(G, "k_corona", on_disk=True), k=k)


@implements(no_whole_number)
def k_truss(G: BackendGraph, k: int) -> Graph:
    """The subgraph in which each edge is in k - 2 triangles."""
    return algorithms.k_truss(graph_for(G, "k_truss"), k=k)
