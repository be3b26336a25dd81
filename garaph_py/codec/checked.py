"""Unpacks arrays that may be damaged or forged. Any bits give either the array or the reason why they are not one."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..native import Kernel, sums_of_packed
from .format import ASCENDING, GROUP, LISTS, NUMBERS, RECORD_BYTES, RECORD_WORDS, RUN, WIDTHS_AT, problem
from .pack import unpack_run, views

Array = npt.NDArray[Any]

BASE, RANGE, STRAY = 1, 2, 3
"""What compiled code finds wrong with a run; `PROBLEMS` has the words."""
TOP, LOW = 2**63 - 1, 0xFFFFFFFF
"""The largest int64, and the 32 low bits of one."""
PROBLEMS = {
    BASE: "a run's base is not the element before it",
    RANGE: "an element does not fit its type",
    STRAY: "a number past its end is not 0",
}


def room_above(base):
    """The largest number that may be added to `base`.

    The caller checks this before it adds, because compiled code assumes that a sum of int64 does not wrap.
    """
    return TOP - max(base, np.int64(0))


def is_stray(numbers, count):
    """Whether any number of a run after its first `count` is not 0."""
    bits = np.uint32(0)
    for k in range(count, RUN):
        bits |= numbers[k]
    return bits != np.uint32(0)


# wide: compiled code takes its arrays one by one
def lists(records, widths, masks, words, length, window, elements, stride, most):
    """Elements are sums modulo 2**32. If an element does not fit into 32 bits, its sum wraps, which this detects."""
    before, greatest = np.int64(0), np.uint32(0)
    for run in range((length + RUN - 1) // RUN):
        begin, count = run * RUN, min(RUN, length - run * RUN)
        base, starts = records[run * RECORD_WORDS + 1], np.int64(masks[begin >> 5]) & 1
        if (starts == 1 and base != 0) or (starts == 0 and run > 0 and base != before):
            return BASE
        if base >> 32 != 0:
            return RANGE
        position, total, wrong = records[run * RECORD_WORDS], np.uint32(base), np.uint32(0)
        for group in range((count + GROUP - 1) // GROUP):
            width = np.int64(widths[run * RECORD_BYTES + WIDTHS_AT + group])
            begins, left = masks[(begin >> 5) + group], min(GROUP, count - group * GROUP)
            total, wrapped = sums_of_packed(words, position, width, begins, total, window, group * GROUP)
            wrong |= wrapped << np.uint32(GROUP - left)  # shift out the numbers past the end
            position += width
        if wrong & np.uint32(LOW) != 0:
            return RANGE
        before = np.int64(window[count - 1])
        for k in range(count):
            greatest = max(greatest, window[k])
            elements[run * stride + k] = window[k]
        if count < RUN:
            unpack_run(records, widths, run, words, 0, window)
            if is_stray(window, count):
                return STRAY
    most[0] = np.int64(greatest)
    return 0


# wide: compiled code takes its arrays one by one
def ascending(records, widths, masks, words, length, numbers, elements, stride, most):
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
        for k in range(end - begin):
            before += np.int64(numbers[k])
            elements[run * stride + k] = before
        if is_stray(numbers, end - begin):
            return STRAY
    most[0] = before
    return 0


# wide: compiled code takes its arrays one by one
def others(records, widths, masks, words, length, numbers, elements, stride, most):
    greatest = np.int64(-TOP - 1)
    for run in range((length + RUN - 1) // RUN):
        begin, end = run * RUN, min((run + 1) * RUN, length)
        base, widest = records[run * RECORD_WORDS + 1], np.int64(0)
        unpack_run(records, widths, run, words, 0, numbers)
        for k in range(end - begin):
            widest = max(widest, np.int64(numbers[k]))
        if widest > room_above(base):
            return RANGE
        fits = True
        for k in range(end - begin):
            element = base + np.int64(numbers[k])
            elements[run * stride + k] = element
            fits &= np.int64(elements[run * stride + k]) == element
        if not fits:
            return RANGE
        if is_stray(numbers, end - begin):
            return STRAY
        greatest = max(greatest, base + widest)
    most[0] = greatest
    return 0


CHECKING = {LISTS: lists, ASCENDING: ascending, NUMBERS: others}


@cache
def checking_kernel(kind: str, dtype: np.dtype[Any]) -> Kernel:
    return Kernel(f"i64* u8* u32* u32* i64 u32* {dtype.kind}{dtype.itemsize * 8}* i64 i64*", CHECKING[kind])


def unpack_checked(
    kind: str, records: Array, masks: Array | None, words: Array, length: int, elements: Array
) -> tuple[str | None, int]:
    """Fill `elements`, or return why that is impossible. This reads and writes nothing outside the arrays.

    Parameters
    ----------
    records : ndarray of RECORD
        One for each run; `first_word` counts from ``words[0]``.
    masks : ndarray of uint32, or None
        For `LISTS`: one bit for each element, set if a list begins with it.
    words : ndarray of uint32
    length : int
        The number of elements.
    elements : ndarray, shape (length,) or (RUN,)
        If it has room for one run only, each run is unpacked there in turn, so that elements are only checked.

    Returns
    -------
    problem : str or None
    most : int
        The greatest element, if there is no problem.
    """
    if wrong := problem(records, len(words)):
        return wrong, 0
    if masks is not None and length % GROUP and int(masks[-1]) >> length % GROUP:
        return "a list begins past its end", 0
    kernel, most = checking_kernel(kind, elements.dtype), np.zeros(1, np.int64)
    stride = RUN if len(elements) >= length else 0
    window = np.empty(RUN, np.uint32)
    code = kernel(*views(records), masks, words, length, window, elements, stride, most)
    return PROBLEMS.get(code), int(most[0])


def count_begins(offsets, low, high, first, masks):
    """The number of distinct elements at which the lists [low, high) begin; -1 if one of them has no bit in `masks`.

    The first bit of `masks` belongs to element `first`.
    """
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
    """Whether `masks`, the bitmap of elements [first, last), has a bit exactly where a list of `offsets` begins."""
    low, high = np.searchsorted(offsets, (first, last))
    return bool(COUNT_BEGINS(offsets, int(low), int(high), first, masks) == int(np.bitwise_count(masks).sum()))
