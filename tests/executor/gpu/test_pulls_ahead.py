"""Several pulls without the host, on a device simulated with NumPy: what is launched, recorded, and taken back."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import DeviceMemoryError, ProgramError
from garaph_py.executor.gpu import pulls_ahead
from garaph_py.executor.gpu.device_graph import DeviceGraph
from garaph_py.executor.gpu.gather import Gather
from garaph_py.executor.gpu.header import MOST_PULLS
from garaph_py.executor.gpu.memory import DeviceMemory
from garaph_py.executor.gpu.pulls_ahead import PullsAhead
from tests.support import twins
from tests.support.numpy_gpu import fail_in_iteration, held_after
from tests.support.repeating import SEEN, Counted

from ...support.runs import run_with

EDGES = twins.skewed(4, 300, 3000)


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
    assert totals == wanted
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
        batches = -(-launches // MOST_PULLS)
        assert names.count("end_pull") == launches + batches  # one more before each


def test_a_larger_graph_has_fewer_pulls_at_once(device_for, graph, monkeypatch):
    monkeypatch.setattr(pulls_ahead, "MOST_EDGES", 5 * graph.m)
    driver = device_for(Counted(), graph)
    both(Counted(), graph, iterations=11)
    names = [name for name, _ in driver.launched]
    # launches of 5 and 5, one more before each; the last is by itself
    assert names.count("end_pull") == 6 + 6


@pytest.mark.parametrize("why", ["large", "no room", "no memory", "observed", "one iteration", "another gather"])
def test_what_is_launched_one_by_one(device_for, graph, monkeypatch, why):
    program = Counted()
    driver = device_for(program, graph)
    how = {"iterations": 5}
    if why == "large":
        monkeypatch.setattr(pulls_ahead, "MOST_EDGES", 4 * graph.m - 1)
    elif why == "no room":
        monkeypatch.setattr(DeviceGraph, "has_room", lambda self, nbytes: nbytes < 8 * graph.n)
    elif why == "no memory":
        allocate = DeviceMemory.allocate

        def refuses(self, name, *how, **more):
            if name == pulls_ahead.COPY:
                raise DeviceMemoryError("other programs have it")
            return allocate(self, name, *how, **more)

        monkeypatch.setattr(DeviceMemory, "allocate", refuses)
    elif why == "observed":
        how["check"] = "finite"
    elif why == "one iteration":
        how["iterations"] = 1
    else:
        monkeypatch.setattr(Gather, "writes_whole_frontier", False)
    (found, expected), _ = both(program, graph, **how)
    np.testing.assert_array_equal(found.values, expected.values)
    assert found.stats.note is None
    assert "end_pull" not in {name for name, _ in driver.launched}


def test_a_total_that_is_not_finite_ends_the_pulls():
    totals = np.zeros(3, [("a", float), ("b", int)])
    totals["a"][1] = np.inf
    assert pulls_ahead.finite(totals).tolist() == [True, False, True]
    assert pulls_ahead.finite(np.array([np.nan, 1.0])).tolist() == [False, True]


class Unbounded(Counted):
    """Its total is infinite from the start."""

    total = float

    def apply(self, old, acc, in_degree, weight):
        return (3 * acc + old + in_degree * weight) % 1000003

    def aggregate(self, new):
        return np.inf


def test_the_total_passes_from_one_pull_to_the_next(device_for, graph):
    """A wrong one would change values: these are the CPU's only with the totals of all iterations before."""
    program, other = Counted(), Counted(adds=0)
    device_for(program, graph)
    (found, expected), _ = both(program, graph, iterations=6)
    np.testing.assert_array_equal(found.values, expected.values)
    assert (run_with(other, graph, device="cpu", iterations=6, sync=True).values != expected.values).any()


def test_a_total_that_is_infinite_leaves_one_pull_at_a_time(device_for, graph):
    driver = device_for(Unbounded(), graph)
    run_with(Unbounded(), graph, device="gpu", gather="segmented", iterations=1, check="off")
    driver.launched.clear()
    run_with(Unbounded(), graph, device="gpu", gather="segmented", iterations=9, check="off")
    names = [name for name, _ in driver.launched]
    assert names.count("apply_vertices") == 9
    assert "end_pull" not in names


def test_deterministic_totals_are_added_page_by_page(device_for, graph):
    """Whether an earlier run has left the edges on the GPU must not change the bits: pages are not pulled as one."""
    driver = device_for(Counted(), graph)
    how = {"device": "gpu", "gather": "segmented", "page_edges": 700, "iterations": 5}
    run_with(Counted(), graph, **how, deterministic=True)
    assert run_with(Counted(), graph, **how, deterministic=True).stats.iterations[-1].pages > 1
    assert "end_pull" not in {name for name, _ in driver.launched}
    run_with(Counted(), graph, **how)
    assert "end_pull" in {name for name, _ in driver.launched}
    run_with(Counted(), graph, device="gpu", gather="segmented", iterations=5)
    driver.launched.clear()
    run_with(Counted(), graph, device="gpu", gather="segmented", iterations=5, deterministic=True)
    assert "end_pull" in {name for name, _ in driver.launched}  # all edges are one page


def test_the_copy_of_the_values_stays_only_during_the_pulls(device_for, graph, monkeypatch):
    """Copies of the state, and answers that stay on the GPU, may need its room."""
    sizes, left, result, call = [], [], PullsAhead._result, PullsAhead.__call__

    def noted(self, *how):
        sizes.append(self.launches.memory.size(pulls_ahead.COPY))
        return result(self, *how)

    def called(self, *how):
        done = call(self, *how)
        left.append(pulls_ahead.COPY in self.launches.memory._allocations)
        return done

    driver = device_for(Counted(), graph)
    run_with(Counted(), graph, device="gpu", gather="segmented", iterations=1)
    monkeypatch.setattr(PullsAhead, "_result", noted)
    monkeypatch.setattr(PullsAhead, "__call__", called)
    run_with(Counted(), graph, device="gpu", gather="segmented", iterations=17)
    counts = 9 * driver.layouts.tally.itemsize
    assert sizes == [counts + 8 * graph.n] * 2  # of 8 pulls each; the last is by itself
    assert left == [False] * 3


def test_converged_that_fails_ends_the_run(device_for, graph):
    class Failing(Counted):
        def converged(self, total, n):
            SEEN.append(total)
            if len(SEEN) == 4:
                raise ValueError("not today")
            return False

    driver = device_for(Failing(), graph)
    run_with(Failing(), graph, device="gpu", gather="segmented", iterations=1)
    with pytest.raises(ProgramError, match="not today"):
        run_with(Failing(), graph, device="gpu", gather="segmented")
    SEEN.clear()
    assert len(run_with(Failing(), graph, device="gpu", gather="segmented", iterations=3).stats.iterations) == 3
    assert held_after(driver, graph) == 0


@pytest.mark.parametrize("left", [1, 9, 40])
def test_if_the_gpu_fails_the_cpu_has_the_answer(device_for, graph, monkeypatch, left):
    driver = device_for(Counted(), graph)
    run_with(Counted(), graph, device="gpu", gather="segmented", iterations=1)
    expected = run_with(Counted(), graph, device="cpu", iterations=11, sync=True)
    fail_in_iteration(monkeypatch, driver, 1, left)
    found = run_with(Counted(), graph, device="gpu", gather="segmented", iterations=11)
    np.testing.assert_array_equal(found.values, expected.values)
    assert "failed after 0 iterations" in found.stats.note
    assert [row.number for row in found.stats.iterations] == list(range(11))


@pytest.mark.parametrize("edges", [([], []), ([0], [1])])
def test_graphs_with_hardly_any_edges(device_for, edges):
    graph = gp.from_edges(*edges, np.ones(len(edges[0]), np.int32), vertices=range(130))
    device_for(Counted(), graph)
    (found, expected), _ = both(Counted(), graph, iterations=11)
    np.testing.assert_array_equal(found.values, expected.values)
