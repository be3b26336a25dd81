"""Finds out whether packed blocks are sound: several in one call of compiled code, so that Python takes little time.

It does what `checked.unpack_checked` and `checked.begins_where` do. These say what is wrong with a block that is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..native import From, Kernel, PerCall, run_in_turn
from .blocks import KIND_OF, WORD, PackedBlocks
from .checked import CHECKING, count_begins
from .format import GROUP, LISTS, RECORD, RECORD_BYTES, RECORD_WORDS, RUN, WIDTHS_AT
from .pack import views

Array = npt.NDArray[Any]

MOST, LAST = range(2)
"""What is found of a sound block: its greatest element, and its last one."""


@dataclass(frozen=True)
class Blocks:
    """Stored blocks of one array, in a buffer.

    Attributes
    ----------
    data : ndarray of uint8
        The buffer.
    at : ndarray of int64, shape (k,)
        The position of each block in it, a multiple of `WORD`.
    nbytes : ndarray of int64, shape (k,)
        Bytes of each block.
    bounds : ndarray of int64, shape (k, 2)
        The first element of each block, and the one after its last.
    """

    data: Array
    at: Array
    nbytes: Array
    bounds: Array


@dataclass(frozen=True)
class Found:
    """What is known of the blocks.

    Attributes
    ----------
    sound : ndarray of bool, shape (k,)
        Whether each block is sound; the other arrays say nothing of one that is not.
    most, last, bases : ndarray of int64, shape (k,)
        The greatest and the last element of each block, and the base of its first run.
    begins : ndarray of bool, shape (k,)
        Whether a list begins with the block's first element.
    """

    sound: Array
    most: Array
    last: Array
    bases: Array
    begins: Array


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
    """The kernel that checks one block of an array of this kind; its result is 0 if the block is sound."""
    unpack, has_lists = CHECKING[kind], kind == LISTS

    # wide: compiled code takes its arrays one by one
    def sound(records, widths, masks, words, count, length, offsets, low, high, first, window, elements, found):
        if not follow_each_other(records, widths, (length + RUN - 1) // RUN, count):
            return 1
        if has_lists:
            groups = (length + GROUP - 1) // GROUP
            if length % GROUP != 0 and np.int64(masks[groups - 1]) >> (length % GROUP) != 0:
                return 1
            if count_begins(offsets, low, high, first, masks) != count_bits(masks, groups):
                return 1
        if unpack(records, widths, masks, words, length, window, elements, 0, found) != 0:
            return 1
        found[LAST] = np.int64(elements[(length - 1) % RUN])
        return 0

    element = f"{dtype.kind}{dtype.itemsize * 8}*"
    return Kernel(f"i64* u8* u32* u32* i64 i64 i64* i64 i64 i64 u32* {element} i64*", sound)


def find_sound(blocks: Blocks, name: str, dtype: np.dtype[Any], offsets: Array | None) -> Found:
    """Check stored blocks of the array `name`; `offsets` are those of its lists, if it has lists."""
    kind, encoding = KIND_OF[name], PackedBlocks(name, dtype)
    counts = blocks.bounds[:, 1] - blocks.bounds[:, 0]
    runs, words_at = -(-counts // RUN), np.array([encoding.words_at(int(count)) for count in counts])
    records = np.empty((len(counts), int(runs.max())), RECORD)  # a copy is aligned
    for k, (at, own) in enumerate(zip(blocks.at.tolist(), runs.tolist(), strict=True)):
        records[k, :own] = blocks.data[at : at + own * RECORD_BYTES].view(RECORD)
    words = blocks.data[: len(blocks.data) // WORD * WORD].view(np.uint32)
    lists = np.zeros(1, np.int64) if offsets is None else offsets
    low, high = np.zeros((2, len(counts)), np.int64) if offsets is None else np.searchsorted(offsets, blocks.bounds.T)
    found = np.zeros((len(counts), 2), np.int64)
    masks = From(words, (blocks.at + runs * RECORD_BYTES) // WORD)
    table = sounding_kernel(kind, dtype).rows(
        len(counts), *(PerCall(view.reshape(len(counts), -1)) for view in views(records)), masks,
        From(words, (blocks.at + words_at) // WORD), (blocks.nbytes - words_at) // WORD, counts, lists, low, high,
        blocks.bounds[:, 0], np.empty(RUN, np.uint32), np.empty(RUN, dtype), PerCall(found),
    )  # fmt: skip
    sound = run_in_turn(table) == 0
    begins = words[masks.starts] & 1 == 1 if kind == LISTS else np.zeros(len(counts), np.bool_)
    return Found(sound, found[:, MOST], found[:, LAST], records["base"][:, 0], begins)
