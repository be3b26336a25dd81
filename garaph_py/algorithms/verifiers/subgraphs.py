"""What verifies that an answer is a subgraph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import ParameterError
from ...graph import Graph
from ...graph.arguments import kind_of
from ...pages.passes import EdgeChunk, listed
from .evidence import places_of, require

Array = npt.NDArray[Any]
Columns = tuple[Array, Array, Array | None]


def require_induced(function: str, graph: Graph, answer: Any, inside: Array) -> None:
    """Raise `VerificationError` unless it is the graph of the vertices `inside`, and of all edges between them."""
    places = require_vertices(function, graph, answer, inside)
    require_edges(function, graph, answer, places, lambda edges: inside[edges.sources] & inside[edges.targets])


def require_vertices(function: str, graph: Graph, answer: Any, inside: Array) -> Array:
    """The vertices of the answer by the graph's internal ids; `VerificationError` unless they are those `inside`."""
    if not isinstance(answer, Graph):
        raise ParameterError(f"check takes the Graph of {function}, not {kind_of(answer)}; give what it returned")
    places = places_of(function, graph, answer.ids.array())
    expected = np.flatnonzero(inside)
    for here, there, problem in (expected, places, "lacks vertex"), (places, expected, "should not have vertex"):
        other = np.setdiff1d(here, there)
        require(not len(other), function, f"the subgraph {problem} {graph.ids.take(other[:1])}")
    require((places == expected).all(), function, "the subgraph has vertices in another order")
    return places


def require_edges(
    function: str, graph: Graph, answer: Graph, places: Array, chosen: Callable[[EdgeChunk], Array]
) -> None:
    """Raise `VerificationError` unless the answer has the edges ``chosen(edges)`` of the graph, with their values.

    The answer's vertex i is the graph's vertex ``places[i]``, and `places` ascend, so that both have the edges in the
    same order.
    """
    expected = columns(edges_where(edges, chosen(edges)) for edges in listed(graph))
    found = columns((places[edges.sources], places[edges.targets], edges.values) for edges in listed(answer))
    same = answer.directed == graph.directed and answer.edge_dtype == graph.edge_dtype
    same = same and all(np.array_equal(*both, equal_nan=True) for both in zip(expected, found, strict=True))
    require(same, function, "the subgraph has other edges, or other edge values")


def edges_where(edges: EdgeChunk, chosen: Array) -> Columns:
    """The sources, targets and values, if there are any, of the edges in the mask `chosen`, of shape (edges,)."""
    values = None if edges.values is None else edges.values[chosen]
    return edges.sources[chosen], edges.targets[chosen], values


def columns(parts: Iterable[Columns]) -> list[Array]:
    """Sources, targets and, if there are any, values of edges, each in one array."""
    nothing = np.zeros(0, np.bool_)
    sources, targets, values = zip((nothing, nothing, None), *parts, strict=True)
    return [
        np.concatenate(some) for some in (sources, targets, [nothing, *(part for part in values if part is not None)])
    ]
