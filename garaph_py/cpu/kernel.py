"""The CPU's `PageKernel`: a page's edges go to a team of threads in equal runs (Garaph section 4.1)."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import events
from ..graph import Adjacency, Graph
from ..kernel import PULL, PageResult, sum_partials
from ..native import Kernel, prepare
from ..native.kernel import kind_of
from ..pages.layout import Page
from ..pages.source import PageEdges
from ..program import BoundProgram
from ..state import BLOCK, State, VertexSet
from ..threads import Team, split
from .functions import functions, partial_dtype
from .notify import NOTIFY, SELECT, make_commit
from .pull import make_pull, make_pull_notified, make_settle
from .vertices import make_init, make_prepare, make_result

Array = npt.NDArray[Any]

WORTH_A_THREAD = 1 << 15
"""Edges or vertices for which it is worth waking a thread: about 20 microseconds of work."""
TO_THE_END = 1 << 62


class CpuKernel:
    """One bound program on the CPU.

    Parameters
    ----------
    bound : BoundProgram
    graph : Graph
    team : Team
    listener : callable
        Hears of compilation.
    """

    def __init__(self, bound: BoundProgram, graph: Graph, team: Team, listener: events.Listener) -> None:
        self.bound, self.graph, self.team, self._listener = bound, graph, team, listener
        self._functions = functions(bound)
        self._edges = "void*" if bound.edge is None else kind_of(bound.edge)
        self._partial = partial_dtype(bound.total)
        self._offsets = graph.in_edges.offsets, graph.out_edges.offsets

    # The kernels, each compiled when first needed: a program that never notifies does not wait for `pull_notified`.
    @cached_property
    def _pull(self) -> Kernel:
        return make_pull(self._functions, self._edges)

    @cached_property
    def _pull_notified(self) -> Kernel:
        return make_pull_notified(self._functions, self._edges)

    @cached_property
    def _settle(self) -> Kernel:
        return make_settle(self._functions, self._edges)

    @cached_property
    def _commit(self) -> Kernel:
        return make_commit(self.bound.value.itemsize // 4)

    def initialize(self, synchronous: bool) -> State:
        init = make_init(self._functions)
        prepare([init, self._pull, self._settle], self._listener)
        n = self.graph.n
        values = np.empty(n, self.bound.value)
        active = VertexSet.empty(n)
        runs = self._vertex_runs()
        counts, partials = np.zeros((len(runs), 3), np.int64), np.zeros(len(runs), self._partial)
        self.team.run(
            init,
            [
                (n, *self._offsets, values, self.bound.parameters, self.bound.vertex_data, active.bits, active.blocks,
                 counts[k], partials[k:], first, last)
                for k, (first, last) in enumerate(runs)
            ],
        )  # fmt: skip
        _, active_count, active_edges = map(int, counts.sum(axis=0))
        total = None if self.bound.total is None else sum_partials([partials], self._partial).astype(self.bound.total)
        return State(
            values,
            np.empty_like(values) if synchronous else values,
            active,
            VertexSet.empty(n),
            VertexSet.empty(n),
            active_count,
            active_edges,
            total,
        )

    def begin(self, state: State, mode: str) -> int:
        state.activated.clear()
        if "prepare" in self.bound.arguments:
            kernel = make_prepare(self._functions)
            prepare([kernel], self._listener)
            arrays = (self.graph.n, *self._offsets, state.values, self.bound.parameters, self.bound.vertex_data)
            self.team.run(kernel, [(*arrays, state.active.bits, *run) for run in self._vertex_runs()])
        if mode == PULL:
            return 0
        prepare([SELECT, NOTIFY, self._pull_notified, self._commit], self._listener)
        if state.active_count == self.graph.n or self.bound.total is not None:
            state.notified.fill(self.graph.n)  # everybody has something to see: also those without in-edges
            return 0
        state.notified.clear()
        if "dst" in self.bound.arguments["gather"]:
            state.notified.add(state.active)  # such a vertex is in effect its own in-neighbour
        return self._notify(state)

    def _notify(self, state: State) -> int:
        out, n = self.graph.out_edges, self.graph.n
        _, starts = self._selected(state.active, out, 0, n)
        edges = int(starts[-1])
        bounds = self._bounds(edges)
        blocks = np.searchsorted(starts[1:-1], bounds[:-1], side="right").tolist()
        active, notified = state.active, state.notified
        self.team.run(
            NOTIFY,
            [
                (active.bits, active.blocks, n, out.offsets, out.neighbours, notified.bits, notified.blocks,
                 block, int(starts[block]), start, stop)
                for block, start, stop in zip(blocks, bounds[:-1], bounds[1:], strict=True)
            ],
        )  # fmt: skip
        return edges

    def process(self, page: Page, edges: PageEdges, state: State, mode: str) -> PageResult:
        if mode == PULL:
            kernel, bounds = self._pull, self._bounds(page.edges)
            offsets = self._offsets[0][page.first_vertex : page.last_vertex]
            cuts = (np.searchsorted(offsets, np.add(bounds, page.first_edge)) + page.first_vertex).tolist()
            cuts[0], cuts[-1] = page.first_vertex, page.last_vertex
            tasks: list[tuple[Any, ...]] = [
                (page.first_edge + start, page.first_edge + stop, first, last)
                for start, stop, first, last in zip(bounds[:-1], bounds[1:], cuts[:-1], cuts[1:], strict=True)
            ]
        else:
            kernel, notified = self._pull_notified, state.notified
            span = page.first_vertex, page.last_vertex
            count, starts = self._selected(notified, self.graph.in_edges, *span)
            if not count:
                return PageResult(0, 0, 0, None, skipped=True)
            bounds = self._bounds(int(starts[-1]))
            # "left": the notified vertices without in-edges that stand right at a bound belong to what follows it.
            blocks = np.searchsorted(starts[1:-1], bounds[:-1], side="left").tolist()
            base = page.first_vertex // BLOCK
            stops = [*bounds[1:-1], TO_THE_END]
            tasks = [
                (notified.bits, notified.blocks, *span, base + block, int(starts[block]), start, stop)
                for block, start, stop in zip(blocks, bounds[:-1], stops, strict=True)
            ]
        return self._run(kernel, tasks, edges, state)

    def _run(self, kernel: Kernel, tasks: list[tuple[Any, ...]], edges: PageEdges, state: State) -> PageResult:
        """Gather and apply in parallel, then settle the vertices that the partitions' bounds cut."""
        parts = len(tasks)
        replicas = np.empty((2, parts), self.bound.accumulator)
        cuts, counts = np.empty((parts, 2), np.int64), np.zeros((parts + 1, 3), np.int64)
        partials = np.zeros(parts + 1, self._partial)
        bound, activated = self.bound, state.activated
        context = (
            self.graph.n, *self._offsets, edges.sources, edges.first_edge, edges.values, state.values, state.pending,
            bound.parameters, bound.vertex_data, state.total, activated.bits, activated.blocks, int(state.synchronous),
        )  # fmt: skip
        self.team.run(
            kernel,
            [
                (*context, replicas[0, t:], replicas[1, t:], cuts[t], counts[t], partials[t:], *task)
                for t, task in enumerate(tasks)
            ],
        )
        if parts > 1:
            self._settle(*context, replicas[0], replicas[1], cuts, counts[parts], partials[parts:], parts)
        visited, active, active_edges = map(int, counts.sum(axis=0))
        return PageResult(visited, active, active_edges, None if bound.total is None else partials)

    def commit(self, state: State, mode: str) -> None:
        if not state.synchronous:
            return
        if mode == PULL:
            state.values, state.pending = state.pending, state.values
            return
        pending, values = state.pending.view(np.uint32), state.values.view(np.uint32)
        notified = state.notified
        runs = self._vertex_runs() if notified.blocks.mean() > 0.25 else [(0, self.graph.n)]
        self.team.run(self._commit, [(notified.bits, notified.blocks, *run, pending, values) for run in runs])

    def report(self, state: State) -> Array:
        if "result" not in self.bound.arguments:
            return state.values
        kernel = make_result(self._functions)
        prepare([kernel], self._listener)
        spare = state.pending if state.synchronous else state.values
        same_size = spare.dtype.itemsize == self.bound.reports.itemsize
        reported = spare.view(self.bound.reports) if same_size else np.empty(self.graph.n, self.bound.reports)
        arrays = (self.graph.n, *self._offsets, state.values, self.bound.parameters, self.bound.vertex_data, reported)
        self.team.run(kernel, [(*arrays, *run) for run in self._vertex_runs()])
        return reported

    def _selected(self, vertices: VertexSet, adjacency: Adjacency, first: int, last: int) -> tuple[int, Array]:
        """How many of `vertices` lie in [first, last), and prefix sums of their edges by block."""
        sums = np.zeros((last - 1) // BLOCK - first // BLOCK + 2, np.int64)
        count = SELECT(vertices.bits, vertices.blocks, adjacency.offsets, first, last, sums[1:])
        return count, np.cumsum(sums)

    def _bounds(self, count: int) -> list[int]:
        """Bounds that cut `count` edges or vertices into equal runs, one a thread as far as they are worth it."""
        return split(count, max(1, min(self.team.size, count // WORTH_A_THREAD)))

    def _vertex_runs(self) -> list[tuple[int, int]]:
        return list(pairwise(self._bounds(self.graph.n)))
