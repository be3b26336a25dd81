"""How compiled code reads the edges of a list: raw edges in place, packed edges from a small window.

A kernel is written once for all codecs. It gets `edges`, a tuple of arguments that only the *reader* of the codec
understands. The kernel's work on edges is a *segment*: a function
``segment(acc, begin, end, sources, base, last, before, values, values_base, context)``. It visits the edges [begin,
end) in order. The source of edge e is ``source_of(sources, e - base, before)``, and its value is
``values[e - values_base]``. It returns `acc` and the number of edges that it visited: it may stop before `end`. The
reader's `walk` turns a segment into a function that visits a whole list, or a part of one.

Packed numbers are unpacked to a window, as running sums from the first number in the window. There are two ways:

- Random access to lists (*pick*). The window is the groups of a list, up to the end of a run; or one group, if the
  segment may stop early. Its sums are the sources of that list; of a later one, sums minus `before`, the one before it.
- Reading all lists in order (*stream*). The window holds two runs, and `before` is 0: the sums of a run are turned into
  sources while the previous run is visited. So a segment can look `AHEAD` edges ahead, up to ``sources[last]``, also
  into later lists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...codec.arrays import PACKED, RAW
from ...codec.format import GROUP, RECORD_BYTES, RECORD_WORDS, RUN, WIDTHS_AT, Packed
from ...codec.pack import views
from ...graph.adjacency import Adjacency
from ...native import Kernel, PerCall, numbers_of_packed, prefetch, prefetch_kept, sum_of_bytes, sums_of_packed
from ...native.kernel import kind_of
from ...pages.source import PageEdges

Array = npt.NDArray[Any]
DType = np.dtype[Any]

LOW = 0xFFFFFFFF
"""The 32 low bits of an int64."""
LINE = 8
"""int64 numbers in a cache line of 64 bytes: each call writes to its own line."""
LINE_WORDS = 16
"""Words of 32 bits in a cache line."""
NONE_HELD = -(1 << 62)
"""The first edge of an empty window: far before any edge."""
AHEAD = 192
"""Prefetch distance for the values of sources, in edges: a load from memory takes as long as visiting that many edges
(docs/results/cpu.md)."""
STEP = 16
"""Number of sums that are turned into sources at a time."""
WORDS_AHEAD = 512
"""Prefetch distance for packed numbers when lists are read in order, in words of 32 bits (2 KB)."""
LIST_WORDS = 48
"""Words that are prefetched before a single list is visited (three cache lines: with two, SSSP took 7 % longer, with
four as long)."""
LIST_WORDS_AHEAD = 160
"""Prefetch distance within a list, and into those that follow it (ten cache lines: with three, BFS by push took up to
4 % longer)."""
IN_ORDER, WHOLE_LISTS, PARTS_OF_LISTS = range(3)
"""How a kernel reads lists: all, one after the other; single ones; or single ones whose segment may stop early."""


def source_of(sources, i, before):
    """The source at index `i`; the module's docstring defines `before`."""
    return (np.int64(sources[i]) - before) & LOW


@dataclass(frozen=True, eq=False)
class Reader:
    """How a kernel reads edges of one codec, with or without their values.

    Attributes
    ----------
    signature : str
        The types of the arguments in `edges`.
    walk : callable
        ``walk(segment, how)`` makes a function ``walk(acc, offsets, v, begin, end, edges, context)``, which visits the
        edges [begin, end) of the list of vertex v. The kernel reads lists `IN_ORDER`, as `WHOLE_LISTS`, or as
        `PARTS_OF_LISTS`. A third argument ``is_done(acc, context)`` says whether the segment would visit no edge more;
        it should be given where most walks end after the first edge of a list.
    fetch : callable
        ``fetch(edges, e)`` prefetches edge e, with which a list begins.
    in_place : bool
        Whether segments read the graph's own arrays.
    arguments : type of Arguments
        ``arguments(count, reader)`` makes the `edges` arguments of `count` calls.
    reads_values : bool
        Whether the kernel reads edge values.
    values : dtype or None
        The type of the edge values, if they have to be decoded.
    fetch_words : callable, optional
        ``fetch_words(edges, e)`` prefetches what edge e is decoded from, some time after `fetch`; None if `fetch` is
        enough.
    source_at : callable, optional
        ``source_at(edges, e)`` is the source of edge e; None if it takes unpacking.
    """

    signature: str
    walk: Callable[..., Any]
    fetch: Callable[..., Any]
    in_place: bool
    arguments: type[Arguments]
    reads_values: bool
    values: DType | None = None
    fetch_words: Callable[..., Any] | None = None
    source_at: Callable[..., Any] | None = None

    def kernel(self, signature: str, function: Callable[..., Any]) -> Kernel:
        """Compile `function`, whose first argument is the tuple `edges`."""
        count = len(self.signature.split())

        def entry(*arguments):
            return function(arguments[:count], *arguments[count:])

        entry.__name__ = function.__name__
        return Kernel(f"{self.signature} {signature}", entry)


def reader_of(edges: Adjacency, values: DType | None) -> Reader:
    """The reader for a kernel over `edges`; `values` is the dtype of their values, None if it does not read values."""
    values_codec = RAW if values is None or edges.value_array is None else edges.value_array.codec
    return make_reader(edges.encoding, values_codec, values)


@cache
def make_reader(codec: str, values_codec: str, values: DType | None) -> Reader:
    return READERS[codec, values_codec](values)


def raw_reader(values: DType | None) -> Reader:
    """Raw edges, whose values are raw too."""
    fetch = fetch_raw if values is None else fetch_raw_with_values
    return Reader(
        f"u32* i64 i64 {pointer_to(values)}", make_raw_walk, fetch, True, RawArguments, values is not None,
        source_at=raw_source_at,
    )  # fmt: skip


def packed_reader(values: DType | None) -> Reader:
    """Packed edges, whose values are raw."""
    make_walk = make_packed_walk(no_values, raw_values)
    signature = f"{PACKED_SOURCES} {pointer_to(values)}"
    return Reader(
        signature, make_walk, fetch_packed, False, PackedArguments, values is not None, fetch_words=fetch_packed_words
    )


def all_packed_reader(values: DType | None) -> Reader:
    """Packed edges, whose values are packed too."""
    make_walk = make_packed_walk(unpack_values, unpacked_values)
    signature = f"{PACKED_SOURCES} i64* u8* u32* i64 {pointer_to(values)}"
    return Reader(
        signature, make_walk, fetch_all_packed, False, AllPackedArguments, True, values, fetch_all_packed_words
    )


READERS: dict[tuple[str, str], Callable[[DType | None], Reader]] = {
    (RAW, RAW): raw_reader,
    (PACKED, RAW): packed_reader,
    (PACKED, PACKED): all_packed_reader,
}
"""The reader by the codec of the edges and the codec of their values, which is `RAW` if no values are read."""

PACKED_SOURCES = "i64* u8* u32* i64 i64 i64 u32* i64*"
"""Types of the arguments for packed sources: records, as integers and as bytes; words; the number of the first word;
the first edge, and the one past the last; the window; and `held`. `held` has four numbers: the first edge of the
window; the word after the sources unpacked last; the word after the values unpacked last; and, if lists are read in
order, the vertex of the next edge, else the edge past the window."""


def pointer_to(values: DType | None) -> str:
    return "void*" if values is None else kind_of(values)


def make_raw_walk(segment, how, is_done=None):
    def walk(acc, offsets, v, begin, end, edges, context):
        sources, base, last, values = edges
        return segment(acc, begin, end, sources, base, last, 0, values, base, context)

    return walk


def raw_source_at(edges, e):
    sources, base, _, _ = edges
    return np.int64(sources[e - base])


def fetch_raw(edges, e):
    sources, base, _, _ = edges
    prefetch(sources, e - base)


def fetch_raw_with_values(edges, e):
    sources, base, _, values = edges
    prefetch(sources, e - base)
    prefetch(values, e - base)


# long: the two functions that it returns share its arguments
def make_packed_walk(unpack, values_of):
    """Make the `walk` of packed edges. `unpack` unpacks the values of a window; `values_of` locates these values."""

    def make_walk(segment, how, is_done=None):
        return stream(segment) if how == IN_ORDER else pick(segment, RUN if how == WHOLE_LISTS else GROUP, is_done)

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

    def pick(segment, most, is_done):
        begins_alone = is_done is not None and unpack is no_values

        def visit(acc, begin, end, before, edges, context):
            """Visit the edges of [begin, end) in the window; return also whether that is all, and the last source."""
            sums, held = edges[6], edges[7]
            at, stop = held[0], min(end, held[3])
            start = min(begin, stop)
            values, values_base = values_of(at, edges)
            acc, seen = segment(acc, start, stop, sums, at - 1, RUN, before, values, values_base, context)
            return acc, seen, seen == stop - start, source_of(sums, stop - at, before)

        def walk(acc, offsets, v, begin, end, edges, context):
            records, base, sums, held = edges[0], edges[4], edges[6], edges[7]
            first, at = offsets[v], held[0]
            if first == begin and first >= at and end <= held[3]:  # common case: the window holds the list
                values, values_base = values_of(at, edges)
                before = np.int64(sums[first - at])
                return segment(acc, begin, end, sums, at - 1, RUN, before, values, values_base, context)
            visited = 0
            if begin >= end:
                return acc, visited
            if begins_alone and begin == first:
                sums[2 * RUN] = first_of_list(edges, first)
                values, values_base = values_of(at, edges)
                place_of_0 = first - 2 * RUN
                acc, visited = segment(acc, first, first + 1, sums, place_of_0, 0, 0, values, values_base, context)
                begin += 1
                if begin == end or is_done(acc, context):
                    return acc, visited
            e, source = first, 0
            if e < begin // RUN * RUN:  # start at a run's first edge: the run's record has the source before it
                e = begin // RUN * RUN
                source = records[(e - base) // RUN * RECORD_WORDS + 1]
            while e < end:
                if e < held[0] or e >= held[3]:
                    fill(e, source, min(end, e // most * most + most), edges)
                    acc, seen, goes_on, source = visit(acc, max(e, begin), end, 0, edges, context)
                else:
                    before = np.int64(sums[e - held[0]]) - source
                    acc, seen, goes_on, source = visit(acc, max(e, begin), end, before, edges, context)
                visited += seen
                if not goes_on:
                    break
                e = min(end, held[3])
            return acc, visited

        return walk

    def fill(e, source, end, edges):
        """Fill the window with the groups of the edges [e, end) of one run; `source` is the one before e, or 0."""
        base, sums, held = edges[4], edges[6], edges[7]
        at = e // GROUP * GROUP
        count = (end - at + GROUP - 1) // GROUP * GROUP
        follows, held[0], held[3] = held[3] == at, at, at + count
        sums[0] = np.uint32(source)
        unpack_sums(at - base, count, follows, edges, 1, LIST_WORDS_AHEAD, np.uint32(source))
        if e > at:  # the list begins in mid-group
            more = np.int64(source) - np.int64(sums[e - at])
            for k in range(count + 1):
                sums[k] = np.uint32(np.int64(sums[k]) + more & LOW)
        unpack(at - base, count, follows, edges)

    return make_walk


def move_on(at, follows, offsets, v, edges):
    """Fill the first part of the window with the sources of the run that begins at edge `at`, and the second part with
    the sources of the next run.

    If the run `follows` the one in the first part, its sources are already in the second part. Vertex v owns the first
    edge that will be visited.
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
    """Fill the second part of the window with the sources of the run that begins at edge `at`.

    The third part receives the sums. Edges before the list of vertex `held[3]` are skipped. Sets `held[3]` to the
    vertex of the next edge.
    """
    records, base, end, window, held = edges[0], edges[4], edges[5], edges[6], edges[7]
    unpack_sums(at - base, RUN, follows, edges, 2 * RUN, WORDS_AHEAD, np.uint32(0))
    v, stop, shift = held[3], min(at + RUN, end), 2 * RUN - at
    e = max(offsets[v], at)
    before = np.uint32(-records[(at - base) // RUN * RECORD_WORDS + 1] & LOW)
    if e > at:
        before = window[e - 1 + shift]
    while e < stop:
        to = min(offsets[v + 1], stop)
        for first in range(e + shift, to + shift, STEP):
            for k in range(first, first + STEP):  # may write past the list's end; the next lists overwrite that
                window[k - RUN] = np.uint32(np.int64(window[k]) - np.int64(before) & LOW)
        if e < to:
            before = window[to - 1 + shift]
            e = to
        if to == offsets[v + 1]:
            v += 1
    held[3] = v


def unpack_sums(begin, count, follows, edges, to, ahead, total):
    """Write the running sums of `count` numbers, from number `begin` of the page on, to ``window[to:]``.

    `follows` says whether these numbers follow the ones unpacked last; then their words do, too. Words are prefetched
    `ahead` of those that are unpacked.
    """
    records, widths, words, first_word, _, _, window, held = edges[:8]
    run, first = begin // RUN, begin % RUN // GROUP
    position = words_of(records, widths, first_word, run, first, follows, held[1])
    for group in range(count // GROUP):
        width = np.int64(widths[run * RECORD_BYTES + WIDTHS_AT + first + group])
        prefetch(words, position + ahead)
        total, _ = sums_of_packed(words, position, width, np.uint32(0), total, window, group * GROUP + to)
        position += width
    held[1] = position


def unpack_values(begin, count, follows, edges):
    """Unpack the values of `count` edges, from number `begin` of the page on; the third part of the window is scratch
    space."""
    records, widths, words, first_word, values = edges[8:]
    window, held = edges[6:8]
    run, first = begin // RUN, begin % RUN // GROUP
    position = words_of(records, widths, first_word, run, first, follows, held[2])
    base = records[run * RECORD_WORDS + 1]
    for group in range(count // GROUP):
        width = np.int64(widths[run * RECORD_BYTES + WIDTHS_AT + first + group])
        numbers_of_packed(words, position, width, window, 2 * RUN)
        for k in range(GROUP):
            values[group * GROUP + k] = base + np.int64(window[2 * RUN + k])
        position += width
    held[2] = position


def words_of(records, widths, first_word, run, group, follows, held):
    """The first word of a group: the word after those unpacked last if the group `follows`, else from its record."""
    if group == 0:
        return records[run * RECORD_WORDS] - first_word
    return held if follows else place(records, widths, run, group) - first_word


def place(records, widths, run, group):
    """The first word of a group of a run: the first word of the run, after which come the groups before this one."""
    return records[run * RECORD_WORDS] + sum_of_bytes(widths, run * RECORD_BYTES + WIDTHS_AT, group)


def first_of_list(edges, e):
    """The source of edge e, with which a list begins, so that it is the packed number itself."""
    records, widths, words, first_word, base = edges[:5]
    run, group = (e - base) // RUN, (e - base) % RUN // GROUP
    width = np.int64(widths[run * RECORD_BYTES + WIDTHS_AT + group])
    if width == 0:
        return np.uint32(0)
    bit = (e - base) % GROUP * width
    k = place(records, widths, run, group) - first_word + bit // 32
    last = k + np.int64(bit % 32 + width > 32)  # the word after may not exist
    two = np.uint64(words[k]) | np.uint64(words[last]) << np.uint64(32)
    return np.uint32(two >> np.uint64(bit % 32) & (np.uint64(1) << np.uint64(width)) - np.uint64(1))


def unpacked_values(at, edges):
    return edges[12], at


def no_values(begin, count, follows, edges):
    pass


def raw_values(at, edges):
    return edges[8], edges[4]


def fetch_packed(edges, e):
    fetch_record(edges[0], e - edges[4])


def fetch_all_packed(edges, e):
    fetch_record(edges[0], e - edges[4])
    fetch_record(edges[8], e - edges[4])


def fetch_record(records, number):
    run = number // RUN * RECORD_WORDS
    prefetch_kept(records, run)
    prefetch_kept(records, run + RECORD_WORDS - 1)  # the record may lie in two cache lines


def fetch_packed_words(edges, e):
    if edges[4] <= e < edges[5]:  # else e is where the list of a vertex of another page begins, or an empty one
        fetch_words(edges[:4], e - edges[4])


def fetch_all_packed_words(edges, e):
    if edges[4] <= e < edges[5]:
        fetch_words(edges[:4], e - edges[4])
        fetch_words(edges[8:12], e - edges[4])


def fetch_words(packed, number):
    records, widths, words, first_word = packed
    position = place(records, widths, number // RUN, number % RUN // GROUP) - first_word
    for k in range(0, LIST_WORDS, LINE_WORDS):
        prefetch_kept(words, position + k)


class Arguments(Protocol):
    """Makes the `edges` arguments of `count` calls of a kernel for each page; each call decodes to its own memory."""

    def __init__(self, count: int, reader: Reader) -> None: ...

    def of(self, page: PageEdges) -> tuple[Any, ...]:
        """The arguments for the edges of `page`."""


class RawArguments:
    """`Arguments` for raw edges: the graph's own arrays."""

    def __init__(self, count: int, reader: Reader) -> None:
        self._reads_values = reader.reads_values

    def of(self, page: PageEdges) -> tuple[Any, ...]:
        sources: Any  # a `RawArray`, like `values`
        values: Any
        sources, values = page.sources, page.values
        data = sources.data
        return data, page.first_edge, len(data) - 1, values.data if self._reads_values else None


class PackedArguments:
    """`Arguments` for packed edges with raw values."""

    def __init__(self, count: int, reader: Reader) -> None:
        self._reads_values = reader.reads_values
        self._held, self._window = np.empty((count, LINE), np.int64), np.empty((count, 3 * RUN + STEP), np.uint32)

    def of(self, page: PageEdges) -> tuple[Any, ...]:
        values: Any = page.values
        return *self._sources(page), values.data if self._reads_values else None

    def _sources(self, page: PageEdges) -> tuple[Any, ...]:
        sources: Any  # a `Packed`
        first_edge, sources = page.first_edge, page.sources
        self._held[:] = NONE_HELD
        window, held = PerCall(self._window), PerCall(self._held)
        return *packed_arguments(sources), first_edge, first_edge + sources.length, window, held


class AllPackedArguments(PackedArguments):
    """`Arguments` for packed edges with packed values."""

    def __init__(self, count: int, reader: Reader) -> None:
        super().__init__(count, reader)
        self._values = np.empty((count, RUN), reader.values)

    def of(self, page: PageEdges) -> tuple[Any, ...]:
        values: Any = page.values
        return *self._sources(page), *packed_arguments(values), PerCall(self._values)


def packed_arguments(array: Packed) -> tuple[Any, ...]:
    return *views(array.records), array.words, array.first_word
