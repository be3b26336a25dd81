"""The edges of a graph for writers: a batch at a time, or whole columns; of an undirected graph each edge once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ... import events
from ...errors import GraphError
from ...graph.graph import Graph
from ...graph.ids import StringIds, VertexIds

Array = npt.NDArray[Any]

ROWS = 1 << 17  # whose text fits the caches


class Batch(NamedTuple):
    """Internal ids (uint32) and values of some edges."""

    sources: Array
    targets: Array
    values: Array | None

    def select(self, rows: Array) -> Batch:
        """Those edges whose numbers, or a mask for all, are `rows`."""
        return Batch(self.sources[rows], self.targets[rows], None if self.values is None else self.values[rows])


def edge_count(graph: Graph) -> int:
    """Edges that `edge_batches` gives: of two opposite entries of an undirected graph only one counts."""
    if graph.directed:
        return graph.m
    return sum(len(batch.sources) for batch in edge_batches(graph))


def edge_batches(graph: Graph, listener: events.Listener = events.ignore, rows: int = ROWS) -> Iterator[Batch]:
    """The edges in the order of the CSC, from `rows` stored ones at a time; `listener` follows how many are passed."""
    edges = graph.in_edges
    for start in range(0, graph.m, rows):
        stop = min(start + rows, graph.m)
        values = None if edges.values is None else edges.values[start:stop]
        batch = Batch(edges.neighbours[start:stop], owners(edges.offsets, start, stop), values)
        yield batch if graph.directed else batch.select(batch.sources <= batch.targets)
        listener(events.Step("writing", stop, graph.m, "edges"))


def owners(offsets: Array, start: int, stop: int) -> Array:
    """The vertices (uint32) that the entries ``range(start, stop)`` of an adjacency belong to."""
    first, last = int(np.searchsorted(offsets, start, "right")) - 1, int(np.searchsorted(offsets, stop, "left"))
    degrees = np.diff(np.clip(offsets[first : last + 1], start, stop))
    return np.repeat(np.arange(first, last, dtype=np.uint32), degrees)


def edge_columns(graph: Graph, listener: events.Listener = events.ignore) -> Batch:
    """All edges at once, for a library that takes no less."""
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


def user_ids(ids: VertexIds, vertices: Array) -> Any:
    """The user's ids of some vertices as an Arrow array."""
    import pyarrow as pa

    return ids.arrow.take(pa.array(vertices)) if isinstance(ids, StringIds) else pa.array(ids.take(vertices))


def need_edges(graph: Graph) -> None:
    """Refuse a graph without edges, of which a list of edges keeps nothing."""
    if not graph.m:
        raise GraphError("the graph has no edges, and this format holds nothing else; write .npz or a graph directory")


def whole_values(graph: Graph) -> Array | None:
    """Edge values for a format that takes integers only.

    Raises
    ------
    GraphError
        If they are not integers.
    """
    values = graph.in_edges.values
    if values is not None and values.dtype.kind == "f":
        raise GraphError(f"edge values are {values.dtype}, but this format holds integers; leave them out")
    return values
