"""Push in delta form: active vertices add the changes of their contributions to the sums of their out-neighbours.

It is for programs that add and define `delta` (`BoundProgram.pushes_deltas`), in synchronous runs. The invariant: every
vertex v has the sum of ``gather(next_values[u])`` over its in-edges u -> v. A pull establishes it: it reads `values`,
stores the sums, and then exchanges the two arrays. A push has two passes, and keeps this true:

1. Every active vertex u adds ``delta(values[u], next_values[u])`` to the sums of its targets, by compare-and-swap, and
   notifies these. Then ``next_values[u] = values[u]``.
2. Every notified vertex is applied to its sum. It reads no other vertex's value, so the new value replaces the old one
   in `values`.

What a vertex changes by without becoming active is not lost: its next delta includes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...native import compare_and_swap
from ...pages.source import PageSource
from ..results import PageResult
from ..state import State
from .active import ActiveLists
from .edges import WHOLE_LISTS, Reader, source_of
from .functions import Functions
from .launch import Launcher
from .out_edges import OutEdges
from .records import RecordKernel
from .runs import Runs
from .update import CONTEXT, make_tally, make_update
from .walk import LISTS, NOTHING, insert, insert_word, make_for_each, make_for_each_list

Array = npt.NDArray[Any]

AHEAD = 16
"""Prefetch distance for the sums of targets, in edges: an atomic addition takes as long as visiting three edges in a
pull, and lists are short."""


def make_push_deltas(f: Functions, reader: Reader) -> RecordKernel:
    delta, add, edge, load, fetch = f.delta, f.sum, f.edge_at, f.value.load, f.accumulator.fetch

    # wide: a reader's walk calls it for each part of a list
    def add_deltas(acc, begin, end, targets, base, last, before, edge_values, values_base, context):
        t, v, new, old = context
        for e in range(begin, end):
            fetch(t.sums, source_of(targets, min(e + AHEAD, end - 1) - base, before))
            target = source_of(targets, e - base, before)
            change = delta(t.parameters, new, old, edge(edge_values, e - values_base), v)
            while True:
                found = t.sums[target]
                if compare_and_swap(t.sums, target, found, add(found, change)):
                    break
            insert(t.notified, t.notified_blocks, target)
        return acc, end - begin

    walk = reader.walk(add_deltas, WHOLE_LISTS)

    def push_list(acc, v, begin, end, cut_before, cut_after, context):
        edges, t = context
        new, old = load(t.values, v), load(t.next_values, v)
        walk(NOTHING, t.out_offsets, v, begin, end, edges, (t, v, new, old))
        return acc

    for_each_list = make_for_each_list(push_list)

    def push_deltas(edges, t):
        """Add deltas along the run's edges, which are out-edges of the page's active vertices."""
        run = t.first_vertex, t.last_vertex, t.block, t.position, t.start, t.stop
        return for_each_list(NOTHING, t.frontier, t.frontier_blocks, t.out_offsets, run, (edges, t))

    names = (
        "out_offsets", "values", "next_values", "parameters", "frontier", "frontier_blocks", "notified",
        "notified_blocks", "sums", *LISTS,
    )  # fmt: skip
    return RecordKernel("push_deltas", push_deltas, names, f, reader)


def make_apply_sums(f: Functions) -> RecordKernel:
    update, load, load_sum = make_update(f), f.value.load, f.accumulator.load
    zero, add, leave = make_tally(f)

    def clear_word(acc, w, words, t):
        return acc[0], np.uint64(0)

    def apply_sum(acc, v, t):
        tally, word = acc
        done = update(t, v, load_sum(t.sums, v), load(t.values, v))
        tally = add(tally, done)
        return (tally, word | np.uint64(done[0]) << np.uint64(v & 63)), True

    def insert_activated(acc, w, words, t):
        insert_word(t.next_frontier, t.next_frontier_blocks, w, acc[1])
        return acc

    for_each = make_for_each(apply_sum, clear_word, insert_activated)

    def apply_sums(t):
        """Apply the notified vertices in [first_vertex, last_vertex) to their sums."""
        acc = (zero(), np.uint64(0))
        tally, _ = for_each(acc, t.notified, t.notified_blocks, t.first_vertex, t.last_vertex, t)
        leave(t, NOTHING, tally)
        return 0

    names = (*CONTEXT, "notified", "notified_blocks", "sums", "counts", "partial", "first_vertex", "last_vertex")
    return RecordKernel("apply_sums", apply_sums, names, f)


class DeltaPush:
    """Runs the two passes of a push.

    Parameters
    ----------
    launcher : Launcher
    runs : Runs
    lists : ActiveLists
    edges : OutEdges
    kernels_of : callable
        ``kernels_of(reader)``: the program's `Kernels` for edges that `reader` reads.

    Attributes
    ----------
    sums : ndarray of the accumulators' dtype, shape (n,), or None
        The vertices' sums; None if the run does not keep them.
    """

    def __init__(
        self, launcher: Launcher, runs: Runs, lists: ActiveLists, edges: OutEdges, kernels_of: Callable[[Reader], Any]
    ) -> None:
        self._launch, self._runs, self._lists, self._edges, self._kernels_of = launcher, runs, lists, edges, kernels_of
        self.sums: Array | None = None

    def __call__(self, state: State, out_source: PageSource, take_over: Callable[[State], None]) -> PageResult:
        """Push, and update the vertices whose sums have changed.

        Parameters
        ----------
        take_over : callable
            ``take_over(state)`` copies the active vertices' values to ``state.next_values``.
        """
        reader = self._edges.reader
        kernels = self._kernels_of(reader)
        self._launch.prepare(kernels.push_deltas, kernels.apply_sums)
        state.notified.clear()
        state.next_frontier.clear()
        source = self._edges.source(out_source)
        followed = self._lists.visit(kernels.push_deltas, reader, state, source, sums=self.sums)
        take_over(state)
        first, last = self._runs.of_vertices(whole=not state.notified.is_wide)
        own = self._launch.partitions(len(first))
        self._launch(
            kernels.apply_sums, len(first), replace(state, next_values=state.values), sums=self.sums,
            counts=own.arguments["counts"], partial=own.arguments["partial"], first_vertex=first, last_vertex=last,
        )  # fmt: skip
        own.clear_merge()
        return replace(own.result(self._launch.bound), edges=followed)
