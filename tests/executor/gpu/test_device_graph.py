"""What a GPU's memory keeps of a graph between runs: found again, within the budget, and freed."""

import gc
import math
import threading
from contextlib import suppress

import numpy as np
import pytest

from garaph_py.errors import DeviceError, DeviceMemoryError
from garaph_py.executor.gpu import device as devices
from garaph_py.executor.gpu import device_graph, pinned_pool
from garaph_py.executor.gpu.device_graph import DeviceGraph, kept_bytes
from garaph_py.runtime import runner
from tests.support import twins
from tests.support.numpy_gpu import GRAPH, HUB, Hops, Quiet, failing_once, held_after, memory_for, when_iterations_begin

from ...support.runs import run_with


@pytest.fixture(autouse=True)
def no_copies_of_states(monkeypatch):
    """On a busy machine a run takes so long that a safety copy is due, for which the device has another array."""
    monkeypatch.setattr("garaph_py.runtime.runner.INTERVAL", math.inf)


def run_on_gpu(program, graph, device="gpu", **how):
    return run_with(program, graph, device=device, sync=True, gather="segmented", page_edges=3000, streams=3, **how)


def copied(result):
    """Bytes of edges copied to the GPU in each iteration."""
    return [row.to_device for row in result.stats.iterations]


@pytest.mark.parametrize("device", ["gpu", "hybrid"])
def test_a_second_run_copies_no_edges(device_for, graph_of, device):
    graph = graph_of(GRAPH)
    driver = device_for(Hops(HUB), graph)
    first = run_on_gpu(Hops(HUB), graph)
    kept, copies, to = driver.held, [], driver.memcpy_htod
    driver.memcpy_htod = lambda place, array, stream=None: (copies.append(array.nbytes), to(place, array))
    second = run_on_gpu(Hops(HUB), graph, device)
    third = run_on_gpu(Hops(3), graph, device)
    assert sum(copied(first)) == 4 * graph.m
    assert sum(copied(second)) == sum(copied(third)) == 0
    assert max(copies) <= 8 * graph.n  # values, but neither offsets nor ranks
    assert driver.held == kept
    np.testing.assert_array_equal(second.values, first.values)
    np.testing.assert_array_equal(third.values, run_with(Hops(3), graph, device="cpu", sync=True).values)
    assert held_after(driver, graph) == 0


def test_a_run_with_less_memory_frees_what_it_may_not_keep(device_for, graph_of):
    graph = graph_of(GRAPH)
    driver = device_for(Hops(HUB), graph)
    memory = memory_for(Hops(HUB), graph, 0.4)
    expected = run_on_gpu(Hops(HUB), graph)
    driver.refuses = memory
    result = run_on_gpu(Hops(HUB), graph, gpu_memory=memory)
    np.testing.assert_array_equal(result.values, expected.values)
    assert 0 < driver.held < memory
    again = run_on_gpu(Hops(HUB), graph, gpu_memory=memory)
    assert 0 < copied(again)[0] < copied(result)[0] == 4 * graph.m


def test_a_run_without_memory_to_measure_packed_edges_in_is_remembered(device_for, graph_of, monkeypatch):
    """Later runs with no more memory neither try again nor free what the graph keeps."""
    graph, budgets = graph_of(GRAPH), []
    device_for(Hops(HUB), graph)
    run_on_gpu(Hops(HUB), graph)
    kept = DeviceGraph.of(graph._arrays, devices.find())

    def refused(arrays, launcher, device, budget, pinned):
        budgets.append(budget)
        raise DeviceMemoryError("no")

    monkeypatch.setattr(device_graph, "measured", refused)
    for budget, tries in (1000, [1000]), (1000, []), (900, []), (1001, [1001]):
        budgets.clear()
        with pytest.raises(DeviceMemoryError):
            kept.measure(graph._arrays, None, budget)
        assert budgets == tries
        assert (sum(copied(run_on_gpu(Hops(HUB), graph))) > 0) == bool(tries)


@pytest.mark.slow
def test_ten_graphs_in_turns_where_three_fit(device_for, graph_of):
    graphs, program = [graph_of(twins.regular(k, 2000, 6)) for k in range(10)], Hops(7)
    driver = device_for(program, graphs[0])
    expected = [run_with(program, graph, device="cpu", sync=True).values for graph in graphs]
    run_on_gpu(program, graphs[0])
    kept, most = driver.held, []
    memory, allocate = memory_for(program, graphs[0], 1) + 5 * kept // 2, driver.mem_alloc
    driver.mem_alloc = lambda nbytes: (allocate(nbytes), most.append(driver.held))[0]
    for _ in range(2):
        for graph, values in zip(graphs, expected, strict=True):
            np.testing.assert_array_equal(run_on_gpu(program, graph, gpu_memory=memory).values, values)
    assert max(most) <= memory
    assert driver.held == 3 * kept
    found = [sum(copied(run_on_gpu(program, graphs[k], gpu_memory=memory))) for k in (9, 8, 7, 0)]
    assert found == [0, 0, 0, 4 * graphs[0].m]


def test_a_graph_that_is_gone_takes_no_memory(device_for, graph_of):
    graph = graph_of(GRAPH)
    driver = device_for(Hops(HUB), graph)
    result = run_on_gpu(Hops(HUB), graph)
    assert driver.held > 0
    del graph, result
    gc.collect()
    assert driver.held == 0


def test_released_while_a_run_holds_it(device_for, graph_of, monkeypatch):
    graph = graph_of(GRAPH)
    driver = device_for(Hops(HUB), graph)
    expected = run_on_gpu(Hops(HUB), graph).values
    when_iterations_begin(monkeypatch, graph.release)
    np.testing.assert_array_equal(run_on_gpu(Hops(HUB), graph).values, expected)
    assert driver.held == 0


def test_a_run_that_finds_the_graph_in_use_has_memory_of_its_own(device_for, graph_of):
    graph = graph_of(GRAPH)
    driver = device_for(Hops(HUB), graph)
    expected = run_on_gpu(Hops(HUB), graph).values
    before = driver.held
    used = DeviceGraph.take(graph._arrays, devices.find())
    assert kept_bytes(devices.find()) == 0  # a run uses it
    found = []
    thread = threading.Thread(target=lambda: found.append(run_on_gpu(Hops(HUB), graph)))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(found[0].values, expected)
    assert sum(copied(found[0])) == 4 * graph.m
    assert driver.held == before
    used.give_back(True)
    assert sum(copied(run_on_gpu(Hops(HUB), graph))) == 0


@pytest.mark.full
@pytest.mark.parametrize("call", ["memcpy_htod_async", "memcpy_dtoh_async", "mem_alloc"])
def test_after_a_failure_nothing_wrong_is_found(device_for, graph_of, call):
    """The GPU fails at any call; the next run is right, and makes again what was not whole."""
    graph = graph_of(GRAPH)
    driver = device_for(Quiet(HUB), graph)
    expected = run_with(Quiet(HUB), graph, device="cpu", sync=True).values
    left = failing_once(driver, call)
    for number in range(1, 40, 3):
        left[0], driver.next = number, 256
        with suppress(DeviceError):
            np.testing.assert_array_equal(run_on_gpu(Quiet(HUB), graph).values, expected)
        left[0] = 0
        np.testing.assert_array_equal(run_on_gpu(Quiet(HUB), graph).values, expected)
        assert held_after(driver, graph) == 0


def test_it_is_among_the_graphs_derived_arrays(device_for, graph_of):
    graph = graph_of(GRAPH)
    device_for(Hops(HUB), graph)
    run_on_gpu(Hops(HUB), graph)
    assert any("GPU" in name for name in graph._arrays.derived.names)
    assert graph._arrays.derived.nbytes == 0  # of the host's memory


def test_nothing_waits_for_the_garbage_collector(device_for, graph_of, monkeypatch):
    """The arrays of a run are free for the next one as soon as nothing refers to its result."""
    graph, made = graph_of(GRAPH), []
    device_for(Hops(HUB), graph)
    block = pinned_pool.Block
    monkeypatch.setattr(pinned_pool, "Block", lambda *how: made.append(how) or block(*how))
    monkeypatch.setattr(runner, "INTERVAL", math.inf)  # a run that waits for a core makes no copy of its state
    gc.collect()
    gc.disable()
    try:
        for device in ("gpu", "hybrid") * 2:
            result = run_on_gpu(Hops(HUB), graph, device)
        many = len(made)
        for device in ("gpu", "hybrid") * 2:
            result = run_on_gpu(Hops(HUB), graph, device)
        assert result.stats.converged
        assert len(made) == many
    finally:
        gc.enable()


class Weighted(Quiet):
    """Reads edge values, too."""

    def gather(self, src, edge):
        return src + 1 if src != self.identity else src


def test_programs_have_the_arrays_of_a_page_in_common(device_for, graph_of):
    """A program that reads edge values finds the sources that another has left, and the other way round."""
    graph = graph_of(twins.skewed(3, 9000, 60000, "int32"))
    device_for(Quiet(HUB), graph)
    for program, all_bytes, found in ((Quiet(HUB), 4, 0), (Weighted(HUB), 8, 4), (Quiet(3), 4, 4), (Weighted(3), 8, 8)):
        result = run_on_gpu(program, graph)
        assert sum(copied(result)) == (all_bytes - found) * graph.m
