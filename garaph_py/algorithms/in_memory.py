"""What algorithms with kernels of their own share: the graph in memory, threads, work in pieces, and the result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy.typing as npt

from ..errors import GraphError
from ..events import Iteration
from ..executor.modes import CPU
from ..graph import Graph
from ..graph.arguments import check_graph
from ..graph.arrays import GraphArrays
from ..native import ArgumentTable, Kernel, prepare
from ..native.threads import ThreadPool, bounds_of, even_cuts
from ..output.history import History
from ..output.result import Result
from ..output.stats import Stats
from ..program import VertexProgram
from ..runtime.run import run

Array = npt.NDArray[Any]

LEAST_PIECE = 1 << 12
"""Edges or vertices of the smallest piece of work: to hand out a piece costs about as much as to visit that many."""
PIECES = 32
"""Pieces of large work for each thread; idle threads take the next one."""
KERNEL = "kernel"
"""What the record of a call has as its mode: a kernel of the algorithm's own, and no mode of vertex programs."""


def check_in_memory(graph: Any, function: str) -> None:
    """Refuse what is no graph, and a graph on disk, in a call of `function`."""
    check_graph(graph, function)
    if graph.on_disk:
        raise GraphError(
            f"{function} needs edges in memory, and those of this graph are on disk; open it with more memory "
            "(gp.open(path, memory=...)), or take a part of it with graph.subgraph"
        )


def check_undirected(graph: Graph, function: str) -> None:
    """Refuse a directed graph in a call of `function`."""
    if graph.directed:
        raise GraphError(f"{function} needs an undirected graph, and this one is directed; give graph.symmetrized()")


def check_vertices(graph: Graph, function: str) -> None:
    """Refuse a graph without vertices in a call of `function`."""
    if not graph.n:
        raise GraphError(f"{function} is not defined for a graph without vertices; give one that has some")


@dataclass
class Work:
    """Work over the vertices from 0 to n - 1, cut into pieces that the threads of a pool share.

    Attributes
    ----------
    pool : ThreadPool
    n : int
    """

    pool: ThreadPool
    n: int

    def count(self, work: int) -> int:
        """How many pieces to cut work of so many edges or vertices into."""
        return 1 if self.pool.size == 1 else max(1, min(PIECES * self.pool.size, work // LEAST_PIECE))

    def cuts(self, offsets: Array | None = None, first: int = 0, last: int | None = None) -> Array:
        """The bounds of pieces of the vertices [first, last), by default of all.

        The pieces have equally many edges if `offsets` are given, or else vertices.
        """
        last = self.n if last is None else last
        if offsets is None:
            return first + bounds_of(last - first, self.count(last - first))
        edges = int(offsets[last] - offsets[first])
        return first + even_cuts(offsets[first : last + 1], self.count(last - first + edges))

    # wide: the arguments of `cuts`, beside those of the kernel.
    def on_vertices(
        self, kernel: Kernel, *arguments: Any, offsets: Array | None = None, first: int = 0, last: int | None = None
    ) -> Array:
        """Run ``kernel(first, last, *arguments)`` over the vertices, and return what the calls return.

        The pieces are those of `cuts`.
        """
        cuts = self.cuts(offsets, first, last)
        return self.pool.launch(kernel.rows(len(cuts) - 1, cuts[:-1], cuts[1:], *arguments))

    def by_threads(self, kernel: Kernel, *arguments: Any) -> Array:
        """Run ``kernel(*arguments)`` once for each thread, and return what the calls return."""
        rows: ArgumentTable = kernel.rows(self.pool.size, *arguments)
        return self.pool.launch(rows)


@dataclass
class Call(Work):
    """A call of an algorithm with kernels of its own.

    Attributes
    ----------
    function : str
        The algorithm's name.
    graph : Graph
    started : float
        When it began to compute, by `time.perf_counter`.
    compile_seconds : float
        The wall time that it took to compile the kernels.
    """

    function: str
    graph: Graph
    started: float
    compile_seconds: float

    @property
    def arrays(self) -> GraphArrays:
        return self.graph._arrays

    def run(self, program: VertexProgram, graph: Graph) -> Result:
        """Run a vertex program on the CPU, with as many threads; what it compiles does not count as computing."""
        result = run(program, graph, device=CPU, threads=self.pool.size)
        self.compile_seconds += result.stats.compile_seconds
        self.started += result.stats.compile_seconds
        return result

    def record(self, number: int, edges: int, seconds: float, started: float = 0.0) -> Iteration:
        """The record of a pass of kernels that have visited so many edges, `started` seconds after the first one."""
        why = "an algorithm with kernels of its own"
        return Iteration(number, KERNEL, 1.0, self.graph.n, edges, 0, 0, seconds, started=started, why=why)

    def result(self, values: Array, edges: int, vertex_fields: tuple[str, ...] = ()) -> Result:
        """The answer; `edges` is how many edges the kernels have visited."""
        graph, seconds = self.graph, perf_counter() - self.started
        stats = Stats(
            History([self.record(0, edges, seconds)]), True, seconds, self.pool.size, encoding=graph.encoding,
            compile_seconds=self.compile_seconds,
        )  # fmt: skip
        return Result(values, graph.ids, stats, self.function, vertex_fields)


@contextmanager
def called(graph: Graph, function: str, kernels: Sequence[Kernel], threads: int | None) -> Iterator[Call]:
    """In ``with``: threads for a call of `function`, whose `kernels` are compiled.

    Raises
    ------
    ParameterError
        If there is no such number of threads.
    """
    with ThreadPool(threads) as pool:
        began = perf_counter()
        prepare(kernels)
        started = perf_counter()
        yield Call(pool, graph.n, function, graph, started, started - began)


@contextmanager
def in_memory(graph: Graph, function: str, kernels: Sequence[Kernel], threads: int | None) -> Iterator[Call]:
    """`called`, with a graph in memory whose edges are raw.

    Raises
    ------
    ParameterError
        If `graph` is no graph, or there is no such number of threads.
    GraphError
        If the edges are on disk.
    """
    check_in_memory(graph, function)
    with called(graph, function, kernels, threads) as call:
        call.graph = graph.unpacked(threads)
        yield call
