"""A pull from active vertices reads one value for all of them where they have the same, and only there."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.cpu.executor import CpuExecutor
from garaph_py.graph.vertex_set import VertexSet
from garaph_py.program import bind
from tests.support.cases import mostly_full

GRAPH = gp.rmat(8, 4, seed=3)


class Steps(gp.VertexProgram):
    """How many edges lead to a vertex from the first of the starts."""

    starts: int = 1

    value = np.int32
    sum = gp.min

    def init(self, id):
        return 0 if id < self.starts else self.identity

    def frontier(self, id):
        return id < self.starts

    def gather(self, src):
        return src + 1 if src != self.identity else src

    def done(self, acc, old):
        return old != self.identity or acc != self.identity


class Labels(Steps):
    """Which start reaches a vertex first."""

    def init(self, id):
        return id if id < self.starts else self.identity

    def gather(self, src):
        return src


class Before(Steps):
    """Through which vertex the first start reaches a vertex: values differ though one vertex is active at first."""

    def gather(self, src, src_id):
        return src_id if src != self.identity else src


class Real(Steps):
    value = np.float32

    def init(self, id):
        return float(0) if id < self.starts else self.identity

    def gather(self, src):
        return src


@pytest.mark.parametrize(
    ("program", "is_read_once"),
    [
        (Steps(), True),
        (Steps(40), False),
        (Labels(40), False),
        (Before(), False),
        pytest.param(Real(), False, marks=pytest.mark.full),
    ],
    ids=["steps", "steps from many", "labels", "before", "floats"],
)
@pytest.mark.parametrize("encoding", mostly_full(["raw", "packed"], "raw"))
def test_one_value_is_read_for_all_only_if_all_have_it(program, is_read_once, encoding, monkeypatch):
    graph, chosen, first = GRAPH if encoding == "raw" else GRAPH.packed(), [], VertexSet.first
    expected = gp.run(program, GRAPH, debug=True)
    monkeypatch.setattr(VertexSet, "first", lambda self: (chosen.append(first(self)), chosen[-1])[1])
    how = gp.Options(mode="pull", sync=True)
    found = gp.run(program, graph, device="cpu", options=how)
    np.testing.assert_array_equal(found.values, expected.values)
    assert len(found.stats.iterations) > 3
    assert len(chosen) == is_read_once * len(found.stats.iterations)


def test_a_state_from_elsewhere_may_have_any_values(monkeypatch):
    opened, load = [], CpuExecutor.open

    def loaded(self, *how):
        state = load(self, *how)
        assert self._pull.one_value
        self.load(state)
        assert not self._pull.one_value
        opened.append(self)
        return state

    monkeypatch.setattr(CpuExecutor, "open", loaded)
    gp.run(Steps(), GRAPH, device="cpu", options=gp.Options(mode="pull", sync=True))
    assert len(opened) == 1


def test_a_maximum_spreads_one_value_and_other_sums_do_not():
    class Largest(Steps):
        sum = gp.max

    class Bits(Steps):
        sum = gp.bitwise_or

    kinds = Steps, Largest, Bits, Before, Real
    assert [bind(kind(), GRAPH).spreads_one_value for kind in kinds] == [True, True, False, False, False]
