"""The edges of a graph for writers, in batches or as whole columns; each edge of an undirected graph comes once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import events
from ...errors import GraphError
from ...graph import edges
from ...graph.edges import Batch, user_ids
from ...graph.graph import Graph

Array = npt.NDArray[Any]

ROWS = 1 << 17
"""Edges of a batch: their text fits in the caches."""


def edge_count(graph: Graph) -> int:
    """The number of edges that `edge_batches` yields."""
    if graph.directed:
        return graph.m
    return sum(len(batch.sources) for batch in edge_batches(graph))


def edge_batches(graph: Graph, listener: events.Listener = events.ignore, rows: int = ROWS) -> Iterator[Batch]:
    """The edges in the order of the CSC, in batches from `rows` stored entries; `listener` receives the progress."""
    batches = edges.edge_batches(graph._arrays.in_edges, graph.directed, rows)
    for start, batch in zip(range(0, graph.m, rows), batches, strict=True):
        yield batch
        listener(events.Step("writing", min(start + rows, graph.m), graph.m, "edges"))


def edge_columns(graph: Graph, listener: events.Listener = events.ignore) -> Batch:
    """All edges as one batch, for libraries that need them at once."""
    count, dtype = edge_count(graph), graph.edge_dtype
    columns = Batch(
        np.empty(count, np.uint32), np.empty(count, np.uint32), None if dtype is None else np.empty(count, dtype)
    )
    place = 0
    for batch in edge_batches(graph, listener):
        for column, part in zip(columns, batch, strict=True):
            if column is not None:
                column[place : place + len(batch.sources)] = part
        place += len(batch.sources)
    return columns


def user_columns(graph: Graph, batch: Batch) -> list[Any]:
    """The user's ids of the sources and targets of a batch, as Arrow arrays."""
    return [user_ids(graph.ids, batch.sources), user_ids(graph.ids, batch.targets)]


def need_edges(graph: Graph) -> None:
    """Refuse a graph without edges, because a list of edges would lose all its vertices."""
    if not graph.m:
        raise GraphError("the graph has no edges, and this format holds nothing else; write .npz or a graph directory")


def whole_values(graph: Graph) -> Array | None:
    """The edge values, for a format that holds integers of any size.

    Raises
    ------
    GraphError
        If they are not integers.
    """
    values = graph._arrays.in_edges.values
    if values is not None and values.dtype.kind == "f":
        raise GraphError(f"edge values are {values.dtype}, but this format holds integers; leave them out")
    return values
