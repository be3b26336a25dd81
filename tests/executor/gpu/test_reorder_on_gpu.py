"""On a GPU: runs in hub order against the CPU, and the edges in that order against the given ones."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import ParameterError
from garaph_py.executor.decision import Decision
from garaph_py.executor.gpu import device as devices
from garaph_py.executor.gpu import order
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.settings import Settings
from garaph_py.executor.modes import PULL
from garaph_py.program import bind
from tests.support import twins
from tests.support.cases import numbers
from tests.support.numpy_gpu import Blend, PlainBlend

from ...support.runs import run_with

pytestmark = pytest.mark.gpu

GRAPHS = {
    "skewed": twins.skewed(5, 6000, 90000, "int32"),
    "hub": twins.Edges(  # one destination with edges in 60 runs, and lists that begin anywhere
        3000, np.random.default_rng(1).integers(0, 3000, 90000),
        np.where(np.arange(90000) < 61000, 1234, np.random.default_rng(2).integers(0, 3000, 90000)),
        np.random.default_rng(3).integers(0, 50, 90000).astype(np.int32),
    ),
    "tiny": twins.skewed(7, 70, 300, "int32"),
}  # fmt: skip


@pytest.fixture(params=GRAPHS)
def edges(request):
    return GRAPHS[request.param]


def on_gpu(program, graph, **how):
    result = run_with(program, graph, **{"device": "gpu", "gpu_order": "hub", "sync": True, **how})
    assert result.stats.note is None
    assert result.stats.device != "cpu"
    return result


def close(found, expected):
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12, atol=0)


@pytest.mark.parametrize("page_edges", [None, 700])
@pytest.mark.parametrize("directed", [True, False])
def test_each_destination_keeps_its_edges(graph_of, edges, directed, page_edges):
    graph = graph_of(edges, directed=directed)
    bound, settings = bind(Blend(), graph), Settings(order="hub", page_edges=page_edges)
    with GpuExecutor(bound, graph, devices.find(), settings) as made:
        made.initialize(True)
        assert not made.shares_pages
        hub, arrays, given = made._numbering, {}, graph._arrays.in_edges
        with made.device:
            for name, kind in (("sources", np.uint32), ("edge values", np.int32)):
                arrays[name] = np.empty(graph.m, kind)
                place = made._kept.memory.at(f"{name} in hub order")
                made.device.driver.memcpy_dtoh(arrays[name].view(np.uint8), place)
    before, after = given.offsets, hub.ranks.offsets
    for vertex, position in enumerate(hub.positions):
        old, new = slice(before[vertex], before[vertex + 1]), slice(after[position], after[position + 1])
        np.testing.assert_array_equal(hub.order.given[arrays["sources"][new]], given.neighbours[old])
        np.testing.assert_array_equal(arrays["edge values"][new], given.values[old])


@pytest.mark.parametrize("processor", ["gpu", "hybrid"])
@pytest.mark.parametrize("page_edges", [None, 700])
@pytest.mark.parametrize("kind", [Blend, PlainBlend])
def test_integer_programs_have_the_same_bits(graph_of, edges, kind, page_edges, processor):
    graph, program = graph_of(edges), kind(np.arange(edges.n) % 13)
    expected = run_with(program, graph, device="cpu", sync=True, iterations=9)
    found = on_gpu(program, graph, iterations=9, page_edges=page_edges, device=processor)
    assert found.values.tobytes() == expected.values.tobytes()
    assert [row.active for row in found.stats.iterations] == [row.active for row in expected.stats.iterations]


def test_the_state_is_in_the_users_order(graph_of, edges):
    graph, states = graph_of(edges), []
    bound = bind(Blend(np.arange(edges.n) % 13), graph)
    for name in ("given", "hub"):
        with GpuExecutor(bound, graph, devices.find(), Settings(order=name, gather="segmented")) as made:
            state = made.initialize(True)
            for _ in range(3):
                done = made.step(state, Decision(PULL, "test"))
                state.advance(sum(page.active for page in done.pages), 0, 0)
            copy = made.start_copy()
            copy.written.synchronize()
            states.append((state.values.copy(), state.frontier.bits.copy(), made.report(state).copy()))
            np.testing.assert_array_equal(copy.values, state.values)
            np.testing.assert_array_equal(copy.bits, state.frontier.bits)
            made.load(state)
            done = made.step(state, Decision(PULL, "test"))
            states[-1] += (state.values.copy(),)
    for given, hub in zip(*states, strict=True):
        np.testing.assert_array_equal(given, hub)


PAGERANKS = {
    "plain": lambda e: gp.apps.PageRank(weighted=False, tolerance=1e-12),
    "weighted": lambda e: gp.apps.PageRank(tolerance=1e-12),
    "personal": lambda e: gp.apps.PageRank(weighted=False, personalization=numbers(e), tolerance=1e-12),
}


@pytest.mark.parametrize("processor", ["gpu", "hybrid"])
@pytest.mark.parametrize("name", PAGERANKS)
def test_pagerank_is_close(graph_of, edges, name, processor):
    graph, program = graph_of(edges), PAGERANKS[name](edges)
    expected = run_with(program, graph, device="cpu", sync=True, iterations=20)
    close(on_gpu(program, graph, iterations=20, device=processor), expected)
    close(on_gpu(program, graph, iterations=20, device=processor, gpu_order="given"), expected)
    close(on_gpu(program, graph, iterations=20, device=processor), expected)


@pytest.mark.parametrize("processor", ["auto", "gpu", "hybrid"])
def test_a_large_graph(processor):
    graph, program = gp.rmat(18, seed=2), gp.apps.PageRank(stop="never")
    expected = run_with(program, graph, device="cpu", sync=True, iterations=10)
    for _ in range(2):
        close(run_with(program, graph, device=processor, gpu_order="hub", iterations=10), expected)


def test_auto_makes_the_order_once_it_pays(monkeypatch):
    monkeypatch.setattr(order, "cost", lambda arrays, threads: 15 * arrays.m)
    monkeypatch.setattr(order, "LEAST_BYTES", 0)
    graph, program = gp.rmat(16, seed=2), gp.apps.PageRank(stop="never")
    expected = run_with(program, graph, device="cpu", sync=True, iterations=10)
    for _ in range(4):
        close(on_gpu(program, graph, iterations=10, gpu_order="auto"), expected)
    known = graph._arrays.derived
    (kept,) = (known.get(name, None, None) for name in known.names if "GPU" in name)
    assert kept.holds("sources in hub order", 4)


def test_programs_in_turns(graph_of, edges):
    graph = graph_of(edges)
    programs = [PlainBlend(3), Blend(2), gp.apps.BFS(0), gp.apps.SSSP(0), Blend(1)]
    expected = [
        run_with(program, graph, device="cpu", sync=True, iterations=6).values.tobytes() for program in programs
    ]
    for name in ("hub", "given", "hub", "auto"):
        for program, values in zip(programs, expected, strict=True):
            takes = isinstance(program, Blend) or name != "hub"
            found = on_gpu(program, graph, iterations=6, gpu_order=name if takes else "auto")
            assert found.values.tobytes() == values


def test_packed_edges_are_refused(graph_of, edges):
    with pytest.raises(ParameterError, match="raw edges"):
        on_gpu(Blend(), graph_of(edges), encoding="packed")
