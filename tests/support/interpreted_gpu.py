"""Kernels on the GPU of `numpy_gpu` for any program: they call its functions in Python, a vertex at a time."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from garaph_py.executor.components import NO_VERTEX
from garaph_py.executor.gpu import executor
from garaph_py.executor.gpu.launch import UNTIL_DONE_NAMES
from garaph_py.program import bind, oriented
from garaph_py.program.directions import bind_directions
from garaph_py.program.functions import functions
from garaph_py.program.orientation import gathers_both_ways
from garaph_py.runtime.run import execute
from tests.support import numpy_gpu
from tests.support.numpy_packed import sources_of
from tests.support.numpy_push import lengths_of

WHOLE = dict.fromkeys(UNTIL_DONE_NAMES, "apply_vertices") | {"find_parents_packed": "find_parents"}
"""The kernels that stand for others here: a vertex gathers over all its edges, also where it could end at one, and
packed edges are read as raw ones are."""


class Vertices:
    """The vertices of a page, and the functions of a program that are called for them."""

    def __init__(self, bound, driver, context, page):
        self.bound, self.driver, self.context, self.page = bound, driver, context, page
        self.call = functions(bound)
        self.first, self.last, self.n = int(page["first_vertex"]), int(page["last_vertex"]), int(context["n"])
        record = context["parameters"]
        self.own = SimpleNamespace(**{name: record[name] for name in record.dtype.names})
        self.begins, self.outs = (
            driver.array(context[name], np.uint32, self.n + 1).astype(np.int64) for name in ("in_begins", "out_begins")
        )

    def array(self, name, kind, count=None):
        found = self.driver.array(self.context[name], kind, count or self.n)
        return found.view(np.recarray) if kind.names else found

    def about(self, v):
        """The arguments that describe a vertex, and its data."""
        data = None if self.bound.vertex_data is None else self.array("vertex_data", self.bound.vertex_data.dtype)[v]
        degrees = (self.call.count(each[v + 1] - each[v]) for each in (self.begins, self.outs))
        return v, self.call.count(self.n), *degrees, data

    def initialize(self):
        values, call, active, total = self.array("values", self.bound.value), self.call, [], self.call.no_total()
        for v in range(self.first, self.last):
            values[v] = call.init(self.own, *self.about(v))
            active.append(call.frontier(self.own, values[v], *self.about(v)))
            total = call.add_total(total, call.aggregate(self.own, values[v], values[v], *self.about(v)))
        self.tell("frontier", active, total)

    def gathered(self, values):
        """For each vertex, the sources of its in-edges, and what they contribute."""
        sources, lengths = sources_of(self.driver, self.context, self.page), lengths_of(self.driver, self.page)
        for v in range(self.first, self.last):
            edges = range(self.begins[v] - self.begins[self.first], self.begins[v + 1] - self.begins[self.first])
            yield v, [
                (u, self.call.gather(self.own, values[u], self.call.edge(lengths[e]), values[v], u))
                for e in edges for u in [sources[e]]
            ]  # fmt: skip

    def apply_vertices(self):
        call, values = self.call, self.array("values", self.bound.value)
        new, active, total = self.array("next_values", self.bound.value), [], call.no_total()
        before = None if self.bound.total is None else self.array("total", self.bound.total, 1)[0]
        for v, said in self.gathered(values):
            acc, old = call.identity(self.own), values[v]
            for _, contribution in said:
                acc = call.sum(acc, contribution)
            new[v] = call.apply(self.own, old, acc, before, *self.about(v))
            active.append(call.activate(self.own, new[v], old))
            total = call.add_total(total, call.aggregate(self.own, new[v], old, *self.about(v)))
        self.tell("next_frontier", active, total)

    def find_parents(self):
        values, parents = self.array("values", self.bound.value), self.array("parents", np.dtype(np.uint32))
        for v, said in self.gathered(values):
            gave = [u for u, contribution in said if contribution == values[v]]
            has_changed = self.call.init(self.own, *self.about(v)) != values[v]
            parents[v] = gave[0] if has_changed and gave else NO_VERTEX

    def report(self):
        values, count = self.array("values", self.bound.value), self.last - self.first
        parents = np.full(self.n, NO_VERTEX, np.uint32)
        if self.context["parents"]:
            parents = self.array("parents", parents.dtype)
        reported = self.driver.array(self.page["reported"], self.bound.reports, count)
        for v in range(self.first, self.last):
            *about, data = self.about(v)
            parent = -1 if parents[v] == NO_VERTEX else int(parents[v])
            reported[v - self.first] = self.call.result(self.own, values[v], *about, parent, data)

    def tell(self, bits, active, total):
        """Store who is active, and the counts of the page."""
        words = np.packbits(active, bitorder="little")
        self.driver.array(self.context[bits], np.uint8, len(words), self.first // 8)[:] = words
        tally = self.driver.array(self.page["tally"], self.driver.layouts.tally, 1)[0:1]
        degrees = np.diff(self.outs)[self.first : self.last]
        tally["active"], tally["active_edges"] = np.sum(active), degrees[np.array(active, bool)].sum()
        tally["partial"] = total


@pytest.fixture
def interpreting(monkeypatch):
    """The GPU of `device_for` runs any program of its layouts that pulls raw edges in the order of the graph."""
    opened, launch = executor.GpuExecutor.__init__, numpy_gpu.FakeFunction.prepared_async_call
    running = []

    def noted(self, bound, *how, **given):
        running[:] = [bound]
        opened(self, bound, *how, **given)

    def interpreted(self, grid, block, stream, told, shared_size=0):
        name = WHOLE.get(self.name, self.name)
        if name not in ("initialize", "apply_vertices", "find_parents", "report"):
            return launch(self, grid, block, stream, told, shared_size)
        task = np.frombuffer(bytearray(told), self.driver.layouts.task)[0]
        return getattr(Vertices(running[0], self.driver, task["context"], task["page"]), name)()

    monkeypatch.setattr(executor.GpuExecutor, "__init__", noted)
    monkeypatch.setattr(numpy_gpu.FakeFunction, "prepared_async_call", interpreted)


@pytest.fixture
def on_gpu(device_for, interpreting, monkeypatch):
    """All runs have such a GPU, if they ask for one, on which they only pull. It is the list of their devices."""
    devices = []

    def pulled(program, graph, options, *more, **how):
        whole = gathers_both_ways(program)
        binding = (lambda *given: bind_directions(*given).whole) if whole else bind
        device_for(program, oriented(program, graph), bind=binding)
        result = execute(program, graph, replace(options, mode="pull"), *more, **how)
        devices.append(result.stats.device)
        return result

    # Before a run has made the GPU of its program, there is one.
    monkeypatch.setattr("garaph_py.executor.gpu.device.find", lambda number=0: None)
    monkeypatch.setattr("garaph_py.runtime.run.execute", pulled)
    return devices
