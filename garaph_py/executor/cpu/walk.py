"""The walk over a set of vertices, from which every kernel that visits a set is built.

A set is a bitmap and a byte for each block of 4096 vertices; the byte is zero if the block has no vertex of the set. A
walk skips such blocks, so its cost depends on the size of the set, not on that of the graph. A walk is built from
functions that the compiler inlines. They pass on what they change as `acc`, a number or a tuple; `context` is what they
only read.
"""

from __future__ import annotations

import numpy as np

from ...native import atomic_load, atomic_or, trailing_zeros

TO_THE_END = 1 << 62
"""A bound greater than the index of any edge."""
ALL = np.uint64((1 << 64) - 1)
"""A word with all 64 bits set."""
NO_BITS = np.uint64(0)
"""A word without a set bit."""
NOTHING = np.int64(0)
"""The number from which kernels count. A literal 0 has a type of its own, so the compiler would compile each function
that the count passes through twice."""
LISTS = ("first_vertex", "last_vertex", "block", "position", "start", "stop")
"""Arguments of a kernel that visits the edges of a set's vertices, in the order of `make_for_each_list`'s `run`."""


def keep(acc, w, words, context):
    """Leave `acc` as it is: the default at a word's beginning and end."""
    return acc


def make_for_each(visit, begin_word=keep, end_word=keep):
    """Build ``for_each(acc, bits, blocks, first, last, context)``, which visits the set's vertices in [first, last).

    ``acc, goes_on = visit(acc, v, context)`` is called for each vertex in ascending order, until `goes_on` is false;
    ``acc = begin_word(acc, w, words, context)`` and `end_word` are called before and after each word, unless its block
    is empty. `words` is the end of the range of words.
    """

    def for_each(acc, bits, blocks, first, last, context):
        w, words = first >> 6, ((last - 1) >> 6) + 1
        goes_on = True
        while w < words and goes_on:
            if w & 63 == 0 and blocks[w >> 6] == 0:
                w += 64
                continue
            acc = begin_word(acc, w, words, context)
            word = bits[w]
            if w == first >> 6:
                word &= ALL << np.uint64(first & 63)
            if w == words - 1:
                word &= ALL >> np.uint64(63 - ((last - 1) & 63))
            while word != np.uint64(0):
                v = (w << 6) + trailing_zeros(word)
                word &= word - np.uint64(1)
                acc, goes_on = visit(acc, v, context)
                if not goes_on:
                    break
            acc = end_word(acc, w, words, context)
            w += 1
        return acc

    return for_each


def make_for_each_list(visit, begin_word=keep, end_word=keep):
    """Build ``for_each_list(acc, bits, blocks, offsets, run, context)``, which visits the edges of one run.

    The edge lists of the set's vertices in [first, last) are laid end to end. `run` is the tuple ``first, last, block,
    position, start, stop``: the edges [start, stop) in this order. `block` is the block of vertices in which the run
    begins; `position` is the index of the block's first edge. For each vertex,
    ``acc = visit(acc, v, begin, end, cut_before, cut_after, context)`` is called with the edges of its list that lie in
    the run, and whether the run's bounds cut off edges before or after them.
    """

    def visit_vertex(state, v, context):
        position, acc = state
        offsets, start, stop, inner = context
        begin, end = offsets[v], offsets[v + 1]
        here = position
        position += end - begin
        if here >= start or position > start:
            first, last = begin + max(start - here, 0), min(end, begin + (stop - here))
            acc = visit(acc, v, first, last, here < start, position > stop, inner)
        return (position, acc), position < stop

    def begin(state, w, words, context):
        return state[0], begin_word(state[1], w, words, context[3])

    def end(state, w, words, context):
        return state[0], end_word(state[1], w, words, context[3])

    for_each = make_for_each(visit_vertex, begin, end)

    def for_each_list(acc, bits, blocks, offsets, run, context):
        first, last, block, position, start, stop = run
        if position < stop:
            state = (position, acc)
            _, acc = for_each(state, bits, blocks, max(first, block << 12), last, (offsets, start, stop, context))
        return acc

    return for_each_list


def make_for_each_bit(visit):
    """Build ``for_each_bit(acc, word, w, context)``: ``acc = visit(acc, v, context)`` for each vertex of word `w`."""

    def for_each_bit(acc, word, w, context):
        while word != np.uint64(0):
            v = (w << 6) + trailing_zeros(word)
            word &= word - np.uint64(1)
            acc = visit(acc, v, context)
        return acc

    return for_each_bit


def bit_of(v):
    """The bit of vertex v in its word."""
    return np.uint64(1) << np.uint64(v & 63)


def insert(bits, blocks, v):
    """Add vertex v to a set to which other threads add, too; return whether it was not in the set yet."""
    bit = bit_of(v)
    if atomic_load(bits, v >> 6) & bit != np.uint64(0):
        return False
    if atomic_or(bits, v >> 6, bit) & bit != np.uint64(0):
        return False
    mark_block(blocks, v >> 12)
    return True


def insert_own(bits, blocks, v):
    """The same where no other thread changes the word that holds the bit of v."""
    word, bit = bits[v >> 6], bit_of(v)
    if word & bit != np.uint64(0):
        return False
    bits[v >> 6] = word | bit
    mark_block(blocks, v >> 12)
    return True


def insert_word(bits, blocks, w, word):
    """Add the vertices of `word` to a set to which other threads add, too."""
    if word != np.uint64(0):
        atomic_or(bits, w, word)
        mark_block(blocks, w >> 6)


def mark_block(blocks, block):
    """Note that a block has vertices; a store that changes nothing would still take the line from all other cores."""
    if blocks[block] == 0:
        blocks[block] = 1
