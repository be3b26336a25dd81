"""Runs of vertex programs that one call of an algorithm makes, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy.typing as npt

from ..events import Iteration, ignore
from ..executor.gpu import device as gpu_device
from ..executor.modes import CPU
from ..graph import Graph
from ..native.threads import available_cores, check_threads
from ..output.history import History
from ..output.result import Result
from ..output.stats import Stats
from ..program import VertexProgram
from ..runtime.many_blocks import Block, in_blocks
from ..runtime.options import ANY, Options, RunOptions
from ..runtime.run import run

Array = npt.NDArray[Any]


def wants_gpu(device: str) -> bool:
    """Whether the caller wants a vertex program to run on a GPU, alone or with the CPU."""
    return device not in (ANY, CPU)


def by_programs(graph: Graph, device: str) -> bool:
    """Whether an algorithm that has a kernel of its own, too, runs vertex programs: if the edges are on disk, or the
    caller wants a GPU."""
    return graph.on_disk or wants_gpu(device)


class Runs:
    """Runs vertex programs on a graph.

    Parameters
    ----------
    graph : Graph
    device : str
        As for `run`.
    threads : int or None
        What the user asked for. With None, a run with a GPU leaves some cores to the threads that serve it.
    vertex_bytes : int
        Bytes for each vertex of arrays that the caller keeps during a run. If edges are on disk, they take part of the
        memory with which the graph was opened.

    Attributes
    ----------
    graph : Graph
    compile_seconds : float
        The wall time that the runs have spent compiling.

    Raises
    ------
    ParameterError
        If there is no such device or number of threads, even if nothing will be run.
    DeviceError
        If the caller wants a GPU, and none can be used, even then.
    """

    def __init__(self, graph: Graph, device: str, threads: int | None, vertex_bytes: int) -> None:
        self.graph = graph._replace(reserved=vertex_bytes * graph.n) if graph.on_disk else graph
        self.compile_seconds = 0.0
        RunOptions(device=device)  # checks it
        self._device, self._threads = device, check_threads(threads)
        if wants_gpu(device):
            gpu_device.find()
        self._records, self._seconds = list[Iteration](), 0.0
        self._last: Stats | None = None

    def __call__(self, program: VertexProgram, iterations: int | None = None, sync: bool | None = None) -> Array:
        """Run a program; return what it reports for each vertex."""
        options = Options(sync=sync)
        done = run(
            program, self.graph, iterations=iterations, device=self._device, threads=self._threads, options=options
        )
        self._note(done.stats)
        return done.values

    def tables(self, programs: list[VertexProgram], iterations: int | None = None) -> Iterator[Array]:
        """Run programs of one class, as many together as `run_many` does; for each block of them yield what they report
        for each vertex, of which there is one number: shape (n, programs of the block)."""
        for block in self._blocks(programs, iterations):
            yield block.results[0]().column()[:, None] if block.rows is None else block.rows
            del block  # its table takes no memory during the next run

    def together(self, programs: list[VertexProgram]) -> list[Array]:
        """Run programs of one class, as many together as `run_many` does; return what each reports."""
        return [make().values for block in self._blocks(programs) for make in block.results]

    def _blocks(self, programs: list[VertexProgram], iterations: int | None = None) -> Iterator[Block]:
        """Run programs of one class in blocks, synchronously."""
        options = RunOptions(iterations=iterations, device=self._device, threads=self._threads, sync=True)
        for block in in_blocks(programs, self.graph, options, ignore):
            self._note(block.results[0]().stats)
            yield block
            del block

    def _note(self, stats: Stats) -> None:
        """Add the statistics of a run."""
        self._last = stats
        self._records += [row._replace(number=len(self._records) + row.number) for row in stats.iterations]
        self._seconds += stats.seconds
        self.compile_seconds += stats.compile_seconds

    def stats(self, converged: bool = True) -> Stats:
        """The statistics of all runs; those of the last one say on which device they were."""
        threads = self._threads or available_cores()
        last = self._last or Stats(History([]), converged, 0.0, threads, encoding=self.graph.encoding)
        return replace(
            last, history=History(self._records), converged=converged, seconds=self._seconds,
            compile_seconds=self.compile_seconds,
        )  # fmt: skip

    def result(self, values: Array, function: str, vertex_fields: tuple[str, ...] = ()) -> Result:
        """The answer of a call of `function`."""
        return Result(values, self.graph.ids, self.stats(), function, vertex_fields)
