"""The CPU executor: a page's edges are divided into equal runs, which the threads of the pool take (Garaph section
4.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ... import events
from ...graph import Graph
from ...graph.vertex_set import BLOCK, VertexSet
from ...native import job, reuse
from ...native.threads import ThreadPool, bounds_of
from ...pages.layout import Page, within
from ...pages.memory import tile_page_edges
from ...pages.memory_source import memory_layout, out_edges_of
from ...pages.provider import SourceFactory
from ...pages.queue import in_order
from ...pages.source import PageSource
from ...program import BoundProgram
from ...program.narrow import ValuesTooWide
from ..decision import Ahead, Decision, PageDecision
from ..edge_list import EdgeBuffers
from ..modes import COMPONENTS, CPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from ..partials import total_of
from ..protocol import Capabilities, OpenPlan
from ..repeat import may_repeat, repeat
from ..results import PageResult, StepResult
from ..state import SETS, OnPage, State
from ..step import StepByParts, tell
from .active import ActiveLists
from .chain import Chain
from .components import Components
from .edges import reader_of
from .launch import Launcher
from .list_edges import ListEdges
from .notify import Notify
from .out_edges import OutEdges
from .parents import Parents
from .program import kernels
from .pull import UNFINISHED, Pull
from .pull_few import PullFew
from .pull_tiled import TiledPull, in_lines
from .push import Push
from .push_deltas import DeltaPush
from .reentry import Reentry
from .runs import FIND_RANGES, Runs, edge_ranges
from .sets import COPY, COUNT_EDGES, copy_words

Array = npt.NDArray[Any]


class CpuExecutor(StepByParts):
    """One bound program on the CPU.

    Parameters
    ----------
    bound : BoundProgram
    graph : Graph
    pool : ThreadPool
    listener : callable
        Receives the progress of compilation.
    one_partition_per_thread : bool
        If True, a page is cut into one run of edges per thread, as in the paper. If False, a page is cut into the same
        runs for any number of threads, and idle threads take the next run.
    every_edge : bool
        If True, every vertex gathers from every in-neighbour, as in the paper. If False, a gather may end where `done`
        says so, and if the program is a relaxation, only active vertices contribute.

    Attributes
    ----------
    is_relaxation : bool
        Only active vertices contribute: in a synchronous run, both arrays hold the values of all other vertices.
    out_source : PageSource
        The out-edges. If they stay on disk, `open` or `assist` opens them.
    on_page : callable or None
        See `OnPage`.
    after_pull : callable or None
        ``after_pull(page, state)`` is called when a page has been pulled: ``state.next_values`` and
        ``state.next_frontier`` have what is new of its vertices.
    first_partials : ndarray
        The partial sums of which `initialize` has made the first total, if the program has one.
    """

    out_source: PageSource
    on_page: OnPage | None = None
    after_pull: Callable[[Page, State], None] | None = None
    first_partials: Array
    name: ClassVar[str] = CPU
    modes: tuple[str, ...] = (PULL, NOTIFY_PULL, PUSH, PULL_TILED)

    def __init__(
        self,
        bound: BoundProgram,
        graph: Graph,
        pool: ThreadPool,
        listener: events.Listener,
        one_partition_per_thread: bool = False,
        every_edge: bool = False,
    ) -> None:
        self.bound, self.graph, self.pool = bound, graph, pool
        self.is_relaxation = bound.is_relaxation and not every_edge
        self._arrays = arrays = graph._arrays
        if bound.reads_edge_values and not arrays.has_valued_out_edges:
            self.modes = (PULL, NOTIFY_PULL)
        self.modes += (COMPONENTS,) * bound.sums_components
        reader = reader_of(arrays.in_edges, bound.edge if bound.reads_edge_values else None)
        self._kernels = kernels(bound, reader)
        self.out_source = out_edges_of(arrays)
        self.source = self.out_source  # until the run is open
        self._launch = launch = Launcher(bound, arrays, pool, listener)
        self._runs = runs = Runs(arrays, launch, one_per_thread=one_partition_per_thread)
        lists, out_edges = ActiveLists(launch, runs), OutEdges(bound, arrays, pool)
        self._notify = Notify(lists, arrays.out_edges)
        of_reader = partial(kernels, bound)
        self._list_edges = ListEdges(launch, runs, out_edges, of_reader)
        self._pull = Pull(launch, runs, arrays, reader, self._kernels, every_edge)
        self._pull_few = PullFew(launch, reader, self._kernels, self._pull)
        self._push = Push(launch, runs, arrays, out_edges, of_reader)
        self._chain, self._chains = Chain(launch, arrays, out_edges, of_reader), False
        self._skips_done = False
        self._trails = False  # `next_values` has the active vertices' values of the iteration before
        self._reentry, self._reenters = Reentry(launch, runs, arrays, out_edges, of_reader), False
        self._push_deltas = DeltaPush(launch, runs, lists, out_edges, of_reader)
        self._pull_tiled = TiledPull(launch, arrays, bound.reads_edge_values)
        self._components = Components(launch, runs, arrays, reader, self._kernels)
        self._parents = Parents(launch, runs, arrays, reader)

    @property
    def pages(self) -> Sequence[Page]:
        """The pages of an iteration; in a part of a graph, only those of its own vertices."""
        return within(self.source.pages, *self._arrays.own)

    @property
    def capabilities(self) -> Capabilities:
        deltas = self._push_deltas.sums is not None
        return Capabilities(CPU, self.modes, has_priorities=True, threads=self.pool.size, pushes_deltas=deltas)

    def open(self, plan: OpenPlan, sources: SourceFactory, state: State | None = None) -> State:
        self._chains = plan.chains and self.is_relaxation and not self.bound.columns
        self.invalidate_cache()
        needs = plan.memory.cpu if self.graph.on_disk else None
        if needs is not None:
            sources.divide(needs)
        # Here, where it counts as compiling, and not in the disks' threads or in an iteration.
        self._launch.prepare(*sources.kernels, *[FIND_RANGES] * self.graph.on_disk)
        if needs is not None and needs.tiles:
            self.source = self.out_source = sources.out(None, tile_page_edges(sources.room, plan.page_edges))
        else:
            self.source = sources.into(plan.page_edges)
            self._open_out(sources, self.source)
            if self.bound.updates_all_vertices:  # every iteration reads all; the disks begin while code is compiled
                self.source.prefetch(self.source.pages)
        if plan.deltas:
            self._pull_tiled.sums = self._push_deltas.sums = in_lines(self._arrays.n, self.bound.accumulator)
        if state is None:
            return self.initialize(plan.synchronous)
        self.load(state)
        return state

    def assist(self, sources: SourceFactory, own: PageSource) -> None:
        """Get ready to notify for devices and to process pages beside them: open the out-edges, start the threads."""
        self._open_out(sources, own)
        self._launch.prepare(*job.KERNELS, *sources.kernels, *[FIND_RANGES] * self.graph.on_disk)
        self.pool.start()

    def _open_out(self, sources: SourceFactory, own: PageSource) -> None:
        """Open the out-edges on disk, if iterations follow them; `own` is the source of in-edges of the same thread."""
        if self._arrays.out_edges.on_disk and sources.has_out:
            self.out_source = sources.out(own)

    def close(self) -> None:
        """Leave tables of arguments to the next run. Threads, graph and pages belong to the caller."""
        self._launch.close()

    def initialize(self, synchronous: bool) -> State:
        """Make the state with initial values, first frontier and first total."""
        self._launch.prepare(self._kernels.init, *job.KERNELS)
        n = self._arrays.n
        values, own_array = reuse.empty(n, self.bound.value), synchronous and not self.is_relaxation
        second = reuse.empty(n, self.bound.value) if own_array else values
        state = State.empty(n, values, second, synchronous, *self._launch.vertex_sets(len(SETS)))
        counts, partials = self._first_values(state, *self._first_runs())
        _, state.active_count, state.active_edges, state.changeable = np.add.reduce(counts).tolist()
        self._pull.one_value = (
            state.active_count == 1 and self.bound.spreads_one_value and synchronous and self._arrays.place is None
        )
        if self.bound.total is not None:
            self.first_partials = partials.copy()
            state.total = total_of([partials], self.bound.total)
        first, last = self._arrays.own
        for begin, end in (0, first), (last, n):  # the mirrors of a part, which count where they are owned
            if begin < end:
                bounds = begin + bounds_of(end - begin, self._runs.count(end - begin))
                self._first_values(state, bounds[:-1], bounds[1:])
        return state

    def _first_runs(self) -> tuple[Array, Array]:
        """First and last vertices of the runs that make initial values.

        With a total, they are the pieces into which the whole graph is cut in memory, even if this graph is a part: so
        the bits of the total depend neither on a run's pages nor on the parts.
        """
        arrays = self._arrays
        if self.bound.total is None and arrays.place is None:
            return self._runs.of_vertices()
        pages = memory_layout(arrays.in_edges.offsets) if arrays.place is None else self.pages
        runs = [self._runs.of_page(page)[2:] for page in pages] or [(np.zeros(0, np.int64),) * 2]
        first, last = map(np.concatenate, zip(*runs, strict=True))
        return first, last

    def _first_values(self, state: State, first: Array, last: Array) -> tuple[Array, Array]:
        """Make the initial values and the first frontier of these runs of vertices; return their counts and partial
        totals."""
        own = self._launch.partitions(len(first))
        if len(first):
            self._launch(
                self._kernels.init, len(first), state, counts=own.arguments["counts"],
                partial=own.arguments["partial"], first_vertex=first, last_vertex=last,
            )  # fmt: skip
        return own.counts[: len(first)], own.partials

    def _keep_apart(self, state: State, apart: bool) -> None:
        """Copy the values to a second array, if `apart` and a synchronous relaxation still has only one.

        One array is enough while only active vertices are read and none of them can change.
        """
        if self.is_relaxation and state.synchronous and apart and state.next_values is state.values:
            state.next_values = reuse.empty(self._arrays.n, self.bound.value)
            self.sync_buffers(state, everywhere=True)

    def load(self, state: State) -> None:
        self.invalidate_cache()
        own_array = state.synchronous and not self.is_relaxation
        state.next_values = np.empty_like(state.values) if own_array else state.values
        state.has_sums = self._trails = self._pull.one_value = False
        state.frontier.loosen()
        state.next_frontier = VertexSet.empty(self._arrays.n)

    def invalidate_cache(self) -> None:
        self._push.forget_frontier()

    def step(self, state: State, decision: Decision) -> StepResult:
        """One iteration, or several if the decision allows them and the caller need not see the state in between."""
        if self._chains and decision.mode == PUSH and decision.ahead is not None:
            done = self._chain(state, self.out_source, decision.ahead)
            if done is not None:
                self._push.forget_frontier()
                return StepResult([done], 0, self.name, decision.sharing)
        if (ahead := decision.ahead) is not None and self._may_repeat(state, ahead):
            done = self._several(state, decision.mode, ahead.most)
            if done is not None:
                return StepResult([done], 0, self.name, decision.sharing)
        self._pull.sums = self._push_deltas.sums if decision.keeps_sums else None
        self._reenters = decision.reenters
        # What `done` holds for needs no edges: a pull need not read them from disk.
        self._skips_done = self.graph.on_disk and self.is_relaxation and "done" in self.bound.arguments
        try:
            return super().step(state, decision)
        finally:
            self._skips_done = False  # a hybrid executor calls `begin` and `process` itself

    def _may_repeat(self, state: State, ahead: Ahead) -> bool:
        """As `may_repeat`, for a whole graph and a program whose pulls do not end late."""
        is_whole = self._arrays.place is None and state.unfinished_edges is None
        return is_whole and may_repeat(self.bound, self.graph, state, ahead)

    def _several(self, state: State, mode: str, most: int | None) -> PageResult | None:
        """Do several iterations that all do the same, at most `most`; None if each pulls several pages, or none."""
        kernels, pages = self._kernels, self.pages
        if mode == PULL_TILED:
            self._launch.prepare(kernels.pull_tiled)
            pull = partial(self._pull_tiled, state, kernels.pull_tiled, self.out_source)
        elif len(pages) != 1 or (task := self._pull.task(pages[0], state, PULL)) is None:
            return None
        elif task.calls == 1:
            self._launch.prepare(kernels.pull_few)
            return self._pull_few(self.source.edges(pages[0]), state, task, most)
        else:
            self._pull.prepare(state, PULL)
            pull = partial(self._pull.run, self.source.edges(pages[0]), state, task)

        def pull_all() -> list[PageResult]:
            state.next_frontier.clear()
            return [pull()]

        self._push.forget_frontier()
        how = PageDecision(mode, CPU)
        return repeat(pull_all, state.swap_values, self.bound, self.graph, state, how, most)[0]

    def begin(self, state: State, mode: str) -> int:
        if self._trails and not self._replaces_all(state, mode):
            self._copy_active(state)
            self._trails = False
        if mode == PUSH:
            if self.bound.is_relaxation and not self.is_relaxation and state.next_values is not state.values:
                self.sync_buffers(state, everywhere=True)  # a pull over every edge leaves older values there
            return 0
        self._push.forget_frontier()
        if mode in (COMPONENTS, PULL_TILED):
            state.next_frontier.clear()
            return 0
        self._keep_apart(state, state.changeable > 0 or mode == NOTIFY_PULL)
        state.next_frontier.clear()
        if "prepare" in self.bound.arguments:
            kernel = self._kernels.prepare
            self._launch.prepare(kernel)
            first, last = self._runs.of_vertices()
            self._launch(kernel, len(first), state, first_vertex=first, last_vertex=last)
        if mode == PULL:
            self._skips_done = self._skips_done and state.synchronous and self._pull.find_unfinished(state)
            self._pull.prepare(state, UNFINISHED if self._skips_done else mode)
            if self._pull.reads_active_only(state) and not state.synchronous:
                state.frontier.loosen()  # `pull_active` adds vertices that change to it during the iteration
            return 0
        self._pull.prepare(state, mode)
        return self.notify(state)

    def notify(self, state: State) -> int:
        """Put the vertices to update in ``state.notified``; return the number of out-edges followed."""
        self._launch.prepare(COUNT_EDGES, self._notify.kernel)
        if state.active_count == self._arrays.n or self.bound.total is not None:
            state.notified.fill(self._arrays.n)  # every vertex must be updated, also those without in-edges
            return 0
        state.notified.clear()
        if self.bound.reads_dst:
            state.notified.add(state.frontier)  # gather reads `dst`, so a vertex is in effect its own in-neighbour
        return self._notify(state, self.out_source)

    def list_edges(self, vertices: VertexSet, to: EdgeBuffers) -> int:
        return self._list_edges(vertices, self.out_source, to)

    def notified_edges(self, pages: Iterable[Page], state: State) -> Array | None:
        if "prepare" in self.bound.arguments:  # `prepare` has rewritten the values of all vertices
            return None
        _, starts = self._runs.prefix_of(state.notified, self._arrays.in_edges.offsets, 0, self._arrays.n)
        bounds = np.array([(page.first_vertex, page.last_vertex) for page in pages], np.int64).reshape(-1, 2)
        before = np.interp(bounds, np.arange(len(starts)) * BLOCK, starts)
        return before[:, 1] - before[:, 0]

    def count(self, vertices: VertexSet, offsets: Array, first: int, last: int) -> tuple[int, int]:
        """The number of `vertices` in [first, last), and of their edges by these `offsets`."""
        if first == last:
            return 0, 0
        self._launch.prepare(COUNT_EDGES)
        count, prefix = self._runs.prefix_of(vertices, offsets, first, last)
        return count, int(prefix[-1])

    def open_bucket(self, state: State) -> Any:
        self._push.forget_frontier()
        return self._push.open_bucket(state, self._kernels.open_bucket)

    def process(self, pages: Iterable[Page], source: PageSource, state: State, mode: str) -> list[PageResult]:
        if mode == PUSH and not self.bound.is_relaxation:
            return [self._push_deltas(state, self.out_source, self._copy_active)]
        if mode == PUSH and self._reenters:
            self._push.forget_frontier()
            self._pull.one_value = False
            return [self._reentry(state, self.out_source)]
        if mode == PUSH:
            self._keep_apart(state, state.changeable > 0)
            return [self._push(state, self.out_source)]
        if mode == PULL_TILED:
            self._keep_apart(state, True)
            return [self._pull_tiled(state, self._kernels.pull_tiled, self.out_source)]
        if mode == COMPONENTS:
            return self._components(state, source)
        if mode == PULL and self._skips_done:
            mode = UNFINISHED
        results = {page: PageResult(0, 0, 0, 0, None, skipped=True) for page in pages}
        tasks = {page: task for page in results if (task := self._pull.task(page, state, mode)) is not None}
        wanted = partial(edge_ranges, state.notified, self._arrays.in_edges.offsets) if mode != PULL else None
        due = list(tasks)
        if self.order is not None:
            due = in_order(tasks, self.order)
        elif self.after_pull is None:  # it is told of pages in ascending order
            due = source.held_first(tasks)
        source.prefetch(due, wanted)
        for page in due:
            self.pool.about = {"page": page.number, "edges": page.edges}
            results[page] = self._pull.run(source.edges(page), state, tasks[page])
            source.release(page)
            tell(self.on_page, page, state)
            if self.after_pull is not None and mode == PULL:
                self.after_pull(page, state)
        self.pool.about = {}
        return list(results.values())

    def commit(self, state: State, mode: str) -> None:
        sums = self._pull.sums if mode == PULL else self._push_deltas.sums
        state.has_sums = sums is not None and mode in (PULL, PULL_TILED, PUSH)
        if state.next_values is state.values or (mode == PUSH and not self.bound.is_relaxation):
            return
        if self._replaces_all(state, mode):
            state.values, state.next_values = state.next_values, state.values
            self._trails = self.is_relaxation
            return
        changed = state.next_frontier if self.is_relaxation or mode == PUSH else state.notified
        self._copy(changed, state.next_values, state.values)

    def _replaces_all(self, state: State, mode: str) -> bool:
        """Whether an iteration writes all vertices' values to the second array, which then becomes the first.

        Relaxations rather copy what has changed, so that both arrays are equal, as other executors require. But rows
        are long, and no other executor shares a run in which they may be pushed.
        """
        if self.is_relaxation and (not self.bound.columns or self._pull.reads_active_only(state)):
            return False
        return mode in (PULL, PULL_TILED)

    def sync_buffers(self, state: State, everywhere: bool = False) -> None:
        if everywhere:
            self._launch.prepare(COPY)
            copy_words(state.values, state.next_values, self.pool)
        else:
            self._copy_active(state)

    def _copy_active(self, state: State) -> None:
        """Copy the values of the active vertices to the second array."""
        self._copy(state.frontier, state.values, state.next_values)

    def _copy(self, changed: VertexSet, source: Array, to: Array) -> None:
        """Copy the values of the vertices in `changed` from `source` to `to`."""
        self._launch.prepare(self._kernels.commit)
        first, last = self._runs.of_vertices(whole=not changed.is_wide)
        self._launch(
            self._kernels.commit, len(first), None, vertices=changed.bits, vertices_blocks=changed.blocks,
            first_vertex=first, last_vertex=last, new_words=source.view(np.uint32), old_words=to.view(np.uint32),
        )  # fmt: skip

    def activate_page(self, page: Page, done: PageResult, state: State) -> PageResult:
        first, last, offsets = page.first_vertex, page.last_vertex, self._arrays.out_edges.offsets
        state.next_frontier.put(first, last)
        return replace(
            done, active=page.vertices, active_edges=int(offsets[last] - offsets[first]), changeable=page.vertices
        )

    def report(self, state: State, source: PageSource | None = None) -> Array:
        self._pull_tiled.release()  # the verification of the answer can use the tiles' memory
        if self.bound.reports_values:
            return state.values
        kernel = self._kernels.result
        self._launch.prepare(kernel)
        parents = None
        if self.bound.finds_parents:
            parents = self._parents(self._kernels.find_parents, state, source or self.source)
        spare = state.next_values  # the same array as `values` if there is only one
        same_size = spare.dtype.itemsize == self.bound.reports.itemsize
        reported = spare.view(self.bound.reports) if same_size else reuse.empty(self._arrays.n, self.bound.reports)
        first, last = self._runs.of_vertices()
        if self._arrays.place is not None:
            first, last = (np.clip(bounds, *self._arrays.own) for bounds in (first, last))
        lost = self._launch(
            kernel, len(first), state, reported=reported, parents=parents, first_vertex=first, last_vertex=last
        )
        if any(lost.tolist()):
            raise ValuesTooWide
        return reported
