"""Several supersteps without the host, on a device simulated with NumPy: what is launched, recorded, and left."""

import random

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch import policy
from garaph_py.dispatch.rates import Rates
from garaph_py.executor.gpu import chain, header
from garaph_py.executor.modes import PULL, PUSH
from tests.support import twins
from tests.support.cases import mostly_full
from tests.support.numpy_gpu import KERNELS, Eager, Lengths, failing_once, held_after, when_iterations_begin
from tests.support.several_gpus import late

from ...support.runs import run_with

EDGES = twins.skewed(4, 9000, 12000)
PATH = 12
"""Vertices of a path that leads to the other edges: the frontier is small, then large, then small."""


@pytest.fixture
def graph():
    edges = twins.beside_path(PATH, EDGES)
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 9, len(edges.sources), np.int32)
    joined = np.append(edges.sources, PATH - 1), np.append(edges.targets, PATH + int(EDGES.out_degrees.argmax()))
    return gp.from_edges(*joined, np.append(lengths, np.int32(1)), vertices=range(edges.n), directed=False)


@pytest.fixture
def expected(graph):
    return run_with(Eager(0), graph, device="cpu", mode=PULL, sync=True)


def search(graph, device="gpu", **how):
    """A run whose pulls end early."""
    return run_with(Eager(0), graph, device=device, sync=True, gather="auto", **how)


@pytest.fixture
def few_edges(monkeypatch):
    """Bounds so small that a run over 12,000 edges goes both ways."""
    monkeypatch.setattr(policy, "DEVICE_FEW_EDGES", 200)
    monkeypatch.setattr(header, "FEW_EDGES", 100 / (header.FEW_BLOCKS * header.FEW_THREADS))


def rows_of(found):
    return [(row.mode, row.active, row.f, row.edges, row.groups[0].mode) for row in found.stats.iterations]


def steps_of(driver):
    """How often the host asked the device for what a chain has done."""
    return [name for name, _ in driver.launched].count("choose") // chain.CHAIN_LENGTH


@pytest.mark.usefixtures("few_edges")
def test_one_chain_pushes_pulls_and_pushes_again(device_for, graph, expected):
    """The supersteps are those that the host would have decided for one by one."""
    driver = device_for(Eager(0), graph)
    for _ in range(2):  # the second run finds all pages in one piece
        driver.launched.clear()
        found = search(graph)
        np.testing.assert_array_equal(found.values, expected.values)
    single = search(graph, iterations=1000)
    assert rows_of(found) == rows_of(single)
    modes = [row.mode for row in found.stats.iterations]
    assert modes.count(PULL) >= 2
    assert (modes[0], modes[-1]) == (PUSH, PUSH)
    assert steps_of(driver) < len(modes) / 3
    assert held_after(driver, graph) == 0


@pytest.mark.usefixtures("few_edges")
def test_reasons_name_the_bound(device_for, graph):
    device_for(Eager(0), graph)
    search(graph)
    rows = search(graph).stats.iterations
    bound = int(policy.DEVICE_PUSH_THRESHOLD * graph.m)
    said = {(row.mode, row.why) for row in rows[1:]}
    assert said >= {
        (PUSH, f"at most {bound} edges lead from active vertices"),
        (PULL, f"more than {bound} edges lead from active vertices"),
    }


@pytest.mark.usefixtures("few_edges")
@pytest.mark.parametrize("length", [1, 2, 3, 12])
def test_a_chain_may_have_any_length(device_for, graph, expected, monkeypatch, length):
    monkeypatch.setattr(chain, "CHAIN_LENGTH", length)
    driver = device_for(Eager(0), graph)
    for _ in range(2):
        found = search(graph)
        np.testing.assert_array_equal(found.values, expected.values)
        assert [(row.active, row.f) for row in found.stats.iterations] == [
            (row.active, row.f) for row in expected.stats.iterations
        ]
    assert steps_of(driver) >= 1


@pytest.mark.usefixtures("few_edges")
def test_a_chain_ends_after_some_time(device_for, graph, expected, monkeypatch):
    """The clock of the simulated device goes on by a microsecond with each superstep."""
    driver = device_for(Eager(0), graph)
    counts = []
    for nanoseconds in 10_000_000, 1500:
        monkeypatch.setattr(header, "LONGEST_LAUNCH", nanoseconds)
        monkeypatch.setattr(header, "FEW_LISTS", 0)  # each superstep has its own kernels
        search(graph)
        driver.launched.clear()
        found = search(graph)
        np.testing.assert_array_equal(found.values, expected.values)
        assert [row.number for row in found.stats.iterations] == list(range(len(expected.stats.iterations)))
        counts.append(steps_of(driver))
    assert counts[0] < counts[1]


@pytest.mark.usefixtures("few_edges", "gpu_is_faster")
def test_pulls_in_a_chain_are_measured(device_for, graph, monkeypatch):
    """A hybrid run learns the GPU's rate from all but the last superstep of a chain, whose time is unknown."""
    seen, measured = [], Rates.measured
    device_for(Eager(0), graph)
    monkeypatch.setattr(Rates, "cpu_helps", False)
    search(graph, "hybrid")
    monkeypatch.setattr(Rates, "measured", lambda self, **what: seen.append(what) or measured(self, **what))
    rows = search(graph, "hybrid").stats.iterations
    pulls = sum(row.mode == PULL for row in rows)
    assert (pulls - len(seen)) * graph.m <= sum(what["gpu_edges"] for what in seen) <= pulls * graph.m
    assert seen
    assert all(what["gpu_seconds"] > 0 for what in seen)


@pytest.mark.usefixtures("few_edges")
def test_pulls_of_all_edges_end_a_chain(device_for, graph, monkeypatch):
    """The host launches a pull that does not end early page by page."""
    monkeypatch.setattr(policy, "even_f", lambda _: 1 / 4)
    program = Lengths(0)
    driver = device_for(program, graph)
    expected = run_with(program, graph, device="cpu", mode=PULL, sync=True)
    run_with(program, graph, device="gpu")
    driver.launched.clear()
    found = run_with(program, graph, device="gpu")
    np.testing.assert_array_equal(found.values, expected.values)
    modes = [row.mode for row in found.stats.iterations]
    assert PULL in modes
    names = [name for name, _ in driver.launched]
    assert names.count("apply_vertices") >= modes.count(PULL)
    assert "push_few" in names


@pytest.mark.usefixtures("few_edges", "gpu_is_faster")
def test_a_hybrid_run_pulls_in_a_chain_if_the_cpu_would_not_help(device_for, graph, expected, monkeypatch):
    for helps in True, False:
        monkeypatch.setattr(policy, "takes_help", lambda seen, helps=helps: helps)
        device_for(Eager(0), graph)
        search(graph, "hybrid")
        found = search(graph, "hybrid")
        np.testing.assert_array_equal(found.values, expected.values)
        chained = [row for row in found.stats.iterations if row.mode == PULL and row.why.startswith("more than")]
        assert bool(chained) == (not helps)


@pytest.mark.usefixtures("few_edges")
@pytest.mark.parametrize("left", mostly_full([1, 2, 5, 9, 14, 22, 40, 60], "2", "22"))
def test_a_failing_device_costs_no_answer(device_for, graph, expected, monkeypatch, left):
    """It fails in the first chain, a few accesses to its memory later: in a push, a pull, or between them."""
    begun = []
    driver = device_for(Eager(0), graph)
    search(graph)
    accesses = failing_once(driver, "array")

    def begin():
        begun.append(None)
        accesses[0] = left if len(begun) == 1 else 0

    when_iterations_begin(monkeypatch, begin)
    found = search(graph)
    assert found.stats.device == "cpu"
    np.testing.assert_array_equal(found.values, expected.values)


@pytest.mark.parametrize("sync", [True, False])
def test_the_host_waits_for_a_chain_over_a_graph_without_edges(devices_for, sync):
    """Its kernels are launched on a stream for which the default stream waits, before any page was processed."""
    graph, rng = gp.from_edges([], [], np.zeros(0, np.int32), vertices=range(3), directed=False), random.Random(7)
    for _ in range(10):
        devices_for(Lengths(0), graph, 1, late(rng))
        assert run_with(Lengths(0), graph, device="gpu", sync=sync).stats.note is None
        graph.release()


def test_a_kernel_that_has_not_run_is_an_error(device_for, graph, expected, monkeypatch):
    """Then the CPU goes on."""
    device_for(Eager(0), graph)
    monkeypatch.setitem(KERNELS, "push_few", lambda *_: None)
    found = search(graph)
    assert "has not run a kernel that was launched (push_few, 1 queued)" in str(found.stats.note)
    np.testing.assert_array_equal(found.values, expected.values)
