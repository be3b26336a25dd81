"""A shortest path between two nodes by length: Dijkstra's algorithm from both ends, in NetworkX's order.

The vertices that a search has seen are in a heap, the nearest first, and of those the one that was seen first. One that
is seen again nearer is there several times. Steps are those of `algorithms.bidirectional`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..algorithms.bidirectional import joined
from ..native import Kernel, struct_array
from .searches import TYPES, Rows

Array = npt.NDArray[Any]


def push(heap, count, distance, turn, v):
    """Add `v` at this distance to a heap of `count` vertices; `turn` is greater than all that are there."""
    at = count
    while at > 0:
        above = (at - 1) >> 1
        if heap[above].distance <= distance:
            break
        move(heap, above, at)
        at = above
    put(heap, at, distance, turn, v)
    return count + 1


def pop(heap, count):
    """Take the first vertex from a heap of `count`."""
    count -= 1
    distance, turn, v = heap[count].distance, heap[count].turn, heap[count].vertex
    at = np.int64(0)
    while 2 * at + 1 < count:
        below = 2 * at + 1
        if below + 1 < count and precedes(heap[below + 1], heap[below].distance, heap[below].turn):
            below += 1
        if not precedes(heap[below], distance, turn):
            break
        move(heap, below, at)
        at = below
    put(heap, at, distance, turn, v)
    return count


def precedes(entry, distance, turn):
    """Whether an entry comes before one of this distance and turn."""
    return entry.distance < distance or (entry.distance == distance and entry.turn < turn)


def move(heap, at, to):
    """Copy an entry."""
    put(heap, to, heap[at].distance, heap[at].turn, heap[at].vertex)


def put(heap, at, distance, turn, v):
    """Write an entry."""
    heap[at].distance, heap[at].turn, heap[at].vertex = distance, turn, v


def settle_next(lists, heap, count, side, known, meeting):
    """Settle the first vertex of the heap, unless it is settled. Returns how many vertices are in the heap then.

    `lists` are offsets, neighbours and lengths. Side 0 searches from the source, and side 1 to the target; what side s
    knows of vertex v is at ``2 * v + s``. `meeting` has the shortest path so far: its length, and a vertex on it that
    both sides know. Returns -1 if the vertex is settled from both ends.
    """
    offsets, others, lengths = lists
    far = 1 - side
    v, distance = np.int64(heap[0].vertex), heap[0].distance
    count = pop(heap, count)
    if known[2 * v + side].settled:
        return count
    known[2 * v + side].settled = 1
    if known[2 * v + far].settled:
        return np.int64(-1)
    for e in range(offsets[v], offsets[v + 1]):
        w = np.int64(others[e])
        near, through = 2 * w + side, distance + lengths[e]
        if not known[near].settled and (known[near].step == 0 or through < known[near].distance):
            known[near].distance, known[near].step = through, v + 1
            count = push(heap, count, through, meeting[0].turn, w)
            meeting[0].turn += 1
            whole = through + known[2 * w + far].distance
            if known[2 * w + far].step != 0 and (meeting[0].middle < 0 or whole < meeting[0].length):
                meeting[0].length, meeting[0].middle = whole, w
    return count


def settle_in_turns(lists, far_lists, heap, far_heap, known, meeting):
    """Settle one vertex from either end in turns. Returns 1 if there is a path."""
    side, count, far_count = np.int64(0), np.int64(1), np.int64(1)
    while count > 0 and far_count > 0:
        count = settle_next(lists, heap, count, side, known, meeting)
        lists, far_lists, heap, far_heap = far_lists, lists, far_heap, heap
        side, count, far_count = 1 - side, far_count, count
    return np.int64(count < 0 or far_count < 0)


def records(dtype: np.dtype[Any]) -> tuple[np.dtype[Any], ...]:
    """The types of a heap's entries, of what a search knows of a vertex, and of where both meet.

    Turns have 32 bits, because there is at most one for each edge that a search follows, and a NetworkX graph of 2^31
    edges takes hundreds of gigabytes. So an entry with a distance of 8 bytes has 16, and never lies in two cache lines.
    """
    return (
        np.dtype([("distance", dtype), ("turn", np.uint32), ("vertex", np.uint32)]),
        np.dtype([("distance", dtype), ("step", np.uint32), ("settled", np.uint32)]),
        np.dtype([("length", dtype), ("middle", np.int64), ("turn", np.int64)]),
    )


def begun(dtype: np.dtype[Any], n: int, m: int, source: int, target: int) -> tuple[Array, Array, Array, Array]:
    """Both heaps, what the searches know, and where they meet: at the beginning, with both ends in their heaps."""
    entry, vertex, both = records(dtype)
    heap, back_heap, known, meeting = (
        np.empty(m + 1, entry), np.empty(m + 1, entry), np.zeros(2 * n, vertex), np.zeros(1, both)
    )  # fmt: skip
    heap[0], back_heap[0], meeting[0] = (0, 0, source), (0, 1, target), (0, -1, 2)
    known["step"][[2 * source, 2 * target + 1]] = source + 1, target + 1
    return heap, back_heap, known, meeting


def meeting_kernel(dtype: np.dtype[Any]) -> Kernel:
    """The kernel for distances of this type: `settle_in_turns`, over arrays that `begun` makes."""
    entry, vertex, both = records(dtype)
    lists = f"i64* u32* {TYPES[dtype]}"

    # wide: a compiled function takes its arrays one by one.
    def meet_by_length(
        offsets, others, lengths, back_offsets, back_others, back_lengths, heap, back_heap, known, meeting
    ):  # fmt: skip
        return settle_in_turns(
            (offsets, others, lengths), (back_offsets, back_others, back_lengths),
            struct_array(heap, entry), struct_array(back_heap, entry),
            struct_array(known, vertex), struct_array(meeting, both),
        )  # fmt: skip

    return Kernel(f"{lists} {lists} void* void* void* void*", meet_by_length)


MEET_BY_LENGTH = {dtype: meeting_kernel(dtype) for dtype in TYPES}


# wide: both directions with their lengths.
def shortest_between(
    rows: Rows, lengths: Array, back: Rows, back_lengths: Array, source: int, target: int
) -> list[int] | None:
    """The vertices of a shortest path from `source` to another vertex, `target`; None if there is none.

    `lengths` are those of the edges of `rows`, and `back_lengths` those of `back`, which lead to each vertex; all are 0
    or more.
    """
    search = begun(lengths.dtype, len(rows.offsets) - 1, len(rows.neighbours), source, target)
    found = MEET_BY_LENGTH[lengths.dtype](
        rows.offsets, rows.neighbours, lengths, back.offsets, back.neighbours, back_lengths, *search
    )
    *_, known, meeting = search
    steps = known["step"]
    return joined(steps[::2], steps[1::2], int(meeting["middle"][0])) if found else None
