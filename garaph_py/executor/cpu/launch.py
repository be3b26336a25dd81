"""Launches compiled kernels on the thread pool, and keeps tables and buffers for later launches."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from ... import events
from ...graph.arrays import GraphArrays
from ...native import Kernel, prepare
from ...native.kernel import Addresses
from ...native.threads import ThreadPool
from ...pages.source import PageEdges
from ...program import BoundProgram
from ..state import State
from .edges import Arguments, Reader
from .partitions import Partitions
from .records import RecordKernel, RecordTable

Array = npt.NDArray[Any]


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
        self._prepared: set[Kernel] = set()
        self._tables: dict[tuple[str, int], RecordTable] = {}
        self._known = Addresses()
        self._constants = {
            "n": arrays.n, "in_offsets": arrays.in_edges.offsets, "out_offsets": arrays.out_edges.offsets,
            "degree_offsets": arrays.degree_offsets, "parameters": bound.parameters, "vertex_data": bound.vertex_data,
        }  # fmt: skip
        self._windows: dict[tuple[Reader, int], Arguments] = {}
        self._partitions: dict[int, Partitions] = {}

    def prepare(self, *kernels: Kernel) -> None:
        """Compile those of `kernels` that have not been compiled yet; the listener receives one event for each."""
        new = [kernel for kernel in kernels if kernel not in self._prepared]
        if new:
            prepare(new, self._listener)
            self._prepared.update(new)

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
        key = kernel.key, calls
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = RecordTable(kernel, calls, self._constants, self._known)
        return self.pool.launch(table.fill(state, edges, others))

    def edges(self, reader: Reader, edges: PageEdges, calls: int) -> tuple[Any, ...]:
        """The arguments with which `calls` calls of a kernel read the edges of a page."""
        key = reader, calls
        if key not in self._windows:
            self._windows[key] = reader.arguments(calls, reader)
        return self._windows[key].of(edges)

    def partitions(self, count: int) -> Partitions:
        """Buffers for the outputs of `count` partitions of a page."""
        if count not in self._partitions:
            self._partitions[count] = Partitions(count, self.bound)
        return self._partitions[count]
