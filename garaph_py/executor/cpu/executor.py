"""The executor on the CPU: threads take a page's edges in equal runs (Garaph section 4.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ... import events
from ...graph import Graph
from ...graph.graph import Edges
from ...graph.tiles import Tiles
from ...graph.vertex_set import BLOCK, WORD, VertexSet
from ...native import ArgumentTable, Kernel, PerCall, prepare
from ...native.job import PUBLISH, WORK
from ...native.threads import ThreadPool, split
from ...pages.layout import Page
from ...pages.memory import few_edges
from ...pages.memory_source import MemoryPageSource
from ...pages.provider import SourceFactory
from ...pages.source import PageEdges, PageSource
from ...program import BoundProgram
from ...program.functions import partial_dtype
from ..modes import CPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from ..protocol import Capabilities, OpenPlan, PageResult, sum_partials
from ..state import State
from ..step import StepByParts
from .edges import Reader, Windows, reader_of
from .notify import SELECT, make_notify
from .partitions import Partitions
from .program import kernels
from .pull_tiled import tiles_of
from .push import TO_THE_END

Array = npt.NDArray[Any]

WHOLE: tuple[Any, ...] = (0, 0, 0, TO_THE_END)
"""All of a page in one run."""
WORTH_A_THREAD = 1 << 12
"""Edges or vertices worth a call of their own: at least as much work as handing it out."""
SCATTERED = 8
"""So many edges in order cost what one to anywhere does, along which a vertex notifies or pushes: a cache miss each."""
MOST_CUTS = 1 << 12
"""Pages, or parts of them, whose runs are remembered."""
FEW = 32
"""Among so many edges one from an active vertex: few are."""
RUNS, RUN = 64, 1 << 18
"""So many runs, or more for runs of so many edges, where whoever is free takes the next."""


class CpuExecutor(StepByParts):
    """One bound program on the CPU.

    Parameters
    ----------
    bound : BoundProgram
    graph : Graph
    pool : ThreadPool
    listener : callable
        Is told when functions are compiled.
    one_partition_per_thread : bool
        A page is cut into one run of edges a thread, and every vertex gathers from every in-neighbour, as the paper has
        it. Otherwise a page is cut into the same runs whatever the number of threads, which take them as they are free;
        and where the program is a relaxation, only active vertices contribute.

    Attributes
    ----------
    is_relaxation : bool
        Only active vertices contribute: the values of the others stand in both arrays of a synchronous run.
    out_source : PageSource
        The out-edges. Where they stay on disk, `open` or `assist` asks for them.
    """

    out_source: PageSource
    name: ClassVar[str] = CPU
    modes: tuple[str, ...] = (PULL, NOTIFY_PULL, PUSH, PULL_TILED)

    def __init__(
        self,
        bound: BoundProgram,
        graph: Graph,
        pool: ThreadPool,
        listener: events.Listener,
        one_partition_per_thread: bool = False,
    ) -> None:
        self.bound, self.graph, self.pool, self._listener = bound, graph, pool, listener
        self._one_partition_per_thread = one_partition_per_thread
        self.is_relaxation = bound.is_relaxation and not one_partition_per_thread
        if not graph.has_valued_out_edges and bound.reads_edge_values:
            self.modes = (PULL, NOTIFY_PULL)
        self._edge = bound.edge if bound.reads_edge_values else None
        self._reader = reader_of(graph.in_edges, self._edge)
        self._out_reader = reader_of(graph.out_edges, None)
        self._kernels, self._notifies = kernels(bound, self._reader), make_notify(self._out_reader)
        self.out_source = MemoryPageSource(graph.out_edges, pages=[Page(0, 0, graph.n, 0, graph.m)])
        self._windows: dict[tuple[Reader, int], Windows] = {}
        self._offsets = graph.in_edges.offsets, graph.out_edges.offsets
        self._partitions: dict[int, Partitions] = {}
        self._sums: Array | None = None
        self._tiles: Tiles | None = None
        self._found: dict[Page, Array] | None = None  # `_speakers`, if the last superstep left them
        self._prepared: set[Kernel] = set()
        self._rows: dict[tuple[str, int], ArgumentTable] = {}
        self._cuts: dict[Page, tuple[Array, ...]] = {}

    @cached_property
    def _push_edges(self) -> Edges:
        """The out-edges, and their values if the program reads them: those of a directed graph in memory are made."""
        return self.graph.out_edges if self._edge is None else self.graph.valued_out_edges(self.pool)

    @cached_property
    def _push_reader(self) -> Reader:
        return reader_of(self._push_edges, self._edge)

    @property
    def _push_source(self) -> PageSource:
        """The pages of these; where they stay on disk, `out_source` has the values, too."""
        return (
            self.out_source if self.graph.on_disk else MemoryPageSource(self._push_edges, pages=self.out_source.pages)
        )

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(CPU, self.modes, has_priorities=True, threads=self.pool.size)

    def open(self, plan: OpenPlan, sources: SourceFactory, state: State | None = None) -> State:
        needs = plan.memory.cpu
        sources.divide(needs)
        if needs.tiles:
            most = few_edges(sources.room)
            self.source = self.out_source = sources.out(None, min(plan.page_edges or most, most))
        else:
            self.source = sources.into(plan.page_edges)
            self.out_source = sources.out(self.source)
        if state is None:
            return self.initialize(plan.synchronous)
        self.load(state)
        return state

    def assist(self, sources: SourceFactory) -> None:
        """Get ready to notify for a device, and to take pages beside it: out-edges, and threads that are awake."""
        self.out_source = sources.out(None)
        self._prepare(PUBLISH, WORK)
        self.pool.start()

    def close(self) -> None:
        """Nothing to give back: threads, graph and pages belong to the caller."""

    def initialize(self, synchronous: bool) -> State:
        """Initial values, first frontier, first total."""
        init = self._kernels.init
        self._prepare(init, PUBLISH, WORK)
        n = self.graph.n
        values = np.empty(n, self.bound.value)
        active = VertexSet.empty(n)
        first, last = self._vertex_runs()
        counts, partials = np.zeros((len(first), 4), np.int64), np.zeros(len(first), partial_dtype(self.bound.total))
        self._launch(
            init, len(first), n, *self._offsets, values, self.bound.parameters, self.bound.vertex_data, active.bits,
            active.blocks, PerCall(counts), PerCall(partials), first, last,
        )  # fmt: skip
        _, active_count, active_edges, changeable = map(int, counts.sum(axis=0))
        total = None
        if self.bound.total is not None:
            total = sum_partials([partials], partials.dtype).astype(self.bound.total)
        own_array = synchronous and not self.is_relaxation
        state = State.empty(values, np.empty_like(values) if own_array else values, synchronous, active)
        state.active_count, state.active_edges, state.changeable = active_count, active_edges, changeable
        state.total = total
        return state

    def _keep_apart(self, state: State, apart: bool) -> None:
        """If need be, two arrays, equal when a superstep of a relaxing program begins.

        It takes but one where only active vertices are read and none of them can change.
        """
        if self.is_relaxation and state.synchronous and apart and state.next_values is state.values:
            state.next_values = state.values.copy()

    def load(self, state: State) -> None:
        self.invalidate_cache()
        own_array = state.synchronous and not self.is_relaxation
        state.next_values = np.empty_like(state.values) if own_array else state.values
        state.frontier.loosen()
        state.next_frontier = VertexSet.empty(self.graph.n)

    def invalidate_cache(self) -> None:
        self._found = None

    def begin(self, state: State, mode: str) -> int:
        if mode in (PUSH, PULL_TILED):
            return 0
        self._found = None
        self._keep_apart(state, state.changeable > 0 or mode == NOTIFY_PULL)
        state.next_frontier.clear()
        if "prepare" in self.bound.arguments:
            kernel = self._kernels.prepare
            self._prepare(kernel)
            arrays = (self.graph.n, *self._offsets, state.values, self.bound.parameters, self.bound.vertex_data)
            first, last = self._vertex_runs()
            self._launch(kernel, len(first), *arrays, state.frontier.bits, first, last)
        if mode == PULL:
            from_active = self._pulls_from_active(state)
            self._prepare(self._kernels.pull_active if from_active else self._kernels.pull, self._kernels.settle)
            if from_active and not state.synchronous:
                state.frontier.loosen()  # vertices that change are added to it as the superstep goes on
            return 0
        known = self._kernels
        self._prepare(known.pull_notified, known.settle)
        return self.notify(state)

    def notify(self, state: State) -> int:
        """Find the vertices that active ones notify, for whoever updates them; out-edges followed."""
        self._prepare(SELECT, self._notifies)
        if state.active_count == self.graph.n or self.bound.total is not None:
            state.notified.fill(self.graph.n)  # everybody has something to see: also those without in-edges
            return 0
        state.notified.clear()
        if self.bound.reads_dst:
            state.notified.add(state.frontier)  # such a vertex is in effect its own in-neighbour
        return self._notify(state)

    def notified_edges(self, pages: Iterable[Page], state: State) -> Array | None:
        if "prepare" in self.bound.arguments:  # it has rewritten values of every page
            return None
        _, starts = self._selected(state.notified, self.graph.in_edges, 0, self.graph.n)
        bounds = np.array([(page.first_vertex, page.last_vertex) for page in pages], np.int64).reshape(-1, 2)
        before = np.interp(bounds, np.arange(len(starts)) * BLOCK, starts)
        return before[:, 1] - before[:, 0]

    def _pulls_from_active(self, state: State) -> bool:
        """To look whether a source is active pays where very few are, or where one that is ends the gather: it is hard
        to predict, and values are fetched ahead of a plain pull."""
        return self.is_relaxation and ("done" in self.bound.arguments or state.active_edges * FEW < self.graph.m)

    def _notify(self, state: State) -> int:
        out, active, notified, source = self.graph.out_edges, state.frontier, state.notified, self.out_source
        found = self._speakers(active, source)
        source.expect(found, partial(ranges_of, active, out.offsets), values=False)
        for page, starts in found.items():
            block, position, start, stop = self._runs_of(starts, int(starts[-1]), "right", SCATTERED)
            edges = self._edges(self._out_reader, source.edges(page), len(start))
            self._launch(
                self._notifies, len(start), *edges, active.bits, active.blocks, page.first_vertex, page.last_vertex,
                out.offsets, notified.bits, notified.blocks, page.first_vertex // BLOCK + block, position, start, stop,
            )  # fmt: skip
            source.release(page)
        return sum(int(starts[-1]) for starts in found.values())

    def _speakers(self, active: VertexSet, source: PageSource) -> dict[Page, Array]:
        """The pages with out-edges of active vertices, and prefix sums of these by block."""
        found: dict[Page, Array] = {}
        for page in source.pages:
            count, starts = self._selected(active, self.graph.out_edges, page.first_vertex, page.last_vertex)
            if count and starts[-1]:
                found[page] = starts
        return found

    def _push(self, state: State) -> PageResult:
        out, active, activated, source = self.graph.out_edges, state.frontier, state.next_frontier, self._push_source
        reader = self._push_reader
        push = kernels(self.bound, reader).push
        self._prepare(push, SELECT)
        self._keep_apart(state, state.changeable > 0)
        activated.clear()
        found, self._found = self._found, None
        large = state.active_edges + state.active_count > WORTH_A_THREAD
        in_runs = large and self.pool.size > 1
        if found is None and (in_runs or len(source.pages) > 1):
            found = self._speakers(active, source)
        pages = source.pages if found is None else list(found)
        source.expect(pages, partial(ranges_of, active, out.offsets))
        done = np.zeros(4, np.int64)
        for page in pages:
            parts, (block, position, start, stop) = 1, WHOLE
            if found is not None and in_runs:
                block, position, start, stop = self._runs_of(found[page], int(found[page][-1]), "right", SCATTERED)
                parts = len(start)
            edges, counts = self._edges(reader, source.edges(page), parts), self._parts(parts).counts
            self._launch(
                push, parts, *edges, page.first_vertex, page.last_vertex, out.offsets, state.values,
                state.next_values, self.bound.parameters, active.bits, active.blocks, activated.bits, activated.blocks,
                state.pending.bits, state.pending.blocks, state.thresholds, int(not state.synchronous), int(not large),
                PerCall(counts), page.first_vertex // BLOCK + block, position, start, stop,
            )  # fmt: skip
            source.release(page)
            done += counts[:parts].sum(axis=0)
        followed, active_count, active_edges, changeable = map(int, done)
        if large:  # their edges are counted in a walk in order, which the next push needs anyway
            self._found = self._speakers(activated, source)
            active_edges = sum(int(starts[-1]) for starts in self._found.values())
        return PageResult(followed, active_count, active_edges, changeable, None)

    def open_bucket(self, state: State) -> Any:
        self._found = None
        out, n = self.graph.out_edges, self.graph.n
        self._prepare(self._kernels.advance)
        first, last = self._vertex_runs(whole=not state.pending.is_wide)
        counts, least = self._parts(len(first)).counts, np.empty(len(first), state.values.dtype)
        waits = self._launch(
            self._kernels.advance, len(first), n, out.offsets, state.values, self.bound.parameters, state.pending.bits,
            state.pending.blocks, state.frontier.bits, state.frontier.blocks, state.thresholds, PerCall(counts),
            PerCall(least), first, last,
        )  # fmt: skip
        count, edges = map(int, counts[: len(first), :2].sum(axis=0))
        state.active_count, state.active_edges = state.active_count + count, state.active_edges + edges
        waiting = least[waits.astype(bool)]
        return waiting.min().item() if len(waiting) else None

    def _pull_tiled(self, state: State) -> PageResult:
        self._prepare(self._kernels.pull_tiled)
        self._keep_apart(state, True)
        self._found = None
        state.next_frontier.clear()
        bound, activated = self.bound, state.next_frontier
        if self._tiles is None:
            self._tiles = tiles_of(self.graph, bound.reads_edge_values, self.out_source, self.pool)
        tiles = self._tiles
        own = self._parts(tiles.blocks)
        if self._sums is None:
            self._sums = np.empty(self.graph.n, bound.accumulator)
        self._launch(
            self._kernels.pull_tiled, tiles.blocks, tiles.edges, tiles.values, self.graph.n, *self._offsets,
            state.values, state.next_values, bound.parameters, bound.vertex_data, state.total, activated.bits,
            activated.blocks, self._sums, tiles.starts, tiles.blocks, PerCall(own.counts), PerCall(own.partials),
            np.arange(tiles.blocks),
        )  # fmt: skip
        own.forget_settled()
        return own.result(bound)

    def process(self, pages: Iterable[Page], source: PageSource, state: State, mode: str) -> list[PageResult]:
        if mode == PUSH:
            return [self._push(state)]
        if mode == PULL_TILED:
            return [self._pull_tiled(state)]
        tasks = [(page, self._task(page, state, mode)) for page in pages]
        wanted = partial(ranges_of, state.notified, self._offsets[0]) if mode == NOTIFY_PULL else None
        source.expect([page for page, task in tasks if task is not None], wanted)
        results = []
        for page, task in tasks:
            if task is None:
                results.append(PageResult(0, 0, 0, 0, None, skipped=True))
                continue
            self.pool.about = {"page": page.number, "edges": page.edges}
            results.append(self._run(source.edges(page), state, *task))
            source.release(page)
        self.pool.about = {}
        return results

    def _task(self, page: Page, state: State, mode: str) -> tuple[Kernel, int, tuple[Any, ...]] | None:
        """The kernel for a page, how many calls of it, and what they take; None if there is nobody to update."""
        if mode == PULL:
            runs = self._page_runs(page)
            if self._pulls_from_active(state):
                return self._kernels.pull_active, len(runs[0]), (state.frontier.bits, *runs)
            return self._kernels.pull, len(runs[0]), (PerCall(self._parts(len(runs[0])).sums), *runs)
        notified, span = state.notified, (page.first_vertex, page.last_vertex)
        count, starts = self._selected(notified, self.graph.in_edges, *span)
        if not count:
            return None
        # "left": the notified vertices without in-edges that stand right at a bound belong to what follows it.
        block, position, start, stop = self._runs_of(starts, int(starts[-1]), "left")
        stop[-1] = TO_THE_END
        task = (notified.bits, notified.blocks, *span, page.first_vertex // BLOCK + block, position, start, stop)
        return self._kernels.pull_notified, len(start), task

    def _run(self, edges: PageEdges, state: State, kernel: Kernel, parts: int, task: tuple[Any, ...]) -> PageResult:
        """Gather and apply in parallel, then settle the vertices that the partitions' bounds cut."""
        own, bound, activated = self._parts(parts), self.bound, state.next_frontier
        context = (
            self.graph.n, *self._offsets, state.values, state.next_values, bound.parameters, bound.vertex_data,
            state.total, activated.bits, activated.blocks,
        )  # fmt: skip
        early = int(state.synchronous)
        self._launch(
            kernel, parts, *self._edges(self._reader, edges, parts), *context, early, PerCall(own.heads),
            PerCall(own.tails), PerCall(own.cuts), PerCall(own.counts), PerCall(own.partials), *task,
        )  # fmt: skip
        own.forget_settled()
        if parts > 1:
            self._launch(
                self._kernels.settle,
                1,
                *context,
                early,
                own.heads,
                own.tails,
                own.cuts,
                own.last_count,
                own.last_partial,
                parts,
            )
        return own.result(bound)

    def commit(self, state: State, mode: str) -> None:
        if state.next_values is state.values:
            return
        if mode in (PULL, PULL_TILED) and not self.is_relaxation:
            state.values, state.next_values = state.next_values, state.values
            return
        self._copy(state.next_frontier if self.is_relaxation else state.notified, state.next_values, state.values)

    def sync_buffers(self, state: State) -> None:
        self._copy(state.frontier, state.values, state.next_values)

    def _copy(self, changed: VertexSet, source: Array, to: Array) -> None:
        """The values of those that changed, from one array to the other."""
        self._prepare(self._kernels.commit)
        first, last = self._vertex_runs(whole=not changed.is_wide)
        arrays = source.view(np.uint32), to.view(np.uint32)
        self._launch(self._kernels.commit, len(first), changed.bits, changed.blocks, first, last, *arrays)

    def activate_page(self, page: Page, done: PageResult, state: State) -> PageResult:
        first, last, offsets = page.first_vertex, page.last_vertex, self.graph.out_edges.offsets
        state.next_frontier.put(first, last)
        return replace(
            done, active=page.vertices, active_edges=int(offsets[last] - offsets[first]), changeable=page.vertices
        )

    def report(self, state: State) -> Array:
        self._tiles = None  # whoever verifies the answer has their memory
        if "result" not in self.bound.arguments:
            return state.values
        kernel = self._kernels.result
        self._prepare(kernel)
        spare = state.next_values  # the values themselves where there is but one array
        same_size = spare.dtype.itemsize == self.bound.reports.itemsize
        reported = spare.view(self.bound.reports) if same_size else np.empty(self.graph.n, self.bound.reports)
        arrays = (self.graph.n, *self._offsets, state.values, self.bound.parameters, self.bound.vertex_data, reported)
        first, last = self._vertex_runs()
        self._launch(kernel, len(first), *arrays, first, last)
        return reported

    def _prepare(self, *needed: Kernel) -> None:
        """Compile what is needed and was not before; told to the listener once."""
        new = [kernel for kernel in needed if kernel not in self._prepared]
        if new:
            prepare(new, self._listener)
            self._prepared.update(new)

    def _launch(self, kernel: Kernel, parts: int, *arguments: Any) -> Array:
        """`parts` calls of `kernel`, in rows that are kept for the next time."""
        key = kernel.key, parts
        if key not in self._rows:
            self._rows[key] = ArgumentTable(kernel, parts)
        return self.pool.launch(self._rows[key].fill(*arguments))

    def _edges(self, reader: Reader, edges: PageEdges, parts: int) -> tuple[Any, ...]:
        """What `parts` calls take as their edges."""
        key = reader, parts
        if key not in self._windows:
            self._windows[key] = Windows(parts, reader)
        return self._windows[key].arguments(edges)

    def _parts(self, parts: int) -> Partitions:
        if parts not in self._partitions:
            self._partitions[parts] = Partitions(parts, self.bound)
        return self._partitions[parts]

    def _selected(self, vertices: VertexSet, adjacency: Edges, first: int, last: int) -> tuple[int, Array]:
        """How many of `vertices` lie in [first, last), and prefix sums of their edges by block."""
        base, stop = first // BLOCK, (last - 1) // BLOCK + 1
        sums = np.zeros(stop - base + 1, np.int64)
        parts = self._count_of(last - first) if vertices.is_wide else 1
        blocks = base + np.array(split(stop - base, parts))
        counts = self._launch(
            SELECT,
            parts,
            vertices.bits,
            vertices.blocks,
            adjacency.offsets,
            first,
            last,
            sums[1:],
            blocks[:-1],
            blocks[1:],
        )
        return int(counts.sum()), np.cumsum(sums)

    def _runs_of(self, starts: Array, edges: int, side: Any, each: int = 1) -> tuple[Array, Array, Array, Array]:
        """Equal runs of the edges of a set, any of which costs as much as `each` of a page: the block that a run begins
        in, where that stands, first and last edge."""
        bounds = np.array(split(edges, self._count_of(each * edges)), np.int64)
        blocks = np.searchsorted(starts[1:-1], bounds[:-1], side=side)
        return blocks, starts[blocks], bounds[:-1], bounds[1:]

    def _page_runs(self, page: Page) -> tuple[Array, ...]:
        """Equal runs of a page's edges, and the vertices that begin in them."""
        if page not in self._cuts:
            if len(self._cuts) >= MOST_CUTS:
                self._cuts.clear()
            bounds = page.first_edge + np.array(split(page.edges, self._count_of(page.edges)), np.int64)
            offsets = self._offsets[0][page.first_vertex : page.last_vertex]
            cuts = np.searchsorted(offsets, bounds) + page.first_vertex
            cuts[0], cuts[-1] = page.first_vertex, page.last_vertex
            self._cuts[page] = bounds[:-1], bounds[1:], cuts[:-1], cuts[1:]
        return self._cuts[page]

    def _vertex_runs(self, whole: bool = False) -> tuple[Array, Array]:
        """Equal runs of all vertices, or one; they begin where blocks do."""
        n = self.graph.n
        bounds = np.array([0, n] if whole else split(-(-n // BLOCK), self._count_of(n))) * BLOCK
        bounds[-1] = n
        return bounds[:-1], bounds[1:]

    def _count_of(self, edges: int) -> int:
        """Runs that so many edges or vertices are worth."""
        many = 1 << (edges // RUN).bit_length() >> 1  # a power of two: what is kept is kept for each number of runs
        most = self.pool.size if self._one_partition_per_thread else max(RUNS, many)
        return max(1, min(most, edges // WORTH_A_THREAD))


def ranges_of(vertices: VertexSet, offsets: Array, page: Page) -> Array:
    """First and last edge of every word of a page's vertices that holds some of `vertices`, shape (words, 2).

    The lists of 64 vertices that stand side by side are mostly read in the time of one of them.
    """
    first = (page.words.start + np.flatnonzero(vertices.bits[page.words])) * WORD
    ranges: Array = offsets[np.clip(np.stack((first, first + WORD), 1), page.first_vertex, page.last_vertex)]
    return ranges
