"""Answers for some vertices that depend on nothing but their neighbours and the edges among these."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph import Graph
from ..output.result import Result

Array = npt.NDArray[Any]


def for_nodes(function: Callable[[Graph], Result], graph: Graph, nodes: Any, threads: int | None) -> Any:
    """What a function says of one vertex, or a dictionary of what it says of some; the edges are in memory.

    It gets the subgraph of these vertices and all of their neighbours.

    Raises
    ------
    UnknownVertexError
        If the graph lacks one of the vertices.
    """
    is_one = isinstance(nodes, str) or not isinstance(nodes, Iterable)
    places = np.array([graph.ids.index(nodes)]) if is_one else graph.ids.indices(nodes)
    near = closed_neighbourhood(graph.unpacked(threads), places)
    values = function(graph._induced(near, threads)).values[np.searchsorted(near, places)].tolist()
    return values[0] if is_one else dict(zip(graph.ids.take(places).tolist(), values, strict=True))


def closed_neighbourhood(graph: Graph, places: Array) -> Array:
    """Some vertices and their neighbours in any direction, by internal ids, which ascend."""
    found = np.zeros(graph.n, bool)
    found[places] = True
    arrays = graph._arrays
    for edges in [arrays.in_edges, arrays.out_edges] if graph.directed else [arrays.in_edges]:
        others, offsets = edges.neighbours, edges.offsets
        for place in np.unique(places):
            found[others[offsets[place] : offsets[place + 1]]] = True
    return np.flatnonzero(found)
