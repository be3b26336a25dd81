"""Programs as prepare, update and generate, beside the same as gather, sum, apply and activate."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import ProgramError
from tests.support.cases import mostly_full

from ..support.runs import run_with


class Distances(gp.UpdateProgram):
    source: gp.VertexId
    value = np.int64
    atomic = gp.min

    def init(self, id):
        return 0 if id == self.source else self.identity

    def frontier(self, id):
        return id == self.source

    def update(self, src, edge):
        return src + edge if src != self.identity else src


class Decay(gp.UpdateProgram):
    """Counts how often anything came along, but forgets half of it before every iteration."""

    tolerance: float = 0.1
    value = np.float64
    atomic = gp.add

    def init(self):
        return float(1)

    def prepare(self, value):
        return value / 2

    def update(self, src):
        return src / 8

    def generate(self, new, old):
        return abs(new - old) > self.tolerance


class DecayByGather(gp.VertexProgram):
    tolerance: float = 0.1
    value = np.float64
    sum = gp.add

    def init(self):
        return float(1)

    def prepare(self, value):
        return value / 2

    def gather(self, src):
        return src / 8

    def activate(self, new, old):
        return abs(new - old) > self.tolerance


GRAPH = gp.rmat(8, 4, weights=(1, 9))


@pytest.mark.slow
@pytest.mark.parametrize("mode", mostly_full(["pull", "push", "auto"], "push"))
def test_sssp_as_the_library_has_it(mode):
    source = int(GRAPH.ids[int(np.argmax(GRAPH.out_degrees))])
    wanted = gp.run(gp.apps.SSSP(source), GRAPH).values
    np.testing.assert_array_equal(run_with(Distances(source), GRAPH, mode=mode).values, wanted)


@pytest.mark.full
def test_prepare_and_generate():
    found, wanted = (gp.run(program, GRAPH, iterations=5) for program in (Decay(), DecayByGather()))
    np.testing.assert_array_equal(found.values, wanted.values)
    assert [row.active for row in found.stats.iterations] == [row.active for row in wanted.stats.iterations]


@pytest.mark.full
def test_a_subclass_may_replace_what_it_inherits():
    class Hops(Distances):
        def update(self, src):
            return src + 1 if src != self.identity else src

    source = int(GRAPH.ids[int(np.argmax(GRAPH.out_degrees))])
    levels = gp.run(gp.apps.BFS(source), GRAPH).values["level"]
    found = gp.run(Hops(source), GRAPH).values
    np.testing.assert_array_equal(found[levels >= 0], levels[levels >= 0])


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"atomic": gp.min}, "has no update"),
        ({"update": lambda self, src: src}, "has no atomic"),
        ({"update": lambda self, src: src, "sum": gp.min}, "sum: an UpdateProgram calls it atomic"),
        ({"atomic": gp.min, "gather": lambda self, src: src}, "gather: an UpdateProgram calls it update"),
    ],
)
def test_a_program_uses_grus_words_throughout(body, problem):
    with pytest.raises(ProgramError, match=problem):
        type("Wrong", (gp.UpdateProgram,), body)
