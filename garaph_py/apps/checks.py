"""Small parts that the programs' parameter checks and verifiers share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError, ParameterError
from ..graph import Graph

Array = npt.NDArray[Any]


def require_fraction(program: Any, name: str) -> None:
    value = getattr(program, name)
    if not isinstance(value, (int, float, np.number)) or not 0 <= value < 1:
        raise ParameterError(f"{type(program).__name__}({name}={value!r}): give a number from 0 to below 1")


def require_positive(program: Any, name: str) -> None:
    value = getattr(program, name)
    if not isinstance(value, (int, float, np.number)) or not 0 < value < np.inf:
        raise ParameterError(f"{type(program).__name__}({name}={value!r}): give a number above 0")


def require_no_negative_edges(program: Any, graph: Graph) -> None:
    if graph.edge_dtype is None or not graph.m:
        return
    lowest = graph.least_value
    if not lowest >= 0:
        at = int(np.argmin(edge_numbers(graph)))
        target = int(np.searchsorted(graph.in_edges.offsets, at, side="right")) - 1
        ends = graph.ids.take(np.array([graph.in_edges.neighbours[at], target]))
        raise GraphError(
            f"{type(program).__name__} needs edge values of 0 or more, but the edge {ends[0]} -> {ends[1]} has "
            f"{lowest}; remove or shift such edges"
        )


def targets(graph: Graph) -> Array:
    """The target of every stored edge, in the order of `Graph.in_edges`."""
    return np.repeat(np.arange(graph.n, dtype=np.uint32), graph.in_degrees)


def reached_over(graph: Graph, source: int, chosen: Array) -> Array:
    """Whether `source` reaches each vertex over the edges that the mask `chosen`, shape (m,), selects; shape (n,)."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    ends = graph.in_edges.neighbours[chosen], targets(graph)[chosen]
    matrix = csr_array((np.ones(len(ends[0]), bool), ends), shape=(graph.n, graph.n))
    reached = np.zeros(graph.n, bool)
    reached[breadth_first_order(matrix, source, return_predecessors=False)] = True
    return reached


def in_sums(graph: Graph, contributions: Array) -> Array:
    """Sums over the in-edges of each vertex of one float64 number an edge, shape (n,)."""
    return np.bincount(targets(graph), weights=contributions, minlength=graph.n)


def edge_numbers(graph: Graph) -> Array:
    """Edge values as the programs see them: 1 where the graph has none."""
    values = graph.in_edges.values
    return np.ones(graph.m, np.int64) if values is None else values
