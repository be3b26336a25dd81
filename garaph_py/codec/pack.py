"""Packs and unpacks arrays, many runs in parallel. format.py describes the format."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GraphError
from ..native import Kernel, PerCall, numbers_of_packed
from ..native.threads import ThreadPool
from ..system.memory import enough_memory, on_own_pages
from .format import (
    ASCENDING,
    GROUP,
    LISTS,
    NUMBERS,
    PADDING,
    RECORD,
    RECORD_BYTES,
    RECORD_WORDS,
    RUN,
    WIDTHS_AT,
    Packed,
)

Array = npt.NDArray[Any]

RUNS_A_TASK = 256
"""Runs of numbers that a thread packs or unpacks in one task."""
NARROW = ("int32", "uint32", "int64")
"""Types of the arrays that can be packed."""


class UnsortedError(GraphError):
    """A list that is to be packed does not ascend."""


def unpack_run(records, widths, run, words, first_word, out):
    """Unpack all numbers of a run to `out`, including those past the end of the array."""
    position = records[run * RECORD_WORDS] - first_word
    for group in range(RUN // GROUP):
        width = np.int64(widths[run * RECORD_BYTES + WIDTHS_AT + group])
        numbers_of_packed(words, position, width, out, group * GROUP)
        position += width


def pack_group(numbers, at, width, words, position):
    waiting, filled = np.uint64(0), 0
    for k in range(GROUP):
        waiting |= numbers[at + k] << np.uint64(filled)
        filled += width
        if filled >= 32:
            words[position] = np.uint32(waiting & np.uint64(0xFFFFFFFF))
            position += 1
            waiting >>= np.uint64(32)
            filled -= 32


# wide: compiled code takes its arrays one by one
def ascending_numbers(elements, offsets, start, before, v, begin, end, out):
    """Write the numbers to pack for elements [begin, end) to `out`; return `v` and the base.

    The base is the element before `begin`; if `begin` is 0, it is `before`.
    """
    base = np.int64(elements[begin - 1]) if begin > 0 else before
    last = base
    for e in range(begin, end):
        element = np.int64(elements[e])
        out[e - begin] = np.uint64(element - last)
        last = element
    return v, base


# wide: compiled code takes its arrays one by one
def list_numbers(elements, offsets, start, before, v, begin, end, out):
    """As `ascending_numbers`, for lists.

    `v` is the first list that begins at `begin` or later; the returned `v` is the first that begins at `end` or later.
    The array begins with element `start` of the array to which `offsets` belong.
    """
    _, base = ascending_numbers(elements, offsets, start, before, v, begin, end, out)
    if offsets[v] - start == begin:
        base = np.int64(0)
    while offsets[v] - start < end:
        out[offsets[v] - start - begin] = np.uint64(elements[offsets[v] - start])
        v += 1
    return v, base


# wide: compiled code takes its arrays one by one
def other_numbers(elements, offsets, start, before, v, begin, end, out):
    base = np.int64(elements[begin])
    for e in range(begin, end):
        base = min(base, np.int64(elements[e]))
    for e in range(begin, end):
        out[e - begin] = np.uint64(np.int64(elements[e]) - base)
    return v, base


# wide: compiled code takes its arrays one by one
def restore_list(numbers, offsets, start, v, begin, end, base, elements):
    """The inverse of `list_numbers`; return `v` for the next run."""
    e, before = begin, base
    while e < end:
        stop = min(offsets[v] - start, end)
        for k in range(e, stop):
            before += np.int64(numbers[k - begin])
            elements[k] = before
        e, before = stop, np.int64(0)
        while offsets[v] - start == e and e < end:
            v += 1
    return v


# wide: compiled code takes its arrays one by one
def restore_ascending(numbers, offsets, start, v, begin, end, base, elements):
    before = base
    for e in range(begin, end):
        before += np.int64(numbers[e - begin])
        elements[e] = before
    return v


# wide: compiled code takes its arrays one by one
def restore_others(numbers, offsets, start, v, begin, end, base, elements):
    for e in range(begin, end):
        elements[e] = base + np.int64(numbers[e - begin])
    return v


def make_numbers_of_run(numbers_of):
    # wide: compiled code takes its arrays one by one
    def numbers_of_run(elements, offsets, start, before, length, v, run, numbers):
        """Write all `RUN` numbers of a run; those past the end of the array are 0."""
        begin, end = run * RUN, min((run + 1) * RUN, length)
        v, base = numbers_of(elements, offsets, start, before, v, begin, end, numbers)
        for k in range(end - begin, RUN):
            numbers[k] = np.uint64(0)
        return v, base

    return numbers_of_run


def make_measure(numbers_of):
    numbers_of_run = make_numbers_of_run(numbers_of)

    # wide: compiled code takes its arrays one by one
    def measure(elements, offsets, start, before, length, first, last, v, numbers, records, widths):
        """Write the bases and widths of the runs [first, last); return whether all numbers fit into 32 bits.

        The field `first_word` of a record receives the number of the run's words, not their position.
        """
        for run in range(first, last):
            v, base = numbers_of_run(elements, offsets, start, before, length, v, run, numbers)
            words = 0
            for group in range(RUN // GROUP):
                bits = np.uint64(0)
                for k in range(group * GROUP, (group + 1) * GROUP):
                    bits |= numbers[k]
                width = 0
                while bits != np.uint64(0):
                    width += 1
                    bits >>= np.uint64(1)
                if width > 32:
                    return 0
                widths[run * RECORD_BYTES + WIDTHS_AT + group] = np.uint8(width)
                words += width
            records[run * RECORD_WORDS] = words
            records[run * RECORD_WORDS + 1] = base
        return 1

    return measure


def make_fill(numbers_of):
    numbers_of_run = make_numbers_of_run(numbers_of)

    # wide: compiled code takes its arrays one by one
    def fill(elements, offsets, start, before, length, first, last, v, numbers, records, widths, words):
        """Write the words of the runs [first, last)."""
        for run in range(first, last):
            v, _ = numbers_of_run(elements, offsets, start, before, length, v, run, numbers)
            position = records[run * RECORD_WORDS]
            for group in range(RUN // GROUP):
                width = np.int64(widths[run * RECORD_BYTES + WIDTHS_AT + group])
                pack_group(numbers, group * GROUP, width, words, position)
                position += width
        return 0

    return fill


def make_restore(restore_of):
    # wide: compiled code takes its arrays one by one
    def restore(elements, offsets, start, length, first, last, v, numbers, records, widths, words, first_word):
        """Write the elements of the runs [first, last)."""
        for run in range(first, last):
            begin, end = run * RUN, min((run + 1) * RUN, length)
            unpack_run(records, widths, run, words, first_word, numbers)
            base = records[run * RECORD_WORDS + 1]
            v = restore_of(numbers, offsets, start, v, begin, end, base, elements)
        return 0

    return restore


FORWARD = {LISTS: list_numbers, ASCENDING: ascending_numbers, NUMBERS: other_numbers}
BACK = {LISTS: restore_list, ASCENDING: restore_ascending, NUMBERS: restore_others}


@cache
def packing_kernels(kind: str, dtype: np.dtype[Any]) -> tuple[Kernel, Kernel, Kernel]:
    """`measure`, `fill` and `restore` for arrays of `dtype`."""
    arrays, place = f"{dtype.kind}{dtype.itemsize * 8}* i64* i64", "i64 i64 i64 i64"
    return (
        Kernel(f"{arrays} i64 {place} u64* i64* u8*", make_measure(FORWARD[kind])),
        Kernel(f"{arrays} i64 {place} u64* i64* u8* u32*", make_fill(FORWARD[kind])),
        Kernel(f"{arrays} {place} u32* i64* u8* u32* i64", make_restore(BACK[kind])),
    )


def pack(
    array: Array, kind: str, pool: ThreadPool, offsets: Array | None = None, start: int = 0, before: int = 0
) -> Packed | None:
    """Pack `array`. Return None if its numbers do not fit into 32 bits.

    Parameters
    ----------
    array : ndarray of int32, uint32 or int64
    kind : {"lists", "ascending", "numbers"}
    offsets : ndarray of int64, shape (lists + 1,)
        For ``"lists"``: list i is ``array[offsets[i]:offsets[i + 1]]``, which must ascend.
    start, before : int
        If `array` is a chunk of a longer array, to which `offsets` belong: the index of its first element there, a
        multiple of `RUN`, and the element before that. Consecutive chunks can be `joined`.

    Raises
    ------
    UnsortedError
        If a list does not ascend.
    GraphError
        If there is not enough memory.
    """
    if array.dtype.name not in NARROW:
        return None
    runs = -(-len(array) // RUN)
    measure, fill, _ = packing_kernels(kind, array.dtype)
    first, last, lists = tasks(runs, offsets, start)
    numbers = np.empty((len(first), RUN), np.uint64)
    with enough_memory("packed edges"):
        records = on_own_pages(runs, RECORD)
    given = array, offsets, start, before, len(array), first, last, lists, PerCall(numbers), *views(records)
    if not np.all(pool.launch(measure.rows(len(first), *given))):
        if kind == LISTS:  # only a negative gap needs more than 32 bits
            raise UnsortedError("a vertex's neighbours are not in ascending order; import the graph again")
        return None
    counts = records["first_word"].copy()
    np.cumsum(counts[:-1], out=records["first_word"][1:])
    records["first_word"][:1] = 0
    with enough_memory("packed edges"):
        words = on_own_pages(int(counts.sum()) + PADDING, np.dtype(np.uint32))
    pool.launch(fill.rows(len(first), *given, words))
    return Packed(records, words, len(array), array.dtype)


def joined(chunks: list[Packed], dtype: np.dtype[Any]) -> Packed:
    """Join the packed chunks of an array. This empties the list `chunks`, so that no chunk is in memory twice."""
    length, runs = sum(chunk.length for chunk in chunks), sum(len(chunk.records) for chunk in chunks)
    words = sum(len(chunk.words) - PADDING for chunk in chunks)
    with enough_memory("packed edges"):
        whole = Packed(on_own_pages(runs, RECORD), on_own_pages(words + PADDING, np.dtype(np.uint32)), length, dtype)
    run = word = 0
    chunks.reverse()
    while chunks:
        chunk = chunks.pop()
        records, count = whole.records[run : run + len(chunk.records)], len(chunk.words) - PADDING
        records[:] = chunk.records
        records["first_word"] += word
        whole.words[word : word + count] = chunk.words[:count]
        run, word = run + len(records), word + count
    return whole


def unpack(packed: Packed, kind: str, pool: ThreadPool | None, offsets: Array | None = None, start: int = 0) -> Array:
    """The array, or the chunk of an array, that was packed. Without a `pool`, this starts threads of its own.

    The records must have no `format.problem`.
    """
    if pool is None:
        with ThreadPool() as own:
            return unpack(packed, kind, own, offsets, start)
    with enough_memory("unpacked edges"):
        array = np.empty(packed.length, packed.dtype)
    first, last, lists = tasks(len(packed.records), offsets, start)
    numbers = np.empty((len(first), RUN), np.uint32)
    _, _, restore = packing_kernels(kind, array.dtype)
    pool.launch(
        restore.rows(
            len(first), array, offsets, start, len(array), first, last, lists, PerCall(numbers), *views(packed.records),
            packed.words, packed.first_word,
        )
    )  # fmt: skip
    return array


def tasks(runs: int, offsets: Array | None, start: int) -> tuple[Array, Array, Array]:
    """For each task: its first run, the end of its runs, and the first list that begins in them or later."""
    first = np.arange(0, runs, RUNS_A_TASK)
    lists = np.zeros_like(first) if offsets is None else np.searchsorted(offsets, start + first * RUN)
    return first, np.minimum(first + RUNS_A_TASK, runs), lists


def views(records: Array) -> tuple[Array, Array]:
    """`records` as compiled code reads them: as int64 numbers, and as bytes."""
    return records.view(np.int64), records.view(np.uint8).reshape(-1)
