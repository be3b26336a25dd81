"""Push on a device simulated with NumPy: the answers of the CPU, and a device that fails while it pushes."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.rates import Rates
from garaph_py.executor.modes import PULL, PUSH
from tests.support import twins
from tests.support.numpy_gpu import Quiet, failing_once, held_after, memory_for, when_iterations_begin

from ...support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs")

PATH = 300
"""Vertices of a path beside the other edges."""
EDGES = twins.skewed(4, 9000, 12000)


@pytest.fixture(autouse=True)
def gpu_is_faster(monkeypatch):
    """In hybrid runs too."""
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))


@pytest.fixture
def graph():
    """Along a path, few vertices are active at a time."""
    sources, targets = np.arange(PATH - 1), np.arange(1, PATH)
    more = EDGES.sources.astype(np.int64) + PATH, EDGES.targets.astype(np.int64) + PATH
    n = PATH + EDGES.n
    return gp.from_edges(np.append(sources, more[0]), np.append(targets, more[1]), vertices=range(n), directed=False)


@pytest.fixture
def program():
    return Quiet(0)


@pytest.fixture
def expected(graph, program):
    return run_with(program, graph, device="cpu", mode=PULL, sync=True)


def modes_of(result):
    return {row.mode for row in result.stats.iterations}


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
def test_the_answer_is_the_cpus(device_for, graph, program, expected, device, sync):
    driver = device_for(program, graph)
    for _ in range(2):  # the second run finds all pages in one piece
        found = run_with(program, graph, device=device, sync=sync, page_edges=3000)
        assert found.stats.device == "NumPy"
        assert PUSH in modes_of(found)
        assert {row.device for row in found.stats.iterations} == {"gpu"}
        np.testing.assert_array_equal(found.values, expected.values)
        rows = [(row.active, row.f) for row in found.stats.iterations]
        if sync:
            assert rows == [(row.active, row.f) for row in expected.stats.iterations]
    assert held_after(driver, graph) == 0


@pytest.mark.parametrize("device", ["gpu", "hybrid"])
def test_a_device_without_all_edges_pulls(device_for, graph, program, expected, device):
    device_for(program, graph)
    memory = memory_for(program, graph, 0.5)
    found = run_with(program, graph, device=device, gpu_memory=memory, page_edges=3000)
    assert ("push", "gpu") not in {(row.mode, row.device) for row in found.stats.iterations}
    np.testing.assert_array_equal(found.values, expected.values)


def test_the_papers_gpu_does_not_push(device_for, graph, program, expected):
    device_for(program, graph)
    found = run_with(program, graph, device="gpu", engine="garaph", gather="segmented")
    assert modes_of(found) == {PULL}
    np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("left", [1, 3, 6, 9])
def test_a_failing_device_costs_no_answer(device_for, graph, program, expected, monkeypatch, device, sync, left):
    """It fails in the third iteration, a few accesses to its memory later."""
    driver, begun = device_for(program, graph), []
    accesses = failing_once(driver, "array")

    def begin():
        begun.append(None)
        if len(begun) == 3:
            accesses[0] = left

    when_iterations_begin(monkeypatch, begin)
    found = run_with(program, graph, device=device, sync=sync)
    assert found.stats.device == "cpu"
    np.testing.assert_array_equal(found.values, expected.values)
