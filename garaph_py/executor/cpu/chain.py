"""Many small supersteps of a relaxation in one compiled call: while few edges leave active vertices, launching each
from Python would take longer than doing it.

One thread does them. The active vertices are in a queue; while a superstep fills the next queue, a bit in the next
frontier keeps a vertex from entering it twice. The call returns when the frontier is empty or has too many edges, after
`MOST_SUPERSTEPS`, or after `LONGEST` nanoseconds, so that the host can stop the run, or decide otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph.arrays import GraphArrays
from ...native import clock, prefetch_kept
from ...pages.source import PageSource
from ...program.monoids import largest
from ..decision import Ahead, PageDecision
from ..modes import CPU, PUSH
from ..next_step import make_first_step, make_next_step
from ..results import OpenBucket, PageResult, Supersteps
from ..state import State
from .edges import WHOLE_LISTS, Reader, source_of
from .functions import Functions
from .launch import Launcher
from .out_edges import OutEdges
from .records import RecordKernel
from .walk import NOTHING, bit_of, make_for_each

Array = npt.NDArray[Any]

MOST_EDGES = 1 << 14
"""Edges of the active vertices up to which one thread does a superstep: some 150 microseconds of work (9 ns an edge of
a grid of 1200 x 1200), as long as it takes Python to open a bucket and to begin a superstep."""
MOST_SUPERSTEPS = 1 << 12
"""Supersteps of one call; the log has 40 bytes for each."""
LONGEST = 50_000_000
"""Nanoseconds after which no superstep begins, so that Ctrl-C is noticed in time: 50 ms, which nobody feels."""
MOST_WAITING = 1 << 13
"""Most waiting vertices with which the compiled call opens buckets itself: half as many as `MOST_EDGES`, because one
thread looks at each. Other numbers were not measured."""
ENOUGH_EDGES = 1 << 11
"""Edges that make a bucket large enough for one thread: opening a bucket costs as much as some hundred edges."""
FASTEST = 2
"""How many times as large the step of the next bucket may be. A bucket with too many edges would end the call."""
AHEAD = 16
"""Prefetch distance for the edges of active vertices, in vertices of the queue."""
LINE = 8
"""Vertices whose values and offsets, of 8 bytes, share a cache line."""
BESIDE = 2 * LINE
"""Prefetch distance for vertices with ids near a reached one's: two lines (one gained as much, four less)."""
CACHED = 1 << 19
"""Vertices whose values, offsets and edges mostly lie in the last-level cache: some 16 MB with four edges each."""
ACTIVE, EDGES, FOLLOWED, WAITED, BEGAN = range(5)
"""Columns of the log: vertices that a superstep activated, their out-edges, edges that it followed, waiting vertices
that were visited to open the next bucket, and the time at which it began."""
WIDTH = BEGAN + 1
"""Number of columns of the log."""


def make_enter(f: Functions, priorities: bool, highest: Any):
    """Build ``enter(t, v, new, place, length, waiting)``, which puts a changed vertex into the next queue or among the
    vertices that wait; it returns the length of the queue, and of the list of those that wait."""
    priority = f.priority

    def enter_or_wait(t, v, new, place, length, waiting):
        """Without branches, because which vertices wait is hard to predict. `pending` has all of them; their list is
        not used once it is full."""
        w, p = v >> 6, priority(t.parameters, new)
        waits = p > t.thresholds[1]
        late = bit_of(v) if waits else np.uint64(0)
        soon = bit_of(v) ^ late
        was_late, was_soon = t.pending[w], t.next_frontier[w]
        t.pending[w], t.next_frontier[w] = was_late | late, was_soon | soon
        t.pending_blocks[w >> 6] |= np.uint8(waits)
        t.least[0] = min(t.least[0], p if waits else highest)
        t.queue[place + length] = t.waiting[min(waiting, MOST_WAITING - 1)] = v
        length += np.int64(soon & ~was_soon != np.uint64(0))
        waiting += np.int64((late & ~was_late != np.uint64(0)) & (waiting < MOST_WAITING))
        return length, waiting

    def enter(t, v, new, place, length, waiting):
        if t.next_frontier[v >> 6] & bit_of(v) == np.uint64(0):
            t.next_frontier[v >> 6] |= bit_of(v)
            t.queue[place + length] = v
            length += 1
        return length, waiting

    return enter_or_wait if priorities else enter


def make_push_few_along(f: Functions, enter: Any):
    """Push from one vertex along its out-edges. `acc` is a tuple: the length of the next queue, and that of the list of
    vertices that wait for a later bucket. No other thread writes values, so no operation is atomic."""
    add, activate, send, edge = f.sum, f.activate, f.send, f.edge_at

    # wide: a reader's walk calls it for each part of a list
    def push_few_along(acc, begin, end, targets, base, last, before, edge_values, values_base, context):
        t, v, source, place = context
        for e in range(begin, end):
            target = source_of(targets, e - base, before)
            old = t.values[target]
            new = add(old, send(t.parameters, source, edge(edge_values, e - values_base), v))
            if activate(t.parameters, new, old):
                t.values[target] = t.next_values[target] = new
                prefetch_kept(t.out_offsets, target)  # `settle` or `open_next` reads them
                acc = enter(t, target, new, place, acc[0], acc[1])
        return acc, end - begin

    return push_few_along


def keep_span(t, k, v):
    """Note where the list of vertex v begins and ends, as that of the queue's vertex k; return its length."""
    begin, end = t.out_offsets[v], t.out_offsets[v + 1]
    t.spans[2 * k], t.spans[2 * k + 1] = begin, end
    return end - begin


def make_open_next(f: Functions, highest: Any):
    """Open the next bucket that is not empty: vertices that wait and belong to it enter the queue and the frontier."""
    priority = f.priority

    def open_next(t, place, waiting):
        """Open it; return the queue's length, the number of its vertices' out-edges, and of vertices that still wait
        and that were visited.

        ``least[0]`` is at most the least priority of those that wait: a vertex with it may have been visited since.
        """
        length, edges, looked_at = NOTHING, NOTHING, NOTHING
        while length == 0 and waiting > 0:
            looked_at += waiting
            lowest = t.thresholds[0] = t.thresholds[1]
            begin = max(t.least[0], lowest)
            t.thresholds[1] = highest if begin > highest - t.step[0] else begin + t.step[0]
            least, stay = highest, NOTHING
            for k in range(waiting):
                v = np.int64(t.waiting[k])
                p = priority(t.parameters, t.values[v])
                # Without branches, which would be hard to predict. A vertex up to `lowest` has changed again while it
                # waited, and has been visited since.
                stays, is_due = p > t.thresholds[1], lowest < p and not p > t.thresholds[1]
                t.pending[v >> 6] &= ~(bit_of(v) * np.uint64(not stays))
                t.waiting[stay] = t.queue[place + length] = v
                stay, length = stay + np.int64(stays), length + np.int64(is_due)
                least = min(least, p if stays else highest)
            t.least[0], waiting = least, stay
        for k in range(length):
            v = np.int64(t.queue[place + k])
            edges += keep_span(t, k, v)
        return length, edges, waiting, looked_at

    return open_next


def make_superstep(f: Functions, reader: Reader, enter: Any):
    """Build ``superstep(edges, t, length, place, waiting)``, which does one superstep."""
    fetch, of_source = reader.fetch, f.of_source
    walk = reader.walk(make_push_few_along(f, enter), WHOLE_LISTS)

    def superstep(edges, t, length, place, waiting):
        """Push from the first `length` vertices of the queue's half that does not begin at `place`, to the other half.

        Return the other half's length, how many vertices wait, and the number of edges followed.
        """
        acc, followed, first = (NOTHING, waiting), NOTHING, MOST_EDGES - place
        for k in range(length):
            fetch(edges, t.spans[2 * min(k + AHEAD, length - 1)])
            v = np.int64(t.queue[first + k])
            w, bit, begin, end = v >> 6, bit_of(v), t.spans[2 * k], t.spans[2 * k + 1]
            if t.in_place and t.next_frontier[w] & bit != np.uint64(0):  # it pushes its new value now
                t.next_frontier[w] ^= bit
            value = t.values[v] if t.in_place else t.copies[k]
            followed += end - begin
            acc, _ = walk(acc, t.out_offsets, v, begin, end, edges, (t, v, of_source(value), place))
        return acc[0], acc[1], followed

    return superstep


def make_look_beside(f: Functions, reader: Reader):
    """Build ``look_beside(edges, t, v)``, which prefetches what a search that has reached vertex v probably needs soon.

    Graphs with many small supersteps, such as grids and roads, often have ids by place: a search spreads from v to the
    ids just above or just below. Each vertex is reached in another line of memory than the one before it in the queue,
    and the processor cannot see a pattern in hundreds of such sequences.
    """
    identity, fetch = f.identity, reader.fetch

    def look_beside(edges, t, v):
        """Prefetch towards the adjacent id that has no value yet; nothing if both or neither have one."""
        none, begin, degree = identity(t.parameters), t.out_offsets[v], t.out_offsets[v + 1] - t.out_offsets[v]
        above, below = t.values[min(v + 1, t.n - 1)] == none, t.values[max(v - 1, 0)] == none
        distance = BESIDE * (np.int64(above) - np.int64(below))
        prefetch_kept(t.values, v + distance)
        prefetch_kept(t.out_offsets, v + distance)
        fetch(edges, begin + distance * degree)  # lists are taken to be as long as that of v
        fetch(edges, begin + (distance + distance // 4) * degree)

    return look_beside


def make_settle(f: Functions, reader: Reader, priorities: bool):
    """Build ``settle(edges, t, length, place)``, which makes a queue ready for the next superstep."""
    done, identity, look_beside = f.done, f.identity, make_look_beside(f, reader)

    def settle(edges, t, length, place):
        """Keep one copy of each queued vertex that is in `next_frontier`, and empty this set.

        Return the queue's length, its vertices' out-edges, and how many of these vertices may change again.
        """
        kept, count_edges, changeable = NOTHING, NOTHING, NOTHING
        for k in range(length):
            v = np.int64(t.queue[place + k])
            w, bit = v >> 6, bit_of(v)
            if t.next_frontier[w] & bit == np.uint64(0):
                continue  # it has pushed since it was queued, or is in the queue twice
            t.next_frontier[w] ^= bit
            t.queue[place + kept] = v
            t.copies[kept] = value = t.values[v]
            count_edges += keep_span(t, kept, v)
            kept += 1
            changeable += not done(t.parameters, identity(t.parameters), value)
            if not priorities and v & (LINE - 1) == 0 and t.n > CACHED:
                look_beside(edges, t, v)
        return kept, count_edges, changeable

    return settle


def keep_frontier(t, place, length):
    """Put the vertices of the queue into `next_frontier`, where the host finds them."""
    for k in range(length):
        v = np.int64(t.queue[place + k])
        t.next_frontier[v >> 6] |= bit_of(v)
        t.next_frontier_blocks[v >> 12] = np.uint8(1)


def make_push_few(f: Functions, reader: Reader, priorities: bool, kind: Any) -> RecordKernel:
    """Make the kernel that does several supersteps; with `priorities`, which are of this `kind`, of several buckets."""
    priority, highest = f.priority, largest(kind)
    enter, settle = make_enter(f, priorities, highest), make_settle(f, reader, priorities)
    superstep = make_superstep(f, reader, enter)
    open_next, first_step, next_step = make_open_next(f, highest), make_first_step(kind), make_next_step(kind, FASTEST)

    def enqueue(length, v, t):
        t.queue[length] = v
        t.next_frontier[v >> 6] |= bit_of(v)
        return length + 1, True

    def await_turn(length, v, t):
        t.waiting[length] = v
        t.least[0] = min(t.least[0], priority(t.parameters, t.values[v]))
        return length + 1, length + 1 < MOST_WAITING

    collect, collect_waiting = make_for_each(enqueue), make_for_each(await_turn)

    def push_few(edges, t):
        """Do supersteps; return their number. The last one's counts are in `counts`, as of other kernels."""
        length = collect(NOTHING, t.frontier, t.frontier_blocks, NOTHING, t.n, t)
        length, _, _ = settle(edges, t, length, NOTHING)
        waiting, before, bucket_edges, bucket_followed, opened = NOTHING, NOTHING, NOTHING, NOTHING, NOTHING
        if priorities:
            t.least[0] = highest
            waiting = collect_waiting(NOTHING, t.pending, t.pending_blocks, NOTHING, t.n, t)
        place, steps, goes_on, began = MOST_EDGES, NOTHING, True, clock()
        ends = began + LONGEST
        while goes_on:
            length, waiting, followed = superstep(edges, t, length, place, waiting)
            length, count_edges, changeable = settle(edges, t, length, place)
            bucket_followed += followed
            waited = NOTHING
            if priorities and length == 0 and 0 < waiting < MOST_WAITING:
                if t.step[0] == 0:
                    t.step[0] = first_step(t.least[0])
                elif opened:  # what the bucket before the call has done is not known here
                    t.step[0] = next_step(t.step[0], bucket_edges, bucket_followed, before, ENOUGH_EDGES)
                before = bucket_edges
                length, count_edges, waiting, waited = open_next(t, place, waiting)
                changeable, bucket_edges, bucket_followed, opened = length, count_edges, NOTHING, opened + 1
            row = WIDTH * steps
            t.log[row + ACTIVE], t.log[row + EDGES], t.log[row + FOLLOWED] = length, count_edges, followed
            t.log[row + WAITED], t.log[row + BEGAN] = waited, began
            t.counts[0], t.counts[1], t.counts[2], t.counts[3] = followed, length, count_edges, changeable
            steps, place, began = steps + 1, MOST_EDGES - place, clock()
            goes_on = length > 0 and count_edges <= t.most_edges and steps < MOST_SUPERSTEPS and began < ends
        keep_frontier(t, MOST_EDGES - place, length)
        if priorities and waiting == 0:  # no block has vertices that wait
            for block in range(((t.n - 1) >> 12) + 1):
                t.pending_blocks[block] = np.uint8(0)
        t.bucket[0], t.bucket[1], t.bucket[2] = opened, bucket_edges, bucket_followed
        return steps

    names = (
        "n", "out_offsets", "values", "next_values", "parameters", "frontier", "frontier_blocks", "next_frontier",
        "next_frontier_blocks", "pending", "pending_blocks", "thresholds", "in_place", "queue", "spans", "copies",
        "waiting", "step", "least", "bucket", "log", "most_edges", "counts",
    )  # fmt: skip
    return RecordKernel("push_few", push_few, names, f, reader)


def memory_of(kind: np.dtype[Any]) -> dict[str, Array]:
    """The memory of the kernel `push_few`, for values of this `kind`, by argument."""
    arrays: list[tuple[str, int, Any]] = [
        ("queue", 2 * MOST_EDGES, np.uint32), ("spans", 2 * MOST_EDGES, np.int64), ("copies", MOST_EDGES, kind),
        ("waiting", MOST_WAITING, np.uint32), ("step", 1, kind), ("least", 1, kind), ("bucket", 3, np.int64),
        ("log", WIDTH * MOST_SUPERSTEPS, np.int64), ("counts", 4, np.int64),
    ]  # fmt: skip
    return {name: np.empty(length, dtype) for name, length, dtype in arrays}


class Chain:
    """Runs the kernel `push_few`.

    Parameters
    ----------
    launcher : Launcher
    arrays : GraphArrays
    edges : OutEdges
    kernels_of : callable
        ``kernels_of(reader)``: the program's `Kernels` for edges that `reader` reads.
    """

    def __init__(
        self, launcher: Launcher, arrays: GraphArrays, edges: OutEdges, kernels_of: Callable[[Reader], Any]
    ) -> None:
        self._launch, self._arrays, self._edges, self._kernels_of = launcher, arrays, edges, kernels_of

    def __call__(self, state: State, out_source: PageSource, ahead: Ahead) -> PageResult | None:
        """Do one or more supersteps that push along few edges; return None if the first one would have many.

        The last frontier is in ``state.next_frontier``.
        """
        most = min(ahead.push_edges, MOST_EDGES)
        if self._arrays.on_disk or not state.active_count or max(state.active_edges, state.active_count) > most:
            return None
        source, kernel = self._edges.source(out_source), self._kernels_of(self._edges.reader).push_few
        self._launch.prepare(kernel)
        kind, (page,) = state.values.dtype, source.pages
        memory = self._launch.kept((Chain, kind), lambda: memory_of(kind))
        memory["step"][0] = ahead.step or 0
        state.next_frontier.clear()
        (steps,) = self._launch(
            kernel, 1, state, self._launch.edges(self._edges.reader, source.edges(page), 1),
            in_place=int(not state.synchronous), most_edges=most, **memory,
        ).tolist()  # fmt: skip
        followed, active, active_edges, changeable = memory["counts"].tolist()
        result = PageResult(followed, active, active_edges, changeable, None, how=PageDecision(PUSH, CPU))
        opened, *edges = memory["bucket"].tolist()
        result.bucket = OpenBucket(memory["step"][0].item(), *edges) if opened else None
        if steps > 1:
            result.supersteps = supersteps_of(memory["log"].reshape(-1, WIDTH)[:steps].copy())
        return result


def supersteps_of(log: Array) -> Supersteps:
    """What each superstep of a call did, from its log. The loop measures how long the last one took."""
    seconds, pulled, how = np.zeros(len(log)), np.zeros(len(log), np.bool_), PageDecision(PUSH, CPU)
    seconds[:-1] = (log[1:, BEGAN] - log[:-1, BEGAN]) / 1e9
    return Supersteps(log[:, ACTIVE], log[:, EDGES], seconds, log[:, FOLLOWED], pulled, how, how, log[:, WAITED])
