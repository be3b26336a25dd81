"""Push: active vertices send their contributions along their out-edges, by atomic operations on one word at a time. Few
vertices with long lists push by ranges of targets, without atomic operations (push_by_target.py).

Push is for relaxations only (`BoundProgram.is_relaxation`). The out-edges of the active vertices, laid end to end, are
divided equally among the calls, as in `notify`. Synchronous runs read `values` and sum into `next_values`; both are
equal when an iteration begins. Asynchronous runs sum in place: an active vertex that changes before it is visited is
not visited again in the next iteration (except by target); with priorities, a vertex above the second threshold stays
in `pending`.

Programs with priorities push in batches: the edges of list after list enter a batch, and when it is full, their targets
are visited. Meanwhile the values of these are prefetched, and edges that change nothing leave the batch without a
branch.

No atomic operation changes a row of columns. But a column depends on no other, so each is changed by an operation of
its own. As most edges change no column, a row is first read and compared as a whole, with vector instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph.arrays import GraphArrays
from ...graph.vertex_set import BLOCK, WORD
from ...native import PerCall, atomic_and, atomic_load, compare_and_swap, numbers_of, prefetch_kept, room
from ...native.threads import bounds_of
from ...pages.layout import Page
from ...pages.source import PageSource
from ...program.define import define
from ...program.functions import Functions as PlainFunctions
from ..results import PageResult
from ..state import State
from .edges import WHOLE_LISTS, Reader, source_of
from .functions import Functions
from .launch import Launcher
from .out_edges import OutEdges
from .records import RecordKernel
from .runs import RANDOM_ACCESS_EDGES, WHOLE_PAGE, Runs, edge_ranges
from .sets import COUNT_EDGES
from .walk import LISTS, NOTHING, bit_of, insert, insert_own, keep, make_for_each_bit, make_for_each_list

Array = npt.NDArray[Any]

CACHED = 1 << 20
"""Vertices whose values, of 8 bytes, a last-level cache holds beside what a push reads once."""
CACHED_PACKED = 1 << 18
"""Vertices up to which a push along packed edges prefetches no values. They are fewer, because the processor reads no
value while it unpacks a list (docs/results/cpu.md, "Packed edges")."""
FETCHED = 1 << 12
"""The first edges of a list, whose targets' values are prefetched into the second-level cache before the first edge is
visited. A visit has so many instructions that the processor looks only some thirty ahead."""
LEAST_EDGES = 128
"""A push goes range by range (push_by_target.py) if an active vertex has this many targets in a range, on the average:
finding them takes two binary searches, of some twenty steps. With 54, such a push of SSSP over kron 20 took 1.3 to
2.1 times as long on two threads as one that divides the lists (docs/results/cpu.md, "Ranges of targets")."""
RANGES_A_THREAD = 2
"""Ranges of targets for each thread, of about equal numbers of in-edges, so that none waits long for another. With
four, such pushes of SSSP over kron 20 took 1.1 to 1.2 times as long on two threads: each list is searched once more for
each range."""
BATCH = 1 << 10
"""Edges of a batch: their targets take 4 KiB of the first-level cache, and their contributions 4 or 8."""
TARGET = np.dtype(np.uint32)
"""The type of a target in a batch."""
AHEAD = 4
"""Prefetch distance for the first targets of active vertices, in words of the frontier."""
OFFSETS_AHEAD = 8
"""The same for their offsets, with which the targets are found."""
WORDS_AHEAD = 2
"""The same for the words of packed targets, which can be found only once their records are loaded."""


def replace_own(values, v, old, new):
    """`compare_and_swap` where no other thread changes the value, so that it still is `old`."""
    values[v] = new
    return True


def make_relax(f: PlainFunctions, owns: bool = False):
    """Add a contribution to a vertex's value, a number; return whether the value changed, and the new value.

    If the call `owns` the vertex, no other thread changes its value.
    """
    add, activate, exchange = f.sum, f.activate, replace_own if owns else compare_and_swap

    def relax(self, values, v, contribution):
        while True:
            old = values[v]
            new = add(old, contribution)
            if not activate(self, new, old):
                return False, new
            if exchange(values, v, old, new):
                return True, new

    return relax


def make_relax_row(f: Functions, owns: bool):
    """Add a contribution to a vertex's row; return whether any column changed, and what the row has become at least."""
    columns = range(len(f.columns))
    calls = " | ".join(f"relax(self, numbers, first + {c}, contribution[{c}])[0]" for c in columns)
    relax_columns = define(
        f"def relax_columns(self, numbers, first, contribution): return {calls}", relax=make_relax(f.columns[0], owns)
    )
    add, activate, load, width = f.sum, f.activate, f.value.load, len(f.columns)

    def relax_row(self, values, v, contribution):
        # Unless the call owns the row, others may be changing columns; but what changes nothing now never will.
        old = load(values, v)
        new = add(old, contribution)
        if not activate(self, new, old):
            return False, new
        return relax_columns(self, numbers_of(values), v * width, contribution), new

    return relax_row


def make_waits(f: Functions, priorities: bool):
    """Whether a changed vertex waits until its bucket is opened."""
    priority = f.priority
    if not priorities:
        return define("def waits(t, new): return False")

    def waits(t, new):
        return t.in_place and priority(t.parameters, new) > t.thresholds[1]

    return waits


def make_note(f: Functions, priorities: bool, owns: bool):
    """Build ``note(counts, t, target, new)``, which enters a vertex that has changed in the set to which it belongs.

    `counts` is a tuple: the number of vertices that become active, their out-edges, and how many of them may change
    again.
    """
    waits, done, identity, enter = make_waits(f, priorities), f.done, f.identity, insert_own if owns else insert

    def note(counts, t, target, new):
        count, count_edges, changeable = counts
        if waits(t, new):
            enter(t.pending, t.pending_blocks, target)
        elif enter(t.next_frontier, t.next_frontier_blocks, target):
            count += 1
            if t.counts_edges:
                count_edges += t.out_offsets[target + 1] - t.out_offsets[target]
            changeable += not done(t.parameters, identity(t.parameters), new)
        return count, count_edges, changeable

    return note


def make_push_along(f: Functions, priorities: bool, cached: int, owns: bool):
    """Build a segment that pushes from one vertex along some of its out-edges. Of `acc`, which is a tuple, the first
    member is the `counts` of `make_note`. With more than `cached` vertices, values are prefetched."""
    relax, note = make_relax_row(f, owns) if f.columns else make_relax(f, owns), make_note(f, priorities, owns)
    send, edge = f.send, f.edge_at
    cached //= max(len(f.columns), 1)

    # wide: a reader's walk calls it for each part of a list
    def push_along(acc, begin, end, targets, base, last, before, edge_values, values_base, context):
        t, v, source, _ = context
        counts, size = acc
        if t.n > cached:
            for e in range(begin, min(end, begin + FETCHED)):
                prefetch_kept(t.next_values, source_of(targets, e - base, before))
        for e in range(begin, end):
            target = source_of(targets, e - base, before)
            contribution = send(t.parameters, source, edge(edge_values, e - values_base), v)
            changed, new = relax(t.parameters, t.next_values, target, contribution)
            if changed:
                counts = note(counts, t, target, new)
        return (counts, size), end - begin

    return push_along


def make_visit_batch(f: Functions, owns: bool):
    """Build ``visit_batch(counts, t, batch, size)``, which adds the contributions of a batch to their targets.

    `batch` is a tuple of two arrays: the targets of `size` edges, and their contributions.
    """
    add, activate, relax, note = f.sum, f.activate, make_relax(f, owns), make_note(f, True, owns)

    def visit_batch(counts, t, batch, size):
        targets, contributions = batch
        better = NOTHING  # how many edges would change a value; they are moved to the front
        for k in range(size):
            target, contribution = np.int64(targets[k]), contributions[k]
            old = t.next_values[target]
            targets[better], contributions[better] = target, contribution
            better += activate(t.parameters, add(old, contribution), old)
        for k in range(better):
            target = np.int64(targets[k])
            changed, new = relax(t.parameters, t.next_values, target, contributions[k])
            if changed:
                counts = note(counts, t, target, new)
        return counts

    return visit_batch


def make_collect(f: Functions, visit_batch):
    """Build a segment that enters edges in a batch, and visits it when it is full. `acc` is a tuple: the `counts` of
    `make_note`, and the number of edges in the batch."""
    send, edge = f.send, f.edge_at

    # wide: a reader's walk calls it for each part of a list
    def collect(acc, begin, end, targets, base, last, before, edge_values, values_base, context):
        t, v, source, batch = context
        counts, size = acc
        first = begin
        while first < end:
            stop = min(end, first + BATCH - size)
            for e in range(first, stop):
                target = source_of(targets, e - base, before)
                prefetch_kept(t.next_values, target)
                batch[0][size] = target
                batch[1][size] = send(t.parameters, source, edge(edge_values, e - values_base), v)
                size += 1
            first = stop
            if size == BATCH:
                counts, size = visit_batch(counts, t, batch, size), NOTHING
        return (counts, size), end - begin

    return collect


def frontier_of(t):
    return t.frontier


def make_fetch_ahead(reader: Reader, set_of=frontier_of):
    """Prefetch the offsets and the first targets of later words' vertices; of packed targets the records first, and
    then the words.

    A vertex whose predecessor is in the set, too, is left out: its list follows the one that is read before.

    ``set_of(t)`` is the set of vertices among the arguments of the kernel.
    """

    def fetch_offset(acc, v, context):
        prefetch_kept(context[1].out_offsets, v)
        return acc

    def make_fetch_list(fetch):
        def fetch_list(acc, v, context):
            fetch(context[0], context[1].out_offsets[v])
            return acc

        return fetch_list

    def make_fetch(fetch_vertex, distance):
        fetch_word = make_for_each_bit(fetch_vertex)

        def fetch_ahead(acc, w, words, context):
            ahead = min(w + distance, words - 1)
            word = set_of(context[1])[ahead]
            return fetch_word(acc, word & ~(word << np.uint64(1)), ahead, context)

        return fetch_ahead

    offsets, lists = make_fetch(fetch_offset, OFFSETS_AHEAD), make_fetch(make_fetch_list(reader.fetch), AHEAD)
    packed = keep if reader.fetch_words is None else make_fetch(make_fetch_list(reader.fetch_words), WORDS_AHEAD)

    def fetch_all(acc, w, words, context):
        acc = lists(offsets(acc, w, words, context), w, words, context)
        return packed(acc, w, words, context)

    return fetch_all


def make_segment(f: Functions, reader: Reader, priorities: bool, owns: bool):
    """Build the segment of a push, ``new_batch()``, and ``visit_batch`` for what a batch holds at the end.

    If a call `owns` its targets, no other thread changes their values, or enters them in a set.
    """
    if priorities and not f.columns:
        visit_batch, kind = make_visit_batch(f, owns), f.accumulator.dtype

        def new_batch():
            return room(BATCH, TARGET), room(BATCH, kind)

        return make_collect(f, visit_batch), new_batch, visit_batch
    segment = make_push_along(f, priorities, CACHED if reader.in_place else CACHED_PACKED, owns)
    no_batch, none_left = (
        define("def no_batch(): return 0"),
        define("def none_left(counts, t, batch, size): return counts"),
    )
    return segment, no_batch, none_left


def make_push_list(f: Functions, reader: Reader, priorities: bool, owns: bool = False):
    """Build ``push_list``, which pushes along one list as `make_for_each_list` visits it, ``start(edges, t)``, which
    makes its first `acc` and its `context`, and ``finish(acc, context)``.

    `finish` returns the number of edges followed, of vertices that became active, of their out-edges, and how many of
    them may change again. With `priorities`, changed vertices above the open bucket go to `pending`. `owns` is as for
    `make_segment`.
    """
    segment, new_batch, visit_batch = make_segment(f, reader, priorities, owns)
    walk, of_source, load = reader.walk(segment, WHOLE_LISTS), f.of_source, f.value.load

    def start(edges, t):
        return (NOTHING, (NOTHING, NOTHING, NOTHING), NOTHING), (edges, t, new_batch())

    def push_list(acc, v, begin, end, cut_before, cut_after, context):
        edges, t, batch = context
        followed, counts, size = acc
        if t.in_place and not cut_before and not cut_after and atomic_load(t.next_frontier, v >> 6) & bit_of(v):
            # Clear the bit before the vertex's value is read: a later change then activates the vertex again.
            atomic_and(t.next_frontier, v >> 6, ~bit_of(v))
            counts = counts[0] - 1, counts[1] - (end - begin), counts[2]
        followed += max(end - begin, 0)
        source = of_source(load(t.values, v))
        (counts, size), _ = walk((counts, size), t.out_offsets, v, begin, end, edges, (t, v, source, batch))
        return followed, counts, size

    def finish(acc, context):
        _, t, batch = context
        counts = visit_batch(acc[1], t, batch, acc[2])
        return acc[0], counts[0], counts[1], counts[2]

    return push_list, start, finish


def make_push_lists(f: Functions, reader: Reader, priorities: bool):
    """Build ``push_lists(run, edges, t)``, which pushes along the lists of the frontier's vertices.

    `run` is a tuple as for `make_for_each_list`. It returns what ``finish`` of `make_push_list` does.
    """
    push_list, start, finish = make_push_list(f, reader, priorities)
    for_each_list = make_for_each_list(push_list, begin_word=make_fetch_ahead(reader))

    def push_lists(run, edges, t):
        acc, context = start(edges, t)
        return finish(for_each_list(acc, t.frontier, t.frontier_blocks, t.out_offsets, run, context), context)

    return push_lists


PUSHING = (
    "n", "out_offsets", "values", "next_values", "parameters", "frontier", "frontier_blocks", "next_frontier",
    "next_frontier_blocks", "pending", "pending_blocks", "thresholds", "in_place", "counts_edges", "counts",
)  # fmt: skip
"""Arguments of a kernel that pushes along lists."""


def make_push(f: Functions, reader: Reader, priorities: bool) -> RecordKernel:
    """Make the push kernel; `priorities` as for `make_push_lists`."""
    push_lists = make_push_lists(f, reader, priorities)

    def push(edges, t):
        """Push along the run's edges, which are out-edges of the page's active vertices.

        With ``t.counts_edges``, also count the out-edges of the activated vertices, at one cache miss each.
        """
        run = t.first_vertex, t.last_vertex, t.block, t.position, t.start, t.stop
        t.counts[0], t.counts[1], t.counts[2], t.counts[3] = push_lists(run, edges, t)
        return 0

    return RecordKernel("push", push, (*PUSHING, *LISTS), f, reader)


class Push:
    """Runs the push kernel over the pages of out-edges, and the kernel `open_bucket` over the pending vertices.

    Parameters
    ----------
    launcher : Launcher
    runs : Runs
    arrays : GraphArrays
    edges : OutEdges
    kernels_of : callable
        ``kernels_of(reader)``: the program's `Kernels` for edges that `reader` reads.
    """

    def __init__(
        self,
        launcher: Launcher,
        runs: Runs,
        arrays: GraphArrays,
        edges: OutEdges,
        kernels_of: Callable[[Reader], Any],
    ) -> None:
        self._launch, self._runs, self._arrays, self._kernels_of = launcher, runs, arrays, kernels_of
        self._edges = edges
        self._active_pages: dict[Page, Array] | None = None  # pages of the frontier, if the last push found them
        self._opened: Array | None = None  # prefix sums of its edges by block, if it is the bucket just opened

    def forget_frontier(self) -> None:
        """Drop what is known about the frontier's edges."""
        self._active_pages = self._opened = None

    def __call__(self, state: State, out_source: PageSource) -> PageResult:
        """Push along the out-edges of every active vertex."""
        out, active, source = self._arrays.out_edges, state.frontier, self._edges.source(out_source)
        self._launch.prepare(self._kernels_of(self._edges.reader).push, COUNT_EDGES)
        state.next_frontier.clear()
        found, opened = self._active_pages, self._opened
        self.forget_frontier()
        if found is None and opened is not None and len(source.pages) == 1:
            found = {source.pages[0]: opened} if opened[-1] else {}
        large = self._runs.is_worth_sharing(state.active_edges + state.active_count)
        in_runs = large and self._launch.pool.size > 1
        if found is None and (in_runs or len(source.pages) > 1):
            found = self._runs.active_pages(active, source, merges=True)
        pages = source.pages if found is None else list(found)
        source.prefetch(pages, partial(edge_ranges, active, out.offsets))
        done = np.zeros(4, np.int64)
        for page in pages:
            kernel, calls, divided = self._divide(page, None if found is None or not in_runs else found[page], state)
            edges = self._launch.edges(self._edges.reader, source.edges(page), calls)
            counts = self._launch.partitions(calls).counts
            self._launch(
                kernel, calls, state, edges, in_place=int(not state.synchronous), counts_edges=int(not large),
                counts=PerCall(counts), first_vertex=page.first_vertex, last_vertex=page.last_vertex, **divided,
            )  # fmt: skip
            source.release(page)
            done += counts[:calls].sum(axis=0)
        followed, active_count, active_edges, changeable = map(int, done)
        if large:  # count the new frontier's edges here, by sequential access: the next push needs the prefix sums
            following = self._runs.active_pages(state.next_frontier, source, merges=True) if active_count else {}
            active_edges = sum(int(prefix[-1]) for prefix in following.values())
            self._active_pages = following or None
        return PageResult(followed, active_count, active_edges, changeable, None)

    def _divide(self, page: Page, prefix: Array | None, state: State) -> tuple[RecordKernel, int, dict[str, Any]]:
        """The kernel that pushes along a page's lists, the number of its calls, and the arguments that divide the lists
        among these: by `prefix`, the sums of the frontier's edges before each block, if there are to be several."""
        kernels = self._kernels_of(self._edges.reader)
        if prefix is None:
            return kernels.push, 1, dict(zip(LISTS[2:], WHOLE_PAGE, strict=True))
        ranges, arrays = RANGES_A_THREAD * self._launch.pool.size, self._arrays
        has_long_lists = LEAST_EDGES * ranges * state.active_count <= int(prefix[-1])
        if has_long_lists and self._edges.reader.source_at is not None and arrays.place is None:
            bounds = np.searchsorted(arrays.in_edges.offsets, bounds_of(arrays.m, ranges)) // WORD * WORD
            bounds[0], bounds[-1] = 0, arrays.n
            self._launch.prepare(kernels.push_by_target)
            return kernels.push_by_target, ranges, {"start": bounds[:-1], "stop": bounds[1:]}
        block, position, start, stop = self._runs.of_set(prefix, "right", RANDOM_ACCESS_EDGES)
        block = page.first_vertex // BLOCK + block
        return kernels.push, len(start), {"block": block, "position": position, "start": start, "stop": stop}

    def open_bucket(self, state: State, kernel: RecordKernel) -> Any:
        """Move the pending vertices of the open bucket to the frontier; return the least priority of the vertices that
        stay pending, or None."""
        if not state.pending.blocks.any():
            return None
        self._launch.prepare(kernel)
        first, last = self._runs.of_vertices(whole=not state.pending.is_wide)
        counts, least = self._launch.partitions(len(first)).counts, np.empty(len(first), state.values.dtype)
        sums = np.empty(-(-self._arrays.n // BLOCK) + 1, np.int64)
        sums[0] = 0
        waits = self._launch(
            kernel, len(first), state, counts=PerCall(counts), least=PerCall(least), edges_by_block=sums[1:],
            first_vertex=first, last_vertex=last,
        )  # fmt: skip
        state.active_count, state.active_edges = map(int, counts[: len(first), :2].sum(axis=0))
        self._active_pages, self._opened = None, np.cumsum(sums)
        waiting = least[waits.astype(bool)]
        return waiting.min().item() if len(waiting) else None
