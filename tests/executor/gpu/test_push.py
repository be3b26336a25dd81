"""Push on a device simulated with NumPy: the answers of the CPU, and a device that fails while it pushes."""

from itertools import pairwise

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.gpu import chain, header
from garaph_py.executor.gpu.device import Device
from garaph_py.executor.modes import PULL, PUSH
from tests.support import numpy_push, twins
from tests.support.numpy_gpu import KERNELS, Quiet, fail_in_iteration, held_after, memory_for

from ...support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs", "gpu_is_faster")

PATH = 300
"""Vertices of a path beside the other edges."""
EDGES = twins.skewed(4, 9000, 12000)


@pytest.fixture
def graph():
    edges = twins.beside_path(PATH, EDGES)
    return gp.from_edges(edges.sources, edges.targets, vertices=range(edges.n), directed=False)


@pytest.fixture
def program():
    return Quiet(0)


@pytest.fixture
def expected(graph, program):
    return run_with(program, graph, device="cpu", mode=PULL, sync=True)


def modes_of(result):
    return {row.mode for row in result.stats.iterations}


@pytest.mark.spread
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


@pytest.mark.full
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
def test_a_device_without_all_edges_pulls(device_for, graph, program, expected, device):
    device_for(program, graph)
    memory = memory_for(program, graph, 0.5)
    found = run_with(program, graph, device=device, gpu_memory=memory, page_edges=3000)
    assert ("push", "gpu") not in {(row.mode, row.device) for row in found.stats.iterations}
    np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.slow
def test_the_papers_gpu_does_not_push(device_for, graph, program, expected):
    device_for(program, graph)
    found = run_with(program, graph, device="gpu", engine="garaph", gather="segmented")
    assert modes_of(found) == {PULL}
    np.testing.assert_array_equal(found.values, expected.values)


def launches(driver, kernel):
    return [name for name, _ in driver.launched].count(kernel)


@pytest.mark.spread
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
def test_one_launch_does_several_supersteps(device_for, graph, program, expected, device, sync):
    driver = device_for(program, graph)
    run_with(program, graph, device=device, sync=sync)
    driver.launched.clear()
    found = run_with(program, graph, device=device, sync=sync)  # finds all pages in one piece
    rows = found.stats.iterations
    pushes = sum(row.mode == PUSH for row in rows)
    assert 0 < launches(driver, "push_few") < pushes / 10
    assert [row.number for row in rows] == list(range(len(rows)))
    for row, following in pairwise(rows):
        assert row.ended == pytest.approx(following.started, abs=0.1)
    assert all(sum(group.edges for group in row.groups) == row.edges for row in rows)
    assert_pushes_follow_their_edges(rows, graph)
    assert [(row.active, row.f) for row in rows] == [(row.active, row.f) for row in expected.stats.iterations]
    np.testing.assert_array_equal(found.values, expected.values)


def assert_pushes_follow_their_edges(rows, graph):
    """A push follows the out-edges of the vertices that were active when it began."""
    assert [row.edges for row in rows if row.mode == PUSH] == [
        round(row.f * graph.m) for row in rows if row.mode == PUSH
    ]


@pytest.mark.slow
def test_a_small_part_of_a_gpu_does_one_superstep_a_launch(device_for, graph, program, expected, monkeypatch):
    monkeypatch.setattr(chain, "LEAST_MULTIPROCESSORS", 33)
    driver = device_for(program, graph)
    found = run_with(program, graph, device="gpu", sync=True)
    assert launches(driver, "push_few") == 0 < launches(driver, "push_queue")
    np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.slow
@pytest.mark.parametrize(("has_clusters", "blocks"), [(True, header.FEW_BLOCKS), (False, 1)])
def test_without_clusters_one_block_does_several_supersteps(
    device_for, graph, program, expected, monkeypatch, has_clusters, blocks
):
    """Blocks that are in no cluster cannot wait for each other."""
    monkeypatch.setattr(Device, "has_clusters", has_clusters)
    driver, few = device_for(program, graph), numpy_push.KERNELS["push_few"]
    threads = []

    def noted(driver, context, page):
        threads.append(driver.threads)
        few(driver, context, page)

    monkeypatch.setitem(KERNELS, "push_few", noted)
    found = run_with(program, graph, device="gpu", sync=True)
    assert set(threads) == {blocks * header.FEW_THREADS}
    assert launches(driver, "push_few") == len(threads) < len(found.stats.iterations) / 10
    np.testing.assert_array_equal(found.values, expected.values)


THREADS = header.FEW_BLOCKS * header.FEW_THREADS


@pytest.mark.slow
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize(
    "bounds",
    [{"FEW_LISTS": 9 / THREADS}, {"FEW_EDGES": 60 / THREADS}, {"MOST_SUPERSTEPS": 2}, {"PIECE": 8, "FEW_LISTS": 0}],
)
def test_a_launch_ends_at_its_bounds(device_for, graph, monkeypatch, bounds, sync):
    """The frontier grows from one vertex to many, and shrinks again."""
    program = Quiet(PATH + int(EDGES.sources[0]))
    expected = run_with(program, graph, device="cpu", mode=PULL, sync=True)
    driver = device_for(program, graph)
    run_with(program, graph, device="gpu", sync=sync)
    driver.launched.clear()
    for name, least in bounds.items():
        monkeypatch.setattr(header, name, least)
    found = run_with(program, graph, device="gpu", sync=sync)
    few, all_lists = launches(driver, "push_few"), launches(driver, "push_queue")
    assert few == 0 if "PIECE" in bounds else few > 1
    assert all_lists == 0 if "MOST_SUPERSTEPS" in bounds else all_lists > 0
    assert_pushes_follow_their_edges(found.stats.iterations, graph)
    np.testing.assert_array_equal(found.values, expected.values)
    assert [(row.active, row.f) for row in found.stats.iterations] == [
        (row.active, row.f) for row in expected.stats.iterations
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        {"iterations": 40},
        {"checkpoint": "here"},
        pytest.param({"check": "finite"}, marks=pytest.mark.full),
        pytest.param({"trace": "t.json"}, marks=pytest.mark.full),
    ],
)
def test_whoever_looks_at_each_iteration_gets_one_at_a_time(device_for, graph, program, tmp_path, how):
    driver = device_for(program, graph)
    expected = run_with(program, graph, device="cpu", sync=True, iterations=how.get("iterations"))
    how = {name: tmp_path / value if name in ("checkpoint", "trace") else value for name, value in how.items()}
    for _ in range(2):
        found = run_with(program, graph, device="gpu", sync=True, **how)
        np.testing.assert_array_equal(found.values, expected.values)
        assert PUSH in modes_of(found)
    assert launches(driver, "push_few") == 0


@pytest.mark.slow
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("left", [1, 3, 6, 9, 20])
def test_a_failing_device_costs_no_answer(
    device_for, graph, program, expected, monkeypatch, device, sync, is_first, left
):
    """It fails when several supersteps are launched together: the third time in a first run, where each of them has
    kernels of its own, or the first time in a second run, where one kernel does many; a few accesses to its memory
    later."""
    driver = device_for(program, graph)
    if is_first:
        monkeypatch.setattr(header, "FEW_LISTS", 0)
    else:
        run_with(program, graph, device=device, sync=sync)
    fail_in_iteration(monkeypatch, driver, 3 if is_first else 1, left)
    found = run_with(program, graph, device=device, sync=sync)
    assert found.stats.device == "cpu"
    np.testing.assert_array_equal(found.values, expected.values)
