"""Pull from active vertices only, for relaxations: contributions of inactive sources are already in the values.

Partitions and partial sums are as in `pull`. The kernel skips vertices that have no in-edges or are done. A branch on
that is hard to predict, and each gather begins with a cache miss. So the kernel inspects the vertices two words ahead,
and prefetches their first sources; of packed ones the records, and a word later the packed words. Where gathers may end
early, it then prefetches the values of those that are active, before the first gather of the word waits for one, unless
all active vertices have the same value (`shared`).
"""

from __future__ import annotations

import numpy as np

from ...native import atomic_or
from .edges import Reader
from .functions import Functions
from .pull import PARTITION, make_gather, make_leave_sum
from .records import RecordKernel
from .update import CONTEXT, make_tally, make_update
from .walk import NOTHING, bit_of, insert_word, keep, make_for_each_bit


def make_due(f: Functions, reader: Reader):
    """Find the vertices of a word, in [first, last), that have in-edges and are not done; prefetch their first
    sources."""
    load, done, identity, fetch = f.value.load, f.done, f.identity, reader.fetch

    def fetch_list(acc, v, context):
        edges, in_offsets = context
        fetch(edges, in_offsets[v])
        return acc

    for_each_bit = make_for_each_bit(fetch_list)

    def due(w, first, last, edges, t):
        found = np.uint64(0)
        for v in range(max(first, w << 6), min(last, (w + 1) << 6)):
            is_done = t.early and done(t.parameters, identity(t.parameters), load(t.values, v))
            found |= np.uint64((t.in_offsets[v] < t.in_offsets[v + 1]) & (not is_done)) << np.uint64(v & 63)
        for_each_bit(NOTHING, found, w, (edges, t.in_offsets))
        return found

    return due


def make_fetch_values(f: Functions, reader: Reader):
    """Build ``fetch_values(acc, word, w, (edges, t))``, which prefetches the value of the first source of each of a
    word's vertices, if that is active: the vertex's gather probably ends there."""
    first_source, fetch = reader.source_at, f.value.fetch

    def fetch_value(acc, v, context):
        edges, t = context
        source = first_source(edges, max(t.in_offsets[v], t.first_edge))
        is_active = t.frontier[source >> 6] & bit_of(source) != np.uint64(0)
        fetch(t.values, source if is_active else v)  # without a branch, which would be hard to predict
        return acc

    return make_for_each_bit(fetch_value)


def make_fetch_words(reader: Reader):
    """Build ``fetch_words(acc, word, w, (edges, t))``, which prefetches what the first sources of a word's vertices are
    decoded from."""
    fetch = reader.fetch_words

    def fetch_list(acc, v, context):
        edges, t = context
        fetch(edges, t.in_offsets[v])
        return acc

    return make_for_each_bit(fetch_list)


def make_pull_active(f: Functions, reader: Reader, ends_early: bool) -> RecordKernel:
    """Make the kernel; with `ends_early`, the program defines `done`, and most gathers end after the first edge."""
    gather_edges = make_gather(f, reader, filtered=True, few=ends_early)
    update, leave_sum = make_update(f, True), make_leave_sum(f)
    due, identity, load = make_due(f, reader), f.identity, f.value.load
    zero, add, leave = make_tally(f)
    fetch_values = keep if reader.source_at is None else make_fetch_values(f, reader)
    fetch_words = keep if reader.fetch_words is None else make_fetch_words(reader)

    def pull_vertex(acc, v, context):
        edges, t = context
        visits, tally, word = acc
        begin, end, old = t.in_offsets[v], t.in_offsets[v + 1], load(t.values, v)
        start, stop = t.first_edge, t.last_edge
        acc, visited = gather_edges(
            t, identity(t.parameters), old, v, max(begin, start), min(end, stop), edges, t.frontier
        )
        if not leave_sum(t, v, acc, begin < start, end > stop):
            done = update(t, v, acc, old)
            if done[0]:
                tally = add(tally, done)
                word |= bit_of(v)
                if not t.early:  # asynchronous run: later gathers read the new value
                    atomic_or(t.frontier, v >> 6, bit_of(v))
        return visits + visited, tally, word

    for_each_bit = make_for_each_bit(pull_vertex)

    def pull_active(edges, t):
        """Pull along the edges [first_edge, last_edge), in which the lists of [first_vertex, last_vertex) begin."""
        first, last, start = t.first_vertex, t.last_vertex, t.first_edge
        t.cuts[0], t.cuts[1] = -1, -1
        visits, tally = NOTHING, zero()
        earliest = first - np.int64(start < t.last_edge and t.in_offsets[first] > start)
        following = later = np.uint64(0)
        for w in range((earliest >> 6) - 2, ((last - 1) >> 6) + 1):  # the first two rounds only look ahead
            remaining, following, later = following, later, due(w + 2, earliest, last, edges, t)
            fetch_words(NOTHING, following, w + 1, (edges, t))
            if t.early and not (ends_early and t.shared >= 0):
                fetch_values(NOTHING, remaining, w, (edges, t))
            visits, tally, word = for_each_bit((visits, tally, np.uint64(0)), remaining, w, (edges, t))
            insert_word(t.next_frontier, t.next_frontier_blocks, w, word)
        leave(t, visits, tally)
        return 0

    names = (*CONTEXT, *PARTITION, "frontier", "first_edge", "last_edge", "first_vertex", "last_vertex")
    return RecordKernel("pull_active", pull_active, names + ("shared",) * ends_early, f, reader)
