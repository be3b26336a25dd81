"""Runs breadth-first searches from several vertices as bits of one value, and notes the levels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import events
from ..apps.many_bfs import LevelBFS, ManyBFS
from ..executor.cpu.levels import Levels
from ..executor.gpu.executor import GpuExecutor
from ..executor.gpu.levels import DeviceLevels
from ..executor.protocol import Executor
from ..executor.state import State
from ..graph import Graph
from ..native.threads import ThreadPool
from ..output.result import Result
from ..program import BoundProgram, VertexProgram, bind
from .carry_out import carry_out, encoded
from .options import RunOptions, check_run_options
from .result import result_of

Array = npt.NDArray[Any]


class Notes:
    """Has the levels noted after each superstep (`Watch`): by a GPU that works alone, in its memory, or by the host.

    Attributes
    ----------
    bound : BoundProgram
        The program that searches. It is told which searches have ended.
    """

    def __init__(self, sources: Array, graph: Graph) -> None:
        self._sources, self._graph, self._levels = sources, graph, Levels(sources)
        everyone = self._levels.everyone
        self.bound = bind(ManyBFS(everyone, everyone), graph)
        self._on_device: DeviceLevels | None = None

    def begin(self, executor: Executor, state: State, pool: ThreadPool) -> None:
        self.bound.parameters["live"] = self._levels.everyone
        if isinstance(executor, GpuExecutor) and executor.levels.begin(self._sources):
            self._on_device = executor.levels
            executor.state.leave(state, executor.memory_name)
            state.advance(*self._counts())
            return
        self._on_device = None
        self._levels.begin(state, pool)
        state.active_count, state.active_edges, state.changeable = self._counts()
        executor.load(state)

    def _counts(self) -> tuple[int, int, int]:
        """How many vertices are active at first, how many edges lead from them, and how many vertices may change."""
        vertices, offsets = np.unique(self._sources), self._graph._arrays.degree_offsets
        return len(vertices), int((offsets[vertices + 1] - offsets[vertices]).sum()), len(vertices)

    def after(self, executor: Executor, state: State, iterations: int, pool: ThreadPool) -> None:
        noted = self._on_device
        live = self._levels.after(state, iterations, pool) if noted is None else noted.after(iterations)
        self.bound.parameters["live"] = live  # compiled functions read it in each superstep

    def end(self, pool: ThreadPool) -> Array:
        noted = self._on_device
        return self._levels.table(pool) if noted is None else noted.table()[:, : len(self._sources)]


def run_searches(
    programs: list[VertexProgram], graph: Graph, options: RunOptions, on_event: events.Listener
) -> tuple[list[Callable[[], Result]], Array]:
    """Run `BFS` programs together.

    Returns
    -------
    list of callable
        Each makes the result of a search.
    ndarray of int8 or int32, shape (n, number of programs)
        The levels.
    """
    column = bind(without_parents(programs[0]), graph)  # they differ in the source alone, which a result does not have
    sources = np.array([graph.ids.index(program.source) for program in programs], np.int64)  # type: ignore[attr-defined]
    notes = Notes(sources, graph)
    check_run_options(options, notes.bound, graph)
    run = carry_out(notes.bound, encoded(graph, options), options, on_event, None, notes)
    return [partial(search_result, run, column, c) for c in range(len(programs))], run.values


def without_parents(program: VertexProgram) -> LevelBFS:
    """A `BFS` that reports levels only."""
    return LevelBFS(program.source)  # type: ignore[attr-defined]


def search_result(run: Result, column: BoundProgram, number: int) -> Result:
    """The result of one search."""
    values = run.values[:, number].astype(np.int32).view(column.reports)
    return result_of(column, run.vertex_ids, values, run.stats)
