"""Launches compiled kernels on the thread pool, and keeps what a launch can use again."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from ... import events
from ...native import ArgumentTable, Kernel, prepare
from ...native.threads import ThreadPool
from ...pages.source import PageEdges
from ...program import BoundProgram
from .edges import Reader, Windows
from .partitions import Partitions

Array = npt.NDArray[Any]


class Launcher:
    """Compiles kernels when they are first needed, and runs several calls of one kernel in parallel.

    Parameters
    ----------
    bound : BoundProgram
    pool : ThreadPool
    listener : callable
        Receives the progress of compilation.
    """

    def __init__(self, bound: BoundProgram, pool: ThreadPool, listener: events.Listener) -> None:
        self.bound, self.pool, self._listener = bound, pool, listener
        self._prepared: set[Kernel] = set()
        self._tables: dict[tuple[str, int], ArgumentTable] = {}
        self._windows: dict[tuple[Reader, int], Windows] = {}
        self._partitions: dict[int, Partitions] = {}

    def prepare(self, *kernels: Kernel) -> None:
        """Compile those of `kernels` that have not been compiled yet; the listener hears of each kernel once."""
        new = [kernel for kernel in kernels if kernel not in self._prepared]
        if new:
            prepare(new, self._listener)
            self._prepared.update(new)

    def __call__(self, kernel: Kernel, calls: int, *arguments: Any) -> Array:
        """Run `calls` calls of `kernel` in parallel; return what each of them returned."""
        key = kernel.key, calls
        if key not in self._tables:
            self._tables[key] = ArgumentTable(kernel, calls)
        return self.pool.launch(self._tables[key].fill(*arguments))

    def edges(self, reader: Reader, edges: PageEdges, calls: int) -> tuple[Any, ...]:
        """The arguments by which `calls` calls of a kernel read the edges of a page."""
        key = reader, calls
        if key not in self._windows:
            self._windows[key] = Windows(calls, reader)
        return self._windows[key].arguments(edges)

    def partitions(self, count: int) -> Partitions:
        """Room for what `count` partitions of a page leave behind."""
        if count not in self._partitions:
            self._partitions[count] = Partitions(count, self.bound)
        return self._partitions[count]
