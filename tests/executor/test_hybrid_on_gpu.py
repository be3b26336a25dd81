"""CPU and GPU in one run, on a real GPU: every program, with any division of pages."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.rates import Rates
from garaph_py.executor.modes import PULL
from tests.support import twins
from tests.support.cases import EXACT, FLOAT
from tests.support.real_gpu import memory_for

from ..support.runs import run_with

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def edges():
    return {weights: twins.skewed(5, 6000, 90000, weights) for weights in (None, "int32", "float32", "float64")}


@pytest.fixture(params=[0.0, 0.5, 1.0])
def at_random(request, monkeypatch):
    """Both processors work in every iteration; the CPU takes this share of the pages that it is offered."""
    rng = np.random.default_rng(7)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", True)
    takes = lambda self, waiting: rng.integers(waiting + 1) * (rng.random() < request.param)  # noqa: E731
    monkeypatch.setattr(Rates, "share", takes)


def both(program, graph, **how):
    known = {name: how[name] for name in ("iterations", "sync") if name in how}
    memory = memory_for(program, graph, 0.3)
    cpu = run_with(program, graph, device="cpu", **known)
    hybrid = run_with(program, graph, device="hybrid", gpu_memory=memory, page_edges=4000, streams=3, **how)
    assert hybrid.stats.note is None
    return cpu, hybrid


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_exact_programs_have_the_same_bits(graph_of, edges, at_random, case, sync):
    given = edges[case.weights]
    graph = graph_of(given, directed=not case.symmetric)
    program = case.program(given.both_ways() if case.symmetric else given)
    cpu, hybrid = both(program, graph, sync=sync, mode=PULL)
    assert cpu.values.tobytes() == hybrid.values.tobytes()
    assert "both" in {row.device for row in hybrid.stats.iterations}


@pytest.mark.parametrize("case", FLOAT, ids=lambda case: case.name)
def test_float_programs_are_close(graph_of, edges, at_random, case):
    cpu, hybrid = both(case.program(edges[case.weights]), graph_of(edges[case.weights]), iterations=8, sync=True)
    np.testing.assert_allclose(hybrid.values, cpu.values, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("engine", ["auto", "garaph"])
@pytest.mark.parametrize("memory", [None, "1.5MiB"])
@pytest.mark.parametrize("sync", [True, False])
def test_alpha_as_measured(graph_of, edges, engine, memory, sync):
    graph = graph_of(edges["int32"])
    program = gp.apps.SSSP(int(graph.out_degrees.argmax()))
    cpu = run_with(program, graph, device="cpu", sync=True)
    hybrid = run_with(program, graph, device="hybrid", engine=engine, sync=sync, gpu_memory=memory, page_edges=4000)
    assert cpu.values.tobytes() == hybrid.values.tobytes()


@pytest.mark.parametrize("program", [gp.apps.PageRank(), gp.apps.SSSP(0), gp.apps.ConnectedComponents()], ids=str)
def test_a_gpu_that_needs_no_help_works_alone(monkeypatch, program):
    monkeypatch.setattr("garaph_py.runtime.plan.cpu_seconds", lambda *_: 1.0)
    graph = gp.rmat(18, 16, directed=False, weights=(1, 64))
    alone, hybrid = (run_with(program, graph, device=device, gpus=1, sync=True) for device in ("gpu", "hybrid"))
    np.testing.assert_allclose(hybrid.values, alone.values, rtol=1e-10, atol=1e-14)
    assert {row.device for row in hybrid.stats.iterations} == {"gpu"}
    assert "the CPU" in hybrid.stats.why
