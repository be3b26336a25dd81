"""On a GPU: pulls that are launched together have the bits of those that are launched one by one."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.gpu.header import MOST_PULLS
from garaph_py.executor.gpu.pulls_ahead import PullsAhead

from ...support.runs import run_with

pytestmark = pytest.mark.gpu

PROGRAMS = {
    "float32": gp.apps.PageRank(dtype=np.float32, tolerance=1e-4),
    "float64": gp.apps.PageRank(tolerance=1e-7),
    "weighted": gp.apps.PageRank(dtype=np.float32, stop="never"),
    "dropped": gp.apps.PageRank(dangling="drop", weighted=False, stop="mean", tolerance=1e-9),
}


@pytest.fixture
def counted(monkeypatch):
    """How many pulls were launched together, each time."""
    counts, run = [], PullsAhead._run

    def noted(self, state, whole, count, tallies):
        counts.append(count)
        return run(self, state, whole, count, tallies)

    monkeypatch.setattr(PullsAhead, "_run", noted)
    return counts


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def graph(request):
    return gp.rmat(13, 10, directed=request.param, weights=(1, 255), seed=5)


@pytest.mark.parametrize("limit", [None, 2, MOST_PULLS, 21])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bits_are_the_same(graph, counted, name, limit):
    program = PROGRAMS[name]
    if program.stop == "never" and limit is None:
        pytest.skip("it would not end")
    how = {"device": "gpu", "iterations": limit}
    run_with(program, graph, **how)  # which brings the edges there
    counted.clear()
    found = run_with(program, graph, **how)
    assert counted
    counted.clear()
    single = run_with(program, graph, **how, check="finite")
    assert not counted
    assert found.values.tobytes() == single.values.tobytes()
    rows, expected = found.stats.iterations, single.stats.iterations
    assert [(row.number, row.active, row.edges) for row in rows] == [
        (row.number, row.active, row.edges) for row in expected
    ]
    assert found.stats.converged == single.stats.converged
    assert all(row.seconds > 0 for row in rows)


@pytest.mark.parametrize("gather", ["segmented", "packed"])
def test_several_pages_are_pulled_as_one(graph, counted, gather):
    how = {"device": "gpu", "iterations": 9, "gather": gather, "page_edges": graph.m // 5}
    run_with(PROGRAMS["float64"], graph, **how)
    found, single = (run_with(PROGRAMS["float64"], graph, **how, **one) for one in ({}, {"check": "finite"}))
    assert MOST_PULLS in counted
    np.testing.assert_allclose(found.values, single.values, rtol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_packed_edges(graph, counted, name):
    how = {"device": "gpu", "gather": "packed", "iterations": 12}
    run_with(PROGRAMS[name], graph, **how)
    counted.clear()
    found = run_with(PROGRAMS[name], graph, **how)
    assert counted[0] == MOST_PULLS
    single = run_with(PROGRAMS[name], graph, **how, check="finite")
    assert found.values.tobytes() == single.values.tobytes()
