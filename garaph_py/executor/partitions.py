"""Partitions of a graph's out-edges: what is known of each before an iteration, and the tasks that transfer them.

An engine chooses how the edges of each partition reach the GPU (HyTGraph section V), and an executor carries it out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..pages.layout import layout

Array = npt.NDArray[Any]

MULTIPLE = 32
"""A partition begins at a multiple of this many vertices, so that no two share a word of a bitmap on a GPU."""
EDGE_BYTES, INDEX_BYTES = 4, 8
"""Bytes of an edge without a value, and of an entry of the index over compacted lists."""


@dataclass(frozen=True)
class Partitions:
    """Consecutive vertices with about as many out-edges each.

    Attributes
    ----------
    bounds : ndarray of int64, shape (count + 1,)
        The first vertex of each partition, and the number of vertices.
    first_edges : ndarray of int64, shape (count + 1,)
        The first out-edge of each partition, and the number of edges.
    """

    bounds: Array
    first_edges: Array

    @classmethod
    def of(cls, offsets: Array, edges: int) -> Partitions:
        """Partitions of at most so many edges, except where `MULTIPLE` vertices have more; `offsets` is CSR's."""
        firsts = [page.first_vertex for page in layout(offsets, edges, MULTIPLE)]
        bounds = np.array([*firsts, len(offsets) - 1], np.int64)
        return cls(bounds, offsets[bounds])

    @property
    def count(self) -> int:
        return len(self.bounds) - 1

    @property
    def edges(self) -> Array:
        """The number of edges of each partition."""
        return np.diff(self.first_edges)

    def most_edges(self, adjacent: int) -> int:
        """The most edges of so many adjacent partitions."""
        ends = np.minimum(np.arange(self.count) + adjacent, self.count)
        return int((self.first_edges[ends] - self.first_edges[:-1]).max(initial=0))

    def most_compacted_bytes(self, edge_bytes: int) -> int:
        """The most bytes of one partition's compacted lists with their index: each has an edge or more."""
        lists = np.minimum(np.diff(self.bounds), self.edges) + 1
        return int((self.edges * edge_bytes + lists * INDEX_BYTES).max(initial=0))


@dataclass(frozen=True, eq=False)
class PartitionCounts:
    """What is known of each partition before an iteration: arrays of shape (partitions,).

    Attributes
    ----------
    edges : ndarray of int64
        Its edges.
    active_vertices, active_edges : ndarray of int64
        Its active vertices that have edges, and these edges.
    requests : ndarray of int64
        Lines of 128 bytes that hold edges of an active vertex, counted for each vertex by itself.
    edge_bytes : int
        d1: bytes of an edge, with its value if the program reads it.
    change : ndarray of float32, optional
        If vertices push deltas: how much those of the partition change in all.
    """

    edges: Array
    active_vertices: Array
    active_edges: Array
    requests: Array
    edge_bytes: int = EDGE_BYTES
    change: Array | None = None

    @property
    def compacted_bytes(self) -> Array:
        """Bytes of the active vertices' lists, laid end to end, and of the index over them."""
        nbytes: Array = self.active_edges * self.edge_bytes + self.active_vertices * INDEX_BYTES
        return nbytes


@dataclass(frozen=True)
class TransferTask:
    """What is launched at once: partitions whose edges reach the GPU in the same way.

    Attributes
    ----------
    transfer : str
        ``"copied"``, ``"zero-copy"``, ``"unified"`` or ``"compacted"``.
    partitions : tuple of int
        In ascending order; adjacent ones if they are copied.
    """

    transfer: str
    partitions: tuple[int, ...]
