"""Launches compiled kernels on the thread pool, and keeps tables and buffers for later launches."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy.typing as npt

from ... import events
from ...graph.arrays import GraphArrays
from ...graph.vertex_set import VertexSet, empty_sets
from ...native import Kernel, prepare
from ...native.kernel import Addresses
from ...native.threads import ThreadPool
from ...pages.source import PageEdges
from ...program import BoundProgram
from ..state import State
from .edges import Arguments, Reader
from .partitions import Partitions
from .records import RecordKernel, RecordTable, constants_of

Array = npt.NDArray[Any]
T = TypeVar("T")
Tables = dict[Hashable, Any]
"""Tables by kernel and number of calls, and other memory by what `Launcher.kept` is asked for."""

KEPT = "tables of launches"
"""Name of what a graph keeps for the `Launcher` of its next run, among its derived arrays."""
MOST_KEPT_VERTICES, MOST_KEPT_EDGES = 1 << 16, 1 << 20
"""Vertices and edges of a graph up to which it is kept: then it takes a megabyte or so, which nothing counts. Making it
takes a twelfth of a run over ten edges, and it refers to the values of the last run."""
MOST_KEPT = 256
"""Most tables and other memory that are kept, by number. A program has some ten kernels, and some ten of the others; a
graph on which a dozen programs have left more than this keeps nothing."""


class Launcher:
    """Compiles kernels when they are first needed, and runs several calls of one kernel in parallel.

    Parameters
    ----------
    bound : BoundProgram
    arrays : GraphArrays
    pool : ThreadPool
    listener : callable
        Receives the progress of compilation.
    """

    def __init__(self, bound: BoundProgram, arrays: GraphArrays, pool: ThreadPool, listener: events.Listener) -> None:
        self.bound, self.pool, self._listener = bound, pool, listener
        is_small = arrays.n <= MOST_KEPT_VERTICES and arrays.m <= MOST_KEPT_EDGES
        is_kept = is_small and arrays.memory is None and not arrays.on_disk
        kept: Callable[[], dict[str, Tables]] = dict
        self._kept = arrays.derived.get(KEPT, kept, lambda _: 0) if is_kept else None
        self._tables: Tables = {} if self._kept is None else self._kept.pop(KEPT, {})  # no other run finds them now
        self._known = Addresses()
        self._constants = constants_of(bound, arrays)
        self._windows: dict[tuple[Reader, int], Arguments] = {}

    def prepare(self, *kernels: Kernel) -> None:
        """Compile those of `kernels` that have not been compiled yet; the listener receives one event for each."""
        prepare(kernels, self._listener)

    def vertex_sets(self, count: int) -> list[VertexSet]:
        """So many empty sets of vertices: those that the last run had, if their memory is kept."""
        found = self._tables.get(empty_sets)
        if found is None:
            found = self._tables[empty_sets] = empty_sets(self._constants["n"], count)
        else:
            found[0].fill(0)
            for each in found[1]:
                each.is_summary_loose = False
        sets: list[VertexSet] = found[1]
        return sets

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """What is used for one launch after the other, under a `key`; it is made if there is nothing."""
        found: T | None = self._tables.get(key)
        if found is None:
            found = self._tables[key] = make()
        return found

    def close(self) -> None:
        """At the end of a run: leave the tables to the graph's next one, if it keeps any."""
        if self._kept is not None and 0 < len(self._tables) <= MOST_KEPT:
            self._kept[KEPT] = self._tables
        self._tables = {}

    def __call__(
        self, kernel: RecordKernel, calls: int, state: State | None, edges: tuple[Any, ...] = (), **others: Any
    ) -> Array:
        """Run `calls` calls of `kernel` in parallel; return what each of them returned.

        Parameters
        ----------
        state : State or None
            Provides the arguments that are listed in `records.STATE`.
        edges : tuple
            What the method `edges` returned, if the kernel reads edges.
        others
            All arguments that come neither from the graph, nor from the program, nor from the state. `PerCall` arrays
            have a row for each call; other arrays are shared by all calls.
        """
        table = self.kept((kernel.key, calls), lambda: RecordTable(kernel, calls))
        table.put_named(self._constants, state, edges, others, self._known)
        return self.pool.launch(table)

    def edges(self, reader: Reader, edges: PageEdges, calls: int) -> tuple[Any, ...]:
        """The arguments with which `calls` calls of a kernel read the edges of a page."""
        key = reader, calls
        if key not in self._windows:
            self._windows[key] = reader.arguments(calls, reader)
        return self._windows[key].of(edges)

    def partitions(self, count: int) -> Partitions:
        """Buffers for the outputs of `count` partitions of a page."""
        bound = self.bound
        return self.kept((count, bound.accumulator, bound.total), lambda: Partitions(count, bound))
