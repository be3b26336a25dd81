"""A shortest path between two nodes by length: Dijkstra's algorithm from both ends, in NetworkX's order.

The vertices that a search has seen are in a heap, the nearest first, and of those the one that was seen first. One that
is seen again nearer is there several times. Steps are those of `algorithms.bidirectional`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..algorithms.bidirectional import joined
from ..native import Kernel
from .searches import TYPES, Rows

Array = npt.NDArray[Any]


# wide: a compiled function takes its arrays one by one.
def push(keys, turns, heap, count, key, turn, v):
    """Add `v` with this key to a heap of `count` vertices; `turn` is greater than all that are there."""
    at = count
    while at > 0:
        above = (at - 1) >> 1
        if keys[above] <= key:
            break
        keys[at], turns[at], heap[at] = keys[above], turns[above], heap[above]
        at = above
    keys[at], turns[at], heap[at] = key, turn, v
    return count + 1


def pop(keys, turns, heap, count):
    """Take the first vertex from a heap of `count`."""
    count -= 1
    key, turn, v = keys[count], turns[count], heap[count]
    at = np.int64(0)
    while 2 * at + 1 < count:
        below = 2 * at + 1
        other = below + 1
        if other < count and (
            keys[other] < keys[below] or (keys[other] == keys[below] and turns[other] < turns[below])
        ):  # fmt: skip
            below = other
        if key < keys[below] or (key == keys[below] and turn < turns[below]):
            break
        keys[at], turns[at], heap[at] = keys[below], turns[below], heap[below]
        at = below
    keys[at], turns[at], heap[at] = key, turn, v
    return count


# wide: a compiled function takes its arrays one by one.
def settle_next(
    offsets, others, lengths, keys, turns, heap, count, seen, settled, steps, far_seen, far_settled, best, turn, middle
):  # fmt: skip
    """Settle the first vertex of the heap, unless it is settled. Returns how many vertices are in the heap then.

    ``seen[v]`` is the distance of v, below 0 if it is not known; ``far_seen[v]`` that from the other end. The shortest
    path so far leads through `middle` and has the length `best`. Returns -1 if the vertex is settled from both ends.
    """
    v, distance = np.int64(heap[0]), keys[0]
    count = pop(keys, turns, heap, count)
    if settled[v]:
        return count
    settled[v] = 1
    if far_settled[v]:
        return np.int64(-1)
    for e in range(offsets[v], offsets[v + 1]):
        w = np.int64(others[e])
        through = distance + lengths[e]
        if not settled[w] and (seen[w] < 0 or through < seen[w]):
            seen[w], steps[w] = through, v + 1
            count = push(keys, turns, heap, count, through, turn[0], w)
            turn[0] += 1
            if far_seen[w] >= 0 and (middle[0] < 0 or through + far_seen[w] < best[0]):
                best[0], middle[0] = through + far_seen[w], w
    return count


# wide: a compiled function takes its arrays one by one.
def meet_by_length(
    source, target, offsets, others, lengths, back_offsets, back_others, back_lengths, keys, turns, heap,
    back_keys, back_turns, back_heap, seen, back_seen, settled, back_settled, before, after, best, turn, middle,
):  # fmt: skip
    """Settle one vertex from `source` and one to `target` in turns. Returns 1 if there is a path, through `middle`."""
    count = push(keys, turns, heap, np.int64(0), 0, np.int64(0), source)
    back_count = push(back_keys, back_turns, back_heap, np.int64(0), 0, np.int64(1), target)
    before[source], after[target] = source + 1, target + 1
    seen[source], back_seen[target], turn[0] = 0, 0, 2
    forward = True
    while count > 0 and back_count > 0:
        if forward:
            count = settle_next(
                offsets, others, lengths, keys, turns, heap, count, seen, settled, before, back_seen, back_settled,
                best, turn, middle,
            )  # fmt: skip
        else:
            back_count = settle_next(
                back_offsets, back_others, back_lengths, back_keys, back_turns, back_heap, back_count, back_seen,
                back_settled, after, seen, settled, best, turn, middle,
            )  # fmt: skip
        forward = not forward
    return np.int64(count < 0 or back_count < 0)


MEET_BY_LENGTH = {
    dtype: Kernel(
        f"i64 i64 i64* u32* {name} i64* u32* {name} {name} i64* u32* {name} i64* u32* {name} {name} u8* u8* i64* i64* "
        f"{name} i64* i64*",
        meet_by_length,
    )
    for dtype, name in TYPES.items()
}


# wide: both directions with their lengths.
def shortest_between(
    rows: Rows, lengths: Array, back: Rows, back_lengths: Array, source: int, target: int
) -> list[int] | None:
    """The vertices of a shortest path from `source` to another vertex, `target`; None if there is none.

    `lengths` are those of the edges of `rows`, and `back_lengths` those of `back`, which lead to each vertex; all are 0
    or more.
    """
    n, m, dtype = len(rows.offsets) - 1, len(rows.neighbours) + 1, lengths.dtype
    heaps = [np.empty(m, kind) for _ in range(2) for kind in (dtype, np.int64, np.uint32)]
    seen, settled = np.full((2, n), -1, dtype), np.zeros((2, n), np.uint8)
    before, after = np.zeros((2, n), np.int64)
    middle = np.full(1, -1, np.int64)
    found = MEET_BY_LENGTH[dtype](
        source, target, rows.offsets, rows.neighbours, lengths, back.offsets, back.neighbours, back_lengths, *heaps,
        *seen, *settled, before, after, np.zeros(1, dtype), np.zeros(1, np.int64), middle,
    )  # fmt: skip
    return joined(before, after, int(middle[0])) if found else None
