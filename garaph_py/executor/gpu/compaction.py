"""Compaction on the CPU: lays the edge lists of some vertices end to end in memory (HyTGraph section VI-C).

The least time is that of reading and writing these lists: twice their bytes over the host's bandwidth.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...native import Kernel, prefetch
from ...native.threads import ThreadPool, bounds_of

Array = npt.NDArray[Any]

PARTS_A_THREAD = 4
"""Parts for each thread, so that none waits long for one with long lists."""
PART_LISTS = 1 << 12
"""Minimal lists of a part: waking threads takes as long as copying thousands of short lists."""
AHEAD = 16
"""Prefetch distance, in lists: copying so many short lists takes as long as a load from memory."""


def measure_lists(vertices, first, last, offsets, starts):  # type: ignore[no-untyped-def]
    """Write to `starts` where the lists of ``vertices[first:last]`` begin, laid end to end; return their length."""
    length = 0
    for place in range(first, last):
        prefetch(offsets, vertices[min(place + AHEAD, last - 1)])
        starts[place] = length
        vertex = vertices[place]
        length += offsets[vertex + 1] - offsets[vertex]
    return length


# wide: a compiled kernel takes numbers and arrays, not objects
def copy_lists(vertices, first, last, offsets, before, starts, source, to):  # type: ignore[no-untyped-def]
    """Copy the lists of ``vertices[first:last]`` from `source` to where they begin in `to`, `before` elements later."""
    for place in range(first, last):
        vertex, at = vertices[place], starts[place] + before
        starts[place] = at
        prefetch(source, offsets[vertices[min(place + AHEAD, last - 1)]])
        begin = offsets[vertex]
        for k in range(offsets[vertex + 1] - begin):
            to[at + k] = source[begin + k]
    return 0


MEASURE = Kernel("u32* i64 i64 i64* i64*", measure_lists)


@cache
def copy_kernel(width: int) -> Kernel:
    """`copy_lists` for elements of `width` bytes."""
    return Kernel(f"u32* i64 i64 i64* i64 i64* u{8 * width}* u{8 * width}*", copy_lists)


def compact(
    vertices: Array, offsets: Array, sources: Sequence[Array], starts: Array, targets: Sequence[Array],
    pool: ThreadPool,
) -> None:  # fmt: skip
    """Lay the lists of `vertices` end to end, with all threads of the `pool`.

    Parameters
    ----------
    vertices : ndarray of uint32, shape (k,)
    offsets : ndarray of int64, shape (n + 1,)
        Where each vertex's list begins in each of `sources`.
    sources : sequence of ndarray
        What the lists are made of: targets, and values.
    starts : ndarray of int64, shape (k,)
        Is filled with where each list begins.
    targets : sequence of ndarray
        Are filled with the lists, one for each of `sources`.
    """
    parts = min(pool.size * PARTS_A_THREAD, -(-len(vertices) // PART_LISTS))
    bounds = bounds_of(len(vertices), parts)
    ranges = bounds[:-1], bounds[1:]
    lengths = pool.launch(MEASURE.rows(parts, vertices, *ranges, offsets, starts))
    before = np.cumsum(lengths) - lengths
    for source, to in zip(sources, targets, strict=True):
        word = np.dtype(f"u{source.itemsize}")
        columns = source.view(word), to.view(word)
        copy = copy_kernel(source.itemsize)
        pool.launch(copy.rows(parts, vertices, *ranges, offsets, before, starts, *columns))
        before = np.zeros_like(before)  # `starts` has it now
