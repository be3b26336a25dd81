"""Push: active vertices bring what they contribute along their out-edges, by atomic operations on one word.

For programs that are relaxations (`BoundProgram.is_relaxation`). The out-edges of the active vertices, laid end to
end, are divided equally over the threads, as in `notify`. Synchronous runs read `values` and sum into `pending`,
which are equal when a superstep begins. Asynchronous ones sum in place; there a vertex that changed before its turn
has come is not due again, and with `limits` those of a priority beyond the second wait in `later`.
"""

from __future__ import annotations

import numpy as np

from ...native import Kernel, atomic_and, atomic_load, compare_and_swap, trailing_zeros
from .edges import Reader, source_of
from .functions import Functions
from .notify import mark
from .pull import signature

AHEAD = 4
"""Words of the active set ahead of which to fetch the first targets."""
ALL = np.uint64((1 << 64) - 1)
"""A word of vertices."""
TO_THE_END = 1 << 62
"""A bound beyond every edge."""


def make_relax(f: Functions):
    """Sum a contribution into a vertex's value; whether that changed, and to what."""
    add, activate = f.sum, f.activate

    def relax(self, values, v, contribution):
        while True:
            old = values[v]
            new = add(old, contribution)
            if not activate(self, new, old):
                return False, new
            if compare_and_swap(values, v, old, new):
                return True, new

    return relax


def make_push(f: Functions, reader: Reader, priorities: bool) -> Kernel:
    """`priorities`: whether vertices beyond the limit wait."""
    relax, gather, priority, edge = make_relax(f), f.gather, f.priority, f.edge_at
    done, identity, fetch = f.done, f.identity, reader.fetch
    load_parameters, view_parameters = f.parameters.load, f.parameters.view

    def segment(acc, begin, end, targets, base, last, before, edge_values, values_base, context):
        """`acc`: vertices that become active, their out-edges if that `weighs`, and how many may change again."""
        self, v, value, pending, out_offsets, sets, limits, in_place, weighs = context
        activated, activated_blocks, later, later_blocks = sets
        count, count_edges, changeable = acc
        for e in range(begin, end):
            target = source_of(targets, e - base, before)
            contribution = gather(self, value, edge(edge_values, e - values_base), value, v)
            changed, new = relax(self, pending, target, contribution)
            if changed:
                if priorities and in_place and priority(self, new) > limits[1]:
                    mark(later, later_blocks, target)
                elif mark(activated, activated_blocks, target):
                    count += 1
                    if weighs:
                        count_edges += out_offsets[target + 1] - out_offsets[target]
                    changeable += not done(self, identity(self), new)
        return (count, count_edges, changeable), end - begin

    walk = reader.walk(segment, False)

    def push(
        edges, first, last, out_offsets, values, pending, parameters_, active, blocks, activated, activated_blocks,
        later, later_blocks, limits, in_place, weighs, counts, block, position, start, stop,
    ):  # fmt: skip
        """Edges [start, stop) of the concatenated out-edges of the active ones of vertices [first, last).

        Counts the out-edges of who becomes active if it `weighs`: a cache miss each.
        The first active vertex of `block` has its edges at `position` there.
        """
        self = load_parameters(view_parameters(parameters_), 0)
        sets = activated, activated_blocks, later, later_blocks
        followed, count, count_edges, changeable = 0, 0, 0, 0
        words = ((last - 1) >> 6) + 1
        w = max(block << 6, first >> 6)
        while w < words and position < stop:
            if w & 63 == 0 and blocks[w >> 6] == 0:
                w += 64
                continue
            ahead = active[min(w + AHEAD, words - 1)]
            while ahead != np.uint64(0):
                v = (min(w + AHEAD, words - 1) << 6) + trailing_zeros(ahead)
                ahead &= ahead - np.uint64(1)
                fetch(edges, out_offsets[v])
            word = active[w]
            if w == first >> 6:
                word &= ALL << np.uint64(first & 63)
            if w == words - 1:
                word &= ALL >> np.uint64(63 - ((last - 1) & 63))
            while word != np.uint64(0):
                v = (w << 6) + trailing_zeros(word)
                own = word & (~word + np.uint64(1))
                word ^= own
                begin = out_offsets[v]
                end = out_offsets[v + 1]
                here = position
                position += end - begin
                if here >= stop:
                    break
                whole = here >= start and position <= stop
                if in_place and whole and atomic_load(activated, w) & own != np.uint64(0):
                    atomic_and(activated, w, ~own)  # before its value is read: a later change makes it due again
                    count -= 1
                    count_edges -= end - begin
                from_, to = begin + max(start - here, 0), min(end, begin + (stop - here))
                followed += max(to - from_, 0)
                context = self, v, values[v], pending, out_offsets, sets, limits, in_place, weighs
                acc, _ = walk((count, count_edges, changeable), out_offsets, v, from_, to, edges, context)
                count, count_edges, changeable = acc
            w += 1
        counts[0], counts[1], counts[2], counts[3] = followed, count, count_edges, changeable
        return 0

    sets = "u64* u8* u64* u8* u64* u8*"
    text = "i64 i64 i64* {value} {value} {parameters} " + sets + " {value} i64 i64 i64* i64 i64 i64 i64"
    return reader.kernel(signature(f, text), push)


def make_advance(f: Functions) -> Kernel:
    priority, load_parameters, view_parameters = f.priority, f.parameters.load, f.parameters.view

    def advance(
        n, out_offsets, values, parameters_, later, later_blocks, active, blocks, limits, counts, least, first, last
    ):
        """Of the vertices [first, last) in `later`, those between the limits become active; first and last stand at
        multiples of 4096.

        One not beyond ``limits[0]`` changed again while it waited, and has had its turn. Whether any still waits; the
        least priority of those goes to ``least[0]``.
        """
        self = load_parameters(view_parameters(parameters_), 0)
        count, count_edges = 0, 0
        none_waits = True
        for block in range(first >> 12, ((last - 1) >> 12) + 1):
            if later_blocks[block] == 0:
                continue
            waiting = np.uint64(0)
            for w in range(block << 6, min((block + 1) << 6, ((n - 1) >> 6) + 1)):
                word = later[w]
                remaining, due = word, np.uint64(0)
                while remaining != np.uint64(0):
                    v = (w << 6) + trailing_zeros(remaining)
                    own = remaining & (~remaining + np.uint64(1))
                    remaining ^= own
                    p = priority(self, values[v])
                    if not p > limits[1]:
                        word ^= own
                        if p > limits[0]:
                            due |= own
                            count += 1
                            count_edges += out_offsets[v + 1] - out_offsets[v]
                    elif none_waits or p < least[0]:
                        least[0] = p
                        none_waits = False
                later[w] = word
                waiting |= word
                if due != np.uint64(0):
                    active[w] |= due
                    blocks[block] = 1
            if waiting == np.uint64(0):
                later_blocks[block] = 0
        counts[0], counts[1] = count, count_edges
        return not none_waits

    text = "i64 i64* {value} {parameters} u64* u8* u64* u8* {value} i64* {value} i64 i64"
    return Kernel(signature(f, text), advance)
