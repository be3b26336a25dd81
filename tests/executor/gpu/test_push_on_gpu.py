"""Push on a GPU, and gathers that end early: the answers of the CPU, in fewer edges."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.modes import PULL, PUSH
from garaph_py.storage import directory as store
from tests.support import twins
from tests.support.cases import EXACT, hub
from tests.support.programs import Seeds, Widest
from tests.support.real_gpu import memory_for
from tests.support.shapes import path

from ...support.runs import run_with

pytestmark = pytest.mark.gpu


GRAPHS = {
    "skewed": lambda: twins.skewed(5, 6000, 90000, "int32"),
    "sparse": lambda: twins.skewed(6, 20000, 30000, "int32"),
    "path": lambda: path(1000),
}
OTHERS = {"widest": lambda e: Widest(hub(e)), "seeds": lambda e: Seeds()}
PROGRAMS = {case.name: case.program for case in EXACT} | OTHERS


def undirected(edges):
    return gp.from_edges(edges.sources, edges.targets, edges.weights, vertices=range(edges.n), directed=False)


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_answers_are_the_cpus(program, name, encoding, sync):
    edges = GRAPHS[name]()
    graph, made = undirected(edges), PROGRAMS[program](edges)
    expected = run_with(made, graph, device="cpu", mode=PULL, sync=True)
    for device in "gpu", "hybrid", "gpu":  # the second run on the GPU finds all edges there
        found = run_with(made, graph, device=device, encoding=encoding, sync=sync, page_edges=4000)
        assert found.stats.note is None
        assert found.values.tobytes() == expected.values.tobytes()
        rows = found.stats.iterations
        if device == "gpu":
            if name != "skewed" and program != "ConnectedComponents":  # few vertices are active at first, or at last
                assert PUSH in {row.mode for row in rows}
            if sync:
                assert [row.active for row in rows] == [row.active for row in expected.stats.iterations]


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("gather", ["segmented", "packed"])  # pulls stream raw pages, or packed ones
@pytest.mark.parametrize("share", [0.2, 0.5])
def test_edges_in_host_memory(share, gather, sync):
    edges = GRAPHS["skewed"]()
    graph, program = undirected(edges), gp.apps.SSSP(hub(edges))
    expected = run_with(program, graph, device="cpu", sync=True)
    memory = memory_for(program, graph, share, gather)
    for iterations in None, 1000:  # with a limit, a launch does one superstep
        found = run_with(
            program, graph, device="gpu", sync=sync, gpu_memory=memory, page_edges=4000, gather=gather,
            iterations=iterations,
        )  # fmt: skip
        ways = {(group.mode, group.transfer) for row in found.stats.iterations for group in row.groups}
        assert ways >= {("push", "zero-copy"), ("pull", "copied")}
        assert found.values.tobytes() == expected.values.tobytes()


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("share", [0.2, 0.5])
def test_packed_edges_in_host_memory(share, sync):
    edges = GRAPHS["skewed"]()
    graph, program = undirected(edges), gp.apps.SSSP(hub(edges))
    expected = run_with(program, graph, device="cpu", sync=True)
    packed = graph.packed()
    memory = memory_for(program, packed, share, "packed")
    for iterations in None, 1000:  # with a limit, a launch does one superstep
        found = run_with(
            program, packed, device="gpu", sync=sync, gpu_memory=memory, page_edges=4000, iterations=iterations
        )
        ways = {(group.mode, group.transfer) for row in found.stats.iterations for group in row.groups}
        assert ways >= {("push", "zero-copy"), ("pull", "copied")}
        assert found.values.tobytes() == expected.values.tobytes()


@pytest.fixture(scope="module")
def far():
    """A skewed graph, with vertices of many hundred edges, at the end of a long path; and the path's first vertex."""
    inner, steps = twins.skewed(7, 1 << 15, 1 << 19, "int32"), 5000
    sources, targets = np.arange(steps), np.arange(1, steps + 1)
    sources, targets = np.append(sources, inner.sources + steps), np.append(targets, inner.targets + steps)
    weights = np.append(np.ones(steps, np.int32), inner.weights)
    graph = gp.from_edges(sources, targets, weights, vertices=range(inner.n + steps), directed=False)
    assert graph.out_degrees.max() > 2000
    return graph


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize(
    "program", [gp.apps.BFS(0), gp.apps.SSSP(0), Widest(0), Seeds()], ids=lambda p: type(p).__name__
)
def test_launches_of_many_supersteps(far, program, encoding, sync):
    expected = run_with(program, far, device="cpu", sync=True)
    for device in "gpu", "gpu", "hybrid":
        found = run_with(program, far, device=device, encoding=encoding, sync=sync)
        assert found.values.tobytes() == expected.values.tobytes()
        rows = found.stats.iterations
        assert [row.number for row in rows] == list(range(len(rows)))
        if sync:
            assert [row.active for row in rows] == [row.active for row in expected.stats.iterations]


def test_a_second_run_pushes_over_all_pages_at_once():
    graph = gp.rmat(16, 8, directed=False, weights=(1, 64))
    program = gp.apps.SSSP(int(graph.out_degrees.argmax()))
    expected = gp.run(program, graph, device="cpu").values
    for given in graph, graph.packed():
        for _ in range(3):
            np.testing.assert_array_equal(gp.run(program, given, device="gpu").values, expected)


@pytest.fixture(scope="module")
def wide():
    """A graph whose packed numbers have nearly all widths: hubs with neighbours everywhere and with all of a range, and
    edge values of every magnitude."""
    rng, n = np.random.default_rng(8), 1 << 20
    lists = [
        (5, rng.integers(0, n, 5000)), (6, np.arange(3000, 9000)), (n - 2, rng.integers(0, n, 2000)),
        (7, np.full(600, 9)), (n - 1, np.arange(0, n, 1 << 12)),
    ]  # fmt: skip
    lists += [(1000 + k, rng.integers(0, 1 << k % 20 + 1, 70)) for k in range(31)]
    sources = np.concatenate([np.full(len(targets), v) for v, targets in lists])
    targets = np.concatenate([targets for _, targets in lists])
    magnitudes = np.repeat(np.arange(len(lists)) % 31, [len(targets) for _, targets in lists])
    values = rng.integers(0, 2 << magnitudes).astype(np.int32)
    return gp.from_edges(sources, targets, values, vertices=range(n), directed=False)


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("start", [5, 6, 1 << 19])
@pytest.mark.parametrize("program", [gp.apps.BFS, gp.apps.SSSP, Widest], ids=lambda p: p.__name__)
def test_packed_numbers_of_many_widths(wide, program, start, sync):
    made, packed = program(start), wide.packed()
    expected = run_with(made, wide, device="cpu", sync=True)
    for how in {}, {"iterations": 1000}, {"page_edges": 3000}, {"mode": PULL}:
        found = run_with(made, packed, device="gpu", sync=sync, **how)
        assert found.stats.note is None
        assert found.values.tobytes() == expected.values.tobytes()


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_pushes_page_by_page(tmp_path, encoding, sync):
    """A trace has spans of each page; packed pages from disk do not adjoin each other."""
    graph = gp.rmat(16, 8, directed=False, weights=(1, 64))
    store.save(graph, tmp_path / "g", encoding=encoding, block_bytes=1 << 16)
    opened = gp.open(tmp_path / "g", memory=2 * graph._arrays.in_edges.offsets.nbytes)
    opened = opened._replace(memory=1 << 28)
    for program in gp.apps.SSSP(3), gp.apps.BFS(3):
        expected = run_with(program, graph, device="cpu", sync=True)
        for given in graph.packed() if encoding == "packed" else graph, opened:
            trace = {} if given is opened else {"trace": tmp_path / "trace.json"}
            for _ in range(2):
                found = run_with(program, given, device="gpu", sync=sync, page_edges=60_000, **trace)
                assert PUSH in {row.mode for row in found.stats.iterations}
                assert found.values.tobytes() == expected.values.tobytes()
