"""The CPU's `Executor`: a page's edges go to a team of threads in equal runs (Garaph section 4.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ... import events
from ...graph import Graph
from ...graph.vertex_set import BLOCK, VertexSet
from ...native import PerCall
from ...native.job import PUBLISH, WORK
from ...native.threads import ThreadPool
from ...pages.layout import Page
from ...pages.memory_source import MemoryPageSource
from ...pages.source import PageSource
from ...program import BoundProgram
from ...program.functions import partial_dtype
from ..modes import NOTIFY_PULL, PULL, PULL_TILED, PUSH
from ..protocol import PageResult, sum_partials
from ..state import State
from .edges import reader_of
from .launch import Launcher
from .notify import Notify
from .program import kernels
from .pull import Pull
from .pull_tiled import TiledPull
from .push import Push
from .runs import Runs, edge_ranges
from .sets import COUNT_EDGES

Array = npt.NDArray[Any]


class CpuExecutor:
    """One bound program on the CPU.

    Parameters
    ----------
    bound : BoundProgram
    graph : Graph
    pool : ThreadPool
    listener : callable
        Hears of compilation.
    to_the_letter : bool
        One partition a thread and page, and every vertex gathers from every in-neighbour, as the paper has it.
        Otherwise a page is cut into the same runs whatever the number of threads, who take them as they are free; and
        where the program relaxes, only active vertices contribute.

    Attributes
    ----------
    is_relaxation : bool
        Only active vertices contribute: the values of the others stand in both arrays of a synchronous run.
    out_source : PageSource
        The out-edges. Where they stay on disk, whoever divides the memory says by which.
    """

    out_source: PageSource

    name: ClassVar[str] = "cpu"
    modes: tuple[str, ...] = (PULL, NOTIFY_PULL, PUSH, PULL_TILED)

    def __init__(
        self,
        bound: BoundProgram,
        graph: Graph,
        pool: ThreadPool,
        listener: events.Listener,
        to_the_letter: bool = False,
    ) -> None:
        self.bound, self.graph, self.pool = bound, graph, pool
        self.is_relaxation = bound.is_relaxation and not to_the_letter
        if not graph.has_valued_out_edges and bound.reads_edge_values:
            self.modes = (PULL, NOTIFY_PULL)
        reader = reader_of(graph.in_edges, bound.edge if bound.reads_edge_values else None)
        self._kernels, self._offsets = kernels(bound, reader), (graph.in_edges.offsets, graph.out_edges.offsets)
        self.out_source = MemoryPageSource(graph.out_edges, pages=[Page(0, 0, graph.n, 0, graph.m)])
        self._launch = launch = Launcher(bound, graph, pool, listener)
        self._runs = runs = Runs(graph, launch, one_per_thread=to_the_letter)
        self._notify = Notify(launch, runs, graph.out_edges)
        self._pull = Pull(launch, runs, graph, reader, self._kernels, self.is_relaxation)
        self._push = Push(launch, runs, graph, bound.reads_edge_values, partial(kernels, bound))
        self._pull_tiled = TiledPull(launch, graph, bound.reads_edge_values)

    def initialize(self, synchronous: bool) -> State:
        init = self._kernels.init
        self._launch.prepare(init, PUBLISH, WORK)
        n = self.graph.n
        values = np.empty(n, self.bound.value)
        state = State(
            values,
            np.empty_like(values) if synchronous and not self.is_relaxation else values,
            synchronous, VertexSet.empty(n), VertexSet.empty(n), VertexSet.empty(n), VertexSet.empty(n), 0, 0, 0, None,
            np.zeros(2, values.dtype),
        )  # fmt: skip
        first, last = self._runs.of_vertices()
        counts, partials = np.zeros((len(first), 4), np.int64), np.zeros(len(first), partial_dtype(self.bound.total))
        self._launch(
            init, len(first), state, counts=PerCall(counts), partial=PerCall(partials), first_vertex=first,
            last_vertex=last,
        )  # fmt: skip
        _, state.active_count, state.active_edges, state.changeable = map(int, counts.sum(axis=0))
        if self.bound.total is not None:
            state.total = sum_partials([partials], partials.dtype).astype(self.bound.total)
        return state

    def _keep_apart(self, state: State, apart: bool) -> None:
        """If need be, two arrays, equal when a superstep of a relaxing program begins.

        It takes but one where only active vertices are read and none of them can change.
        """
        if self.is_relaxation and state.synchronous and apart and state.pending is state.values:
            state.pending = state.values.copy()

    def adopt(self, state: State) -> None:
        self.forget()
        own_array = state.synchronous and not self.is_relaxation
        state.pending = np.empty_like(state.values) if own_array else state.values
        state.active.blocks[:] = 1
        state.activated = VertexSet.empty(self.graph.n)

    def start(self) -> None:
        """Have threads ready: another processor begins, and this one may have to notify, or join in."""
        self._launch.prepare(PUBLISH, WORK)
        self.pool.start()

    def forget(self) -> None:
        """Another processor has done a superstep: what is known of the active vertices no longer holds."""
        self._push.forget_frontier()

    def begin(self, state: State, mode: str) -> int:
        if mode in (PUSH, PULL_TILED):
            return 0
        self._push.forget_frontier()
        self._keep_apart(state, state.changeable > 0 or mode == NOTIFY_PULL)
        state.activated.clear()
        if "prepare" in self.bound.arguments:
            kernel = self._kernels.prepare
            self._launch.prepare(kernel)
            first, last = self._runs.of_vertices()
            self._launch(kernel, len(first), state, first_vertex=first, last_vertex=last)
        if mode == PULL:
            self._pull.prepare(state, mode)
            if self._pull.reads_active_only(state) and not state.synchronous:
                state.active.blocks[:] = 1  # vertices that change are added to it as the superstep goes on
            return 0
        self._pull.prepare(state, mode)
        return self.notify(state)

    def notify(self, state: State) -> int:
        """Find the vertices that active ones notify, for whoever updates them; out-edges followed."""
        self._launch.prepare(COUNT_EDGES, self._notify.kernel)
        if state.active_count == self.graph.n or self.bound.total is not None:
            state.notified.fill(self.graph.n)  # everybody has something to see: also those without in-edges
            return 0
        state.notified.clear()
        if self.bound.reads_dst:
            state.notified.add(state.active)  # such a vertex is in effect its own in-neighbour
        return self._notify(state, self.out_source)

    def notified_edges(self, pages: Iterable[Page], state: State) -> Array | None:
        if "prepare" in self.bound.arguments:  # it has rewritten values of every page
            return None
        _, starts = self._runs.prefix_of(state.notified, self.graph.in_edges, 0, self.graph.n)
        bounds = np.array([(page.first_vertex, page.last_vertex) for page in pages], np.int64).reshape(-1, 2)
        before = np.interp(bounds, np.arange(len(starts)) * BLOCK, starts)
        return before[:, 1] - before[:, 0]

    def advance(self, state: State) -> Any:
        self._push.forget_frontier()
        return self._push.advance(state, self._kernels.advance)

    def process(self, pages: Iterable[Page], source: PageSource, state: State, mode: str) -> list[PageResult]:
        if mode == PUSH:
            self._keep_apart(state, state.changeable > 0)
            return [self._push(state, self.out_source)]
        if mode == PULL_TILED:
            self._keep_apart(state, True)
            self._push.forget_frontier()
            return [self._pull_tiled(state, self._kernels.pull_tiled, self.out_source)]
        tasks = [(page, self._pull.task(page, state, mode)) for page in pages]
        wanted = partial(edge_ranges, state.notified, self._offsets[0]) if mode == NOTIFY_PULL else None
        source.expect([page for page, task in tasks if task is not None], wanted)
        results = []
        for page, task in tasks:
            if task is None:
                results.append(PageResult(0, 0, 0, 0, None, skipped=True))
                continue
            self.pool.about = {"page": page.number, "edges": page.edges}
            results.append(self._pull.run(source.edges(page), state, task))
            source.release(page)
        self.pool.about = {}
        return results

    def commit(self, state: State, mode: str) -> None:
        if state.pending is state.values:
            return
        if mode in (PULL, PULL_TILED) and not self.is_relaxation:
            state.values, state.pending = state.pending, state.values
            return
        self._copy(state.activated if self.is_relaxation else state.notified, state.pending, state.values)

    def sync_buffers(self, state: State) -> None:
        self._copy(state.active, state.values, state.pending)

    def _copy(self, changed: VertexSet, source: Array, to: Array) -> None:
        """The values of those that changed, from one array to the other."""
        self._launch.prepare(self._kernels.commit)
        first, last = self._runs.of_vertices(whole=not changed.is_wide)
        self._launch(
            self._kernels.commit, len(first), None, vertices=changed.bits, vertices_blocks=changed.blocks,
            first_vertex=first, last_vertex=last, new_words=source.view(np.uint32), old_words=to.view(np.uint32),
        )  # fmt: skip

    def activate_page(self, page: Page, done: PageResult, state: State) -> PageResult:
        first, last, offsets = page.first_vertex, page.last_vertex, self.graph.out_edges.offsets
        state.activated.put(first, last)
        return replace(
            done, active=page.vertices, active_edges=int(offsets[last] - offsets[first]), changeable=page.vertices
        )

    def report(self, state: State) -> Array:
        self._pull_tiled.release()  # their memory is free for verifying the answer
        if "result" not in self.bound.arguments:
            return state.values
        kernel = self._kernels.result
        self._launch.prepare(kernel)
        spare = state.pending  # the values themselves where there is but one array
        same_size = spare.dtype.itemsize == self.bound.reports.itemsize
        reported = spare.view(self.bound.reports) if same_size else np.empty(self.graph.n, self.bound.reports)
        first, last = self._runs.of_vertices()
        self._launch(kernel, len(first), state, reported=reported, first_vertex=first, last_vertex=last)
        return reported
