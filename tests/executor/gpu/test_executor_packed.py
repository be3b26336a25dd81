"""Packed edges on a GPU: packed there, kept packed by the graph, streamed; the same bits as raw ones."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.codec.format import PADDING, RECORD
from garaph_py.executor.gpu import choice, device, packing
from garaph_py.executor.gpu.device import failing
from garaph_py.executor.gpu.edges import page_bytes
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.settings import Settings
from garaph_py.graph.generate import rmat
from garaph_py.native.threads import ThreadPool
from garaph_py.program import bind
from tests.support import twins
from tests.support.cases import EXACT, FLOAT, hub

from ...support.runs import run_with

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def edges():
    return {weights: twins.skewed(5, 6000, 90000, weights) for weights in (None, "int32", "float32", "float64")}


def values(program, graph, **how):
    result = run_with(program, graph, device="gpu", **how)
    assert result.stats.device != "cpu"
    return result.values


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_a_packed_graph_gives_the_same_bits(graph_of, edges, case, sync):
    given = edges[case.weights]
    graph = graph_of(given, directed=not case.symmetric)
    program = case.program(given.both_ways() if case.symmetric else given)
    expected = values(program, graph, sync=sync, gather="segmented")
    assert values(program, graph.packed(), sync=sync).tobytes() == expected.tobytes()


@pytest.mark.parametrize("case", FLOAT, ids=lambda case: case.name)
def test_a_packed_graph_gives_the_same_floats(graph_of, edges, case):
    """The floats differ only where the compiler fuses two operations into one in one of the kernels."""
    graph, program = graph_of(edges[case.weights]), case.program(edges[case.weights])
    how = {"sync": True, "iterations": 6}
    expected = values(program, graph, gather="segmented", **how)
    np.testing.assert_allclose(values(program, graph.packed(), **how), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("weights", ["int32", "int64", "float32"])
@pytest.mark.parametrize("packs", [True, False])
def test_weights_beside_packed_sources(graph_of, weights, packs):
    graph = graph_of(twins.skewed(8, 3000, 50000, weights))
    program = gp.apps.SSSP(int(graph.out_degrees.argmax()))
    expected = values(program, graph, gather="segmented")
    assert values(program, graph if packs else graph.packed(), gather="packed").tobytes() == expected.tobytes()


def test_the_gpu_packs_as_the_cpu_does(graph_of, monkeypatch):
    monkeypatch.setattr(packing, "CHUNK_RUNS", 7)
    graph = graph_of(twins.skewed(2, 5000, 200_000))
    with ThreadPool() as pool:
        expected = graph._arrays.packed_in_edges(pool).neighbour_array
    graph.release()
    found = device.find()
    settings = Settings(gather="packed", page_edges=30_000)
    with GpuExecutor(bind(gp.apps.BFS(0), graph), graph, found, settings) as kernel:
        kernel.initialize(True)
        assert kernel.edges.packs
        records = kernel.edges.arrays.sources.records
        assert records.tobytes() == expected.records.tobytes()
        for page in kernel.residency.pages:
            cut = expected.runs(page.first_edge // 1024, -(-page.last_edge // 1024))
            places = kernel.streams.buffers.places(page, kernel.streams.buffers.staying[page.number])
            with found, failing(found.driver):
                words = np.zeros(len(cut.words) - PADDING, np.uint32)
                found.driver.memcpy_dtoh(words.view(np.uint8), places[1])
                copied = np.zeros(len(cut.records), RECORD)
                found.driver.memcpy_dtoh(copied.view(np.uint8).reshape(-1), places[0])
            assert words.tobytes() == cut.words[:-PADDING].tobytes()
            assert copied.tobytes() == cut.records.tobytes()


def used(program, graph, **how):
    """Bytes of everything but edges, and of these."""
    with GpuExecutor(bind(program, graph), graph, device.find(), Settings(**how)) as kernel:
        kernel.initialize(True)
        edges = sum(page_bytes(page, kernel.edges.arrays) for page in kernel.residency.pages)
        return kernel.residency.used - edges - packing.STAGING_BYTES * kernel.edges.packs, edges


@pytest.mark.parametrize("iterations", [2, None])
def test_auto_packs_what_does_not_fit_if_it_pays(graph_of, monkeypatch, iterations):
    monkeypatch.setattr(packing, "CHUNK_RUNS", 8)
    monkeypatch.setattr(packing, "STAGING_BYTES", 1 << 17)
    monkeypatch.setattr(choice, "STAGING_BYTES", 1 << 17)
    monkeypatch.setattr(choice, "CPU_PACKS", 1e3 if iterations else 1e15)
    graph = graph_of(twins.skewed(4, 20000, 600_000))
    program = gp.apps.PageRank(dtype=np.float32, stop="never")
    others, edges = used(program, graph, gather="segmented")
    how = {"gpu_memory": others + edges // 4, "streams": 2, "page_edges": 20_000, "sync": True}
    result = run_with(program, graph, iterations=iterations or 40, device="gpu", **how)
    each = result.stats.iterations[-1].to_device / graph.m
    assert (each > 1.5) == (iterations is not None), each
    expected = values(program, graph, iterations=iterations or 40, gather="segmented", sync=True)
    np.testing.assert_allclose(result.values, expected, rtol=1e-5)


def test_a_packed_graph_that_does_not_fit_is_streamed(graph_of, edges):
    given = edges["int32"]
    graph = graph_of(given).packed()
    program = gp.apps.SSSP(hub(given))
    others, bytes_of_edges = used(program, graph)
    how = {"gpu_memory": others + bytes_of_edges // 2, "page_edges": 4000, "streams": 3}
    result = run_with(program, graph, device="gpu", **how)
    assert result.values.tobytes() == gp.run(program, graph.unpacked(), device="cpu").values.tobytes()
    assert sum(row.to_device for row in result.stats.iterations[1:]) > 0


class Own(gp.VertexProgram):
    """A sum over three numbers together, for which there is no atomic operation."""

    value = np.float64
    accumulator = {"low": np.float64, "high": np.float64, "all": np.float64}  # noqa: RUF012
    sum = gp.Monoid(lambda a, b: (min(a.low, b.low), max(a.high, b.high), a.all + b.all), (np.inf, -np.inf, 0.0))

    def init(self, id):
        return float(id % 97)

    def gather(self, src):
        return (src, src, src)

    def apply(self, old, acc):
        return old if acc.all == 0 else (acc.low + acc.high) / 2 + acc.all / 1e3


def test_what_cannot_replicate_runs_on_packed_edges(graph_of, edges):
    graph = graph_of(edges[None])
    expected = run_with(Own(), graph, iterations=3, sync=True, device="cpu").values
    for how in ({}, {"deterministic": True}):
        result = run_with(Own(), graph.packed(), iterations=3, sync=True, device="gpu", **how)
        np.testing.assert_allclose(result.values, expected, rtol=1e-12)


@pytest.mark.parametrize("shape", [(1, 0), (5, 0), (1, 1), (64, 3), (65, 200), (4097, 5000)])
def test_small_graphs(graph_of, shape):
    n, m = shape
    rng = np.random.default_rng(n)
    graph = graph_of(twins.Edges(n, rng.integers(0, n, m), rng.integers(0, n, m)))
    program = gp.apps.PageRank(stop="never")
    expected = run_with(program, graph, iterations=4, sync=True, device="cpu").values
    for form, gather in ((graph, "packed"), (graph.packed(), "auto")):
        result = run_with(program, form, iterations=4, sync=True, device="gpu", gather=gather)
        np.testing.assert_allclose(result.values, expected, rtol=1e-12)


def test_mutated_words_read_nothing_outside():
    """Ten thousand runs of random words: a page decodes, and invalid sources stay within the array of values."""
    graph = rmat(18, 40, seed=2, weights=(1, 255)).packed()
    rng = np.random.default_rng(1)
    for part in graph._arrays.in_edges.arrays():
        assert len(part.records) > 10_000
        part.words[:-PADDING] = rng.integers(0, 1 << 32, len(part.words) - PADDING, np.uint32)
    result = run_with(gp.apps.SSSP(0), graph, iterations=2, device="gpu", sync=True, mode="pull")
    assert result.stats.device != "cpu"
    assert result.stats.note is None
