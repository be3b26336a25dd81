"""Push from few vertices with long lists: each call pushes to the targets in one range of vertices.

Lists are sorted, so a call finds its part of each by two binary searches. Ranges begin at multiples of 64 vertices, so
no two calls change the same word of a set of vertices. The values of its targets stay in one core's
cache, and no two cores change values of the same cache line. Where threads divide the lists instead, as in `push`, hubs
of the graph are targets of most lists, and move from core to core.
"""

from __future__ import annotations

from .edges import WHOLE_LISTS, Reader
from .functions import Functions
from .push import PUSHING, make_segment
from .records import RecordKernel
from .walk import NOTHING, make_for_each


def make_push_by_target(f: Functions, reader: Reader, priorities: bool) -> RecordKernel:
    """Make the kernel; `reader` has a `source_at`, and `priorities` is as for `push.make_push_lists`."""
    segment, new_batch, visit_batch = make_segment(f, reader, priorities, owns=True)
    walk, target_at = reader.walk(segment, WHOLE_LISTS), reader.source_at
    of_source, load = f.of_source, f.value.load

    def find(edges, begin, end, vertex):
        """The first of the sorted edges [begin, end) whose target is not less than `vertex`; `end` if there is none."""
        while begin < end:
            middle = (begin + end) >> 1
            if target_at(edges, middle) < vertex:
                begin = middle + 1
            else:
                end = middle
        return begin

    def push_part(acc, v, context):
        edges, t, batch = context
        followed, counts, size = acc
        begin = find(edges, t.out_offsets[v], t.out_offsets[v + 1], t.start)
        end = find(edges, begin, t.out_offsets[v + 1], t.stop)
        if begin < end:
            source = of_source(load(t.values, v))
            (counts, size), _ = walk((counts, size), t.out_offsets, v, begin, end, edges, (t, v, source, batch))
        return (followed + end - begin, counts, size), True

    for_each = make_for_each(push_part)

    def push_by_target(edges, t):
        """Push from all vertices of the frontier to the vertices [start, stop); the counts are those of `push`."""
        batch, acc = new_batch(), (NOTHING, (NOTHING, NOTHING, NOTHING), NOTHING)
        acc = for_each(acc, t.frontier, t.frontier_blocks, t.first_vertex, t.last_vertex, (edges, t, batch))
        counts = visit_batch(acc[1], t, batch, acc[2])
        t.counts[0], t.counts[1], t.counts[2], t.counts[3] = acc[0], counts[0], counts[1], counts[2]
        return 0

    return RecordKernel(
        "push_by_target", push_by_target, (*PUSHING, "first_vertex", "last_vertex", "start", "stop"), f, reader
    )
