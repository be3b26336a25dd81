"""An executor that is the parts of a graph: each has an executor as in a worker of a cluster (`PartExecutor`)."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np

from garaph_py.cluster.cuts import cut
from garaph_py.cluster.local import connect, exchange, run_of
from garaph_py.cluster.part_run import Counts, put
from garaph_py.executor.modes import BOTH
from garaph_py.executor.results import PageResult, StepResult
from garaph_py.executor.state import State
from garaph_py.graph.part import part_of
from garaph_py.graph.vertex_set import VertexSet
from garaph_py.pages.layout import Page
from garaph_py.program.part import bind_on_part, by_numbers
from garaph_py.runtime.options import RunOptions


class PartsExecutor:
    """So many parts of a graph as one executor, whose state is that of the undivided graph.

    A part decides as this executor was told. A part's pages are in a fixed order; here, each part is one page.
    """

    def __init__(self, program, graph, count, device):
        cuts, numbered, self._graph = cut(graph, count), by_numbers(program, graph), graph
        options = RunOptions(device=device, threads=1)
        self._runs = [run_of(numbered, part_of(graph, cuts, part), options) for part in range(count)]
        connect(self._runs)
        bounds = [(int(vertex), int(graph._arrays.in_edges.offsets[vertex])) for vertex in cuts.vertices]
        pages = [
            Page(part, first, last, first_edge, last_edge)
            for part, ((first, first_edge), (last, last_edge)) in enumerate(pairwise(bounds))
        ]
        self.source = SimpleNamespace(pages=pages, takes_any_order=False, bytes_read=0)

    @property
    def capabilities(self):
        return self._runs[0]._executor.capabilities

    def open(self, plan, sources, state=None):
        totals = self._runs[0].total([run.open() for run in self._runs])
        if state is not None:
            self.load(state)
            return state
        values, n = np.empty(self._graph.n, self._runs[0].bound.value), self._graph.n
        next_values = np.empty_like(values) if plan.synchronous else values
        state = State.empty(n, values, next_values, plan.synchronous, VertexSet.empty(n))
        self._collect(state, state.frontier)
        state.total, state.active_count, state.active_edges = totals.total, totals.active, totals.active_edges
        state.changeable = totals.active
        return state

    def load(self, state):
        state.to_host()
        active = state.frontier.mask(self._graph.n)
        for run in self._runs:
            numbers = run.part.place.numbers
            here = VertexSet.empty(len(numbers))
            put(here, 0, active[numbers])
            run.load({"values": state.values[numbers], "frontier": here.bits, "numbers": (0, state.changeable)})

    def step(self, state, decision):
        totals = Counts(state.active_count, state.active_edges, total=state.total)
        for run in self._runs:
            run._scheduler.decide = lambda seen: decision
        done = [run.step(totals) for run in self._runs]
        exchange(self._runs)
        self._collect(state, state.next_frontier)
        devices = {each.record.device for each in done}
        pages = [PageResult(each.edges, each.active, each.active_edges, each.active, each.partials) for each in done]
        return StepResult(pages, 0, devices.pop() if len(devices) == 1 else BOTH)

    def _collect(self, state, frontier):
        """Copy values and active vertices of all parts to the state."""
        own = [run.own(run.save()) for run in self._runs]
        state.values[:] = state.next_values[:] = np.concatenate([each["values"] for each in own])
        put(frontier, 0, np.concatenate([each["active"] for each in own]).astype(bool))

    def report(self, state):
        return np.concatenate([run.report() for run in self._runs])

    def close(self):
        for run in self._runs:
            run.close()
            run.part.graph.release()


def on_parts(device_for, program, graph, parts):
    """The driver of a fake GPU for the parts of a graph."""
    part = part_of(graph, cut(graph, parts), 0)
    return device_for(by_numbers(program, graph), part.graph, bind=bind_on_part)
