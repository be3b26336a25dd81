"""Finds out whether packed blocks, or parts of them, are sound: several in one call, so that Python takes little time.

It does what `checked.unpack_checked` and `checked.begins_where` do. These say what is wrong with a block that is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..native import From, Kernel, PerCall, run_in_turn
from .blocks import KIND_OF, WORD
from .checked import CHECKING, TOP, count_begins
from .format import GROUP, LISTS, RECORD, RECORD_BYTES, RECORD_WORDS, RUN, WIDTHS_AT
from .pack import views

Array = npt.NDArray[Any]

MOST, LAST, BASE, LEAST, BEGINS = range(5)
"""What is found of a sound piece: its greatest element, its last one, the base of its first run, the least base, and
whether a list begins with its first element."""
NO_LISTS = np.zeros(1, np.int64)
"""The offsets of an array that has no lists."""


@dataclass(frozen=True)
class Pieces:
    """Pieces of one array, whose runs are whole: blocks, or parts of blocks.

    Attributes
    ----------
    records : From
        The records of each piece, as uint32 numbers; `first_word` counts from its own words.
    masks : From
        For lists, a bitmap of each piece's elements; see `codec.blocks.begin_masks`.
    words : From
        The words of each piece.
    counts : ndarray of int64, shape (k,)
        The number of these words.
    bounds : ndarray of int64, shape (k, 2)
        The first element of each piece, and the one after its last.
    """

    records: From
    masks: From
    words: From
    counts: Array
    bounds: Array


def blocks_in(data: Array, at: Array, nbytes: Array, words_at: Array, bounds: Array) -> Pieces:
    """Stored blocks in the buffer `data` (uint8): each begins `at` a multiple of `WORD`, and has `nbytes`, of which the
    first `words_at` come before its words."""
    words, runs = data[: len(data) // WORD * WORD].view(np.uint32), -(-(bounds[:, 1] - bounds[:, 0]) // RUN)
    records, masks, own = (From(words, (at + shift) // WORD) for shift in (0, runs * RECORD_BYTES, words_at))
    return Pieces(records, masks, own, (nbytes - words_at) // WORD, bounds)


@dataclass(frozen=True)
class Found:
    """What is known of the pieces.

    Attributes
    ----------
    sound : ndarray of bool, shape (k,)
        Whether each piece is sound; the other arrays say nothing of one that is not.
    most, last, bases, least : ndarray of int64, shape (k,)
        The greatest and the last element of each piece, the base of its first run, and the least base of all its runs.
    begins : ndarray of bool, shape (k,)
        Whether a list begins with the piece's first element.
    """

    sound: Array
    most: Array
    last: Array
    bases: Array
    least: Array
    begins: Array


def copy_records(stored, runs, records):
    """Copy the records of the runs, which may begin at any word, to `records`, which is aligned; return the least
    base."""
    least = TOP
    for k in range(runs * RECORD_WORDS):
        records[k] = np.int64(stored[2 * k]) | (np.int64(stored[2 * k + 1]) << 32)
    for run in range(runs):
        least = min(least, records[run * RECORD_WORDS + 1])
    return least


def follow_each_other(records, widths, runs, words):
    """Whether the words of the runs follow each other, are `words` in all, and no width is above 32."""
    position = np.int64(0)
    for run in range(runs):
        if records[run * RECORD_WORDS] != position:
            return False
        for group in range(RUN // GROUP):
            width = np.int64(widths[run * RECORD_BYTES + WIDTHS_AT + group])
            if width > 32:
                return False
            position += width
    return position == words


def count_bits(masks, count):
    """The number of bits that are set in the first `count` words."""
    total = np.int64(0)
    for k in range(count):
        bits = np.int64(masks[k])
        bits -= (bits >> 1) & 0x55555555
        bits = (bits & 0x33333333) + ((bits >> 2) & 0x33333333)
        bits = (bits + (bits >> 4)) & 0x0F0F0F0F
        total += ((bits * 0x01010101) & 0xFFFFFFFF) >> 24
    return total


@cache
def sounding_kernel(kind: str, dtype: np.dtype[Any]) -> Kernel:
    """The kernel that checks one piece of an array of this kind; its result is 0 if the piece is sound."""
    unpack, has_lists = CHECKING[kind], kind == LISTS

    # wide: compiled code takes its arrays one by one
    def sound(stored, masks, words, count, length, offsets, low, high, first, records, widths, window, elements, found):
        found[LEAST] = copy_records(stored, (length + RUN - 1) // RUN, records)
        found[BASE] = records[1]
        if not follow_each_other(records, widths, (length + RUN - 1) // RUN, count):
            return 1
        if has_lists:
            groups = (length + GROUP - 1) // GROUP
            if length % GROUP != 0 and np.int64(masks[groups - 1]) >> (length % GROUP) != 0:
                return 1
            if count_begins(offsets, low, high, first, masks) != count_bits(masks, groups):
                return 1
            found[BEGINS] = np.int64(masks[0]) & 1
        if unpack(records, widths, masks, words, length, window, elements, 0, found) != 0:
            return 1
        found[LAST] = np.int64(elements[(length - 1) % RUN])
        return 0

    element = f"{dtype.kind}{dtype.itemsize * 8}*"
    return Kernel(f"u32* u32* u32* i64 i64 i64* i64 i64 i64 i64* u8* u32* {element} i64*", sound)


def find_sound(pieces: Pieces, name: str, dtype: np.dtype[Any], offsets: Array | None) -> Found:
    """Check pieces of the array `name`; `offsets` are those of its lists, if it has lists."""
    first, last = pieces.bounds.T
    counts = last - first
    lists, low, high = NO_LISTS, 0, 0
    if offsets is not None:
        lists, (low, high) = offsets, offsets.searchsorted(pieces.bounds.T)
    found = np.zeros((len(counts), 5), np.int64)
    table = sounding_kernel(KIND_OF[name], dtype).rows(
        len(counts), pieces.records, pieces.masks, pieces.words, pieces.counts, counts, lists, low, high, first,
        *views(np.empty(-(-int(counts.max()) // RUN), RECORD)), np.empty(RUN, np.uint32), np.empty(RUN, dtype),
        PerCall(found),
    )  # fmt: skip
    sound = run_in_turn(table) == 0
    return Found(sound, found[:, MOST], found[:, LAST], found[:, BASE], found[:, LEAST], found[:, BEGINS] != 0)
