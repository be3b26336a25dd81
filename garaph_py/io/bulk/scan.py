"""Read edges in batches, twice: the first scan numbers the vertices, the second gives the edges with those numbers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import events
from ...errors import GraphError
from ...graph.build import edge_values
from ...graph.generate import RandomEdges
from ...graph.group import ADD_COUNTERS, COUNT_ENDS
from ...graph.ids import VertexIds
from ...graph.number import LARGEST, kernels
from ...graph.order import vertex_order
from ...native import Kernel, PerCall
from ...native.threads import ThreadPool, shares
from ...system import interrupts
from ...system.memory import release_unused
from ..formats.format import EdgeList, joined_edges
from .numbering import IntegerNumbering, NameNumbering
from .spill import SpillFile, prefetched

Array = npt.NDArray[Any]
PART = 1 << 14
"""Edges from which on a batch is divided among threads: fewer are done sooner than handed out."""
COUNTERS = 32
"""The most threads that count degrees, each with a byte per vertex, which is within `build.ORDER_BYTES_PER_VERTEX`."""
_, RENUMBER = kernels("u32*")


@dataclass(frozen=True)
class KnownCounts:
    """Counts and types of edges that are known before the first batch, so that no first scan is needed.

    Attributes
    ----------
    n : int
        Ids are 0 to n - 1 (uint32), and every one of these vertices exists.
    edges : int
    dtype : dtype or None
        Type of the edge values; integers have at most 32 bits.
    """

    n: int
    edges: int
    dtype: np.dtype[Any] | None


@dataclass(frozen=True)
class EdgeSource:
    """A stream of edges.

    Attributes
    ----------
    batches : callable
        ``batches(listener)`` gives all edges in order. It may be called again only if `streams_again`.
    streams_again : bool
        Whether the second scan reads the source again, which requires integer ids. If False, the first scan copies
        the edges to a temporary file.
    reading : int
        Memory that reading takes in the first scan, in bytes.
    known : KnownCounts, optional
    drawn : RandomEdges, optional
        The edges, if they are random: any part of them can be made again.
    """

    batches: Callable[[events.Listener], Iterator[EdgeList]]
    streams_again: bool
    reading: int = 0
    known: KnownCounts | None = None
    drawn: RandomEdges | None = None


class DegreeCounter:
    """Counts the edges of each vertex, batch by batch, with counters of one byte for each thread.

    Threads that count in one array, atomically, wait for each other at the vertices with many edges: two threads count
    no faster than one.

    Parameters
    ----------
    n : int
        The number of vertices.
    most : int
        The most threads that count.
    pool : ThreadPool
    """

    def __init__(self, n: int, most: int, pool: ThreadPool) -> None:
        self._pool, self._degrees = pool, np.zeros(n, np.int64)
        self._counters = np.zeros((min(pool.size, most), n), np.uint8)

    def add(self, ends: Array, others: Array | None = None) -> None:
        """Count an edge at each of the `ends`; at those that equal their `others`, if given, none."""
        parts = len(self._counters) if len(ends) >= PART else 1
        counters = PerCall(self._counters)
        bounds, skip_loops = shares(len(ends), parts), others is not None
        self._pool.launch(COUNT_ENDS.rows(parts, ends, others, *bounds, skip_loops, counters, self._degrees))

    def degrees(self) -> Array:
        """The number of edges of each vertex (int64, shape (n,)). Call it once, last."""
        (parts, n), size = self._counters.shape, self._pool.size
        self._pool.launch(ADD_COUNTERS.rows(size, self._counters, parts, n, *shares(n, size), self._degrees))
        self._counters = np.zeros((0, 0), np.uint8)
        return self._degrees


@dataclass(frozen=True)
class SpilledBatch:
    """Number of edges of a batch in the temporary file, and offset and type of each column."""

    edges: int
    columns: tuple[tuple[int, np.dtype[Any]], ...]


class NumberedEdges:
    """The edges of a source, with vertices numbered 0 to n - 1.

    Parameters
    ----------
    source : EdgeSource
    folder : Path
        Directory for a temporary file.
    memory : int
        Bytes that numbering the vertices may take.
    pool : ThreadPool
    listener : callable

    Attributes
    ----------
    ids : VertexIds
    edges : int
        Edges that the source gives; an undirected edge counts once.
    dtype : dtype or None
        Type of the edge values.
    value_range : int
        Greatest difference between two integer edge values.
    numbers : ndarray of uint32 or None
        The new number of each vertex after `reorder`.
    """

    def __init__(
        self, source: EdgeSource, folder: Path, memory: int, pool: ThreadPool, listener: events.Listener
    ) -> None:
        self._source, self._pool = source, pool
        self._numbering: IntegerNumbering | NameNumbering | None = None
        self.numbers: Array | None = None
        self._spill = None if source.streams_again else SpillFile(folder)
        self._batches: list[SpilledBatch] = []
        self._reading: Generator[Any, None, None] | None = None
        self.edges, self._least, self._greatest = 0, 0, 0
        self.dtype: np.dtype[Any] | None
        self.ids: VertexIds
        if source.known is not None:
            self.ids, self.edges, self.dtype = VertexIds(source.known.n), source.known.edges, source.known.dtype
            return
        try:
            self._scan(memory, pool, listener)
        except BaseException:
            self.close()
            raise

    def _scan(self, memory: int, pool: ThreadPool, listener: events.Listener) -> None:
        """The first scan: set the attributes, and copy the edges to the temporary file if there is one."""
        dtypes = set()
        for batch in coalesced(self._source.batches(listener), memory // 64):
            interrupts.check()
            values = edge_values(batch.weights, len(batch.sources))
            if self._numbering is None:
                integers = isinstance(batch.sources, np.ndarray)
                self._numbering = IntegerNumbering(memory, pool) if integers else NameNumbering(memory)
            columns = self._numbering.see(batch.sources, batch.targets)
            if values is not None:
                dtypes.add(values.dtype)
                if values.dtype.kind in "iu" and len(values):
                    self._least = min(self._least, int(values.min()))
                    self._greatest = max(self._greatest, int(values.max()))
            if self._spill is not None:
                kept = [*columns] if values is None else [*columns, values]
                places = tuple((self._spill.append(column), column.dtype) for column in kept)
                self._batches.append(SpilledBatch(len(columns[0]), places))
            self.edges += len(batch.sources)
        self.dtype = np.result_type(*dtypes) if dtypes else None
        self.ids = VertexIds(0) if self._numbering is None else self._numbering.finish()
        release_unused()  # memory that reading and numbering have freed; sorting needs it

    @property
    def spilled(self) -> int:
        """Bytes of the temporary file."""
        return 0 if self._spill is None else self._spill.size

    @property
    def value_range(self) -> int:
        return self._greatest - self._least

    def batches(self) -> Iterator[tuple[Array, Array, Array | None]]:
        """The second scan: internal ids of sources and targets (uint32), and values viewed as unsigned integers."""
        for sources, targets, values in self._again():
            interrupts.check()
            if self._numbering is not None:
                sources, targets = self._numbering.number(sources, targets)
            largest = max(int(self._each_part(LARGEST, len(ends), [ends]).max()) for ends in (sources, targets))
            if len(sources) and largest >= self.ids.n:
                raise GraphError("the file was changed while it was read; import it again")
            if self.numbers is not None:
                sources, targets = self._renumbered(sources), self._renumbered(targets)
            if values is not None and self.dtype is not None:
                values = np.ascontiguousarray(values, self.dtype).view(f"u{self.dtype.itemsize}")
            yield sources, targets, values

    def _each_part(self, kernel: Kernel, count: int, columns: Sequence[Array], *more: Any) -> Array:
        """Call ``kernel(*columns, start, stop, *more)`` for equal parts of `count` edges; return the results."""
        parts = self._pool.size if count >= PART else 1
        return self._pool.launch(kernel.rows(parts, *columns, *shares(count, parts), *more))

    def _renumbered(self, numbers: Array) -> Array:
        out = np.empty_like(numbers)
        self._each_part(RENUMBER, len(numbers), [numbers], self.numbers, out)
        return out

    def _again(self) -> Iterator[tuple[Array, Array, Array | None]]:
        if self._spill is not None:
            self._reading = prefetched(self._read())
            yield from self._reading
            return
        for batch in self._source.batches(events.ignore):
            yield batch.sources, batch.targets, edge_values(batch.weights, len(batch.sources))

    def _read(self) -> Iterator[tuple[Array, Array, Array | None]]:
        assert self._spill is not None
        for batch in self._batches:
            columns = [self._spill.read(np.empty(batch.edges, dtype), place) for place, dtype in batch.columns]
            yield columns[0], columns[1], columns[2] if len(columns) > 2 else None

    def reorder(self, order: str, directed: bool) -> None:
        """Renumber the vertices in an `order` of `graph.order.ORDERS`; another scan counts their degrees."""
        n, most = self.ids.n, COUNTERS // (1 + directed)
        out = DegreeCounter(n, most, self._pool)
        into = DegreeCounter(n, most, self._pool) if directed else out
        for sources, targets, _ in self.batches():
            out.add(sources)
            into.add(targets, None if directed else sources)
        out_degrees = out.degrees()
        in_degrees = into.degrees() if directed else out_degrees
        old = vertex_order(order, out_degrees, in_degrees)
        self.numbers = np.empty(n, np.uint32)
        self.numbers[old] = np.arange(n, dtype=np.uint32)
        self.ids = self.ids.reordered(old)

    @property
    def nbytes(self) -> int:
        """Bytes of the tables in which `batches` looks up numbers, without `ids`."""
        tables = (self.numbers, None if self._numbering is None else self._numbering.table)
        return sum(table.nbytes for table in tables if table is not None)

    def close(self) -> None:
        """Free the tables and delete the temporary file; `ids` stays usable."""
        self._numbering = self.numbers = None
        if self._reading is not None:
            self._reading.close()
        if self._spill is not None:
            self._spill.close()


def coalesced(batches: Iterator[EdgeList], nbytes: int) -> Iterator[EdgeList]:
    """Join batches of strings into batches of about `nbytes`: for each batch, all names so far are looked up."""
    waiting: list[EdgeList] = []
    size = 0
    for batch in batches:
        if isinstance(batch.sources, np.ndarray):
            yield batch
            continue
        waiting.append(batch)
        size += batch.sources.nbytes + batch.targets.nbytes
        if size >= nbytes:
            yield joined_edges(waiting)
            size = 0
    if waiting:
        yield joined_edges(waiting)
