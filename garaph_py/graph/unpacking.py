"""Unpacking numbers that nobody vouches for: whatever the bits are, they give the array or the reason they cannot."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..native import Kernel
from .packed import ASCENDING, LISTS, NUMBERS, PADDING, RECORD_WORDS, RUN, problem
from .packing import unpack_run, views

Array = npt.NDArray[Any]

BASE, RANGE, STRAY = 1, 2, 3
TOP = 2**63 - 1
PROBLEMS = {
    BASE: "a run's base is not the element before it",
    RANGE: "an element does not fit its type",
    STRAY: "a number past its end is not 0",
}


def room_above(base):
    """What may be added; asked before, since compiled code takes for granted that a sum of int64 does not wrap."""
    return TOP - max(base, np.int64(0))


def is_stray(numbers, count):
    """Whether a number of a run, after its first `count`, is not 0."""
    bits = np.uint32(0)
    for k in range(count, RUN):
        bits |= numbers[k]
    return bits != np.uint32(0)


def lists(records, widths, masks, words, length, numbers, elements):
    before = np.int64(0)
    for run in range((length + RUN - 1) // RUN):
        begin, end = run * RUN, min((run + 1) * RUN, length)
        base, starts = records[run * RECORD_WORDS + 1], np.int64(masks[begin >> 5]) & 1
        if (starts == 1 and base != 0) or (starts == 0 and run > 0 and base != before):
            return BASE
        if base >> 32 != 0:
            return RANGE
        unpack_run(records, widths, run, words, 0, numbers)
        before, bits = base, np.int64(0)
        for e in range(begin, end):
            goes_on = 1 - (np.int64(masks[e >> 5]) >> (e & 31) & 1)
            before = np.int64(numbers[e - begin]) + goes_on * before
            bits |= before
            elements[e] = np.uint32(before & 0xFFFFFFFF)
        if bits >> 32 != 0:
            return RANGE
        if is_stray(numbers, end - begin):
            return STRAY
    return 0


def ascending(records, widths, masks, words, length, numbers, elements):
    before = np.int64(0)
    for run in range((length + RUN - 1) // RUN):
        begin, end = run * RUN, min((run + 1) * RUN, length)
        base = records[run * RECORD_WORDS + 1]
        if run > 0 and base != before:
            return BASE
        unpack_run(records, widths, run, words, 0, numbers)
        gained = np.int64(0)
        for k in range(end - begin):
            gained += np.int64(numbers[k])
        if gained > room_above(base):
            return RANGE
        before = base
        for e in range(begin, end):
            before += np.int64(numbers[e - begin])
            elements[e] = before
        if is_stray(numbers, end - begin):
            return STRAY
    return 0


def others(records, widths, masks, words, length, numbers, elements):
    for run in range((length + RUN - 1) // RUN):
        begin, end = run * RUN, min((run + 1) * RUN, length)
        base, widest = records[run * RECORD_WORDS + 1], np.int64(0)
        unpack_run(records, widths, run, words, 0, numbers)
        for k in range(end - begin):
            widest = max(widest, np.int64(numbers[k]))
        if widest > room_above(base):
            return RANGE
        fits = True
        for e in range(begin, end):
            element = base + np.int64(numbers[e - begin])
            elements[e] = element
            fits &= np.int64(elements[e]) == element
        if not fits:
            return RANGE
        if is_stray(numbers, end - begin):
            return STRAY
    return 0


CHECKING = {LISTS: lists, ASCENDING: ascending, NUMBERS: others}


@cache
def checking_kernel(kind: str, dtype: np.dtype[Any]) -> Kernel:
    return Kernel(f"i64* u8* u32* u32* i64 u32* {dtype.kind}{dtype.itemsize * 8}*", CHECKING[kind])


def unpack_checked(kind: str, records: Array, masks: Array | None, words: Array, elements: Array) -> str | None:
    """Fill `elements`, or say why that cannot be; nothing outside the arrays is read or written.

    Parameters
    ----------
    records : ndarray of RECORD
        One for each run of `elements`, `first_word` counted from ``words[0]``.
    masks : ndarray of uint32, or None
        For `LISTS`, a bit an element: whether a list begins there.
    words : ndarray of uint32
        `PADDING` follows them.
    """
    if wrong := problem(records, len(words) - PADDING):
        return wrong
    if masks is not None and len(elements) % 32 and int(masks[-1]) >> len(elements) % 32:
        return "a list begins past its end"
    kernel = checking_kernel(kind, elements.dtype)
    code = kernel(*views(records), masks, words, len(elements), np.empty(RUN, np.uint32), elements)
    return PROBLEMS.get(code)


def count_begins(offsets, low, high, first, masks):
    """How many elements the lists [low, high) begin at, counted from `first`; -1 if one has no bit in `masks`."""
    count, before = np.int64(0), np.int64(-1)
    for v in range(low, high):
        place = offsets[v] - first
        if (np.int64(masks[place >> 5]) >> (place & 31)) & 1 == 0:
            return np.int64(-1)
        count += np.int64(place != before)
        before = place
    return count


COUNT_BEGINS = Kernel("i64* i64 i64 i64 u32*", count_begins)


def begins_where(offsets: Array, first: int, last: int, masks: Array) -> bool:
    """Whether the `masks` of elements [first, last), a bit each, say that lists begin where `offsets` do."""
    low, high = np.searchsorted(offsets, (first, last))
    return bool(COUNT_BEGINS(offsets, int(low), int(high), first, masks) == int(np.bitwise_count(masks).sum()))
