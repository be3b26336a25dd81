"""Connected components on several GPUs: the same answers as on one, whatever the timing, whichever fails."""

import random
from functools import partial

import numpy as np
import pytest

from garaph_py.errors import DeviceMemoryError
from garaph_py.executor.gpu import exchange_trees, placement
from garaph_py.executor.gpu.multi_gpu import MultiGpuExecutor
from garaph_py.executor.gpu.placement import Placer
from garaph_py.executor.modes import COMPONENTS, NOTIFY_PULL, PULL, PUSH
from garaph_py.graph.build import from_numbered_edges
from tests.support import twins
from tests.support.components import modes_of, undirected
from tests.support.numpy_trees import Labels, least_labels
from tests.support.several_gpus import commit_and_compare, each_failure, late, runs_with_a_failure

from ...support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs", "all_work")

processors = pytest.mark.parametrize("processor", ["gpu", "hybrid"])
counts = pytest.mark.parametrize("count", [2, 5])


@pytest.fixture(autouse=True)
def compared(monkeypatch):
    """After each iteration, all GPUs have the same values and the same frontier."""
    monkeypatch.setattr(MultiGpuExecutor, "commit", commit_and_compare)


@pytest.fixture
def graph():
    return undirected(twins.skewed(4, 3000, 12000))


@pytest.fixture
def expected(graph):
    return least_labels(graph)


@pytest.mark.spread
@counts
@processors
def test_the_answer_is_the_cpus(devices_for, graph, expected, count, processor):
    drivers = devices_for(Labels(), graph, count)
    for _ in range(2):  # the second run finds the graph on the devices
        found = run_with(Labels(), graph, device=processor, gpus=count, page_edges=3000)
        np.testing.assert_array_equal(found.values, expected)
        assert modes_of(found) == [COMPONENTS]
        assert found.stats.iterations[0].edges == graph.m
    received = [[name for name, _ in driver.launched].count("link_received") for driver in drivers]
    assert received == [2 * 2 * (count - 1)] * count


@counts
def test_trees_of_parts_are_joined(devices_for, count):
    """In a path numbered at random, most neighbours are in another part: no GPU alone finds one component."""
    order = np.random.default_rng(1).permutation(500)
    graph = from_numbered_edges(order[:-1], order[1:], 501, directed=False)
    devices_for(Labels(), graph, count)
    found = run_with(Labels(), graph, device="gpu", gpus=count, page_edges=100)
    assert modes_of(found) == [COMPONENTS]
    np.testing.assert_array_equal(found.values, least_labels(graph))


def test_all_leave_out_the_edges_of_the_same_tree(devices_for, monkeypatch):
    """Two stars of the same size, joined by an edge between two leaves: if the GPUs left out different ones, that edge
    would be missing."""
    half = 500
    hubs = np.repeat([0, half], half - 1)
    leaves = np.concatenate([np.arange(1, half), np.arange(half + 1, 2 * half)])
    graph = from_numbered_edges(np.append(hubs, half - 1), np.append(leaves, 2 * half - 1), 2 * half, directed=False)
    largest = []
    sent = exchange_trees.copy

    def noted(one, name, other, place, nbytes):
        if name == "largest":
            largest.append(nbytes)
        sent(one, name, other, place, nbytes)

    monkeypatch.setattr(exchange_trees, "copy", noted)
    devices_for(Labels(), graph, 3)
    found = run_with(Labels(), graph, device="gpu", gpus=3, page_edges=500)
    assert modes_of(found) == [COMPONENTS]
    assert largest == [4, 4]
    assert len(np.unique(found.values)) == 1


@pytest.mark.full
@counts
def test_the_mode_may_be_asked_for(devices_for, graph, expected, count):
    devices_for(Labels(), graph, count)
    for options in {}, {"sync": True}, {"iterations": 3}:
        found = run_with(Labels(), graph, device="gpu", gpus=count, page_edges=3000, mode="components", **options)
        np.testing.assert_array_equal(found.values, expected)
        assert modes_of(found) == [COMPONENTS]


def test_a_hybrid_run_that_is_asked_for_the_mode_takes_one_gpu(devices_for, graph, expected):
    drivers = devices_for(Labels(), graph, 2)
    found = run_with(Labels(), graph, device="hybrid", gpus=2, page_edges=3000, mode="components")
    np.testing.assert_array_equal(found.values, expected)
    assert modes_of(found) == [COMPONENTS]
    assert not drivers[1].launched


def test_gpus_that_cannot_exchange_refuse_the_mode(devices_for, graph, monkeypatch):
    monkeypatch.setattr(placement, "plan_exchange", lambda *_: None)
    drivers = devices_for(Labels(), graph, 2)
    with pytest.raises(DeviceMemoryError, match=r"mode='components' on 2 GPUs needs memory on each.*; allow more with"):
        run_with(Labels(), graph, device="gpu", gpus=2, page_edges=3000, mode="components")
    assert all("plant" not in dict(driver.launched) for driver in drivers)


def test_gpus_that_cannot_exchange_pull(devices_for, graph, expected, monkeypatch):
    monkeypatch.setattr(placement, "plan_exchange", lambda *_: None)
    drivers = devices_for(Labels(), graph, 2)
    found = run_with(Labels(), graph, device="gpu", gpus=2, page_edges=3000)
    np.testing.assert_array_equal(found.values, expected)
    assert set(modes_of(found)) <= {PULL, NOTIFY_PULL}
    assert all("plant" not in dict(driver.launched) for driver in drivers)


@pytest.mark.parametrize("short", [(0,), (1,), (0, 1)])
def test_gpus_without_room_for_trees_push(devices_for, graph, expected, monkeypatch, short):
    """All leave the trees out, if only one of them has too little memory."""
    drivers, plan = devices_for(Labels(), graph, 2), Placer._memory

    def planned(placer, *told, **how):
        found = plan(placer, *told, **how)
        if "largest" in found.arrays and placer._kept.device.number in short:
            raise DeviceMemoryError("no room for trees")
        return found

    monkeypatch.setattr(Placer, "_memory", planned)
    found = run_with(Labels(), graph, device="gpu", gpus=2, page_edges=3000)
    np.testing.assert_array_equal(found.values, expected)
    assert PUSH in modes_of(found)
    assert found.stats.note is None
    assert all("plant" not in dict(driver.launched) for driver in drivers)


def armed(find, every, on_all):
    """Find components with late drivers that count their calls, of which one may fail."""
    for each in every:
        each.launches.driver.armed = True
    return find(every, on_all)


@pytest.fixture
def run_late(devices_for, graph, expected):
    def begin(rng, count, processor, sync, failing=None, fails_at=None):  # wide
        drivers = devices_for(Labels(), graph, count, late(rng, failing, fails_at))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(exchange_trees, "find", partial(armed, exchange_trees.find))
            result = run_with(Labels(), graph, device=processor, gpus=count, sync=sync, page_edges=3000, threads=2)
        np.testing.assert_array_equal(result.values, expected)
        return drivers, result

    return begin


@pytest.mark.full
@pytest.mark.spread
@counts
@processors
def test_answers_do_not_depend_on_timing(run_late, count, processor):
    rng = random.Random(f"{count} {processor}")
    for _ in range(3):
        assert modes_of(run_late(rng, count, processor, None)[1]) == [COMPONENTS]


@pytest.mark.slow
@pytest.mark.spread
@counts
@processors
def test_the_others_go_on_when_one_fails(run_late, count, processor):
    for result in runs_with_a_failure(run_late, count, processor, None):
        assert "failed" in result.stats.note


@pytest.mark.full
@processors
def test_the_other_goes_on_wherever_one_of_two_fails(run_late, processor):
    for result in each_failure(run_late, 1, processor, None):
        assert "failed" in result.stats.note
        assert result.stats.device == "NumPy"
