"""Launches of several supersteps in which vertices of smaller priority push first, on a device simulated with NumPy."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.rates import Rates
from garaph_py.executor.gpu import header
from garaph_py.executor.modes import PULL, PUSH
from tests.support.numpy_gpu import Nearest, fail_in_iteration, held_after

from ...support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs")

SIDE = 40
THREADS = header.FEW_BLOCKS * header.FEW_THREADS


class Flat(Nearest):
    """All vertices have the same priority."""

    urgency: int = 0


class Farthest(Nearest):
    """The worst order."""

    urgency: int = -1


@pytest.fixture(autouse=True)
def many_edges(monkeypatch):
    """So few edges are many that vertices of a small graph have to wait; in hybrid runs, the GPU is faster."""
    monkeypatch.setattr(header, "MANY_EDGES", 60 / THREADS)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))


def grid(side):
    """A grid whose edges have very different lengths, so that short detours are found late."""
    place = np.arange(side * side).reshape(side, side)
    sources = np.append(place[:, :-1], place[:-1])
    targets = np.append(place[:, 1:], place[1:])
    lengths = np.random.default_rng(1).integers(1, 100, len(sources), dtype=np.int32) ** 2
    return gp.from_edges(sources, targets, lengths, vertices=range(side * side), directed=False)


@pytest.fixture
def graph():
    return grid(SIDE)


def runs(device_for, program, graph, **how):
    """The CPU's run, and a second one on the GPU, which finds all pages in one piece; and the device's driver."""
    expected = run_with(program, graph, device="cpu", mode=PULL, sync=True)
    driver = device_for(program, graph)
    run_with(program, graph, **how)
    driver.launched.clear()
    return expected, run_with(program, graph, **how), driver


def few_launches(driver):
    return [name for name, _ in driver.launched].count("push_few")


@pytest.mark.parametrize("device", ["gpu", "hybrid"])
def test_fewer_edges_are_followed(device_for, graph, device):
    expected, found, driver = runs(device_for, Nearest(0), graph, device=device, sync=False)
    np.testing.assert_array_equal(found.values, expected.values)
    rows = found.stats.iterations
    assert {(row.mode, row.device) for row in rows} == {(PUSH, "gpu")}
    assert few_launches(driver) == 1
    assert sum(row.edges for row in rows) < 0.6 * sum(row.f * graph.m for row in expected.stats.iterations)
    assert held_after(driver, graph) == 0


def test_each_record_says_what_was_followed(device_for, graph):
    _, found, _ = runs(device_for, Nearest(0), graph, device="gpu", sync=False)
    rows = found.stats.iterations
    assert [row.number for row in rows] == list(range(len(rows)))
    waited = [row for row in rows if row.edges < round(row.f * graph.m)]
    assert len(waited) > 20
    for row in rows:
        assert row.edges <= round(row.f * graph.m)
        assert row.groups[0].edges == row.edges
        assert row.why.endswith("; vertices of the least priority first") == (row in waited)


def test_synchronous_supersteps_take_all_vertices(device_for, graph):
    expected, found, driver = runs(device_for, Nearest(0), graph, device="gpu", sync=True)
    assert few_launches(driver) == 1
    assert [(row.active, row.f) for row in found.stats.iterations] == [
        (row.active, row.f) for row in expected.stats.iterations
    ]
    assert [row.edges for row in found.stats.iterations] == [round(row.f * graph.m) for row in found.stats.iterations]
    np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.full
@pytest.mark.parametrize("kind", [pytest.param(Flat, marks=pytest.mark.full), Farthest])
def test_any_order_leads_to_the_answer(device_for, kind):
    graph = grid(SIDE // 2)  # in the worst order, the work grows much faster than the grid
    expected, found, _ = runs(device_for, kind(0), graph, device="gpu", sync=False)
    np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.parametrize("bounds", [{"MOST_SUPERSTEPS": 7}, {"FEW_LISTS": 30 / THREADS}, {"FEW_EDGES": 90 / THREADS}])
def test_vertices_that_wait_stay_active_when_a_launch_ends(device_for, graph, monkeypatch, bounds):
    for name, least in bounds.items():
        monkeypatch.setattr(header, name, least)
    expected, found, driver = runs(device_for, Nearest(0), graph, device="gpu", sync=False)
    assert few_launches(driver) > 1
    assert any("priority" in row.why for row in found.stats.iterations)
    np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.full
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("left", [1, 6, 60, 200])
def test_a_failing_device_costs_no_answer(device_for, graph, monkeypatch, device, left):
    """It fails a few accesses to its memory after the second launch has begun."""
    program = Nearest(0)
    expected = run_with(program, graph, device="cpu", mode=PULL, sync=True)
    driver = device_for(program, graph)
    monkeypatch.setattr(header, "MOST_SUPERSTEPS", 30)
    run_with(program, graph, device=device, sync=False)
    fail_in_iteration(monkeypatch, driver, 2, left)
    found = run_with(program, graph, device=device, sync=False)
    assert found.stats.device == "cpu"
    np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"iterations": 2000}, {"check": "finite"}, {"checkpoint": "here"}])
def test_whoever_looks_at_each_iteration_gets_all_vertices_at_a_time(device_for, graph, tmp_path, how):
    how = {name: tmp_path / value if name == "checkpoint" else value for name, value in how.items()}
    expected, found, driver = runs(device_for, Nearest(0), graph, device="gpu", sync=False, **how)
    assert few_launches(driver) == 0
    assert not any("priority" in row.why for row in found.stats.iterations)
    np.testing.assert_array_equal(found.values, expected.values)
