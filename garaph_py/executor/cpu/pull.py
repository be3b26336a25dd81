"""Pull over one page, whose edges are divided equally among the calls of a kernel (Garaph section 4.1).

A call gets one partition: a run of the page's edges. It gathers for and applies the vertices whose edges all lie in the
partition. If a bound of the partition cuts the edges of a vertex, the call writes a partial sum: `head` if the edges
begin in an earlier partition, `tail` if they begin in this one. `merge_partial_sums` then adds the partial sums of each
cut vertex, from the last partition to the first, and applies the vertex. Gather and apply are fused: a call keeps only
the accumulators of 64 neighbouring vertices at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph.arrays import GraphArrays
from ...graph.vertex_set import BLOCK, WORD
from ...native import no_unroll, prefetch_near
from ...pages.layout import Page
from ...pages.source import PageEdges
from ..modes import NOTIFY_PULL, PULL
from ..results import PageResult
from ..state import State
from .edges import AHEAD, IN_ORDER, PARTS_OF_LISTS, Reader, source_of
from .functions import Functions
from .launch import Launcher
from .nearby import has_nearby_sources
from .records import RecordKernel
from .runs import Runs
from .update import CONTEXT, make_tally, make_update, make_update_word
from .walk import LISTS, NOTHING, TO_THE_END, bit_of, insert_word, make_for_each_list

Array = npt.NDArray[Any]

STREAM = 256
"""Prefetch distance for sources that are read in order, in edges (1 KB). Not measured by itself."""

PARTITION = ("early", "head", "tail", "cuts", "counts", "partial")
"""Arguments of a kernel whose calls are partitions of a page."""
PULLED = (*CONTEXT, *PARTITION, "accumulators", "nearby", "first_edge", "last_edge", "first_vertex", "last_vertex")
"""Arguments of a kernel that pulls along all edges of a partition."""
SUMS = ("sums",)
"""The argument of a kernel that keeps the vertices' sums."""


def make_gather(f: Functions, reader: Reader, filtered: bool = False, streams: bool = False, few: bool = False):
    """Add the contributions of edges [begin, end) of vertex v to ``acc``; return `acc` and the number of edges visited.

    If `filtered`, only active sources contribute: contributions of inactive sources are already in the value. If the
    kernel `streams`, it reads all edges in order, and only once. So it prefetches the sources, and the values of these
    sources, whose loads take most of the time unless sources are `nearby`. If it visits `few` edges, most gathers end
    after the first; then it reads the value of ``t.shared`` for all, if that is a vertex.
    """
    gather, add, done, load, edge, fetch = f.gather, f.sum, f.done, f.value.load, f.edge_at, f.value.fetch
    in_place = reader.in_place

    def make_walk(fetches):
        # wide: a reader's walk calls it for each part of a list
        def segment(acc, begin, end, sources, base, last, before, edge_values, values_base, context):
            t, old, active = context
            for e in range(begin, end):
                no_unroll()
                if streams:
                    ahead = e - base + AHEAD
                    if in_place:
                        prefetch_near(sources, ahead + STREAM)
                        ahead = min(ahead, last)
                    if fetches:
                        fetch(t.values, source_of(sources, ahead, 0))
                if t.early and done(t.parameters, acc, old):
                    return acc, e - begin
                source = source_of(sources, e - base, before)
                if not filtered or active[source >> 6] & bit_of(source) != np.uint64(0):
                    at = t.shared if few and t.shared >= 0 else source
                    value, weight = load(t.values, at), edge(edge_values, e - values_base)
                    acc = add(acc, gather(t.parameters, value, weight, old, source))
            return acc, end - begin

        return reader.walk(segment, IN_ORDER if streams else PARTS_OF_LISTS, is_done if few else None)

    def is_done(acc, context):
        t, old, _ = context
        return t.early and done(t.parameters, acc, old)

    walk, walk_nearby, may_be_nearby = make_walk(True), make_walk(False), streams and in_place

    # wide: a gather depends on all of these; the compiler inlines it
    def gather_edges(t, acc, old, v, begin, end, edges, active):
        if may_be_nearby and t.nearby:
            return walk_nearby(acc, t.in_offsets, v, begin, end, edges, (t, old, active))
        return walk(acc, t.in_offsets, v, begin, end, edges, (t, old, active))

    return gather_edges


def make_leave_sum(f: Functions):
    """Write the partial sum of a vertex if a bound of the partition cuts its edges; return whether one does."""
    store = f.accumulator.store

    def leave_sum(t, v, acc, cut_before, cut_after):
        if cut_before:
            store(t.head, 0, acc)
            t.cuts[0] = v
        elif cut_after:
            store(t.tail, 0, acc)
            t.cuts[1] = v
        return cut_before or cut_after

    return leave_sum


def make_store_sum(f: Functions, keeps_sums: bool):
    """Store a vertex's sum in `sums`, if the kernel keeps sums, so that a later iteration may push deltas to it."""
    store = f.accumulator.store

    def store_sum(t, v, acc):
        if keeps_sums:
            store(t.sums, v, acc)

    return store_sum


def make_pull_partition(f: Functions, reader: Reader, keeps_sums: bool = False):
    """Build ``pull(edges, t)``, which takes the arguments `PULLED`."""
    keep_sum = make_store_sum(f, keeps_sums)
    gather_edges, update, leave_sum = make_gather(f, reader, streams=True), make_update(f), make_leave_sum(f)
    update_word = make_update_word(f)
    identity, load, load_sum, store_sum = f.identity, f.value.load, f.accumulator.load, f.accumulator.store
    zero, add, leave = make_tally(f)

    def pull(edges, t):
        """Pull along the edges [first_edge, last_edge), in which the lists of [first_vertex, last_vertex) begin.

        Where gathers may end early, they are made for 64 vertices, which are then applied: with less work between two
        gathers, more of their loads are in flight at the same time. Otherwise each vertex is applied at once; in an
        asynchronous run, the next gather can read the new value.
        """
        chunk = 64 if t.early else 1
        first, last, start, stop = t.first_vertex, t.last_vertex, t.first_edge, t.last_edge
        t.cuts[0], t.cuts[1] = -1, -1
        visits, tally = NOTHING, zero()
        earliest = first - np.int64(start < stop and t.in_offsets[first] > start)
        for w in range(earliest >> 6, ((last - 1) >> 6) + 1):
            word = np.uint64(0)
            u, end_of_word = max(earliest, w << 6), min(last, (w + 1) << 6)
            while u < end_of_word:
                u_end = min(u + chunk, end_of_word)
                begin = t.in_offsets[u]
                for v in range(u, u_end):
                    end = t.in_offsets[v + 1]
                    acc, visited = gather_edges(
                        t, identity(t.parameters), load(t.values, v), v, max(begin, start), min(end, stop), edges,
                        t.next_frontier,
                    )  # fmt: skip
                    store_sum(t.accumulators, v - u, acc)
                    visits += visited
                    begin = end
                if chunk > 1 and t.in_offsets[u] >= start and t.in_offsets[u_end] <= stop:  # no bound cuts these lists
                    if keeps_sums:
                        for v in range(u, u_end):
                            keep_sum(t, v, load_sum(t.accumulators, v - u))
                    tally, word = update_word(t, tally, word, t.accumulators, u, u, u_end)
                else:
                    for v in range(u, u_end):
                        acc, old = load_sum(t.accumulators, v - u), load(t.values, v)
                        if not leave_sum(t, v, acc, t.in_offsets[v] < start, t.in_offsets[v + 1] > stop):
                            keep_sum(t, v, acc)
                            done = update(t, v, acc, old)
                            tally = add(tally, done)
                            word |= np.uint64(done[0]) << np.uint64(v & 63)
                u = u_end
            insert_word(t.next_frontier, t.next_frontier_blocks, w, word)
        leave(t, visits, tally)
        return 0

    return pull


def make_pull(f: Functions, reader: Reader, keeps_sums: bool = False) -> RecordKernel:
    return RecordKernel("pull", make_pull_partition(f, reader, keeps_sums), PULLED + SUMS * keeps_sums, f, reader)


def make_pull_notified(f: Functions, reader: Reader, active_only: bool = False) -> RecordKernel:
    """Make the kernel that pulls for a set of vertices; if `active_only`, from active sources only."""
    gather_edges, update = make_gather(f, reader, filtered=active_only), make_update(f, filtered=active_only)
    leave_sum = make_leave_sum(f)
    identity, load = f.identity, f.value.load
    zero, add, leave = make_tally(f)

    def clear_word(acc, w, words, context):
        visits, tally, _ = acc
        return visits, tally, np.uint64(0)

    def pull_list(acc, v, begin, end, cut_before, cut_after, context):
        edges, t = context
        visits, tally, word = acc
        old = load(t.values, v)
        active = t.frontier if active_only else t.notified
        acc, visited = gather_edges(t, identity(t.parameters), old, v, begin, end, edges, active)
        if not leave_sum(t, v, acc, cut_before, cut_after):
            done = update(t, v, acc, old)
            tally = add(tally, done)
            word |= np.uint64(done[0]) << np.uint64(v & 63)
        return visits + visited, tally, word

    def insert_activated(acc, w, words, context):
        t = context[1]
        insert_word(t.next_frontier, t.next_frontier_blocks, w, acc[2])
        return acc

    for_each_list = make_for_each_list(pull_list, clear_word, insert_activated)

    def pull_notified(edges, t):
        """Pull along the run's edges, which are in-edges of the page's notified vertices.

        The `stop` of the last run is `TO_THE_END`, so that it includes the vertices without in-edges at the page's end.
        """
        t.cuts[0], t.cuts[1] = -1, -1
        run = t.first_vertex, t.last_vertex, t.block, t.position, t.start, t.stop
        acc = (NOTHING, zero(), np.uint64(0))
        visits, tally, _ = for_each_list(acc, t.notified, t.notified_blocks, t.in_offsets, run, (edges, t))
        leave(t, visits, tally)
        return 0

    names = (*CONTEXT, *PARTITION, "notified", "notified_blocks", *LISTS)
    return RecordKernel("pull_notified", pull_notified, names + ("frontier",) * active_only, f, reader)


def make_find_unfinished(f: Functions) -> RecordKernel:
    done, identity, load = f.done, f.identity, f.value.load

    def find_unfinished(t):
        """Make `notified` the set of the vertices in [first_vertex, last_vertex) that have in-edges and are not `done`.

        The range begins at a multiple of 4096.
        """
        for block in range(t.first_vertex >> 12, ((t.last_vertex - 1) >> 12) + 1):
            found = np.uint64(0)
            for w in range(block << 6, min((block + 1) << 6, ((t.last_vertex - 1) >> 6) + 1)):
                word = np.uint64(0)
                for v in range(w << 6, min((w + 1) << 6, t.last_vertex)):
                    is_open = t.in_offsets[v + 1] > t.in_offsets[v]
                    if is_open and not done(t.parameters, identity(t.parameters), load(t.values, v)):
                        word |= bit_of(v)
                t.notified[w] = word
                found |= word
            t.notified_blocks[block] = np.uint8(found != np.uint64(0))
        return 0

    names = ("in_offsets", "values", "parameters", "notified", "notified_blocks", "first_vertex", "last_vertex")
    return RecordKernel("find_unfinished", find_unfinished, names, f)


def make_merge_partial_sums(f: Functions, keeps_sums: bool = False) -> RecordKernel:
    update, combine, keep_sum = make_update(f), f.sum, make_store_sum(f, keeps_sums)
    load, load_sum, store_sum = f.value.load, f.accumulator.load, f.accumulator.store
    add_total, load_partial, store_partial = f.add_total, f.partial.load, f.partial.store

    def merge_partial_sums(t):
        """Merge the partial sums of the partitions, last to first, and apply the vertices that they belong to.

        `head`, `tail`, `cuts` and `partial` are the arrays of all partitions; `counts` belongs to this call. A vertex's
        part of the total is added to that of the partition in which its edges begin.
        """
        active, active_edges, changeable = NOTHING, NOTHING, NOTHING
        for k in range(t.partitions - 1, 0, -1):
            v = t.cuts[2 * k]
            if v < 0:
                continue
            head = load_sum(t.head, k)
            if t.cuts[2 * k - 1] != v:  # the vertex's edges begin in a still earlier partition
                store_sum(t.head, k - 1, combine(load_sum(t.head, k - 1), head))
                continue
            acc = combine(load_sum(t.tail, k - 1), head)
            keep_sum(t, v, acc)
            is_active, changes, out_edges, part = update(t, v, acc, load(t.values, v))
            store_partial(t.partial, k - 1, add_total(load_partial(t.partial, k - 1), part))
            if is_active:
                active, active_edges, changeable = active + 1, active_edges + out_edges, changeable + np.int64(changes)
                insert_word(t.next_frontier, t.next_frontier_blocks, v >> 6, bit_of(v))
        t.counts[0], t.counts[1], t.counts[2], t.counts[3] = NOTHING, active, active_edges, changeable
        return 0

    names = (*CONTEXT, *(name for name in PARTITION if name != "early"), "partitions")
    return RecordKernel("merge_partial_sums", merge_partial_sums, names + SUMS * keeps_sums, f)


VARIOUS = -1
"""The argument `shared` if the values of active vertices may differ."""
UNFINISHED = "unfinished"
"""Name of a pull for the vertices in `State.notified` only, because all others are `done`."""
UNFINISHED_SHARE = 0.75
"""Maximal share of the edges that such a pull reads. With more, it takes longer than one that reads all: it looks for
its lists, and does not prefetch values. In degree order, the two pulls of a BFS over kron 22 would read 0.65 and 0.014
of the edges, in the order given 1.0 and 0.94 (docs/results/ssd.md, "In degree order")."""
PULL_ACTIVE_RATIO = 32
"""`pull_active` is used when fewer than one edge in 32 leads from an active vertex. With more, its branch on whether a
source is active is hard to predict, and a plain pull gains more by prefetching values."""

FEW_VISITS = 2
"""`pull_active` is also used when a pull is expected to visit fewer edges than this for each vertex of the graph,
because then most vertices are done: it took 4 ms, and the plain pull, which takes longer for each such vertex, 16 (64
searches from R-MAT 20, one thread)."""


@dataclass(frozen=True)
class Task:
    """How to pull one page: a kernel and the one that merges its partial sums, the number of calls, and the arguments
    that say which edges each call has."""

    kernel: RecordKernel
    merge: RecordKernel
    calls: int
    span: dict[str, Any]


class Pull:
    """Runs the pull kernels, page by page.

    Parameters
    ----------
    launcher : Launcher
    runs : Runs
    arrays : GraphArrays
    reader : Reader
        Reads the in-edges.
    kernels : Kernels
        The program's kernels for these edges.
    every_edge : bool
        Every vertex gathers from every in-neighbour.

    Attributes
    ----------
    sums : ndarray of the accumulators' dtype, shape (n,), or None
        Where a pull stores the vertices' sums; None if it does not keep them.
    one_value : bool
        In each superstep, all active vertices have the same value. Then a pull whose gathers mostly end at the first
        active source reads that value once, and not at each source's random address.
    """

    def __init__(
        self,
        launcher: Launcher,
        runs: Runs,
        arrays: GraphArrays,
        reader: Reader,
        kernels: Any,
        every_edge: bool,
    ) -> None:
        self._launch, self._runs, self._arrays, self._reader, self._kernels = launcher, runs, arrays, reader, kernels
        self._every_edge = every_edge
        # Of a relaxation: contributions of inactive vertices are already in the values.
        self._only_active_contribute = launcher.bound.is_relaxation and not every_edge
        self.sums: Array | None = None
        self.one_value, self._shared = False, VARIOUS

    def reads_active_only(self, state: State) -> bool:
        """Whether a pull skips inactive sources (`pull_active`): it pays off if very few sources are active, if one
        active source can end the gather, or if most vertices are done, which it skips faster."""
        bound, left = self._launch.bound, state.unfinished_edges
        one_may_end = "done" in bound.arguments and not bound.ends_late
        few_active = state.active_edges * PULL_ACTIVE_RATIO < self._arrays.m
        few_left = left is not None and left < FEW_VISITS * self._arrays.n
        return self._only_active_contribute and (one_may_end or few_active or few_left)

    def _kernels_for(self, state: State, mode: str) -> tuple[RecordKernel, RecordKernel]:
        """The kernel that pulls in this iteration, and the one that merges its partial sums."""
        kernels = self._kernels
        if mode == NOTIFY_PULL:
            return kernels.pull_notified, kernels.merge_partial_sums
        if mode == UNFINISHED:
            return kernels.pull_unfinished, kernels.merge_partial_sums
        if self.sums is not None:
            return kernels.pull_keeping, kernels.merge_keeping
        return kernels.pull_active if self.reads_active_only(state) else kernels.pull, kernels.merge_partial_sums

    def find_unfinished(self, state: State) -> bool:
        """Put the vertices that are not `done` in ``state.notified``; return whether reading their lists is worth it.

        A read of many lists covers those of 64 neighbouring vertices (`runs.edge_ranges`).
        """
        kernel = self._kernels.find_unfinished
        self._launch.prepare(kernel)
        first, last = self._runs.of_vertices()
        self._launch(kernel, len(first), state, first_vertex=first, last_vertex=last)
        arrays, begins = self._arrays, np.flatnonzero(state.notified.bits) * WORD
        offsets = arrays.in_edges.offsets
        read = (offsets[np.minimum(begins + WORD, arrays.n)] - offsets[begins]).sum()
        return bool(read <= UNFINISHED_SHARE * arrays.m)

    def prepare(self, state: State, mode: str) -> None:
        """Compile the kernels of this iteration, and choose the vertex whose value all active vertices have."""
        kernel, merge = self._kernels_for(state, mode)
        self._launch.prepare(kernel, *[merge] * self._runs.may_cut)
        is_one = self.one_value and self.ends_early(state)
        self._shared = state.frontier.first() if is_one else VARIOUS

    def ends_early(self, state: State) -> bool:
        """Whether a gather ends where `done` says so."""
        return state.synchronous and not self._every_edge

    def task(self, page: Page, state: State, mode: str) -> Task | None:
        """How to pull a page; None if no vertex of the page was notified."""
        kernels = self._kernels_for(state, mode)
        if mode == PULL:
            first_edge, last_edge, first_vertex, last_vertex = self._runs.of_page(page)
            span: dict[str, Any] = {
                "first_edge": first_edge, "last_edge": last_edge, "first_vertex": first_vertex,
                "last_vertex": last_vertex,
            }  # fmt: skip
            if "shared" in kernels[0].places:
                span["shared"] = self._shared
            if not self.reads_active_only(state):
                span["accumulators"] = self._launch.partitions(len(first_edge)).accumulators
                span["nearby"] = int(has_nearby_sources(self._arrays))
            return Task(*kernels, len(first_edge), span)
        first, last = page.first_vertex, page.last_vertex
        count, prefix = self._runs.prefix_of(state.notified, self._arrays.in_edges.offsets, first, last)
        if not count:
            return None
        # "left": notified vertices without in-edges at a bound belong to the run that begins there.
        block, position, start, stop = self._runs.of_set(prefix, "left")
        stop[-1] = TO_THE_END
        run = {
            "first_vertex": first, "last_vertex": last, "block": first // BLOCK + block, "position": position,
            "start": start, "stop": stop,
        }  # fmt: skip
        return Task(*kernels, len(start), run)

    def run(self, edges: PageEdges, state: State, task: Task) -> PageResult:
        """Gather and apply in parallel, then merge the partial sums of vertices that the partitions' bounds cut."""
        calls, launch = task.calls, self._launch
        own, ends_early = launch.partitions(calls), self.ends_early(state)
        kept: dict[str, Any] = {"sums": self.sums} if task.kernel is self._kernels.pull_keeping else {}
        launch(
            task.kernel, calls, state, launch.edges(self._reader, edges, calls), early=int(ends_early),
            **own.arguments, **task.span, **kept,
        )  # fmt: skip
        own.clear_merge()
        if calls > 1:
            launch(
                task.merge, 1, state, head=own.heads, tail=own.tails, cuts=own.cuts, counts=own.merge_counts,
                partial=own.partials, partitions=calls, **kept,
            )  # fmt: skip
        return own.result(launch.bound)
