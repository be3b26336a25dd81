"""Sort the entries of random edges in memory: the edges are drawn anew for each range of vertices.

If there are few ranges, many cores draw all edges for each of them sooner than a disk writes their keys once, so no
temporary file is needed. A first draw counts the entries of each class of vertices, thread by thread. So each thread
knows where to put the keys that it makes of a range of vertices, and no pass draws edges only to count them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import events
from ...graph.generate import EDGES_AT_ONCE, INTEGER_WEIGHTS, LANES, RandomEdges
from ...native import Kernel, PerCall, prepare
from ...native.threads import ThreadPool, shares
from ...system import interrupts
from .adjacency import EdgeKeys, OwnedPiece, key_bits
from .runs import KeyBuffers
from .sort import kernels as sort_kernels
from .sort import sort_in_memory

Array = npt.NDArray[Any]

BLOCK = 8 * LANES
"""Edges that a thread draws at a time; their columns (48 KiB with weights) stay in its caches."""
PARTS = 8
"""Parts of the edges for each thread, so that threads end at about the same time."""
CLASSES = 1 << 14
"""Equal ranges of vertices at most, whose entries are counted; the counters of a part (128 KiB) stay in its caches."""
TRIAL_EDGES = 1 << 18
"""Edges that each thread draws to see how long it takes: some milliseconds."""


def make_count_classes(draw: Callable[..., int], renumbers: bool):
    # wide: compiled code takes its arrays one by one
    def count_drawn(
        start, stop, scale, keys, to_a, to_b, to_c, permute, scratch, sources, targets, numbers,
        of_targets, of_sources, keep_loops, shift, counts,
    ):  # fmt: skip
        """Draw the edges [start, stop), and count their entries by the class of the owner: its bits from `shift` on.

        With `renumbers`, vertices have new `numbers`.
        """
        of_loops = keep_loops and (of_targets or of_sources)
        for begin in range(start, stop, BLOCK):
            end = min(begin + BLOCK, stop)
            draw(begin, end, begin, scale, keys, to_a, to_b, to_c, permute, scratch, sources, targets)
            for k in range(end - begin):
                source, target = np.int64(sources[k]), np.int64(targets[k])
                if renumbers:
                    source, target = np.int64(numbers[source]), np.int64(numbers[target])
                loop = source == target
                counts[target >> shift] += of_loops if loop else of_targets
                counts[source >> shift] += of_sources and not loop
        return 0

    return count_drawn


def make_draw_keys(draw: Callable[..., int], has_values: bool, renumbers: bool):
    draw_weights = INTEGER_WEIGHTS.function

    # wide: compiled code takes its arrays one by one
    def draw_keys(
        start, stop, scale, keys, to_a, to_b, to_c, permute, scratch, sources, targets, numbers, low, span, weights,
        at, bits, of_targets, of_sources, keep_loops, first, last, out_keys, out_values,
    ):  # fmt: skip
        """Draw the edges [start, stop), and write the keys of owners in [first, last) to ``out_keys[at:]``.

        Returns the end of the keys. What follows them is overwritten: writing each key spares a branch that the
        processor could not predict.
        """
        low_owner, owners, shift = np.uint64(first), np.uint64(last - first), np.uint64(bits)
        of_loops = keep_loops and (of_targets or of_sources)
        for begin in range(start, stop, BLOCK):
            end = min(begin + BLOCK, stop)
            draw(begin, end, begin, scale, keys, to_a, to_b, to_c, permute, scratch, sources, targets)
            if has_values:
                draw_weights(begin, end, begin, keys, low, span, weights)
            for k in range(end - begin):
                source, target = np.uint64(sources[k]), np.uint64(targets[k])
                if renumbers:
                    source, target = np.uint64(numbers[source]), np.uint64(numbers[target])
                loop = source == target
                out_keys[at] = ((target - low_owner) << shift) | source
                if has_values:
                    out_values[at] = weights[k]
                at += (target - low_owner < owners) & (of_loops if loop else of_targets)
                out_keys[at] = ((source - low_owner) << shift) | target
                if has_values:
                    out_values[at] = weights[k]
                at += (source - low_owner < owners) & of_sources & (not loop)
        return at

    return draw_keys


DRAWING = "i64 i64 i64 u64* i64 i64 i64 bool u64* u32* u32* u32*"


@cache
def count_kernel(draw: Callable[..., int], renumbers: bool) -> Kernel:
    return Kernel(f"{DRAWING} bool bool bool i64 i64*", make_count_classes(draw, renumbers))


@cache
def draw_kernel(draw: Callable[..., int], has_values: bool, renumbers: bool) -> Kernel:
    signature = f"{DRAWING} i64 i64 i32* i64 i64 bool bool bool i64 i64 u64* u32*"
    return Kernel(signature, make_draw_keys(draw, has_values, renumbers))


class Drawn:
    """Makes the sorted keys of random edges, for a range of vertices at a time.

    Parameters
    ----------
    edges : RandomEdges
    keys : EdgeKeys
        Which entries an edge has.
    memory : int
        Bytes that it may take.
    pool : ThreadPool
    on_event : callable
    numbers : ndarray of uint32, optional
        The new number of each vertex.

    Attributes
    ----------
    memory : int
        Bytes that the two buffers of keys and values may take: what the threads leave, which draw edges into columns.
    ranges : int
        In how many ranges the entries of one direction will be sorted (an estimate).
    """

    def __init__(
        self, edges: RandomEdges, keys: EdgeKeys, memory: int, pool: ThreadPool, on_event: events.Listener,
        numbers: Array | None = None,
    ) -> None:  # fmt: skip
        self._edges, self._keys, self._pool, self._on_event, self._numbers = edges, keys, pool, on_event, numbers
        self._width = 0 if edges.dtype is None else edges.dtype.itemsize
        self._parts = PARTS * pool.size
        self._shift = max((edges.n - 1).bit_length() - (CLASSES - 1).bit_length(), 0)
        self._classes = ((edges.n - 1) >> self._shift) + 1
        self._columns = np.empty((2, self._parts, BLOCK), np.uint32)
        self._scratch = np.empty((self._parts, 2 * LANES), np.uint64)
        self._weights = np.empty((self._parts, BLOCK if self._width else 0), np.int32)
        self.memory = memory - self._columns.nbytes - self._scratch.nbytes - self._weights.nbytes
        self._capacity = max(self.memory, 0) // (2 * (8 + self._width))
        self.ranges = 1 + edges.count * (1 + keys.both) // max(self._capacity, 1)
        self._ranges: dict[bool, tuple[list[range], Array]] = {}

    def seconds(self) -> float:
        """How long it takes to draw all edges once, and count them, by the time that a few take."""
        edges, size, took = min(TRIAL_EDGES * self._pool.size, self._edges.count), self._pool.size, []
        counts, bounds = np.zeros((size, self._classes), np.int64), shares(edges, size)
        how = *self._drawing, *self._owners(False), self._shift, PerCall(counts)
        kernel = count_kernel(self._edges.kernel.function, self._numbers is not None)
        prepare([kernel], self._on_event)
        for _ in range(2):  # in the first, threads may begin late
            started = perf_counter()
            self._pool.launch(kernel.rows(size, *bounds, *how))
            took.append(perf_counter() - started)
        return min(took) * self._edges.count / max(edges, 1)

    def count(self, reverse: bool) -> bool:
        """Count the entries of one direction; return whether the memory is enough to sort them. See `sorted`."""
        edges = self._edges
        if 8 * self._parts * self._classes > self.memory:
            return False
        counts = np.zeros((self._parts, self._classes), np.int64)
        kernel = count_kernel(edges.kernel.function, self._numbers is not None)
        prepare([kernel], self._on_event)
        how = *self._owners(reverse), self._shift, PerCall(counts)
        for starts, stops in self._rounds("counting edges"):
            self._pool.launch(kernel.rows(self._parts, starts, stops, *self._drawing, *how))
        bounds = bounds_within(counts.sum(axis=0), self._capacity)
        self._ranges[reverse] = (
            [range(first << self._shift, min(last << self._shift, edges.n)) for first, last in pairwise(bounds)],
            np.add.reduceat(counts, bounds[:-1], axis=1),
        )
        return int(self._ranges[reverse][1].sum(axis=0).max()) <= self._capacity

    def sorted(self, reverse: bool) -> Iterator[OwnedPiece]:
        """The sorted keys of all entries, which have been counted; each piece overwrites the one before.

        If edges have one key each, its owner is the target, or the source if `reverse`.
        """
        edges = self._edges
        ranges, counts = self._ranges.pop(reverse)
        kernel = draw_kernel(edges.kernel.function, self._width > 0, self._numbers is not None)
        prepare([kernel, *sort_kernels(self._width)], self._on_event)
        most = int(counts.sum(axis=0).max())
        a, b = KeyBuffers(most + self._parts, self._width), KeyBuffers(most, self._width)  # see `draw_keys`
        weights = PerCall(self._weights)
        bits, low_span = key_bits(edges.n), edges.weights or (0, 0)
        for number, owners in enumerate(ranges):
            ends = np.cumsum(counts[:, number] + 1) - 1
            begins = at = ends - counts[:, number]
            how = bits, *self._owners(reverse), owners.start, owners.stop, a.keys, a.values
            for starts, stops in self._rounds(f"drawing edges ({number + 1} of {len(ranges)})"):
                drawing = kernel.rows(self._parts, starts, stops, *self._drawing, *low_span, weights, at, *how)
                at = self._pool.launch(drawing)
            yield owners.start, *sort_in_memory(self._pool, begins, ends, bits + key_bits(len(owners)), a, b)

    def _owners(self, reverse: bool) -> tuple[bool, bool, bool]:
        """Whether the target of an edge, its source, and the only end of a self-loop are owners."""
        return self._keys.both or not reverse, self._keys.both or reverse, self._keys.keep_loops

    @property
    def _drawing(self) -> tuple[Any, ...]:
        """What a kernel takes to draw edges, beside their numbers."""
        edges, columns = self._edges, (PerCall(column) for column in self._columns)
        return edges.scale, edges.keys, *edges.options, PerCall(self._scratch), *columns, self._numbers

    def _rounds(self, what: str) -> Iterator[tuple[Array, Array]]:
        """Where the edges begin and end that each part draws next. A part's edges follow those of the part before, so
        that equal keys keep the order of their edges."""
        count, (begins, ends) = self._edges.count, shares(self._edges.count, self._parts)
        for done in range(0, int((ends - begins).max()), EDGES_AT_ONCE):
            interrupts.check()
            self._on_event(events.Step(what, min(done * self._parts, count), count, "edges"))
            starts = np.minimum(begins + done, ends)
            yield starts, np.minimum(starts + EDGES_AT_ONCE, ends)
        self._on_event(events.Step(what, count, count, "edges"))


def bounds_within(counts: Array, most: int) -> list[int]:
    """Bounds of the fewest consecutive ranges of classes with at most `most` entries each, unless one class has more.

    `counts` are the entries of each class.
    """
    before, bounds = np.append(0, np.cumsum(counts)), [0]
    while bounds[-1] < len(counts):
        end = int(np.searchsorted(before, before[bounds[-1]] + most, "right")) - 1
        bounds.append(max(end, bounds[-1] + 1))
    return bounds
