"""Pushes of several GPUs on a real one, which has the parts of all of them."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.gpu import device
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.settings import Settings
from garaph_py.program import bind
from tests.support import twins
from tests.support.cases import EXACT

from ...support.runs import run_with

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("three_of_one")]


@pytest.fixture(scope="module")
def edges():
    return {weights: twins.skewed(5, 6000, 90000, weights) for weights in (None, "int32", "float32", "float64")}


directions = pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
CASES = [(case, directed) for case in EXACT for directed in (False, True) if not (case.symmetric and directed)]


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize(("case", "directed"), CASES, ids=lambda each: getattr(each, "name", f"directed={each}"))
def test_exact_programs_have_the_same_bits(graph_of, edges, case, directed, sync, count):
    given = edges[case.weights]
    given = given if directed else given.both_ways()
    graph, program = graph_of(given, directed=directed), case.program(given)
    expected = run_with(program, graph, device="cpu", sync=True)
    for encoding in "raw", "packed":
        result = run_with(program, graph, device="gpu", gpus=count, sync=sync, encoding=encoding)
        assert result.stats.note is None
        assert expected.values.tobytes() == result.values.tobytes()


@pytest.mark.parametrize("count", [2, 3])
def test_a_large_directed_graph(count):
    graph = gp.rmat(20, weights=(1, 255))
    source = int(np.argmax(graph.out_degrees))
    for program in gp.apps.BFS(source), gp.apps.SSSP(source), gp.apps.SSWP(source):
        expected = gp.run(program, graph, device="cpu")
        for sync in True, None, None:  # the last one finds the lists on the GPUs
            result = run_with(program, graph, device="gpu", gpus=count, sync=sync)
            np.testing.assert_array_equal(result.values, expected.values)
            assert {row.mode for row in result.stats.iterations} >= {"push"}


@pytest.mark.parametrize("count", [2, 3])
def test_a_large_graph(count):
    """Some iterations push, others pull; components are also found by union-find."""
    graph = gp.rmat(20, directed=False, weights=(1, 255))
    source = int(np.argmax(graph.out_degrees))
    for program in gp.apps.BFS(source), gp.apps.SSSP(source), gp.apps.ConnectedComponents():
        expected = gp.run(program, graph, device="cpu")
        for sync in True, None:
            result = run_with(program, graph, device="gpu", gpus=count, sync=sync)
            np.testing.assert_array_equal(result.values, expected.values)
            finds = sync is None and isinstance(program, gp.apps.ConnectedComponents)
            assert {row.mode for row in result.stats.iterations} >= ({"components"} if finds else {"push", "pull"})
    for encoding in "raw", "packed":
        result = run_with(program, graph, device="gpu", gpus=count, mode="components", encoding=encoding)
        np.testing.assert_array_equal(result.values, expected.values)
        assert [row.mode for row in result.stats.iterations] == ["components"]


@pytest.mark.parametrize("count", [2, 3])
@directions
@pytest.mark.parametrize("program", [gp.apps.BFS, gp.apps.SSSP, gp.apps.SSWP], ids=lambda program: program.__name__)
def test_edges_in_and_beyond_the_gpus_memory(program, directed, count):
    """Lists are in the GPUs' memory, or they are read in the host's, raw and packed: a GPU has room for all edges, or
    for some six tenths of its part's."""
    graph = gp.rmat(18, directed=directed, weights=(1, 255))
    started = program(int(np.argmax(graph.out_degrees)))
    expected = gp.run(started, graph, device="cpu")  # which also orders the values of the out-edges
    with GpuExecutor(bind(started, graph), graph, device.find(), Settings(gather="segmented")) as kernel:
        kernel.initialize(True)
        room = int(kernel.residency.used - (1 - 0.6 / count) * graph.m * kernel.edges.arrays.width)
    ways = set()
    for memory in None, room:
        for encoding in "raw", "packed":
            for sync in True, None:
                result = run_with(
                    started, graph, device="gpu", gpus=count, sync=sync, encoding=encoding, gpu_memory=memory
                )
                assert result.stats.note is None or "short" in result.stats.note
                np.testing.assert_array_equal(result.values, expected.values)
                ways |= {
                    group.transfer for row in result.stats.iterations for group in row.groups if group.mode == "push"
                }
    assert ways == {"resident", "zero-copy"}
