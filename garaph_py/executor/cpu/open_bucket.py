"""Opening a bucket: waiting vertices whose priority belongs to it enter the frontier.

Which of them do is in no order that the processor could predict, so there is no branch on a priority. Where many
vertices of a word wait, vector instructions look at all 64. Offsets of those that enter are prefetched, and read only
when their block of 4096 vertices is done.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native import prefetch_kept
from ...program.monoids import largest
from .functions import Functions
from .records import RecordKernel
from .walk import NO_BITS, NOTHING, make_for_each_bit

FEW = 4
"""The most waiting vertices of a word that are looked at one by one. A guess."""


def has_more_than_few(word):
    """Whether more than `FEW` bits are set."""
    for _ in range(FEW):
        word &= word - np.uint64(word != NO_BITS)
    return word != NO_BITS


def make_look(f: Functions, highest: Any):
    """Build ``look(t, w, word)``, which returns those vertices of a word that leave the set of waiting ones, those that
    belong to the bucket, and the least priority of the others.

    A vertex with a priority up to ``thresholds[0]`` changed again while it waited, and has been visited since.
    """
    priority = f.priority

    def look_at(t, w, k, word, acc):
        leave, due, least = acc
        p, k = priority(t.parameters, t.values[(w << 6) + k]), np.uint64(k)
        stays, is_new = p > t.thresholds[1], p > t.thresholds[0]
        leave |= np.uint64(not stays) << k
        due |= np.uint64(is_new & (not stays)) << k
        waits = stays & ((word >> k) & np.uint64(1) != NO_BITS)
        return leave, due, min(least, p if waits else highest)

    def look_at_one(acc, v, context):
        t, word = context
        return look_at(t, v >> 6, v & 63, word, acc)

    look_at_each = make_for_each_bit(look_at_one)

    def look(t, w, word):
        acc = NO_BITS, NO_BITS, highest
        if has_more_than_few(word) and (w + 1) << 6 <= t.n:
            for k in range(64):
                acc = look_at(t, w, k, word, acc)
        else:
            acc = look_at_each(acc, word, w, (t, word))
        leave, due, least = acc
        return leave & word, due & word, least

    return look


def fetch_offset(acc, v, t):
    prefetch_kept(t.out_offsets, v)
    return acc


fetch_offsets = make_for_each_bit(fetch_offset)


def count_edges(acc, v, t):
    count, edges = acc
    return count + 1, edges + t.out_offsets[v + 1] - t.out_offsets[v]


def make_open_bucket(f: Functions, kind: Any) -> RecordKernel:
    """Make the kernel for priorities of this `kind` of numbers."""
    highest = largest(kind)
    look, count_word = make_look(f, highest), make_for_each_bit(count_edges)

    def open_words(t, first, last, least):
        """Open it for the vertices of the words [first, last); return whether any stays pending, and the least priority
        of these."""
        stay = NO_BITS
        for w in range(first, last):
            word = t.pending[w]
            if word == NO_BITS:
                continue
            leave, due, lowest = look(t, w, word)
            stay |= word & ~leave
            least = min(least, lowest)
            if leave != NO_BITS:
                t.pending[w] = word & ~leave
            if due != NO_BITS:
                t.frontier[w] |= due
                t.frontier_blocks[w >> 6] = 1
                fetch_offsets(NOTHING, due, w, t)
        return stay != NO_BITS, least

    def open_bucket(t):
        """Move the pending vertices in [first_vertex, last_vertex) that belong to the bucket to the frontier.

        The range begins and ends at multiples of 4096. Returns whether any vertex stays pending, and writes the least
        priority of these to ``least[0]``, the number of the frontier's vertices and of their out-edges to `counts`, and
        these edges by block to `edges_by_block`.
        """
        acc, least, waits = (NOTHING, NOTHING), highest, False
        for block in range(t.first_vertex >> 12, ((t.last_vertex - 1) >> 12) + 1):
            first, last, before = block << 6, ((min((block + 1) << 12, t.last_vertex) - 1) >> 6) + 1, acc[1]
            if t.pending_blocks[block] != 0:
                stay, least = open_words(t, first, last, least)
                t.pending_blocks[block] = stay
                waits |= stay
            if t.frontier_blocks[block] != 0:
                for w in range(first, last):
                    acc = count_word(acc, t.frontier[w], w, t)
            t.edges_by_block[block] = acc[1] - before
        t.counts[0], t.counts[1] = acc
        t.least[0] = least
        return waits

    names = (
        "n", "out_offsets", "values", "parameters", "pending", "pending_blocks", "frontier", "frontier_blocks",
        "thresholds", "counts", "least", "edges_by_block", "first_vertex", "last_vertex",
    )  # fmt: skip
    return RecordKernel("open_bucket", open_bucket, names, f)
