"""Push: active vertices bring what they contribute along their out-edges, by atomic operations on one word.

For programs that are relaxations (`BoundProgram.is_relaxation`). The out-edges of the active vertices, laid end to
end, are divided equally over the threads, as in `notify`. Synchronous runs read `values` and sum into `pending`,
which are equal when a superstep begins. Asynchronous ones sum in place; there a vertex that changed before its turn
has come is not due again, and with `limits` those of a priority beyond the second wait in `later`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph import Graph
from ...graph.graph import Edges
from ...graph.vertex_set import BLOCK
from ...native import Kernel, PerCall, atomic_and, atomic_load, compare_and_swap, trailing_zeros
from ...pages.layout import Page
from ...pages.memory_source import MemoryPageSource
from ...pages.source import PageSource
from ..protocol import PageResult
from ..state import State
from .edges import Reader, reader_of, source_of
from .functions import Functions
from .launch import Launcher
from .pull import signature
from .runs import RANDOM_ACCESS_EDGES, WHOLE_PAGE, Runs, edge_ranges
from .sets import SELECT, mark

Array = npt.NDArray[Any]

AHEAD = 4
"""Words of the active set ahead of which to fetch the first targets."""
ALL = np.uint64((1 << 64) - 1)
"""A word of vertices."""


def make_relax(f: Functions):
    """Sum a contribution into a vertex's value; whether that changed, and to what."""
    add, activate = f.sum, f.activate

    def relax(self, values, v, contribution):
        while True:
            old = values[v]
            new = add(old, contribution)
            if not activate(self, new, old):
                return False, new
            if compare_and_swap(values, v, old, new):
                return True, new

    return relax


def make_push(f: Functions, reader: Reader, priorities: bool) -> Kernel:
    """`priorities`: whether vertices beyond the limit wait."""
    relax, gather, priority, edge = make_relax(f), f.gather, f.priority, f.edge_at
    done, identity, fetch = f.done, f.identity, reader.fetch
    load_parameters, view_parameters = f.parameters.load, f.parameters.view

    def segment(acc, begin, end, targets, base, last, before, edge_values, values_base, context):
        """`acc`: vertices that become active, their out-edges if that `weighs`, and how many may change again."""
        self, v, value, pending, out_offsets, sets, limits, in_place, weighs = context
        activated, activated_blocks, later, later_blocks = sets
        count, count_edges, changeable = acc
        for e in range(begin, end):
            target = source_of(targets, e - base, before)
            contribution = gather(self, value, edge(edge_values, e - values_base), value, v)
            changed, new = relax(self, pending, target, contribution)
            if changed:
                if priorities and in_place and priority(self, new) > limits[1]:
                    mark(later, later_blocks, target)
                elif mark(activated, activated_blocks, target):
                    count += 1
                    if weighs:
                        count_edges += out_offsets[target + 1] - out_offsets[target]
                    changeable += not done(self, identity(self), new)
        return (count, count_edges, changeable), end - begin

    walk = reader.walk(segment, False)

    def push(
        edges, first, last, out_offsets, values, pending, parameters_, active, blocks, activated, activated_blocks,
        later, later_blocks, limits, in_place, weighs, counts, block, position, start, stop,
    ):  # fmt: skip
        """Edges [start, stop) of the concatenated out-edges of the active ones of vertices [first, last).

        Counts the out-edges of who becomes active if it `weighs`: a cache miss each.
        The first active vertex of `block` has its edges at `position` there.
        """
        self = load_parameters(view_parameters(parameters_), 0)
        sets = activated, activated_blocks, later, later_blocks
        followed, count, count_edges, changeable = 0, 0, 0, 0
        words = ((last - 1) >> 6) + 1
        w = max(block << 6, first >> 6)
        while w < words and position < stop:
            if w & 63 == 0 and blocks[w >> 6] == 0:
                w += 64
                continue
            ahead = active[min(w + AHEAD, words - 1)]
            while ahead != np.uint64(0):
                v = (min(w + AHEAD, words - 1) << 6) + trailing_zeros(ahead)
                ahead &= ahead - np.uint64(1)
                fetch(edges, out_offsets[v])
            word = active[w]
            if w == first >> 6:
                word &= ALL << np.uint64(first & 63)
            if w == words - 1:
                word &= ALL >> np.uint64(63 - ((last - 1) & 63))
            while word != np.uint64(0):
                v = (w << 6) + trailing_zeros(word)
                own = word & (~word + np.uint64(1))
                word ^= own
                begin = out_offsets[v]
                end = out_offsets[v + 1]
                here = position
                position += end - begin
                if here >= stop:
                    break
                whole = here >= start and position <= stop
                if in_place and whole and atomic_load(activated, w) & own != np.uint64(0):
                    atomic_and(activated, w, ~own)  # before its value is read: a later change makes it due again
                    count -= 1
                    count_edges -= end - begin
                from_, to = begin + max(start - here, 0), min(end, begin + (stop - here))
                followed += max(to - from_, 0)
                context = self, v, values[v], pending, out_offsets, sets, limits, in_place, weighs
                acc, _ = walk((count, count_edges, changeable), out_offsets, v, from_, to, edges, context)
                count, count_edges, changeable = acc
            w += 1
        counts[0], counts[1], counts[2], counts[3] = followed, count, count_edges, changeable
        return 0

    sets = "u64* u8* u64* u8* u64* u8*"
    text = "i64 i64 i64* {value} {value} {parameters} " + sets + " {value} i64 i64 i64* i64 i64 i64 i64"
    return reader.kernel(signature(f, text), push)


def make_advance(f: Functions) -> Kernel:
    priority, load_parameters, view_parameters = f.priority, f.parameters.load, f.parameters.view

    def advance(
        n, out_offsets, values, parameters_, later, later_blocks, active, blocks, limits, counts, least, first, last
    ):
        """Of the vertices [first, last) in `later`, those between the limits become active; first and last stand at
        multiples of 4096.

        One not beyond ``limits[0]`` changed again while it waited, and has had its turn. Whether any still waits; the
        least priority of those goes to ``least[0]``.
        """
        self = load_parameters(view_parameters(parameters_), 0)
        count, count_edges = 0, 0
        none_waits = True
        for block in range(first >> 12, ((last - 1) >> 12) + 1):
            if later_blocks[block] == 0:
                continue
            waiting = np.uint64(0)
            for w in range(block << 6, min((block + 1) << 6, ((n - 1) >> 6) + 1)):
                word = later[w]
                remaining, due = word, np.uint64(0)
                while remaining != np.uint64(0):
                    v = (w << 6) + trailing_zeros(remaining)
                    own = remaining & (~remaining + np.uint64(1))
                    remaining ^= own
                    p = priority(self, values[v])
                    if not p > limits[1]:
                        word ^= own
                        if p > limits[0]:
                            due |= own
                            count += 1
                            count_edges += out_offsets[v + 1] - out_offsets[v]
                    elif none_waits or p < least[0]:
                        least[0] = p
                        none_waits = False
                later[w] = word
                waiting |= word
                if due != np.uint64(0):
                    active[w] |= due
                    blocks[block] = 1
            if waiting == np.uint64(0):
                later_blocks[block] = 0
        counts[0], counts[1] = count, count_edges
        return not none_waits

    text = "i64 i64* {value} {parameters} u64* u8* u64* u8* {value} i64* {value} i64 i64"
    return Kernel(signature(f, text), advance)


class Push:
    """Runs the push kernel over the pages of out-edges, and `advance` over the vertices that wait.

    Parameters
    ----------
    launcher : Launcher
    runs : Runs
    graph : Graph
    reads_values : bool
        The program reads edge values: the out-edges are pushed along with theirs.
    kernels_of : callable
        ``kernels_of(reader)``: the program's `Kernels` for edges that `reader` reads.
    """

    def __init__(
        self, launcher: Launcher, runs: Runs, graph: Graph, reads_values: bool, kernels_of: Callable[[Reader], Any]
    ) -> None:
        self._launch, self._runs, self._graph, self._kernels_of = launcher, runs, graph, kernels_of
        self._edge = launcher.bound.edge if reads_values else None
        self._active_pages: dict[Page, Array] | None = None  # of the frontier, if the last superstep left them

    def forget_frontier(self) -> None:
        """What is kept of the frontier no longer holds."""
        self._active_pages = None

    @cached_property
    def _edges(self) -> Edges:
        """The out-edges, with values if the program reads them; those of a directed graph in memory are made once."""
        graph = self._graph
        return graph.out_edges if self._edge is None else graph.valued_out_edges(self._launch.pool)

    @cached_property
    def _reader(self) -> Reader:
        return reader_of(self._edges, self._edge)

    def _source(self, out_source: PageSource) -> PageSource:
        """Pages of the out-edges with what the program reads of them; on disk `out_source` has the values, too."""
        return out_source if self._graph.on_disk else MemoryPageSource(self._edges, pages=out_source.pages)

    def __call__(self, state: State, out_source: PageSource) -> PageResult:
        """Push along the out-edges of every active vertex."""
        out, active, activated, source = self._graph.out_edges, state.active, state.activated, self._source(out_source)
        kernel = self._kernels_of(self._reader).push
        self._launch.prepare(kernel, SELECT)
        activated.clear()
        found, self._active_pages = self._active_pages, None
        large = self._runs.is_worth_sharing(state.active_edges + state.active_count)
        in_runs = large and self._launch.pool.size > 1
        if found is None and (in_runs or len(source.pages) > 1):
            found = self._runs.active_pages(active, source)
        pages = source.pages if found is None else list(found)
        source.expect(pages, partial(edge_ranges, active, out.offsets))
        done = np.zeros(4, np.int64)
        for page in pages:
            calls, (block, position, start, stop) = 1, WHOLE_PAGE
            if found is not None and in_runs:
                block, position, start, stop = self._runs.of_set(found[page], "right", RANDOM_ACCESS_EDGES)
                calls = len(start)
            edges = self._launch.edges(self._reader, source.edges(page), calls)
            counts = self._launch.partitions(calls).counts
            self._launch(
                kernel, calls, *edges, page.first_vertex, page.last_vertex, out.offsets, state.values,
                state.pending, self._launch.bound.parameters, active.bits, active.blocks, activated.bits,
                activated.blocks, state.later.bits, state.later.blocks, state.limits, int(not state.synchronous),
                int(not large), PerCall(counts), page.first_vertex // BLOCK + block, position, start, stop,
            )  # fmt: skip
            source.release(page)
            done += counts[:calls].sum(axis=0)
        followed, active_count, active_edges, changeable = map(int, done)
        if large:  # the edges of the new frontier are counted here, in order: the next push needs the sums anyway
            self._active_pages = self._runs.active_pages(activated, source)
            active_edges = sum(int(prefix[-1]) for prefix in self._active_pages.values())
        return PageResult(followed, active_count, active_edges, changeable, None)

    def advance(self, state: State, kernel: Kernel) -> Any:
        """Move the waiting vertices of the current bucket to the frontier; the least priority of those that still wait,
        or None."""
        self._launch.prepare(kernel)
        first, last = self._runs.of_vertices(whole=not state.later.is_wide)
        counts, least = self._launch.partitions(len(first)).counts, np.empty(len(first), state.values.dtype)
        waits = self._launch(
            kernel, len(first), self._graph.n, self._graph.out_edges.offsets, state.values,
            self._launch.bound.parameters, state.later.bits, state.later.blocks, state.active.bits,
            state.active.blocks, state.limits, PerCall(counts), PerCall(least), first, last,
        )  # fmt: skip
        count, edges = map(int, counts[: len(first), :2].sum(axis=0))
        state.active_count, state.active_edges = state.active_count + count, state.active_edges + edges
        waiting = least[waits.astype(bool)]
        return waiting.min().item() if len(waiting) else None
