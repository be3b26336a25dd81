"""How a kernel reads a list's edges: where they lie, or unpacked into a small window.

A kernel is written once, over `edges`, a tuple of arguments that only its reader knows. What it does with edges is a
*segment*, ``segment(acc, begin, end, sources, base, last, before, values, values_base, context)``: it visits the edges
[begin, end) in order, edge e's source being ``source_of(sources, e - base, before)`` and its value
``values[e - values_base]``, and returns `acc` and how many it visited, fewer if it wants no more. A reader's `walk`
makes of a segment the walk along a list or a part of one.

Packed numbers are unpacked a window at a time, as their sums from the window's first. Where lists are picked, a source
is its sum less the sum before its list: windows know nothing of lists, and a list is entered anywhere. Where lists are
read one after the other a window is a run, which becomes sources while the run before it is visited: a segment sees
`AHEAD` edges further, up to ``sources[last]``, whatever lists they are in, and `before` is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...codec.format import GROUP, RECORD_BYTES, RECORD_WORDS, RUN, WIDTHS_AT, Packed
from ...codec.pack import unpack_group, views
from ...graph.graph import RAW, Edges
from ...native import Kernel, PerCall, prefetch, sums_of_packed
from ...native.kernel import kind_of
from ...pages.source import PageEdges

Array = npt.NDArray[Any]
DType = np.dtype[Any]

LOW = 0xFFFFFFFF
LINE = 8
"""Words in a cache line: what each call writes stands alone."""
NONE_HELD = -(1 << 62)
"""Before any edge: no list lies in a window that begins there."""
AHEAD = 192
"""Edges ahead to fetch what belongs to their sources: their loads take as long as so many (docs/results/cpu.md)."""
STEP = 16
"""Sources made of sums at a time."""
WORDS_AHEAD = 512
"""Words ahead to fetch packed numbers that are read as a stream: two kilobytes."""


def source_of(sources, i, before):
    return (np.int64(sources[i]) - before) & LOW


@dataclass(frozen=True)
class Reader:
    """How edges are read.

    Attributes
    ----------
    signature : str
        Types of the arguments that are `edges`.
    walk : callable
        ``walk(segment, streams)`` is a function ``walk(acc, offsets, v, begin, end, edges, context)`` over the edges
        [begin, end) of the list of vertex v; `streams`: lists are read one after the other.
    fetch : callable
        ``fetch(edges, e)``: a list that begins at edge e will be read soon.
    in_place : bool
        Segments read the graph's own arrays.
    reads_values : bool
        Edge values are of interest.
    values : dtype or None
        Of those, if they are packed.
    """

    signature: str
    walk: Callable[..., Any]
    fetch: Callable[..., Any]
    in_place: bool
    reads_values: bool
    values: DType | None = None

    def kernel(self, signature: str, function: Callable[..., Any]) -> Kernel:
        """`function` as a kernel, its first argument the tuple `edges`."""
        count = len(self.signature.split())

        def entry(*arguments):
            return function(arguments[:count], *arguments[count:])

        entry.__name__ = function.__name__
        return Kernel(f"{self.signature} {signature}", entry)


def reader_of(edges: Edges, values: DType | None) -> Reader:
    """For `edges`, and for a kernel that reads their values of dtype `values`, or none."""
    if edges.encoding == RAW:
        return make_reader(False, values, False)
    return make_reader(True, values, values is not None and edges.has_packed_values)


@cache
def make_reader(packed: bool, values: DType | None, packed_values: bool) -> Reader:
    pointer, reads_values = "void*" if values is None else kind_of(values), values is not None
    if not packed:
        return Reader(f"u32* i64 i64 {pointer}", make_raw_walk, fetch_raw, True, reads_values)
    signature = "i64* u8* u32* i64 i64 i64 u32* i64*"
    if not packed_values:
        make_walk = make_packed_walk(no_values, raw_values)
        return Reader(f"{signature} {pointer}", make_walk, fetch_packed, False, reads_values)
    make_walk = make_packed_walk(unpack_values, unpacked_values)
    return Reader(f"{signature} i64* u8* u32* i64 {pointer}", make_walk, fetch_packed, False, True, values)


def make_raw_walk(segment, streams):
    def walk(acc, offsets, v, begin, end, edges, context):
        sources, base, last, values = edges
        return segment(acc, begin, end, sources, base, last, 0, values, base, context)

    return walk


def fetch_raw(edges, e):
    sources, base, _, _ = edges
    prefetch(sources, e - base)


def make_packed_walk(unpack, values_of):
    """`unpack` and `values_of`: what there is to do for the values of a window, and where they are."""

    def make_walk(segment, streams):
        return stream(segment) if streams else pick(segment)

    def stream(segment):
        def walk(acc, offsets, v, begin, end, edges, context):
            window, held = edges[6:8]
            visited = 0
            while begin < end:
                at = begin // RUN * RUN
                if held[0] != at:
                    follows = held[0] + RUN == at
                    move_on(at, follows, offsets, v, edges)
                    unpack(at - edges[4], RUN, follows, edges)
                stop = min(end, at + RUN)
                values, values_base = values_of(at, edges)
                acc, seen = segment(acc, begin, stop, window, at, 2 * RUN - 1, 0, values, values_base, context)
                visited += seen
                if seen < stop - begin:
                    break
                begin = stop
            return acc, visited

        return walk

    def pick(segment):
        def walk(acc, offsets, v, begin, end, edges, context):
            records, base, sums, held = edges[0], edges[4], edges[6], edges[7]
            first, at = offsets[v], held[0]
            if first == begin and first >= at and end <= at + GROUP:  # most lists are short
                values, values_base = values_of(at, edges)
                before = np.int64(sums[first - at])
                return segment(acc, begin, end, sums, at - 1, GROUP, before, values, values_base, context)
            visited = 0
            if begin >= end:
                return acc, visited
            e, source = first, 0
            if e < begin // RUN * RUN:  # a run knows the source before it
                e = begin // RUN * RUN
                source = records[(e - base) // RUN * RECORD_WORDS + 1]
            while e < end:
                at = e // GROUP * GROUP
                if held[0] != at:
                    follows, held[0] = held[0] + GROUP == at, at
                    sums[0] = np.uint32(0)
                    unpack_sums(at - base, GROUP, follows, edges, 1)
                    unpack(at - base, GROUP, follows, edges)
                stop = min(end, at + GROUP)
                before = np.int64(sums[e - at]) - source
                start = min(max(e, begin), stop)
                values, values_base = values_of(at, edges)
                acc, seen = segment(acc, start, stop, sums, at - 1, GROUP, before, values, values_base, context)
                visited += seen
                if seen < stop - start:
                    break
                e, source = stop, source_of(sums, stop - at, before)
            return acc, visited

        return walk

    return make_walk


def move_on(at, follows, offsets, v, edges):
    """The sources of the run that begins at edge `at` to the first half of the window, those of the next to the second.

    If `at` follows what was there, it was the next. The first edge that is wanted is one of vertex v.
    """
    end, window, held = edges[5:8]
    held[0] = at
    if not follows:
        held[3] = v
    for run in range(at + RUN * np.int64(follows), min(at + 2 * RUN, end + RUN), RUN):
        for k in range(RUN):
            window[k] = window[RUN + k]
        if run < end:
            restore(run, run > at, offsets, edges)


def restore(at, follows, offsets, edges):
    """The sources of the run that begins at edge `at`, to the second part of the window, from those of vertex `held[3]`
    on; that becomes the vertex of which the next edge is. The third part is for their sums."""
    records, base, end, window, held = edges[0], edges[4], edges[5], edges[6], edges[7]
    unpack_sums(at - base, RUN, follows, edges, 2 * RUN)
    v, stop, shift = held[3], min(at + RUN, end), 2 * RUN - at
    e = max(offsets[v], at)
    before = np.uint32(-records[(at - base) // RUN * RECORD_WORDS + 1] & LOW)
    if e > at:
        before = window[e - 1 + shift]
    while e < stop:
        to = min(offsets[v + 1], stop)
        for first in range(e + shift, to + shift, STEP):
            for k in range(first, first + STEP):  # beyond the list's end, too: what follows comes after
                window[k - RUN] = np.uint32(np.int64(window[k]) - np.int64(before) & LOW)
        if e < to:
            before = window[to - 1 + shift]
            e = to
        if to == offsets[v + 1]:
            v += 1
    held[3] = v


def unpack_sums(begin, count, follows, edges, to):
    """The sums of `count` numbers from number `begin` of the page on, to ``window[to:]``; if it `follows`, their words
    come after those that were unpacked last."""
    records, widths, words, first_word, _, _, window, held = edges[:8]
    run, first = begin // RUN, begin % RUN // GROUP
    position = words_of(records, widths, first_word, run, first, follows, held[1])
    total = np.uint32(0)
    for group in range(count // GROUP):
        width = np.int64(widths[run * RECORD_BYTES + WIDTHS_AT + first + group])
        if count > GROUP:
            prefetch(words, position + WORDS_AHEAD)
        total, _ = sums_of_packed(words, position, width, np.uint32(0), total, window, group * GROUP + to)
        position += width
    held[1] = position


def unpack_values(begin, count, follows, edges):
    """The values of the edges whose sums or sources stand at the beginning of the window, of which the third part is
    for their numbers."""
    records, widths, words, first_word, values = edges[8:]
    window, held = edges[6:8]
    run, first = begin // RUN, begin % RUN // GROUP
    position = words_of(records, widths, first_word, run, first, follows, held[2])
    base = records[run * RECORD_WORDS + 1]
    for group in range(count // GROUP):
        width = np.int64(widths[run * RECORD_BYTES + WIDTHS_AT + first + group])
        unpack_group(words, position, width, window, 2 * RUN)
        for k in range(GROUP):
            values[group * GROUP + k] = base + np.int64(window[2 * RUN + k])
        position += width
    held[2] = position


def words_of(records, widths, first_word, run, group, follows, held):
    """Where a group's words are. Within a run they follow those unpacked last; where a run's are, it says itself."""
    if group == 0:
        return records[run * RECORD_WORDS] - first_word
    return held if follows else place(records, widths, run, group) - first_word


def place(records, widths, run, group):
    """Where the words of a run's group begin."""
    position = records[run * RECORD_WORDS]
    for k in range(RUN // GROUP):  # all of them, without a branch
        position += np.int64(widths[run * RECORD_BYTES + WIDTHS_AT + k]) * np.int64(k < group)
    return position


def unpacked_values(at, edges):
    return edges[12], at


def no_values(begin, count, follows, edges):
    pass


def raw_values(at, edges):
    return edges[8], edges[4]


def fetch_packed(edges, e):
    prefetch(edges[0], (e - edges[4]) // RUN * RECORD_WORDS)


class Windows:
    """What `parts` calls take as `edges`; each has its own room to unpack to."""

    def __init__(self, parts: int, reader: Reader) -> None:
        self._reader = reader
        if not reader.in_place:
            self._held, self._window = np.empty((parts, LINE), np.int64), np.empty((parts, 3 * RUN + STEP), np.uint32)
            self._values = np.empty((parts, RUN if reader.values else 0), reader.values)

    def arguments(self, page: PageEdges) -> tuple[Any, ...]:
        """The edges of `page`."""
        sources, values = page.sources, page.values if self._reader.reads_values else None
        if not isinstance(sources, Packed):
            return sources, page.first_edge, len(sources) - 1, values
        self._held[:] = NONE_HELD
        end = page.first_edge + sources.length
        start = *parts_of(sources), page.first_edge, end, PerCall(self._window), PerCall(self._held)
        if not isinstance(values, Packed):
            return *start, values
        return *start, *parts_of(values), PerCall(self._values)


def parts_of(array: Packed) -> tuple[Any, ...]:
    return *views(array.records), array.words, array.first_word
