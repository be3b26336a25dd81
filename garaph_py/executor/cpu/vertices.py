"""Passes over vertices without their edges: initial values, `prepare`, reported results."""

from __future__ import annotations

import numpy as np

from ..components import NO_VERTEX
from .functions import Functions
from .records import RecordKernel
from .update import make_tally
from .walk import bit_of, insert_word

VERTICES = (
    "n", "in_offsets", "degree_offsets", "values", "parameters", "vertex_data", "first_vertex", "last_vertex",
)  # fmt: skip
"""Arguments of every pass."""


def make_init(f: Functions) -> RecordKernel:
    init, frontier, aggregate, count = f.init, f.frontier, f.aggregate, f.count
    done, identity, store, load_data = f.done, f.identity, f.value.store, f.data.load
    zero, add, leave = make_tally(f)

    def initialize(t):
        """Values, first frontier and first total of the vertices [first_vertex, last_vertex)."""
        tally = zero()
        for w in range(t.first_vertex >> 6, ((t.last_vertex - 1) >> 6) + 1):
            word = np.uint64(0)
            for v in range(max(t.first_vertex, w << 6), min(t.last_vertex, (w + 1) << 6)):
                data = load_data(t.vertex_data, v)
                in_degree = count(t.in_offsets[v + 1] - t.in_offsets[v])
                out_edges = t.degree_offsets[v + 1] - t.degree_offsets[v]
                value = init(t.parameters, v, count(t.n), in_degree, count(out_edges), data)
                store(t.values, v, value)
                part = aggregate(t.parameters, value, value, v, count(t.n), in_degree, count(out_edges), data)
                is_active = frontier(t.parameters, value, v, count(t.n), in_degree, count(out_edges), data)
                changes = not done(t.parameters, identity(t.parameters), value)
                tally = add(tally, (is_active, changes, out_edges, part))
                word |= np.uint64(is_active) << np.uint64(v & 63)
            insert_word(t.frontier, t.frontier_blocks, w, word)
        leave(t, 0, tally)
        return 0

    names = (*VERTICES, "frontier", "frontier_blocks", "counts", "partial")
    return RecordKernel("initialize", initialize, names, f)


def make_prepare(f: Functions) -> RecordKernel:
    prepare, count, load, store, load_data = f.prepare, f.count, f.value.load, f.value.store, f.data.load

    def prepare_values(t):
        """Rewrite the values of the vertices [first_vertex, last_vertex) before an iteration (Grus section 5)."""
        for v in range(t.first_vertex, t.last_vertex):
            is_active = t.frontier[v >> 6] & bit_of(v) != np.uint64(0)
            in_degree = count(t.in_offsets[v + 1] - t.in_offsets[v])
            out_degree = count(t.degree_offsets[v + 1] - t.degree_offsets[v])
            value, data = load(t.values, v), load_data(t.vertex_data, v)
            store(t.values, v, prepare(t.parameters, value, is_active, v, count(t.n), in_degree, out_degree, data))
        return 0

    return RecordKernel("prepare_values", prepare_values, (*VERTICES, "frontier"), f)


def make_result(f: Functions, finds_parents: bool) -> RecordKernel:
    """Make the kernel of reported values; it reads `parents` only if `finds_parents`."""
    result, count, load, load_data, store_report = f.result, f.count, f.value.load, f.data.load, f.report.store
    is_lost = f.is_lost

    def parent_of(t, v):
        return np.int64(t.parents[v]) if finds_parents and t.parents[v] != NO_VERTEX else np.int64(-1)

    def report(t):
        """Reported values of the vertices [first_vertex, last_vertex); `reported` may be the values' own memory.

        Returns 1 if a value is lost.
        """
        lost = False
        for v in range(t.first_vertex, t.last_vertex):
            in_degree = count(t.in_offsets[v + 1] - t.in_offsets[v])
            out_degree = count(t.degree_offsets[v + 1] - t.degree_offsets[v])
            value, data = load(t.values, v), load_data(t.vertex_data, v)
            lost |= is_lost(value)
            parent = parent_of(t, v)
            reported = result(t.parameters, value, v, count(t.n), in_degree, out_degree, parent, data)
            store_report(t.reported, v, reported)
        return int(lost)

    return RecordKernel("report", report, (*VERTICES, "reported", "parents"), f)
