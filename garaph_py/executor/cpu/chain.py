"""Many small supersteps of a relaxation in one compiled call: while few edges leave active vertices, launching each
from Python would take longer than doing it.

One thread does them. The active vertices are in a queue; a bit in the next frontier keeps a vertex from entering the
next queue twice. The call returns when the frontier is empty or has too many edges, after `MOST_SUPERSTEPS`, or after
`LONGEST` nanoseconds, so that the host can stop the run, or decide otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph.arrays import GraphArrays
from ...native import clock
from ...pages.source import PageSource
from ..modes import CPU, PUSH
from ..protocol import Ahead, OpenBucket, PageDecision, PageResult, Supersteps
from ..state import State
from .edges import Reader, source_of
from .functions import Functions
from .launch import Launcher
from .out_edges import OutEdges
from .push import make_relax
from .records import RecordKernel
from .walk import NOTHING, bit_of, make_for_each

Array = npt.NDArray[Any]

MOST_EDGES = 1 << 13
"""Edges of the active vertices up to which one thread does a superstep: some 40 microseconds of work, as long as it
takes Python to begin the next one."""
MOST_SUPERSTEPS = 1 << 12
"""Supersteps of one call; the log has 32 bytes for each."""
LONGEST = 50_000_000
"""Nanoseconds after which no superstep begins."""
MOST_WAITING = 1 << 13
"""Vertices that may wait for later buckets while these are opened here."""
MOST_AGAIN = 4
"""Edges followed in a bucket, for each that led from its vertices at first, above which the next bucket is smaller."""
SMALL_BUCKET = 1024
"""Edges of a bucket below which the next one is larger."""
ACTIVE, EDGES, FOLLOWED, BEGAN = range(4)
"""Columns of the log: vertices that a superstep activated, their out-edges, edges that it followed, when it began."""


def make_push_few_along(f: Functions, priorities: bool):
    """Push from one vertex along its out-edges. `acc` is a tuple: the length of the next queue, the number of vertices
    that become active, their out-edges, how many of them may change again, and the length of the list of those that
    wait for a later bucket."""
    relax, gather, priority, edge = make_relax(f), f.gather, f.priority, f.edge_at
    done, identity = f.done, f.identity

    # wide: a reader's walk calls it for each part of a list
    def push_few_along(acc, begin, end, targets, base, last, before, edge_values, values_base, context):
        t, v, value, following, place = context
        length, count, count_edges, changeable, waiting = acc
        for e in range(begin, end):
            target = source_of(targets, e - base, before)
            contribution = gather(t.parameters, value, edge(edge_values, e - values_base), value, v)
            changed, new = relax(t.parameters, t.values, target, contribution)
            if changed:
                t.next_values[target] = t.values[target]
                w, bit = target >> 6, bit_of(target)
                if priorities and priority(t.parameters, new) > t.thresholds[1]:
                    if t.pending[w] & bit == np.uint64(0):
                        waiting = wait(t, w, bit, target, waiting)
                elif following[w] & bit == np.uint64(0):
                    following[w] |= bit
                    t.queue[place + length] = target
                    length += 1
                    count += 1
                    count_edges += t.out_offsets[target + 1] - t.out_offsets[target]
                    changeable += not done(t.parameters, identity(t.parameters), new)
        return (length, count, count_edges, changeable, waiting), end - begin

    return push_few_along


def wait(t, w, bit, v, waiting):
    """Put a vertex into `pending`, and into the list of those that wait, which is useless once it is full."""
    t.pending[w] |= bit
    t.pending_blocks[w >> 6] = np.uint8(1)
    if waiting < MOST_WAITING:
        t.waiting[waiting] = v
        return waiting + 1
    return waiting


def half_of_integer(step):
    return max(step // 2, 1)


def half_of_real(step):
    return step / 2


def make_adapt_step(highest: Any):
    """Build ``adapt_step(t, edges, followed)``, which adapts the step after a bucket: small ones take many supersteps,
    and in large ones vertices change again and again. `edges` led from the bucket's vertices at first."""
    half = half_of_integer if isinstance(highest, int) else half_of_real

    def adapt_step(t, edges, followed):
        if followed > MOST_AGAIN * edges:
            t.step[0] = half(t.step[0])
        elif edges < SMALL_BUCKET and t.step[0] < half(highest):
            t.step[0] += t.step[0]

    return adapt_step


def make_open_next(f: Functions, highest: Any):
    """Open the next bucket that is not empty: vertices that wait and belong to it enter the queue and the frontier."""
    priority = f.priority

    def open_next(t, now, place, waiting):
        """Open it; return the length of the queue, the vertices' out-edges, and how many still wait."""
        t.thresholds[0] = t.thresholds[1]
        lowest, least = t.thresholds[0], t.thresholds[0]
        none_waits = True
        for k in range(waiting):
            p = priority(t.parameters, t.values[np.int64(t.waiting[k])])
            if p > lowest and (none_waits or p < least):
                least, none_waits = p, False
        if not none_waits:
            t.thresholds[1] = highest if least > highest - t.step[0] else least + t.step[0]
        length, edges, stay = NOTHING, NOTHING, NOTHING
        for k in range(waiting):
            v = np.int64(t.waiting[k])
            p = priority(t.parameters, t.values[v])
            if p > t.thresholds[1]:
                t.waiting[stay] = v
                stay += 1
                continue
            t.pending[v >> 6] &= ~bit_of(v)
            if p > lowest:  # else it has changed again while it waited, and has been visited since
                now[v >> 6] |= bit_of(v)
                t.queue[place + length] = v
                length += 1
                edges += t.out_offsets[v + 1] - t.out_offsets[v]
        return length, edges, stay

    return open_next


def make_superstep(f: Functions, reader: Reader, priorities: bool):
    """Build ``superstep(edges, t, now, following, length, place, waiting)``, which does one."""
    walk = reader.walk(make_push_few_along(f, priorities), False)

    def superstep(edges, t, now, following, length, place, waiting):
        """Push from the first `length` vertices of the queue's half that does not begin at `place`."""
        acc, followed, first = (NOTHING, NOTHING, NOTHING, NOTHING, waiting), NOTHING, MOST_EDGES - place
        if not t.in_place:
            for k in range(length):
                t.copies[k] = t.values[t.queue[first + k]]
        for k in range(length):
            v = np.int64(t.queue[first + k])
            w, bit, begin, end = v >> 6, bit_of(v), t.out_offsets[v], t.out_offsets[v + 1]
            if now[w] & bit == np.uint64(0):
                continue  # it has changed since it was queued, and is in the queue once more
            now[w] &= ~bit
            if t.in_place and following[w] & bit != np.uint64(0):  # it pushes its new value now
                following[w] &= ~bit
                acc = acc[0], acc[1] - 1, acc[2] - (end - begin), acc[3], acc[4]
            value = t.values[v] if t.in_place else t.copies[k]
            followed += end - begin
            acc, _ = walk(acc, t.out_offsets, v, begin, end, edges, (t, v, value, following, place))
        return acc, followed

    return superstep


def make_push_few(f: Functions, reader: Reader, priorities: bool, highest: Any) -> RecordKernel:
    """Make the kernel that does several supersteps; with `priorities`, of several buckets, the last up to `highest`."""
    superstep, open_next = make_superstep(f, reader, priorities), make_open_next(f, highest)
    adapt_step = make_adapt_step(highest)

    def enqueue(length, v, queue):
        queue[length] = v
        return length + 1, length + 1 < MOST_WAITING  # the frontier has fewer

    collect = make_for_each(enqueue)

    def push_few(edges, t):
        """Do supersteps; return their number. The last one's counts are in `counts`, as of other kernels.

        If the number is odd, the bits of the last frontier are in `next_frontier`, else in `frontier`.
        """
        length = collect(NOTHING, t.frontier, t.frontier_blocks, NOTHING, t.n, t.queue)
        waiting = NOTHING
        if priorities:
            waiting = collect(NOTHING, t.pending, t.pending_blocks, NOTHING, t.n, t.waiting)
        now, following, place, steps, ends = t.frontier, t.next_frontier, MOST_EDGES, NOTHING, clock() + LONGEST
        goes_on, bucket_edges, bucket_followed, opened = True, NOTHING, NOTHING, NOTHING
        while goes_on:
            began = clock()
            acc, followed = superstep(edges, t, now, following, length, place, waiting)
            length, count, count_edges, changeable, waiting = acc
            place = MOST_EDGES - place
            now, following = following, now
            bucket_followed += followed
            if priorities and count == 0 and 0 < waiting < MOST_WAITING:
                adapt_step(t, bucket_edges, bucket_followed)
                length, count_edges, waiting = open_next(t, now, MOST_EDGES - place, waiting)
                count = changeable = length
                bucket_edges, bucket_followed, opened = count_edges, NOTHING, opened + 1
            t.log[4 * steps + ACTIVE], t.log[4 * steps + EDGES] = count, count_edges
            t.log[4 * steps + FOLLOWED], t.log[4 * steps + BEGAN] = followed, began
            t.counts[0], t.counts[1], t.counts[2], t.counts[3] = followed, count, count_edges, changeable
            steps += 1
            goes_on = count > 0 and count_edges <= t.most_edges and steps < MOST_SUPERSTEPS and clock() < ends
        for block in range(((t.n - 1) >> 12) + 1):
            t.frontier_blocks[block] = t.next_frontier_blocks[block] = np.uint8(0)
        for k in range(length):
            v = np.int64(t.queue[MOST_EDGES - place + k])
            if now[v >> 6] & bit_of(v) != np.uint64(0):
                t.frontier_blocks[v >> 12] = t.next_frontier_blocks[v >> 12] = np.uint8(1)
        t.bucket[0], t.bucket[1], t.bucket[2] = opened, bucket_edges, bucket_followed
        return steps

    names = (
        "n", "out_offsets", "values", "next_values", "parameters", "frontier", "frontier_blocks", "next_frontier",
        "next_frontier_blocks", "pending", "pending_blocks", "thresholds", "in_place", "queue", "copies", "waiting",
        "step", "bucket", "log", "most_edges", "counts",
    )  # fmt: skip
    return RecordKernel("push_few", push_few, names, f, reader)


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
        self._queue = np.empty(0, np.uint32)

    def __call__(self, state: State, out_source: PageSource, ahead: Ahead) -> PageResult | None:
        """Do supersteps that push along few edges, one or more; None if the first one would have many.

        The last frontier is in ``state.next_frontier``.
        """
        most = min(ahead.push_edges, MOST_EDGES)
        if self._arrays.on_disk or not state.active_count or max(state.active_edges, state.active_count) > most:
            return None
        source, kernel = self._edges.source(out_source), self._kernels_of(self._edges.reader).push_few
        self._launch.prepare(kernel)
        if not len(self._queue):
            self._queue, self._log = np.empty(2 * MOST_EDGES, np.uint32), np.empty(4 * MOST_SUPERSTEPS, np.int64)
            self._copies, self._waiting = np.empty(MOST_EDGES, state.values.dtype), np.empty(MOST_WAITING, np.uint32)
        counts, bucket, (page,) = np.zeros(4, np.int64), np.zeros(3, np.int64), source.pages
        step = np.array([ahead.step or 0], state.values.dtype)
        state.next_frontier.clear()
        (steps,) = self._launch(
            kernel, 1, state, self._launch.edges(self._edges.reader, source.edges(page), 1),
            in_place=int(not state.synchronous), queue=self._queue, copies=self._copies, waiting=self._waiting,
            step=step, bucket=bucket, log=self._log, most_edges=most, counts=counts,
        ).tolist()  # fmt: skip
        state.frontier.is_summary_loose = False
        if steps % 2 == 0:
            state.frontier, state.next_frontier = state.next_frontier, state.frontier
        followed, active, active_edges, changeable = counts.tolist()
        result = PageResult(followed, active, active_edges, changeable, None, how=PageDecision(PUSH, CPU))
        opened, *edges = bucket.tolist()
        result.bucket = OpenBucket(step[0].item(), *edges) if opened else None
        if steps > 1:
            result.supersteps = self._supersteps(steps)
        return result

    def _supersteps(self, steps: int) -> Supersteps:
        log = self._log.reshape(-1, 4)[:steps].copy()
        seconds, how = np.append(np.diff(log[:, BEGAN]), 0) / 1e9, PageDecision(PUSH, CPU)
        pulled = np.zeros(steps, np.bool_)
        return Supersteps(log[:, ACTIVE], log[:, EDGES], seconds, log[:, FOLLOWED], pulled, how, how)
