"""Communities."""

from __future__ import annotations

from collections.abc import ValuesView
from typing import Any

from .. import algorithms
from .components import sets
from .functions import implements
from .graph import BackendGraph


@implements()
def label_propagation_communities(G: BackendGraph) -> ValuesView[set[Any]]:
    """The nodes of each community, in the order of the first nodes."""
    if G.converted and (G.graph._arrays.self_loops or G.is_multigraph()):
        raise NotImplementedError("self-loops and parallel edges would count in NetworkX")
    found = algorithms.label_propagation_communities(G.graph).values
    return dict(enumerate(sets(G, found))).values()
