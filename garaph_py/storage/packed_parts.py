"""Compiled code for parts of packed blocks: finds the sectors that hold some runs, and copies the records of runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.blocks import WORD
from ..codec.format import GROUP, RECORD_BYTES, RECORD_WORDS, RUN, WIDTHS_AT
from ..codec.pack import views
from ..native import Kernel, sum_of_bytes
from .sectors import SECTOR

Array = npt.NDArray[Any]

HEADS, KNOWN, STORED = range(3)
"""What to read of runs: their records, at the head of their block; their words, whose records are all in memory; their
words, whose records have been read by sectors."""
BLOCK, BEGIN, END, FIRST, LAST = range(5)
"""What is found of a part: its block; its first byte in the data file, and the one after its last; its first run, and
the one after its last."""


# wide: compiled code takes its arrays one by one
def copy_records(firsts, lasts, shifts, count, trusted, sound, records, base, to, first):
    """Copy the records of the runs from ``firsts[k]`` up to ``lasts[k]`` to `to`, and add ``shifts[k]`` to their words.

    The first of the `records` is that of run `base`, that of `to` is of run `first`. Unless all runs are `sound` or
    `trusted`, nothing is copied, and the result is 1.
    """
    for k in range(0 if trusted else count):
        for run in range(firsts[k], lasts[k]):
            if sound[run] == 0:
                return 1
    for k in range(count):
        for run in range(firsts[k], lasts[k]):
            into, out_of = (run - first) * RECORD_WORDS, (run - base) * RECORD_WORDS
            for word in range(RECORD_WORDS):
                to[into + word] = records[out_of + word]
            to[into] += shifts[k]
    return 0


# wide: compiled code takes its arrays one by one
def find_parts(runs, count, each, what, starts, words, records, widths, base, found, most):
    """Write what is found of each part to a column of `found`, which has room for `most`; return their number.

    Blocks have `each` runs; they begin at the bytes `starts`, and their words at the bytes `words`. The first of the
    `records` is that of run `base`. Runs whose sectors touch are one part, unless they are in different blocks or, if
    their records were read, these were not read together. Records that were read beside those of the parts become 0.
    """
    parts, heads_end = 0, np.int64(0)
    for k in range(count):
        run, last = runs[2 * k], runs[2 * k + 1]
        while run < last:
            block = run // each
            stop = min(last, (block + 1) * each)
            head = starts[block] - RECORD_BYTES * block * each
            heads_begin = (head + RECORD_BYTES * run) // SECTOR * SECTOR
            own = parts - 1
            is_next = parts > 0 and found[BLOCK * most + own] == block
            touches = is_next and heads_begin <= heads_end
            heads_end = (head + RECORD_BYTES * stop + SECTOR - 1) // SECTOR * SECTOR
            begin, end = heads_begin, heads_end
            if what != HEADS:
                place = stop - 1 - base
                begin = (words[block] + WORD * records[(run - base) * RECORD_WORDS]) // SECTOR * SECTOR
                end = records[place * RECORD_WORDS]
                end += sum_of_bytes(widths, place * RECORD_BYTES + WIDTHS_AT, RUN // GROUP)
                end = (words[block] + WORD * end + SECTOR - 1) // SECTOR * SECTOR
                is_near = is_next and begin <= found[END * most + own]
                if what == STORED and touches and not is_near:
                    for word in range((found[LAST * most + own] - base) * RECORD_WORDS, (run - base) * RECORD_WORDS):
                        records[word] = 0
                touches = is_near and (touches or what == KNOWN)
            if not touches:
                own = parts
                found[BLOCK * most + own], found[BEGIN * most + own], found[FIRST * most + own] = block, begin, run
                parts += 1
            found[END * most + own], found[LAST * most + own] = end, stop
            run = stop
    return parts


COPY_RECORDS = Kernel("i64* i64* i64* i64 i64 u8* i64* i64 i64* i64", copy_records)
FIND_PARTS = Kernel("i64* i64 i64 i64 i64* i64* i64* u8* i64 i64* i64", find_parts)


def parts_of(runs: Array, each: int, what: int, starts: Array, words: Array, records: Array, base: int) -> Array:
    """The parts that hold the ranges of `runs`, shape (k, 2), which ascend; int64, a row for each of `BLOCK` to `LAST`.

    See `find_parts`.
    """
    most = len(runs) + int(runs[-1, 1]) // each - int(runs[0, 0]) // each + 1  # a range is cut where a block begins
    found = np.empty((5, most), np.int64)
    runs = np.ascontiguousarray(runs)
    count = FIND_PARTS(runs, len(runs), each, what, starts, words, *views(records), base, found, most)
    return found[:, :count]
