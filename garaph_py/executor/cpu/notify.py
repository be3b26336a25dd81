"""The notify half of notify-pull (Garaph section 4.2): active vertices mark their out-neighbours."""

from __future__ import annotations

from functools import cache

from ...graph.adjacency import Adjacency
from ...pages.source import PageSource
from ..state import State
from .active import ActiveLists
from .edges import WHOLE_LISTS, Reader, reader_of, source_of
from .records import RecordKernel
from .walk import LISTS, NOTHING, insert, make_for_each_list


# wide: a reader's walk calls it for each part of a list
def insert_targets(acc, begin, end, targets, base, last, before, values, values_base, context):
    notified, blocks = context
    for e in range(begin, end):
        insert(notified, blocks, source_of(targets, e - base, before))
    return acc, end - begin


@cache
def make_notify(reader: Reader) -> RecordKernel:
    walk = reader.walk(insert_targets, WHOLE_LISTS)

    def notify_targets(acc, v, begin, end, cut_before, cut_after, context):
        edges, t = context
        walk(NOTHING, t.out_offsets, v, begin, end, edges, (t.notified, t.notified_blocks))
        return acc

    for_each_list = make_for_each_list(notify_targets)

    def notify(edges, t):
        """Mark the targets of the run's edges, which are out-edges of the page's active vertices."""
        run = t.first_vertex, t.last_vertex, t.block, t.position, t.start, t.stop
        return for_each_list(NOTHING, t.frontier, t.frontier_blocks, t.out_offsets, run, (edges, t))

    names = ("frontier", "frontier_blocks", "out_offsets", "notified", "notified_blocks", *LISTS)
    return RecordKernel("notify", notify, names, reader=reader)


class Notify:
    """Runs the notify kernel over the pages of out-edges.

    Parameters
    ----------
    lists : ActiveLists
    edges : Adjacency
        The out-edges.
    """

    def __init__(self, lists: ActiveLists, edges: Adjacency) -> None:
        self._lists, self._reader = lists, reader_of(edges, None)
        self.kernel = make_notify(self._reader)

    def __call__(self, state: State, source: PageSource) -> int:
        """Add all out-neighbours of active vertices to ``state.notified``; return the number of out-edges followed."""
        return self._lists.visit(self.kernel, self._reader, state, source)
