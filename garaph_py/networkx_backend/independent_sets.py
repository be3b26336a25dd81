"""Independent sets."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from .. import algorithms
from .functions import implements
from .graph import BackendGraph


@implements()
def maximal_independent_set(G: BackendGraph, nodes: Any = None, seed: Any = None) -> list[Any]:
    """Nodes of which no two are neighbours, and of which every other node has a neighbour.

    NetworkX makes a source of random numbers of the seed before it calls a backend.
    """
    if not len(G):
        raise IndexError("Cannot choose from an empty sequence")
    if G.converted and G.graph._arrays.self_loops:
        raise NotImplementedError("NetworkX may refuse a node with a self-loop, or take it")
    given = set(nodes or ())
    vertices = [G.find(node) for node in given]
    if None in vertices:
        raise nx.NetworkXUnfeasible(f"{given} is not a subset of the nodes of G")
    ids = G.graph.ids.take(np.array(vertices, np.int64))
    if any(np.isin(ids, G.graph.neighbors(each)).any() for each in ids):
        raise nx.NetworkXUnfeasible(f"{given} is not an independent set of G")
    found = algorithms.maximal_independent_set(G.graph, nodes=ids, seed=seed.randrange(1 << 32))
    return G.named(G.graph.ids.indices(found))
