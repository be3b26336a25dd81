"""The edges of a graph in batches, wherever and however they are stored, and as tables of Arrow by the user's ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .adjacency import Adjacency
from .group import owners
from .ids import StringIds, VertexIds

Array = npt.NDArray[Any]

NAMES = ("source", "target", "weight")
"""The columns of a table of edges."""


class Batch(NamedTuple):
    """Some edges: internal ids (uint32) of sources and targets, and values."""

    sources: Array
    targets: Array
    values: Array | None

    def select(self, rows: Array) -> Batch:
        """The edges at the positions `rows`, which may be a mask."""
        return Batch(self.sources[rows], self.targets[rows], None if self.values is None else self.values[rows])


def edge_batches(in_edges: Adjacency, directed: bool, rows: int) -> Iterator[Batch]:
    """The edges in the order of the CSC, a batch from each `rows` stored entries; an undirected edge comes once."""
    m = int(in_edges.offsets[-1])
    for start in range(0, m, rows):
        stop = min(start + rows, m)
        sources, values = in_edges.part(start, stop)
        batch = Batch(sources, owners(in_edges.offsets, start, stop), values)
        yield batch if directed else batch.select(batch.sources <= batch.targets)


def user_ids(ids: VertexIds, vertices: Array) -> Any:
    """The user's ids of vertices, as an Arrow array."""
    import pyarrow as pa

    return ids.arrow.take(pa.array(vertices)) if isinstance(ids, StringIds) else pa.array(ids.take(vertices))


def edge_schema(ids: VertexIds, dtype: np.dtype[Any] | None) -> Any:
    """The schema of a table of edges whose values have this type; None if they have no values."""
    import pyarrow as pa

    kinds = [user_ids(ids, np.zeros(0, np.uint32)).type] * 2 + ([] if dtype is None else [pa.from_numpy_dtype(dtype)])
    return pa.schema(list(zip(NAMES, kinds, strict=False)))


def record_batch(ids: VertexIds, batch: Batch, schema: Any) -> Any:
    """The edges of a batch by the user's ids, as Arrow's record batch."""
    import pyarrow as pa

    columns = [user_ids(ids, batch.sources), user_ids(ids, batch.targets)]
    return pa.record_batch(columns + ([] if batch.values is None else [pa.array(batch.values)]), schema)
