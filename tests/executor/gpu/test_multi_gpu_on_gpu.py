"""Several real GPUs: the bits of one GPU's answers, copies between GPUs, and streams on each."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.rates import Rates
from garaph_py.executor.gpu import device, peers
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
    assert all(result.stats.note is None for result in results)
    assert str(results[1].stats.device).startswith(f"{COUNT} x ")
    return results


@pytest.mark.parametrize("share", [None, 0.3], ids=["resident", "streamed"])
@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_exact_programs_have_the_same_bits(graph_of, edges, case, sync, encoding, share):
    given = edges[case.weights]
    graph = graph_of(given, directed=not case.symmetric)
    program = case.program(given.both_ways() if case.symmetric else given)
    memory = None if share is None else memory_for(program, graph, share)
    one, several = both(program, graph, sync=sync, encoding=encoding, gpu_memory=memory)
    assert one.values.tobytes() == several.values.tobytes()


@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize("case", FLOAT, ids=lambda case: case.name)
def test_deterministic_floats_have_the_same_bits(graph_of, edges, case, encoding):
    program, graph = case.program(edges[case.weights]), graph_of(edges[case.weights])
    one, several = both(program, graph, deterministic=True, iterations=8, encoding=encoding, page_edges=9000)
    assert one.values.tobytes() == several.values.tobytes()


@pytest.mark.parametrize("case", FLOAT, ids=lambda case: case.name)
def test_floats_are_close(graph_of, edges, case):
    one, several = both(case.program(edges[case.weights]), graph_of(edges[case.weights]), sync=True, iterations=8)
    np.testing.assert_allclose(several.values, one.values, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_hybrid(graph_of, edges, monkeypatch, case):
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", True)
    given = edges[case.weights]
    graph = graph_of(given, directed=not case.symmetric)
    program = case.program(given.both_ways() if case.symmetric else given)
    expected = run_with(program, graph, device="cpu", sync=True)
    found = run_with(program, graph, device="hybrid", gpus="all", sync=True, mode="pull", page_edges=4000)
    assert found.stats.note is None
    assert expected.values.tobytes() == found.values.tobytes()


@pytest.mark.slow
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
