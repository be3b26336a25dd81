"""Push from few vertices with long lists: each call pushes to the targets in one range of vertices.

Lists are sorted, so a call finds its part of each by two binary searches. Ranges begin at multiples of 64 vertices, so
no two calls change the same word of a set of vertices. The values of a call's targets stay in one core's cache, and no
two cores change values of the same cache line. Where threads divide the lists instead, as in `push`, hubs of the graph
are targets of most lists, and move from core to core.
"""

from __future__ import annotations

from .edges import Reader
from .functions import Functions
from .push import PUSHING, make_push_list
from .records import RecordKernel
from .walk import make_for_each


def make_push_by_target(f: Functions, reader: Reader, priorities: bool) -> RecordKernel:
    """Make the kernel; `reader` has a `source_at`, and `priorities` is as for `push.make_push_list`."""
    push_list, start, finish = make_push_list(f, reader, priorities, owns=True)
    target_at = reader.source_at

    def find(edges, first, last, vertex):
        """The first of the sorted edges [first, last) whose target is not less than `vertex`; `last` if none is."""
        while first < last:
            middle = (first + last) >> 1
            if target_at(edges, middle) < vertex:
                first = middle + 1
            else:
                last = middle
        return first

    def push_part(acc, v, context):
        edges, t, _ = context
        last = t.out_offsets[v + 1]
        first = find(edges, t.out_offsets[v], last, t.start)
        return push_list(acc, v, first, find(edges, first, last, t.stop), True, True, context), True

    for_each = make_for_each(push_part)

    def push_by_target(edges, t):
        """Push from all vertices of the frontier to the vertices [start, stop); the counts are those of `push`."""
        acc, context = start(edges, t)
        acc = for_each(acc, t.frontier, t.frontier_blocks, t.first_vertex, t.last_vertex, context)
        t.counts[0], t.counts[1], t.counts[2], t.counts[3] = finish(acc, context)
        return 0

    return RecordKernel(
        "push_by_target", push_by_target, (*PUSHING, "first_vertex", "last_vertex", "start", "stop"), f, reader
    )
