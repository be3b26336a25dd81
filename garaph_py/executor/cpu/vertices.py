"""Passes over vertices without their edges: initial values, `prepare`, reported results."""

from __future__ import annotations

import numpy as np

from ...native import Kernel, atomic_or
from .functions import Functions
from .pull import signature


def make_init(f: Functions) -> Kernel:
    init, frontier, aggregate, count = f.init, f.frontier, f.aggregate, f.count
    add_total, no_total, done, identity = f.add_total, f.no_total, f.done, f.identity
    store, view_value = f.value.store, f.value.view
    load_parameters, view_parameters = f.parameters.load, f.parameters.view
    load_data, view_data = f.data.load, f.data.view
    view_partial, store_partial = f.partial.view, f.partial.store

    def initialize(
        n, in_offsets, out_offsets, values_, parameters_, data_, bits, blocks, counts, partials_, first, last
    ):
        """Values, first frontier and first total of the vertices [first, last)."""
        values, data = view_value(values_), view_data(data_)
        self = load_parameters(view_parameters(parameters_), 0)
        active, active_edges, changeable = 0, 0, 0
        partial = no_total()
        for v in range(first, last):
            vertex_data = load_data(data, v)
            in_degree = count(in_offsets[v + 1] - in_offsets[v])
            out_edges = out_offsets[v + 1] - out_offsets[v]
            value = init(self, v, count(n), in_degree, count(out_edges), vertex_data)
            store(values, v, value)
            partial = add_total(
                partial, aggregate(self, value, value, v, count(n), in_degree, count(out_edges), vertex_data)
            )
            if frontier(self, value, v, count(n), in_degree, count(out_edges), vertex_data):
                atomic_or(bits, v >> 6, np.uint64(1) << np.uint64(v & 63))
                blocks[v >> 12] = 1
                active += 1
                active_edges += out_edges
                changeable += not done(self, identity(self), value)
        counts[0], counts[1], counts[2], counts[3] = 0, active, active_edges, changeable
        store_partial(view_partial(partials_), 0, partial)
        return 0

    text = "i64 i64* i64* {value} {parameters} {data} u64* u8* i64* {partial} i64 i64"
    return Kernel(signature(f, text), initialize)


def make_prepare(f: Functions) -> Kernel:
    prepare, count = f.prepare, f.count
    load, store, view_value = f.value.load, f.value.store, f.value.view
    load_parameters, view_parameters = f.parameters.load, f.parameters.view
    load_data, view_data = f.data.load, f.data.view

    def prepare_values(n, in_offsets, out_offsets, values_, parameters_, data_, bits, first, last):
        """Rewrite the values of the vertices [first, last) before an iteration (Grus section 5)."""
        values, data = view_value(values_), view_data(data_)
        self = load_parameters(view_parameters(parameters_), 0)
        for v in range(first, last):
            is_active = (bits[v >> 6] >> np.uint64(v & 63)) & np.uint64(1) != np.uint64(0)
            in_degree = count(in_offsets[v + 1] - in_offsets[v])
            out_degree = count(out_offsets[v + 1] - out_offsets[v])
            value = load(values, v)
            store(values, v, prepare(self, value, is_active, v, count(n), in_degree, out_degree, load_data(data, v)))
        return 0

    return Kernel(signature(f, "i64 i64* i64* {value} {parameters} {data} u64* i64 i64"), prepare_values)


def make_result(f: Functions) -> Kernel:
    result, count = f.result, f.count
    load, view_value = f.value.load, f.value.view
    load_parameters, view_parameters = f.parameters.load, f.parameters.view
    load_data, view_data = f.data.load, f.data.view
    view_report, store_report = f.report.view, f.report.store

    def report(n, in_offsets, out_offsets, values_, parameters_, data_, reported_, first, last):
        """Reported values of the vertices [first, last); `reported_` may be the values' own memory."""
        values, data, reported = view_value(values_), view_data(data_), view_report(reported_)
        self = load_parameters(view_parameters(parameters_), 0)
        for v in range(first, last):
            in_degree = count(in_offsets[v + 1] - in_offsets[v])
            out_degree = count(out_offsets[v + 1] - out_offsets[v])
            value = load(values, v)
            store_report(reported, v, result(self, value, v, count(n), in_degree, out_degree, load_data(data, v)))
        return 0

    text = "i64 i64* i64* {value} {parameters} {data} " + f.report.pointer + " i64 i64"
    return Kernel(signature(f, text), report)
