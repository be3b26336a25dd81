"""Collect the edges of a file in memory, as long as building their graph fits the memory allowed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ..graph.build import edge_values
from .formats.format import EdgeList, joined_edges

SORTING = 2.7
"""Peak memory of building a graph, in bytes per byte of its entries: two numbers of 4 bytes and a value. Measured: 2.0
to 2.3 for a directed graph, 2.3 to 2.7 for an undirected one, whose edges are two entries each."""
DROPPING = 6
"""Further memory for dropping edges, in bytes per entry. Measured: 2 to 5."""
PER_VERTEX, ORDERING = 32, 48
"""Memory for offsets and ids, in bytes per vertex, and further memory if the vertices are put in order."""
JOINING = 1.5
"""Peak memory of joining the batches of a file, in bytes per byte: one of at least two columns is there twice."""
TABLE, SORTED = 17, 116
"""Memory for numbering integer ids: in bytes per number of their range if a table covers it, else in bytes per edge."""
NAMES, NAMES_EDGE = 3.5, 220
"""Peak memory of a graph with string ids, in bytes per byte of the edges and in bytes per edge. Measured where each id
occurs once; if they repeat, it takes a third to a half of that."""

MIN_SORT_BYTES = 16 << 20
"""Least memory for sorting out of core, in bytes. With less, the sort would read and write many small pieces."""
READER_BYTES = 32 << 20
"""Memory for the batches of edges that are read ahead, out of core, in bytes (an estimate)."""
PARSING, PARSING_THREAD = 32 << 20, 48 << 20
"""Memory for parsing text out of core, in bytes: for the parser, and for each of its threads (blocks, parsed columns,
copies)."""


@dataclass(frozen=True)
class BuildOptions:
    """How a graph is built from edges.

    Attributes
    ----------
    directed : bool, optional
        False: every edge counts in both directions. None: what the file says, else directed.
    symmetrize : bool
        Make a directed graph undirected, as `Graph.symmetrized` does.
    drop_self_loops, drop_parallel, order
        See `io.read.read`.
    """

    directed: bool | None = None
    symmetrize: bool = False
    drop_self_loops: bool = False
    drop_parallel: bool = False
    order: str = "none"

    @property
    def both_ways(self) -> bool:
        """Whether an edge counts in both directions from the start: so parallel edges are those in either direction."""
        return self.directed is False or (self.symmetrize and self.drop_parallel)

    def peak(self, edges: int, value_bytes: int, vertices: int) -> int:
        """Peak memory of building a graph from numbered edges, in bytes."""
        entries = edges * (2 if self.both_ways else 1)
        per_entry = SORTING * (8 + value_bytes) + DROPPING * (self.drop_self_loops or self.drop_parallel)
        union = edges * (16 + 4 * value_bytes) if self.symmetrize else 0  # both sides with values, and their union
        per_vertex = PER_VERTEX + ORDERING * (self.order != "none")
        return max(int(entries * per_entry), union) + vertices * per_vertex


class CollectedEdges:
    """Batches of edges, and an estimate of the memory that building their graph takes.

    Parameters
    ----------
    building : BuildOptions

    Attributes
    ----------
    batches : list of EdgeList
    nbytes : int
        Bytes of all batches that were added.
    """

    def __init__(self, building: BuildOptions) -> None:
        self._building = building
        self.batches: list[EdgeList] = []
        self._edges = self._value_bytes = self.nbytes = 0

    def fill(self, batches: Iterable[EdgeList], limit: int) -> bool:
        """Add all batches if their graph can be built in `limit` bytes, else as many as show that it cannot."""
        for batch in batches:
            values = edge_values(batch.weights, len(batch.sources))
            if values is not None:
                self._value_bytes = max(self._value_bytes, values.dtype.itemsize)
                self.nbytes += values.nbytes
            self.nbytes += batch.sources.nbytes + batch.targets.nbytes
            self._edges += len(batch.sources)
            self.batches.append(batch)
            if self.least() > limit:
                return False
        return self.peak() <= limit

    def least(self) -> int:
        """The least peak memory in bytes, whatever the ids are and whatever edges follow."""
        if self.batches and not isinstance(self.batches[0].sources, np.ndarray):
            return int(NAMES * self.nbytes) + NAMES_EDGE * self._edges
        return max(int(JOINING * self.nbytes), self._building.peak(self._edges, self._value_bytes, 0))

    def peak(self) -> int:
        """Peak memory in bytes."""
        edges = self._edges
        if not edges or not isinstance(self.batches[0].sources, np.ndarray):
            return self.least()
        if (n := self.batches[0].n) is not None:
            vertices, numbering = n, 8 * edges
        else:
            columns = [ids for batch in self.batches for ids in (batch.sources, batch.targets) if len(ids)]
            low = min((int(ids.min()) for ids in columns if ids.dtype.kind == "i"), default=0)
            high = max(int(ids.max()) for ids in columns)
            dense = low >= 0 and high < 8 * edges + 4096  # see `graph.number.number_vertices`
            vertices = min(high - low + 1, 2 * edges)
            numbering = TABLE * (high + 1) + 8 * edges if dense else SORTED * edges
        building = self._building.peak(edges, self._value_bytes, vertices)
        return max(self.least(), self.nbytes + numbering, building)

    def drained(self) -> Iterator[EdgeList]:
        """The batches; each is free as soon as the caller has used it."""
        self.batches.reverse()
        while self.batches:
            yield self.batches.pop()

    def joined(self) -> EdgeList:
        """All edges. Call it once, last."""
        return self.batches.pop() if len(self.batches) == 1 else joined_edges(self.batches)
