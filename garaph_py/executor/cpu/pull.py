"""Pull over one page, edges divided equally over the threads (Garaph section 4.1).

A partition is a run of the page's edges. It finishes the vertices whose edges it holds whole; of a vertex that the
partition's bounds cut it leaves a partial sum, a replica: `heads` for one begun earlier, `tails` for one begun here.
`merge_partial_sums` merges the replicas, at most one a bound, in reverse order and applies them. Gather and apply are
fused: no accumulators are kept but those of a word's vertices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph import Graph
from ...graph.vertex_set import BLOCK
from ...native import Kernel, PerCall, atomic_or, no_unroll, prefetch, trailing_zeros
from ...pages.layout import Page
from ...pages.source import PageEdges
from ..modes import NOTIFY_PULL, PULL
from ..protocol import PageResult
from ..state import State
from .edges import AHEAD, Reader, source_of
from .functions import Functions
from .launch import Launcher
from .runs import Runs
from .sets import TO_THE_END

Array = npt.NDArray[Any]

STREAM = 256
"""Edges ahead to fetch sources that are read as a stream: a kilobyte."""

CONTEXT = "i64 i64* i64* {value} {value} {parameters} {data} {total} u64* u8*"
"""n, in-offsets, out-offsets, values, pending values, parameters, vertex data, total, activated bits, activated blocks;
before them `edges`, where a kernel reads any."""
REPLICAS = " i64 {accumulator} {accumulator} i64* i64* {partial}"
"""Whether `done` counts; per partition: head, tail, [head vertex, tail vertex], [edges, active, active out-edges,
active that may change again], partial total."""


def signature(f: Functions, text: str) -> str:
    return text.format(
        value=f.value.pointer,
        parameters=f.parameters.pointer,
        data=f.data.pointer,
        total=f.total.pointer,
        accumulator=f.accumulator.pointer,
        partial=f.partial.pointer,
    )


def make_views(f: Functions):
    """The pointers of `CONTEXT` and `REPLICAS` as what kernels work on: `self` and total, and arrays."""
    view_value, view_parameters, view_data, view_total = f.value.view, f.parameters.view, f.data.view, f.total.view
    load_parameters, load_total, view_accumulator = f.parameters.load, f.total.load, f.accumulator.view

    def views(values, pending, parameters, data, total, heads, tails):
        return (
            load_parameters(view_parameters(parameters), 0),
            load_total(view_total(total), 0),
            view_value(values),
            view_value(pending),
            view_data(data),
            view_accumulator(heads),
            view_accumulator(tails),
        )

    return views


def make_gather(f: Functions, reader: Reader, filtered: bool = False, streams: bool = False):
    """``acc`` plus the contributions of edges [begin, end) of vertex v, and how many of them were visited.

    If `filtered`, only active sources contribute: what the others have to say was summed before. If it `streams`, edges
    are read from the first to the last and not again, so they are fetched ahead and past the caches; so are the values
    of their sources, for those loads are what takes the time.
    """
    gather, add, done, load, edge, fetch = f.gather, f.sum, f.done, f.value.load, f.edge_at, f.value.fetch
    in_place = reader.in_place

    def segment(acc, begin, end, sources, base, last, before, edge_values, values_base, context):
        self, old, values, early, active = context
        for e in range(begin, end):
            no_unroll()
            if streams:
                ahead = e - base + AHEAD
                if in_place:
                    prefetch(sources, ahead + STREAM)
                    ahead = min(ahead, last)
                fetch(values, source_of(sources, ahead, 0))
            if early and done(self, acc, old):
                return acc, e - begin
            source = source_of(sources, e - base, before)
            if not filtered or (active[source >> 6] >> np.uint64(source & 63)) & np.uint64(1) != np.uint64(0):
                acc = add(acc, gather(self, load(values, source), edge(edge_values, e - values_base), old, source))
        return acc, end - begin

    walk = reader.walk(segment, streams)

    def gather_edges(self, acc, old, offsets, v, begin, end, edges, values, early, active):
        return walk(acc, offsets, v, begin, end, edges, (self, old, values, early, active))

    return gather_edges


def make_update(f: Functions, filtered: bool = False):
    """Apply, store and activate one vertex; whether it is active, may change again, its out-degree, share of the total.

    If `filtered`, a value that stays is not stored: it stands in both arrays.
    """
    apply, activate, aggregate, count, done, identity = f.apply, f.activate, f.aggregate, f.count, f.done, f.identity
    store, load_data = f.value.store, f.data.load

    def update(self, v, acc, old, n, in_offsets, out_offsets, pending, data, total):
        vertex_data = load_data(data, v)
        in_degree = count(in_offsets[v + 1] - in_offsets[v])
        out_edges = out_offsets[v + 1] - out_offsets[v]
        new = apply(self, old, acc, total, v, count(n), in_degree, count(out_edges), vertex_data)
        if not filtered:
            store(pending, v, new)
        part = aggregate(self, new, old, v, count(n), in_degree, count(out_edges), vertex_data)
        is_active = activate(self, new, old)
        if filtered and is_active:
            store(pending, v, new)
        return is_active, not done(self, identity(self), new), out_edges, part

    return update


def make_pull(f: Functions, reader: Reader) -> Kernel:
    gather_edges, update, views = make_gather(f, reader, streams=True), make_update(f), make_views(f)
    identity, add_total, no_total, load = f.identity, f.add_total, f.no_total, f.value.load
    view_accumulator, load_accumulator, store_accumulator = f.accumulator.view, f.accumulator.load, f.accumulator.store
    view_partial, store_partial = f.partial.view, f.partial.store

    def pull(
        edges, n, in_offsets, out_offsets, values_, pending_, parameters_, data_, total_,
        bits, blocks, early, heads_, tails_, cuts, counts, partials_, accs_, start, stop, first, last,
    ):  # fmt: skip
        """Edges [start, stop), in which the vertices [first, last) begin.

        Synchronous runs gather for 64 vertices, then apply them: with less between two gathers, more of their loads
        are under way at a time. Asynchronous ones apply each vertex at once, for the next to see.
        """
        accs, chunk = view_accumulator(accs_), 64 if early else 1
        self, total, values, pending, data, heads, tails = views(
            values_, pending_, parameters_, data_, total_, heads_, tails_
        )
        cuts[0], cuts[1] = -1, -1
        visits, active, active_edges, changeable = 0, 0, 0, 0
        partial = no_total()
        earliest = first - np.int64(start < stop and in_offsets[first] > start)
        for w in range(earliest >> 6, ((last - 1) >> 6) + 1):
            word = np.uint64(0)
            u, end_of_word = max(earliest, w << 6), min(last, (w + 1) << 6)
            while u < end_of_word:
                u_end = min(u + chunk, end_of_word)
                begin = in_offsets[u]
                for v in range(u, u_end):
                    end = in_offsets[v + 1]
                    acc, visited = gather_edges(
                        self, identity(self), load(values, v), in_offsets, v, max(begin, start), min(end, stop),
                        edges, values, early, bits,
                    )  # fmt: skip
                    store_accumulator(accs, v - u, acc)
                    visits += visited
                    begin = end
                for v in range(u, u_end):
                    acc, old = load_accumulator(accs, v - u), load(values, v)
                    if in_offsets[v] < start:
                        store_accumulator(heads, 0, acc)
                        cuts[0] = v
                    elif in_offsets[v + 1] > stop:
                        store_accumulator(tails, 0, acc)
                        cuts[1] = v
                    else:
                        is_active, changes, out_edges, part = update(
                            self, v, acc, old, n, in_offsets, out_offsets, pending, data, total
                        )
                        partial = add_total(partial, part)
                        one = np.int64(is_active)  # no branch: who is active is hard to predict
                        word |= np.uint64(one) << np.uint64(v & 63)
                        active += one
                        active_edges += one * out_edges
                        changeable += one & np.int64(changes)
                u = u_end
            if word != np.uint64(0):
                atomic_or(bits, w, word)
                blocks[w >> 6] = 1
        counts[0], counts[1], counts[2], counts[3] = visits, active, active_edges, changeable
        store_partial(view_partial(partials_), 0, partial)
        return 0

    return reader.kernel(signature(f, CONTEXT + REPLICAS + " {accumulator}") + " i64 i64 i64 i64", pull)


def make_pull_notified(f: Functions, reader: Reader) -> Kernel:
    gather_edges, update, views = make_gather(f, reader), make_update(f), make_views(f)
    identity, add_total, no_total = f.identity, f.add_total, f.no_total
    load, store_accumulator = f.value.load, f.accumulator.store
    view_partial, store_partial = f.partial.view, f.partial.store

    def pull_notified(
        edges, n, in_offsets, out_offsets, values_, pending_, parameters_, data_, total_,
        bits, blocks, early, heads_, tails_, cuts, counts, partials_,
        notified, notified_blocks, first, last, block, position, start, stop,
    ):  # fmt: skip
        """Edges [start, stop) of the concatenated in-edges of the notified vertices in [first, last).

        The first notified vertex of `block` has its edges at `position` there; the last partition has the largest
        `stop` there is, to take vertices without edges along.
        """
        self, total, values, pending, data, heads, tails = views(
            values_, pending_, parameters_, data_, total_, heads_, tails_
        )
        cuts[0], cuts[1] = -1, -1
        visits, active, active_edges, changeable = 0, 0, 0, 0
        partial = no_total()
        words = ((last - 1) >> 6) + 1
        w = max(first >> 6, block << 6)
        while w < words and position < stop:
            if w & 63 == 0 and notified_blocks[w >> 6] == 0:
                w += 64
                continue
            remaining = notified[w]
            if w == first >> 6:
                remaining &= ~np.uint64(0) << np.uint64(first & 63)
            word = np.uint64(0)
            while remaining != np.uint64(0):
                v = (w << 6) + trailing_zeros(remaining)
                remaining &= remaining - np.uint64(1)
                begin = in_offsets[v]
                end = in_offsets[v + 1]
                here = position
                position += end - begin
                if v >= last or here >= stop:
                    break
                if here < start and position <= start:
                    continue
                old = load(values, v)
                acc, visited = gather_edges(
                    self, identity(self), old, in_offsets, v, begin + max(start - here, 0),
                    min(end, begin + (stop - here)), edges, values, early, notified,
                )  # fmt: skip
                visits += visited
                if here < start:
                    store_accumulator(heads, 0, acc)
                    cuts[0] = v
                elif position > stop:
                    store_accumulator(tails, 0, acc)
                    cuts[1] = v
                else:
                    is_active, changes, out_edges, part = update(
                        self, v, acc, old, n, in_offsets, out_offsets, pending, data, total
                    )
                    partial = add_total(partial, part)
                    if is_active:
                        word |= np.uint64(1) << np.uint64(v & 63)
                        active += 1
                        active_edges += out_edges
                        changeable += changes
            if word != np.uint64(0):
                atomic_or(bits, w, word)
                blocks[w >> 6] = 1
            w += 1
        counts[0], counts[1], counts[2], counts[3] = visits, active, active_edges, changeable
        store_partial(view_partial(partials_), 0, partial)
        return 0

    return reader.kernel(signature(f, CONTEXT + REPLICAS) + " u64* u8* i64 i64 i64 i64 i64 i64", pull_notified)


def make_merge_partial_sums(f: Functions) -> Kernel:
    update, views, add = make_update(f), make_views(f), f.sum
    add_total, no_total = f.add_total, f.no_total
    load, load_accumulator, store_accumulator = f.value.load, f.accumulator.load, f.accumulator.store
    view_partial, store_partial = f.partial.view, f.partial.store

    def merge_partial_sums(
        n, in_offsets, out_offsets, values_, pending_, parameters_, data_, total_,
        bits, blocks, early, heads_, tails_, cuts, counts, partials_, parts,
    ):  # fmt: skip
        """Merge the replicas of `parts` partitions, last to first, and apply the vertices they belong to.

        `counts` and `partials_` are those of this step, behind the partitions'.
        """
        self, total, values, pending, data, heads, tails = views(
            values_, pending_, parameters_, data_, total_, heads_, tails_
        )
        active, active_edges, changeable = 0, 0, 0
        partial = no_total()
        for t in range(parts - 1, 0, -1):
            v = cuts[2 * t]
            if v < 0:
                continue
            head = load_accumulator(heads, t)
            if cuts[2 * t - 1] != v:  # the partition before holds only a middle part of this vertex
                store_accumulator(heads, t - 1, add(load_accumulator(heads, t - 1), head))
                continue
            acc = add(load_accumulator(tails, t - 1), head)
            is_active, changes, out_edges, part = update(
                self, v, acc, load(values, v), n, in_offsets, out_offsets, pending, data, total
            )
            partial = add_total(partial, part)
            if is_active:
                atomic_or(bits, v >> 6, np.uint64(1) << np.uint64(v & 63))
                blocks[v >> 12] = 1
                active += 1
                active_edges += out_edges
                changeable += changes
        counts[0], counts[1], counts[2], counts[3] = 0, active, active_edges, changeable
        store_partial(view_partial(partials_), 0, partial)
        return 0

    return Kernel(signature(f, CONTEXT + REPLICAS) + " i64", merge_partial_sums)


PULL_ACTIVE_RATIO = 32
"""Edges of the graph for each edge from an active vertex: where there are more, a pull looks whether a source is active
before it reads its value. Otherwise the look is a branch that is hard to predict, and a plain pull fetches values ahead."""


class Pull:
    """Runs the pull kernels, page by page.

    Parameters
    ----------
    launcher : Launcher
    runs : Runs
    graph : Graph
    reader : Reader
        Reads the in-edges.
    kernels : Kernels
        Of the program, for these edges.
    only_active_contribute : bool
        The program is a relaxation: contributions of inactive vertices are in the values already.
    """

    def __init__(
        self, launcher: Launcher, runs: Runs, graph: Graph, reader: Reader, kernels: Any, only_active_contribute: bool
    ) -> None:
        self._launch, self._runs, self._graph, self._reader, self._kernels = launcher, runs, graph, reader, kernels
        self._only_active_contribute = only_active_contribute

    def reads_active_only(self, state: State) -> bool:
        """Whether a pull looks which sources are active: it pays where very few are, or where one of them ends the
        gather."""
        return self._only_active_contribute and (
            "done" in self._launch.bound.arguments or state.active_edges * PULL_ACTIVE_RATIO < self._graph.m
        )

    def prepare(self, state: State, mode: str) -> None:
        """Compile what pages of this iteration need."""
        kernels = self._kernels
        pulls = kernels.pull_active if self.reads_active_only(state) else kernels.pull
        self._launch.prepare(kernels.pull_notified if mode == NOTIFY_PULL else pulls, kernels.merge_partial_sums)

    def task(self, page: Page, state: State, mode: str) -> tuple[Kernel, int, tuple[Any, ...]] | None:
        """The kernel for a page, the number of calls, and the arguments that only this kernel takes; None if no vertex
        of the page was notified."""
        if mode == PULL:
            runs = self._runs.of_page(page)
            if self.reads_active_only(state):
                return self._kernels.pull_active, len(runs[0]), (state.active.bits, *runs)
            return self._kernels.pull, len(runs[0]), (PerCall(self._launch.partitions(len(runs[0])).sums), *runs)
        notified, span = state.notified, (page.first_vertex, page.last_vertex)
        count, prefix = self._runs.prefix_of(notified, self._graph.in_edges, *span)
        if not count:
            return None
        # "left": notified vertices without in-edges that stand at a bound belong to the run that begins there.
        block, position, start, stop = self._runs.of_set(prefix, "left")
        stop[-1] = TO_THE_END
        task = (notified.bits, notified.blocks, *span, page.first_vertex // BLOCK + block, position, start, stop)
        return self._kernels.pull_notified, len(start), task

    def run(self, edges: PageEdges, state: State, kernel: Kernel, calls: int, task: tuple[Any, ...]) -> PageResult:
        """Gather and apply in parallel, then merge the partial sums of vertices that the partitions' bounds cut."""
        own, bound, activated = self._launch.partitions(calls), self._launch.bound, state.activated
        context = (
            self._graph.n, self._graph.in_edges.offsets, self._graph.out_edges.offsets, state.values, state.pending,
            bound.parameters, bound.vertex_data, state.total, activated.bits, activated.blocks, int(state.synchronous),
        )  # fmt: skip
        self._launch(
            kernel, calls, *self._launch.edges(self._reader, edges, calls), *context, PerCall(own.heads),
            PerCall(own.tails), PerCall(own.cuts), PerCall(own.counts), PerCall(own.partials), *task,
        )  # fmt: skip
        own.clear_merge()
        if calls > 1:
            self._launch(
                self._kernels.merge_partial_sums, 1, *context, own.heads, own.tails, own.cuts, own.merge_counts,
                own.merge_partial, calls,
            )  # fmt: skip
        return own.result(bound)
