"""The nodes that others reach, level by level."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from .functions import implements
from .graph import BackendGraph, vertex_of
from .searches import search_from
from .unweighted import in_order, searched
from .weighted import measured, reached_by

Array = npt.NDArray[Any]

ABSENT = "The node {} is not in the graph."


def others(G: BackendGraph, source: Any, backwards: bool) -> set[Any]:
    """All nodes but the source that it reaches, or that reach it."""
    hash(source)  # a list is a TypeError, as in NetworkX
    kind = "digraph" if G.is_directed() else "graph"
    found = searched(
        G, vertex_of(G, source, f"The node {{}} is not in the {kind}.", nx.NetworkXError), backwards=backwards
    )
    return set(G.named(found.order[1:]))


@implements()
def descendants(G: BackendGraph, source: Any) -> set[Any]:
    """The nodes that the source reaches."""
    return others(G, source, backwards=False)


@implements()
def ancestors(G: BackendGraph, source: Any) -> set[Any]:
    """The nodes that reach the source."""
    return others(G, source, backwards=True)


@implements()
def descendants_at_distance(G: BackendGraph, source: Any, distance: int) -> set[Any]:
    """The nodes to which a shortest path from the source has so many edges."""
    level = searched(G, vertex_of(G, source, ABSENT, nx.NetworkXError)).level
    return next((set(G.named(np.flatnonzero(level == k))) for k in range(level.max() + 1) if k == distance), set())


@implements()
def bfs_layers(G: BackendGraph, sources: Any) -> Iterator[list[Any]]:
    """The sources, the nodes one edge from them, and so on."""
    starts = [vertex_of(G, node, ABSENT, nx.NetworkXError) for node in ([sources] if sources in G else set(sources))]
    if not starts:
        return
    if G.rows is not None:
        found = search_from(G.rows, starts)
        order, level = found.order, found.level
    else:
        distance = measured(G.unweighted, G, starts)
        level = np.where(reached_by(distance), distance, -1)
        order = in_order(level)
    for layer in np.split(order, np.flatnonzero(np.diff(level[order])) + 1):
        yield G.named(layer)
