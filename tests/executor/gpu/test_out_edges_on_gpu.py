"""Pushes in directed graphs on a GPU: the answers of the CPU, and the values of out-edges that it makes."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch import policy
from garaph_py.executor.gpu import choice, packing, placement
from garaph_py.executor.gpu import device as devices
from garaph_py.executor.gpu.device_graph import DeviceGraph
from garaph_py.executor.gpu.edges import page_bytes
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.out_edges import VALUES
from garaph_py.executor.gpu.settings import Settings
from garaph_py.executor.modes import PULL, PUSH, RESIDENT, ZERO_COPY
from garaph_py.native.threads import ThreadPool
from garaph_py.program import bind
from tests.support import twins
from tests.support.cases import EXACT, hub
from tests.support.programs import Seeds, Widest
from tests.support.real_gpu import Allocated
from tests.support.shapes import path, star, web

from ...support.runs import run_with

pytestmark = pytest.mark.gpu


GRAPHS = {
    "skewed": lambda: twins.skewed(5, 6000, 90000, "int32"),
    "sparse": lambda: twins.skewed(6, 20000, 30000, "int32"),
    "path": lambda: path(1000),
    "star out": lambda: star(True),
    "star in": lambda: star(False),
    "web": web,
}
OTHERS = {"widest": lambda e: Widest(hub(e)), "seeds": lambda e: Seeds()}
PROGRAMS = {case.name: case for case in EXACT if not case.symmetric}


def directed(edges, kind="int32"):
    """The graph of these edges, whose values have the type `kind`; None if it has none."""
    values = None if kind is None else edges.weights.astype(kind)
    return gp.from_edges(edges.sources, edges.targets, values, vertices=range(edges.n))


def steps_of(found):
    return [(row.active, row.f) for row in found.stats.iterations]


def ways_of_pushes(found):
    """How the edges of pushes on the GPU reached it."""
    groups = [(row, group) for row in found.stats.iterations for group in row.groups]
    return {group.transfer for row, group in groups if row.mode == PUSH and group.device == "gpu"}


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("program", [*PROGRAMS, *OTHERS])
def test_answers_are_the_cpus(program, name, sync):
    edges = GRAPHS[name]()
    case = PROGRAMS.get(program)
    graph = directed(edges, "int32" if case is None else case.weights)
    made = OTHERS[program](edges) if case is None else case.program(edges)
    expected = run_with(made, graph, device="cpu", mode=PULL, sync=True)
    for device, iterations in ("gpu", None), ("hybrid", None), ("gpu", 2000), ("gpu", None):
        found = run_with(made, graph, device=device, sync=sync, page_edges=4000, iterations=iterations)
        assert found.stats.note is None
        assert found.values.tobytes() == expected.values.tobytes()
        if device == "gpu":
            assert ways_of_pushes(found) == {RESIDENT}
            if sync:
                assert steps_of(found) == steps_of(expected)


@pytest.mark.parametrize("kind", ["int32", "float64"])
@pytest.mark.parametrize("name", [*GRAPHS, "parallel"])
def test_values_of_out_edges(name, kind):
    """The GPU makes them as the CPU does, also of parallel edges, over several pages."""
    rng = np.random.default_rng(2)
    parallel = twins.Edges(70, rng.integers(0, 70, 50_000), rng.integers(0, 3, 50_000), np.arange(50_000))
    edges = parallel if name == "parallel" else GRAPHS[name]()
    if kind == "float64":
        edges = edges.weighted(rng.random(len(edges.sources)))
    graph = directed(edges, kind)
    run_with(gp.apps.SSSP(hub(edges)), graph, device="gpu", page_edges=4000)
    found, made = devices.find(), np.empty(graph.m, kind)
    with found:
        place = DeviceGraph.of(graph._arrays, found).memory.at(VALUES)
        found.driver.memcpy_dtoh(made.view(np.uint8), place)
    with ThreadPool(2) as pool:
        assert made.tobytes() == graph._arrays.valued_out_edges(pool).values.tobytes()


@pytest.fixture(scope="module")
def far():
    """A skewed graph, with vertices of many hundred out-edges, at the end of a long path; all begin at vertex 0."""
    inner, steps = twins.skewed(7, 1 << 15, 1 << 19, "int32"), 5000
    sources, targets = np.arange(steps), np.arange(1, steps + 1)
    targets[-1] = steps + hub(inner)
    sources, targets = np.append(sources, inner.sources + steps), np.append(targets, inner.targets + steps)
    weights = np.append(np.ones(steps, np.int32), inner.weights)
    graph = gp.from_edges(sources, targets, weights, vertices=range(inner.n + steps))
    assert graph.out_degrees.max() > 2000
    return graph


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize(
    "program", [gp.apps.BFS(0), gp.apps.SSSP(0), Widest(0), Seeds()], ids=lambda p: type(p).__name__
)
def test_launches_of_many_supersteps(far, program, sync):
    expected = run_with(program, far, device="cpu", sync=True)
    for device in "gpu", "gpu", "hybrid":
        found = run_with(program, far, device=device, sync=sync)
        assert found.values.tobytes() == expected.values.tobytes()
        rows = found.stats.iterations
        assert [row.number for row in rows] == list(range(len(rows)))
        if sync:
            assert [row.active for row in rows] == [row.active for row in expected.stats.iterations]


def test_a_large_graph():
    graph = gp.rmat(18, 16, weights=(1, 64))
    for program in (app(int(graph.out_degrees.argmax())) for app in (gp.apps.BFS, gp.apps.SSSP, gp.apps.SSWP)):
        expected = gp.run(program, graph, device="cpu").values
        for device in "gpu", "gpu", "hybrid", "auto":
            found = gp.run(program, graph, device=device)
            assert found.values.tobytes() == expected.tobytes()


def test_a_trace_has_one_superstep_a_launch(far, tmp_path):
    expected = run_with(gp.apps.SSSP(0), far, device="cpu", sync=True)
    found = run_with(gp.apps.SSSP(0), far, device="gpu", sync=True, trace=tmp_path / "trace.json")
    assert found.values.tobytes() == expected.values.tobytes()
    assert len(found.stats.iterations) == len(expected.stats.iterations)


# Little memory.


def room_for(program, graph, share):
    """GPU memory for the vertices and a share of the in-edges; a share of 2 and more is room for out-edges."""
    settings = Settings(page_edges=4000, gather="segmented")
    with GpuExecutor(bind(program, graph), graph, devices.find(), settings) as made:
        made.initialize(True)
        edges = sum(page_bytes(page, made.edges.arrays) for page in made.residency.pages)
        used = made.residency.used
    graph.release()
    return used + int((share - 1) * edges)


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("program", [gp.apps.BFS, gp.apps.SSSP], ids=lambda app: app.__name__)
@pytest.mark.parametrize("share", [2.6, 1.3, 0.5])
def test_little_memory(monkeypatch, share, program, sync):
    """With room for one direction, SSSP has the out-edges there; BFS finds parents along the in-edges."""
    way = RESIDENT if share > (1 if program is gp.apps.SSSP else 2) else ZERO_COPY
    monkeypatch.setattr(policy, "DEVICE_FEW_EDGES", 1000)
    edges = GRAPHS["skewed"]()
    graph, made = directed(edges), program(hub(edges))
    expected = run_with(made, graph, device="cpu", sync=True)
    memory = room_for(made, graph, share)
    with ThreadPool(2) as pool:
        graph._arrays.valued_out_edges(pool)
    for iterations in None, 1000:  # with a limit, a launch does one superstep
        found = run_with(
            made, graph, device="gpu", sync=sync, gpu_memory=memory, page_edges=4000, iterations=iterations,
            gather="segmented",
        )  # fmt: skip
        assert ways_of_pushes(found) == {way}
        assert found.values.tobytes() == expected.values.tobytes()


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("program", [gp.apps.BFS, gp.apps.SSSP, gp.apps.SSWP], ids=lambda app: app.__name__)
def test_packed_lists(program, name, sync):
    edges = GRAPHS[name]()
    graph, made = directed(edges).packed(), program(hub(edges))
    with ThreadPool(2) as pool:
        graph._arrays.valued_out_edges(pool)
    expected = run_with(made, graph, device="cpu", mode=PULL, sync=True)
    for device, iterations in ("gpu", None), ("hybrid", None), ("gpu", 2000), ("gpu", None):
        found = run_with(made, graph, device=device, sync=sync, page_edges=4000, iterations=iterations)
        assert found.stats.note is None
        assert found.values.tobytes() == expected.values.tobytes()
        assert device != "gpu" or ways_of_pushes(found) == {RESIDENT}


def test_packed_ranks():
    edges = GRAPHS["skewed"]()
    graph, program = directed(edges), gp.apps.DeltaPageRank(tolerance=1e-3, weighted=False, dtype=np.dtype("float64"))
    expected = run_with(program, graph, device="cpu", mode=PULL)
    found = run_with(program, graph.packed(), device="gpu", page_edges=4000)
    assert ways_of_pushes(found) == {RESIDENT}
    np.testing.assert_allclose(found.column(), expected.column(), rtol=1e-9)


@pytest.mark.parametrize("share", [1.25, 1.5])
def test_edges_are_packed_after_some_runs(monkeypatch, share):
    """Once packed, all have room, or all out-edges beside raw in-edges."""
    monkeypatch.setattr(choice, "FAR_RUNS", 2)
    monkeypatch.setattr(packing, "CHUNK_RUNS", 8)
    for module in choice, placement:
        monkeypatch.setattr(module, "STAGING_BYTES", 1 << 17)
    edges = twins.skewed(7, 1 << 15, 1 << 19, "int32")
    graph, made = directed(edges), gp.apps.BFS(hub(edges))
    expected = run_with(made, graph, device="cpu", sync=True)
    memory, ways = room_for(made, graph, share), []
    for _ in range(4):
        found = run_with(made, graph, device="gpu", gpu_memory=memory, page_edges=40_000)
        assert found.values.tobytes() == expected.values.tobytes()
        ways.append(ways_of_pushes(found))
    assert ways == [{ZERO_COPY}] * 2 + [{RESIDENT}] * 2


def test_memory_is_given_back(monkeypatch):
    edges, allocated = GRAPHS["web"](), Allocated(monkeypatch)
    graph = directed(edges)
    for app in gp.apps.SSSP, gp.apps.BFS, gp.apps.SSSP:
        found = run_with(app(hub(edges)), graph, device="gpu")
        assert found.stats.device_bytes > 8 * graph.m
    graph.release()
    assert allocated.nbytes == 0


def test_later_runs_find_the_out_edges():
    edges = GRAPHS["web"]()
    graph, program = directed(edges), gp.apps.SSSP(hub(edges))
    graph.to_device(program)
    for _ in range(2):
        found = run_with(program, graph, device="gpu")
        assert found.stats.found_bytes == found.stats.device_bytes
        assert sum(row.to_device for row in found.stats.iterations) == 0
