"""The graph of some vertices. They keep their order, and so do their lists: these are copied, and nothing is sorted."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..native import Kernel, prepare
from ..native.threads import ThreadPool, bounds_of
from . import group
from .adjacency import Adjacency
from .arrays import GraphArrays
from .transpose import reversed_edges

Array = npt.NDArray[Any]


def make_select(has_values: bool):
    # wide: compiled code takes its arrays one by one
    def select(
        begins, ends, first, last, start, stop, neighbours, values, among, numbers, degrees, out, out_values
    ):  # fmt: skip
        """Copy the edges [start, stop) of the lists [first, last) whose other endpoints are `among` the vertices.

        The first three arrays after `stop` and the last two begin with edge `start`. The copies are one after the
        other, from the place of the first of these edges on. Adds to the lists' degrees; returns the sum.
        """
        place = max(begins[first], start) - start
        copied = np.int64(0)
        for k in range(first, last):
            found = np.int64(0)
            for edge in range(max(begins[k], start) - start, min(ends[k], stop) - start):
                other = neighbours[edge]
                if among[other]:
                    out[place + copied + found] = numbers[other]
                    if has_values:
                        out_values[place + copied + found] = values[edge]
                    found += 1
            degrees[k] += found
            copied += found
        return copied

    return select


@cache
def select_kernel(width: int) -> Kernel:
    """`make_select` for edge values of `width` bytes (0: none)."""
    value = f"u{8 * width or 32}*"
    signature = f"i64* i64* i64 i64 i64 i64 u32* {value} u8* u32* i64* u32* {value}"
    return Kernel(signature, make_select(bool(width)))


def induced(arrays: GraphArrays, kept: Array, rows: int, threads: int | None) -> GraphArrays:
    """The graph of the vertices `kept` and of all edges between them, raw and in memory.

    Parameters
    ----------
    arrays : GraphArrays
    kept : ndarray of integers
        Internal ids, ascending and distinct.
    rows : int
        How many edges are read at a time.
    threads : int, optional
        By default every core that this process may use.
    """
    with ThreadPool(threads) as pool:
        into = selected(arrays.in_edges, kept, rows, pool)
        if not arrays.directed:
            return GraphArrays(into, into, arrays.ids.reordered(kept))
        prepare(group.kernels(0))
        return GraphArrays(into, reversed_edges(into, len(kept), pool), arrays.ids.reordered(kept))


def selected(edges: Adjacency, kept: Array, rows: int, pool: ThreadPool) -> Adjacency:
    """The lists of the vertices `kept`, without other vertices, which are renumbered from 0 on."""
    n, m, dtype = len(edges.offsets) - 1, int(edges.offsets[-1]), edges.value_dtype
    width = 0 if dtype is None else dtype.itemsize
    select = select_kernel(width)
    prepare([select])
    among, numbers = np.zeros(n, np.uint8), np.zeros(n, np.uint32)
    among[kept], numbers[kept] = 1, np.arange(len(kept), dtype=np.uint32)
    begins, ends, degrees = edges.offsets[kept], edges.offsets[kept + 1], np.zeros(len(kept), np.int64)
    others, values = np.empty(min(rows, m), np.uint32), np.empty(min(rows, m), f"u{width}") if width else None
    parts: list[tuple[Array, Array | None]] = [(others[:0], None if values is None else values[:0])]
    for start in range(0, m, rows):
        stop = min(start + rows, m)
        first, last = int(np.searchsorted(ends, start, "right")), int(np.searchsorted(begins, stop))
        if first >= last:
            continue
        read, read_values = edges.part(start, stop)
        raw = None if read_values is None else read_values.view(f"u{width}")
        cuts = first + np.searchsorted(begins[first:last], start + bounds_of(stop - start, pool.size))
        cuts[0], cuts[-1] = first, last
        tasks = [
            (begins, ends, low, high, start, stop, read, raw, among, numbers, degrees, others, values)
            for low, high in pairwise(cuts.tolist())
            if low < high
        ]
        for task, count in zip(tasks, pool.run(select, tasks), strict=True):
            place = max(int(begins[task[2]]), start) - start
            here = slice(place, place + count)
            parts.append((others[here].copy(), None if values is None else values[here].copy()))
    columns: list[Any] = [None if column[0] is None else np.concatenate(column) for column in zip(*parts, strict=True)]
    offsets = np.zeros(len(kept) + 1, np.int64)
    np.cumsum(degrees, out=offsets[1:])
    return Adjacency(offsets, columns[0], None if dtype is None else columns[1].view(dtype))
