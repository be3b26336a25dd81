"""On a GPU: a graph that was put into its memory ahead is found there, and freed."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import DeviceMemoryError
from tests.support import twins
from tests.support.real_gpu import Allocated, memory_for

from ..support.runs import run_with

pytestmark = pytest.mark.gpu


@pytest.fixture
def graph(graph_of):
    return graph_of(twins.skewed(5, 60000, 900000, "int32"))


def copied(result):
    return sum(row.to_device for row in result.stats.iterations)


@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("program", [gp.apps.SSSP(0), gp.apps.BFS(0), gp.apps.PageRank()], ids=repr)
@pytest.mark.parametrize("is_given", [False, True])
def test_the_next_run_copies_no_edges(graph, device, program, is_given):
    expected = gp.run(program, graph, device="cpu", iterations=5).column()
    graph.to_device(program if is_given else None)
    found = gp.run(program, graph, device=device, iterations=5)
    np.testing.assert_allclose(found.column(), expected, rtol=1e-9)
    assert copied(found) == 0
    assert 4 * graph.m < found.stats.found_bytes <= found.stats.device_bytes


def test_a_with_block_frees_the_memory(graph, monkeypatch):
    allocated = Allocated(monkeypatch)
    with gp.on_device(graph):
        assert allocated.nbytes > 7 * graph.m
    assert allocated.nbytes == 0


def test_interrupted_it_leaves_nothing(graph, monkeypatch):
    def interrupted(event):
        if event.name == "copying to the GPU":
            raise KeyboardInterrupt

    allocated = Allocated(monkeypatch)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            graph.to_device(on_event=interrupted)
        assert allocated.nbytes == 0
    assert copied(gp.run(gp.apps.SSSP(0), graph.to_device(), device="gpu")) == 0


def test_what_does_not_fit_is_left_to_runs(graph):
    program = gp.apps.SSSP(0)
    memory = memory_for(program, graph, 0.5, gather="segmented")
    expected = run_with(program, graph, device="cpu").values
    graph.to_device(program, gpu_memory=memory)
    first = run_with(program, graph, device="gpu", gpu_memory=memory, gather="segmented")
    np.testing.assert_array_equal(first.values, expected)
    assert first.stats.found_bytes > 0
    with pytest.raises(DeviceMemoryError, match="gpu_memory"):
        graph.to_device(gpu_memory="100KiB")


def test_threads_at_once(graph):
    expected = gp.run(gp.apps.SSSP(0), graph, device="cpu").values

    def call(number):
        if number % 2:
            graph.to_device()
        return gp.run(gp.apps.SSSP(0), graph, device="gpu").values

    with ThreadPoolExecutor(4) as pool:
        for values in pool.map(call, range(12)):
            np.testing.assert_array_equal(values, expected)
