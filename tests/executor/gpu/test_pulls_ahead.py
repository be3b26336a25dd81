"""Several pulls without the host, on a device simulated with NumPy: what is launched, recorded, and taken back."""

import numpy as np
import pytest

from garaph_py.executor.gpu import pulls_ahead
from garaph_py.executor.gpu.pulls_ahead import MOST_PULLS
from tests.support import twins
from tests.support.numpy_gpu import Blend, held_after

from ...support.runs import run_with

EDGES = twins.skewed(4, 300, 3000)
SEEN = []
"""The totals that `Counted` was asked about."""


class Counted(Blend):
    """Numbers that change until the run has asked about so many totals."""

    end: int = 1000

    def converged(self, total, n):
        SEEN.append(total)
        return len(SEEN) >= self.end


@pytest.fixture
def graph(graph_of):
    return graph_of(EDGES)


@pytest.fixture(autouse=True)
def nothing_seen():
    SEEN.clear()


def both(program, graph, **how):
    """The runs on the GPU, whose edges an earlier run has brought there, and on the CPU; and the totals of each."""
    run_with(program, graph, device="gpu", gather="segmented", iterations=1)
    found, totals = [], []
    for device in "gpu", "cpu":
        SEEN.clear()
        found.append(run_with(program, graph, device=device, gather="segmented", sync=True, **how))
        totals.append(list(SEEN))
    return found, totals


def rows_of(run):
    return [(row.number, row.mode, row.active, row.f, row.edges, row.why) for row in run.stats.iterations]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9, 16, 21])
@pytest.mark.parametrize("ends", ["by a limit", "by itself"])
def test_a_run_is_like_one_whose_pulls_are_launched_one_by_one(device_for, graph, count, ends):
    limit = count if ends == "by a limit" else None
    program = Counted(end=1000 if limit else count)
    driver = device_for(program, graph)
    (found, expected), (totals, wanted) = both(program, graph, iterations=limit)
    np.testing.assert_array_equal(found.values, expected.values)
    assert rows_of(found) == rows_of(expected)
    assert len(found.stats.iterations) == count
    assert found.stats.converged == expected.stats.converged
    assert totals[:count] == wanted[:count]  # after restoring the first values, either may ask again
    assert all(row.seconds >= 0 for row in found.stats.iterations)
    assert ("end_pull" in {name for name, _ in driver.launched}) == (count > 1 or limit is None)
    assert held_after(driver, graph) == 0


def test_one_launch_after_the_other(device_for, graph):
    """The host waits after `MOST_PULLS` pulls; those after the end are taken back, and the others done again."""
    program = Counted(end=MOST_PULLS + 3)
    driver = device_for(program, graph)
    run_with(program, graph, device="gpu", gather="segmented", iterations=1)
    for end, launches in (MOST_PULLS + 3, 2 * MOST_PULLS + 3), (MOST_PULLS, MOST_PULLS):
        SEEN.clear()
        driver.launched.clear()
        run_with(Counted(end=end), graph, device="gpu", gather="segmented")
        names = [name for name, _ in driver.launched]
        assert names.count("apply_vertices") == launches
        assert names.count("end_pull") == launches + -(
            -launches // MOST_PULLS
        )  # and one before the first pull of each launch


def test_a_larger_graph_has_fewer_pulls_at_once(device_for, graph, monkeypatch):
    monkeypatch.setattr(pulls_ahead, "MOST_EDGES", 5 * graph.m)
    driver = device_for(Counted(), graph)
    both(Counted(), graph, iterations=11)
    assert [name for name, _ in driver.launched].count(
        "end_pull"
    ) == 6 + 6  # launches of 5 and 5, one more before each; then one by itself


@pytest.mark.parametrize("why", ["large", "no room", "observed", "one iteration", "packed"])
def test_what_is_launched_one_by_one(device_for, graph, monkeypatch, why):
    program = Counted()
    driver = device_for(program, graph)
    how = {"iterations": 5}
    if why == "large":
        monkeypatch.setattr(pulls_ahead, "MOST_EDGES", 4 * graph.m - 1)
    elif why == "no room":
        monkeypatch.setattr("garaph_py.executor.gpu.placed.Placement.room", property(lambda self: 8 * graph.n - 1))
    elif why == "observed":
        how["check"] = "finite"
    elif why == "one iteration":
        how["iterations"] = 1
    else:
        monkeypatch.setattr(pulls_ahead, "SEGMENTED", "another gather")
    (found, expected), _ = both(program, graph, **how)
    np.testing.assert_array_equal(found.values, expected.values)
    assert "end_pull" not in {name for name, _ in driver.launched}


def test_a_total_that_is_not_finite_ends_the_pulls():
    totals = np.zeros(3, [("a", float), ("b", int)])
    totals["a"][1] = np.inf
    assert pulls_ahead.finite(totals).tolist() == [True, False, True]
    assert pulls_ahead.finite(np.array([np.nan, 1.0])).tolist() == [False, True]
