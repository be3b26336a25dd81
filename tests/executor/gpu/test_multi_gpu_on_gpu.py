"""Several real GPUs: the bits of one GPU's answers, copies between GPUs, and streams on each."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.rates import Rates
from garaph_py.errors import DeviceError
from garaph_py.executor.gpu import device, peers
from garaph_py.executor.gpu.executor import GpuExecutor
from tests.support import twins
from tests.support.cases import EXACT, FLOAT
from tests.support.real_gpu import memory_for

from ...support.runs import run_with

COUNT = device.count()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(COUNT < 2, reason="needs two GPUs")]


@pytest.fixture(scope="module")
def edges():
    return {weights: twins.skewed(5, 6000, 90000, weights) for weights in (None, "int32", "float32", "float64")}


def both(program, graph, **how):
    """The results of one GPU and of all."""
    results = [run_with(program, graph, device="gpu", gpus=count, gpu_order="given", **how) for count in (1, "all")]
    assert not [result.stats.note for result in results if "failed" in (result.stats.note or "")]
    assert str(results[1].stats.device).startswith(f"{COUNT} x ")
    return results


@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_exact_programs_have_the_same_bits(graph_of, edges, case):
    """Resident and streamed, raw and packed, synchronous and not."""
    given = edges[case.weights]
    graph = graph_of(given, directed=not case.symmetric)
    program = case.program(given.both_ways() if case.symmetric else given)
    room = memory_for(program, graph, 0.3) + (1 << 18)  # several GPUs have other pages
    ways = (True, "raw", None), (False, "packed", None), (True, "packed", room), (False, "raw", room)
    for sync, encoding, memory in ways:
        one, several = both(program, graph, sync=sync, encoding=encoding, gpu_memory=memory)
        assert one.values.tobytes() == several.values.tobytes()


@pytest.mark.parametrize("case", FLOAT, ids=lambda case: case.name)
def test_deterministic_floats_have_the_same_bits(graph_of, edges, case):
    program, graph = case.program(edges[case.weights]), graph_of(edges[case.weights])
    one, several = both(program, graph, deterministic=True, iterations=8, page_edges=9000)
    assert one.values.tobytes() == several.values.tobytes()
    one, several = both(program, graph, sync=True, iterations=8)
    np.testing.assert_allclose(several.values, one.values, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("case", FLOAT, ids=lambda case: case.name)
def test_deterministic_floats_have_the_same_bits_streamed_and_packed(graph_of, edges, case):
    program, graph = case.program(edges[case.weights]), graph_of(edges[case.weights])
    room = memory_for(program, graph, 0.3) + (1 << 18)
    for encoding, memory in ("raw", room), ("packed", None), ("packed", room):
        one, several = both(
            program, graph, deterministic=True, iterations=8, page_edges=9000, encoding=encoding, gpu_memory=memory
        )
        assert one.values.tobytes() == several.values.tobytes()


@pytest.mark.parametrize("sync", [True, False])
def test_one_goes_on_when_the_other_fails(graph_of, edges, monkeypatch, sync):
    """GPU 1 fails at the end of its second iteration."""
    program, graph = gp.apps.SSSP(0), graph_of(edges["int32"])
    expected, commits, commit = run_with(program, graph, device="cpu", sync=True), [], GpuExecutor.commit_pages

    def failing(gpu, *how):
        commits.append(gpu.device.number)
        if gpu.device.number == 1 and commits.count(1) == 2:
            raise DeviceError("GPU 1 is gone; use another")
        commit(gpu, *how)

    monkeypatch.setattr(GpuExecutor, "commit_pages", failing)
    found = run_with(program, graph, device="gpu", gpus=2, sync=sync, mode="pull", page_edges=4000)
    assert commits.count(1) == 2
    assert "failed after 1 iterations, GPU 0 " in found.stats.note
    assert "GPU 1 is gone" in found.stats.note
    assert found.stats.device == device.find(0).name
    assert expected.values.tobytes() == found.values.tobytes()


@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_hybrid(graph_of, edges, monkeypatch, case):
    monkeypatch.setattr("garaph_py.runtime.plan.how_many", lambda *told: (told[-1], "all work"))
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", True)
    given = edges[case.weights]
    graph = graph_of(given, directed=not case.symmetric)
    program = case.program(given.both_ways() if case.symmetric else given)
    expected = run_with(program, graph, device="cpu", sync=True)
    found = run_with(program, graph, device="hybrid", gpus="all", sync=True, mode="pull", page_edges=4000)
    assert found.stats.note is None
    assert expected.values.tobytes() == found.values.tobytes()


def test_a_search_over_a_large_graph():
    """Its pulls end early, and read the frontier that other GPUs have sent."""
    graph = gp.rmat(20, directed=False)
    one, several = both(gp.apps.BFS(int(np.argmax(graph.out_degrees))), graph)
    np.testing.assert_array_equal(several.column("level"), one.column("level"))


def test_a_large_graph_in_turns():
    """Many iterations over pages that are resident: what one GPU sends has arrived before the others read it."""
    graph = gp.rmat(20, directed=False)
    program = gp.apps.PageRank(dtype=np.float64, stop="never", weighted=False)
    one, several = both(program, graph, deterministic=True, iterations=50)
    assert one.values.tobytes() == several.values.tobytes()


def test_copies_between_gpus():
    first, second = device.find(0), device.find(1)
    peers.link([first, second])
    sent, got = np.arange(1 << 20, dtype=np.uint8), np.zeros(1 << 20, np.uint8)
    with second:
        there = second.driver.mem_alloc(sent.nbytes)
    with first:
        here, stream = first.driver.mem_alloc(sent.nbytes), first.driver.Stream()
        first.driver.memcpy_htod(here, sent)
        peers.copy(second, int(there), first, int(here), sent.nbytes, stream)
        stream.synchronize()
    with second:
        second.driver.memcpy_dtoh(got, there)
        there.free()
    with first:
        here.free()
        del stream
    np.testing.assert_array_equal(got, sent)
    assert peers.reaches(first, second) == peers.can_reach(0, 1)
