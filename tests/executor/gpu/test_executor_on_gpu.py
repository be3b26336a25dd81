"""On a GPU: every program against the CPU, streamed and resident, replicated and segmented; faults."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import DeviceMemoryError, NumberError, ParameterError
from garaph_py.graph.generate import rmat
from tests.support import twins
from tests.support.cases import EXACT, FLOAT, hub, numbers, some, stable
from tests.support.real_gpu import Allocated, memory_for
from tests.support.verdicts import auto_takes

from ...support.runs import run_with

pytestmark = pytest.mark.gpu

WAYS = {
    "auto, calibrated": {"replication": "calibrated"},
    "segmented": {"gather": "segmented"},
    "custom": {"gather": "replicated"},
    "calibrated": {"gather": "replicated", "replication": "calibrated"},
    "thirty-two": {"gather": "replicated", "replication": 32},
    "packed": {"gather": "packed"},
}


@pytest.fixture(scope="module")
def edges():
    return {weights: twins.skewed(5, 6000, 90000, weights) for weights in (None, "int32", "float32", "float64")}


def both(program, graph, **how):
    """The answers of the CPU and of the GPU alone."""
    known = {name: how[name] for name in ("iterations", "sync") if name in how}
    cpu, gpu = run_with(program, graph, device="cpu", **known), run_with(program, graph, device="gpu", **how)
    assert gpu.stats.note is None or "memory is short" in gpu.stats.note
    assert gpu.stats.device != "cpu"
    return cpu, gpu


def assert_same_bits(cpu, gpu):
    assert gpu.stats.note is None
    assert cpu.values.tobytes() == gpu.values.tobytes()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_exact_programs_have_the_same_bits(graph_of, edges, case, sync, way):
    given = edges[case.weights]
    graph = graph_of(given, directed=not case.symmetric)
    assert_same_bits(*both(case.program(given.both_ways() if case.symmetric else given), graph, sync=sync, **WAYS[way]))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", FLOAT, ids=lambda case: case.name)
def test_float_programs_are_close(graph_of, edges, case, way):
    given = edges[case.weights]
    cpu, gpu = both(case.program(given), graph_of(given), iterations=8, sync=True, **WAYS[way])
    np.testing.assert_allclose(gpu.values, cpu.values, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("case", FLOAT, ids=lambda case: case.name)
def test_asynchronous_float_programs_settle_on_the_same(graph_of, case):
    given = twins.regular(22, 3000, 6, case.weights)
    program, graph = case.settling(given), graph_of(given)
    memory = memory_for(program, graph, 0.5)
    cpu, gpu = both(program, graph, sync=False, gpu_memory=memory, page_edges=1000)
    np.testing.assert_allclose(gpu.values, cpu.values, rtol=1e-5, atol=1e-7)


SINGLE = {
    "PageRank": lambda e: gp.apps.PageRank(stop="never", dtype=np.float32),
    "PageRank-unweighted": lambda e: gp.apps.PageRank(stop="never", weighted=False, dtype=np.float32),
    "PageRank-personal": lambda e: gp.apps.PageRank(weighted=False, personalization=numbers(e), dtype=np.float32),
    "NeuralNetwork": lambda e: gp.apps.NeuralNetwork(numbers(e), dtype=np.float32),
    "HeatSimulation": lambda e: gp.apps.HeatSimulation(numbers(e), some(e), conductivity=stable(e), dtype=np.float32),
    "CircuitSimulation": lambda e: gp.apps.CircuitSimulation(some(e), dtype=np.float32),
    "DeltaPageRank": lambda e: gp.apps.DeltaPageRank(dtype=np.float32),
    "PenalizedHittingProbability": lambda e: gp.apps.PenalizedHittingProbability(hub(e), dtype=np.float32),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SINGLE)
def test_single_precision_is_close(graph_of, edges, name, way):
    given = edges["float32"]
    cpu, gpu = both(SINGLE[name](given), graph_of(given), iterations=5, sync=True, **WAYS[way])
    np.testing.assert_allclose(gpu.values, cpu.values, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("share", [None, 0.5])
def test_programs_in_turns_on_one_graph(graph_of, edges, share, way):
    """What earlier runs of other programs, with weights or without, have left on the device does no harm."""
    given = edges["int32"]
    graph = graph_of(given)
    programs = [gp.apps.BFS(hub(given)), gp.apps.SSSP(hub(given)), gp.apps.SSWP(hub(given))]
    memory = None if share is None else memory_for(programs[1], graph, share)
    expected = [run_with(program, graph, device="cpu").values.tobytes() for program in programs]
    for device in ("gpu", "hybrid", "gpu"):
        for program, values in zip(programs, expected, strict=True):
            for _ in range(2):
                how = {"gpu_memory": memory, "page_edges": 9000, **WAYS[way]}
                assert run_with(program, graph, device=device, **how).values.tobytes() == values


def test_two_runs_at_once_on_one_graph(graph_of, edges):
    given = edges["int32"]
    graph, programs = graph_of(given), [gp.apps.SSSP(source) for source in range(6)]
    expected = [run_with(program, graph, device="cpu").values for program in programs]
    with ThreadPoolExecutor(3) as pool:
        for _ in range(3):
            found = pool.map(lambda program: run_with(program, graph, device="gpu").values, programs)
            for values, right in zip(found, expected, strict=True):
                np.testing.assert_array_equal(values, right)


def test_fifty_runs_take_no_more_memory_than_one(graph_of, edges, monkeypatch):
    given = edges["int32"]
    graph, program = graph_of(given), gp.apps.SSSP(hub(given))
    allocated = Allocated(monkeypatch)
    run_with(program, graph, device="gpu")
    kept = allocated.nbytes
    assert kept > 8 * graph.m
    for _ in range(50):
        run_with(program, graph, device="gpu")
    assert allocated.nbytes == kept
    graph.release()
    assert allocated.nbytes == 0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("share", [0.3, 0.8])
def test_streamed_pages_give_the_same(graph_of, edges, share, way):
    given = edges["int32"]
    graph = graph_of(given)
    program = gp.apps.SSSP(hub(given))
    memory = memory_for(program, graph, share, **WAYS[way])
    cpu, gpu = both(program, graph, gpu_memory=memory, page_edges=4000, streams=3, **WAYS[way])
    assert_same_bits(cpu, gpu)
    assert all(row.pages + row.pages_skipped > 10 for row in gpu.stats.iterations)
    assert sum(row.to_device for row in gpu.stats.iterations[1:]) > 0


def test_resident_pages_are_copied_once(graph_of, edges):
    graph = graph_of(edges[None])
    result = run_with(gp.apps.PageRank(), graph, iterations=3, device="gpu", page_edges=10000)
    copied = [row.to_device for row in result.stats.iterations]
    assert copied == [4 * graph.m, 0, 0]
    assert all(row.from_device < graph.n for row in result.stats.iterations)  # counts; the values stay there


def test_pages_nobody_notified_are_skipped(graph_of):
    path = twins.Edges(40000, np.arange(39999), np.arange(1, 40000))
    cpu, gpu = both(gp.apps.BFS(0), graph_of(path), page_edges=1000, sync=True, iterations=60, mode="notify-pull")
    assert_same_bits(cpu, gpu)
    assert sum(row.pages_skipped for row in gpu.stats.iterations) > 1000
    paper = run_with(gp.apps.BFS(0), graph_of(path), device="gpu", engine="garaph", page_edges=1000, iterations=60)
    assert_same_bits(cpu, paper)
    assert sum(row.pages_skipped for row in paper.stats.iterations) == 0


def test_deterministic_runs_have_the_same_bits(edges, graph_of):
    graph = rmat(16, seed=3)
    runs = [
        run_with(gp.apps.PageRank(dtype=np.float32), graph, iterations=6, device="gpu", deterministic=True).values
        for _ in range(4)
    ]
    assert len({values.tobytes() for values in runs}) == 1
    with pytest.raises(ParameterError, match="segmented"):
        run_with(gp.apps.PageRank(), graph, device="gpu", deterministic=True, gather="replicated")


def test_a_hub_is_summed_over_many_runs(graph_of):
    n = 300_000
    star = twins.Edges(n, np.arange(1, n), np.zeros(n - 1, np.int64))
    graph = graph_of(star)
    for way in WAYS.values():
        cpu, gpu = both(gp.apps.PageRank(stop="never"), graph, iterations=3, sync=True, **way)
        np.testing.assert_allclose(gpu.values, cpu.values, rtol=1e-10)


@pytest.mark.parametrize("shape", [(1, 0), (5, 0), (1, 1), (64, 3), (65, 200), (4097, 5000)])
def test_small_graphs(graph_of, shape):
    n, m = shape
    rng = np.random.default_rng(n)
    given = twins.Edges(n, rng.integers(0, n, m), rng.integers(0, n, m))
    for program in (gp.apps.PageRank(stop="never"), gp.apps.BFS(0)):
        cpu, gpu = both(program, graph_of(given), iterations=4, sync=True)
        np.testing.assert_allclose(gpu.column().astype(float), cpu.column().astype(float), rtol=1e-12)


def test_too_little_memory_is_said(graph_of, edges, monkeypatch):
    with pytest.raises(DeviceMemoryError, match="gpu_memory"):
        run_with(gp.apps.PageRank(), graph_of(edges[None]), device="gpu", gpu_memory="100KiB")
    auto_takes(monkeypatch)
    result = run_with(gp.apps.PageRank(), graph_of(edges[None]), iterations=2, device="auto", gpu_memory="100KiB")
    assert result.stats.device == "cpu"
    assert "gpu_memory" in result.stats.note


class Overflow(gp.VertexProgram):
    """Values of two fields, of which one grows a thousandfold in each iteration at vertex 7, and nowhere else."""

    value = {"steps": np.int32, "size": np.float64}  # noqa: RUF012
    accumulator = np.float64
    sum = gp.add
    start: float = 1e270

    def init(self, id):
        return 0, self.start if id == 7 else 0.0

    def gather(self, src):
        return src.size

    def apply(self, acc, old, id):
        return old.steps + 1, 1000.0 * old.size if id == 7 else 0.0

    def activate(self, new, old):
        return True


@pytest.mark.parametrize("check", ["auto", "finite"])
def test_numbers_that_are_not_finite_are_found_on_the_gpu(graph_of, edges, check):
    graph = graph_of(edges[None])
    where = "after iteration 12" if check == "finite" else "after 20 iterations"
    with pytest.raises(NumberError, match=rf"value.size of vertex 7 is inf {where}"):
        run_with(Overflow(), graph, device="gpu", iterations=20, check=check)
    meant = run_with(Overflow(start=np.inf), graph, device="gpu", iterations=20, check=check)
    assert np.isinf(meant.values["size"][7])
    assert run_with(Overflow(), graph, device="gpu", iterations=12, check=check).values["size"][7] > 1e305
