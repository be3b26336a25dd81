"""Connected components on a device simulated with NumPy: resident and streamed pages, and a device that fails."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.rates import Rates
from garaph_py.executor.gpu.launch import COMPONENT_NAMES
from garaph_py.executor.modes import COMPONENTS
from tests.support import twins
from tests.support.components import modes_of, undirected
from tests.support.numpy_gpu import failing_once, held_after, memory_for, when_iterations_begin
from tests.support.numpy_trees import Labels, least_labels

from ...support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs", "gpu_is_faster")


SAMPLING = {"hook_first", "link_second", "link_short", "flatten", "find_largest"}
"""The kernels for edges that stay on the device."""


@pytest.fixture
def graph():
    return undirected(twins.skewed(4, 3000, 12000))


@pytest.fixture
def expected(graph):
    return least_labels(graph)


@pytest.mark.spread
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("share", [0.5, 0.9, None])
def test_the_answer_is_the_cpus(device_for, graph, expected, device, share):
    driver = device_for(Labels(), graph)
    memory = None if share is None else memory_for(Labels(), graph, share, components=True)
    runs = [run_with(Labels(), graph, device=device, gpu_memory=memory, page_edges=3000) for _ in range(2)]
    for found in runs:  # the second finds the graph on the device
        assert_on_gpu(found, expected)
    kernels = [name for name, _ in driver.launched]
    assert set(COMPONENT_NAMES) - set(kernels) == {"link_received"} | (SAMPLING if share == 0.5 else set())
    assert (kernels.count("hook_first") == 0) == (share == 0.5)
    first, second = (run.stats.iterations[0].to_device for run in runs)
    assert first == 4 * graph.m
    assert (second == 0) == (share is None)
    assert held_after(driver, graph) == 0


def assert_on_gpu(found, expected):
    assert found.stats.device == "NumPy"
    assert modes_of(found) == [COMPONENTS]
    assert [row.device for row in found.stats.iterations] == ["gpu"]
    np.testing.assert_array_equal(found.values, expected)


@pytest.mark.full
def test_the_cpu_does_it_where_it_is_faster(device_for, graph, expected, monkeypatch):
    device_for(Labels(), graph)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e-3))
    found = run_with(Labels(), graph, device="hybrid", page_edges=1000)
    assert [(row.mode, row.device) for row in found.stats.iterations] == [(COMPONENTS, "cpu")]
    np.testing.assert_array_equal(found.values, expected)


@pytest.mark.spread
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("left", range(1, 12))
def test_a_failing_device_costs_no_answer(device_for, graph, expected, monkeypatch, device, left):
    """It fails at the launch number `left` of the iteration."""
    driver = device_for(Labels(), graph)
    launches = failing_once(driver, "array")
    when_iterations_begin(monkeypatch, lambda: launches.__setitem__(0, left))
    found = gp.run(Labels(), graph, device=device)
    assert found.stats.device == "cpu"
    assert "failed after 0 iterations" in found.stats.note
    np.testing.assert_array_equal(found.values, expected)
