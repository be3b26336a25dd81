"""Applies vertices: stores their new values, and counts the vertices that become active.

The kernels that pull, and others that apply vertices, share these functions.
"""

from __future__ import annotations

import numpy as np

from ...graph.vertex_set import WORD
from ...native import room
from ...program.dtypes import scalars
from .functions import Functions
from .walk import NOTHING

CONTEXT = (
    "n", "in_offsets", "degree_offsets", "values", "next_values", "parameters", "vertex_data", "total", "next_frontier",
    "next_frontier_blocks",
)  # fmt: skip
"""Arguments of every kernel that calls `apply`."""


def make_update(f: Functions, filtered: bool = False):
    """Apply, store and activate one vertex.

    The function returns whether the vertex is active, whether it may change again, its out-degree, and its part of the
    total. If `filtered`, it does not store an unchanged value, which is already in both arrays.
    """
    apply, activate, aggregate, count, done, identity = f.apply, f.activate, f.aggregate, f.count, f.done, f.identity
    store, load_data = f.value.store, f.data.load

    def update(t, v, acc, old):
        vertex_data = load_data(t.vertex_data, v)
        in_degree = count(t.in_offsets[v + 1] - t.in_offsets[v])
        out_edges = t.degree_offsets[v + 1] - t.degree_offsets[v]
        new = apply(t.parameters, old, acc, t.total, v, count(t.n), in_degree, count(out_edges), vertex_data)
        if not filtered:
            store(t.next_values, v, new)
        part = aggregate(t.parameters, new, old, v, count(t.n), in_degree, count(out_edges), vertex_data)
        is_active = activate(t.parameters, new, old)
        if filtered and is_active:
            store(t.next_values, v, new)
        return is_active, not done(t.parameters, identity(t.parameters), new), out_edges, part

    return update


def counted(active, active_edges, changeable, done):
    """The three counts of a tally, after adding what one call of `update` returned as `done`."""
    is_active, changes, out_edges, _ = done
    one = np.int64(is_active)  # no branch: which vertices are active is hard to predict
    return active + one, active_edges + one * out_edges, changeable + (one & np.int64(changes))


def make_tally(f: Functions):
    """Make the functions for a call's tally: vertices activated, their out-edges, how many of them may change again,
    and the call's part of the total.

    ``zero()`` is an empty tally, ``add(tally, update)`` adds what one update returned, and ``leave(t, edges, tally)``
    writes the tally and the number of edges visited to the call's `counts` and `partial`.
    """
    add_total, no_total = f.add_total, f.no_total
    store_partial = f.partial.store

    def zero():
        return NOTHING, NOTHING, NOTHING, no_total()

    def add(tally, done):
        active, active_edges, changeable = counted(tally[0], tally[1], tally[2], done)
        return active, active_edges, changeable, add_total(tally[3], done[3])

    def leave(t, edges, tally):
        t.counts[0], t.counts[1], t.counts[2], t.counts[3] = edges, tally[0], tally[1], tally[2]
        store_partial(t.partial, 0, tally[3])

    return zero, add, leave


def make_update_word(f: Functions):
    """Make `update_word`, which updates up to 64 vertices: those with bits in one word of a vertex set."""
    update, load, load_sum, add_total = make_update(f), f.value.load, f.accumulator.load, f.add_total
    view, load_part, store_part = f.partial.view, f.partial.load, f.partial.store
    adds_last = f.total.dtype is not None and not f.columns
    # the numbers of a partial total have 64 bits
    kinds = [] if f.partial.dtype is None else scalars(f.partial.dtype)
    numbers, kind = (WORD * len(kinds), kinds[0]) if adds_last else (1, np.dtype(np.int64))

    def update_word(t, tally, flags, sums, base, first, last):
        """Apply the vertices [first, last), which have bits in one word; the sum of vertex v is ``sums[v - base]``.

        Return the tally, and `flags` with the bits of the vertices that are active. Their parts of the total are added
        at the end: as each addition waits for the one before, the compiler could not use vector instructions otherwise.
        """
        parts = view(room(numbers, kind))
        active, active_edges, changeable, partial = tally
        for v in range(first, last):
            done = update(t, v, load_sum(sums, v - base), load(t.values, v))
            active, active_edges, changeable = counted(active, active_edges, changeable, done)
            if adds_last:
                store_part(parts, v - first, done[3])
            else:
                partial = add_total(partial, done[3])
            flags |= np.uint64(done[0]) << np.uint64(v & 63)
        if adds_last:
            for k in range(last - first):
                partial = add_total(partial, load_part(parts, k))
        return (active, active_edges, changeable, partial), flags

    return update_word
