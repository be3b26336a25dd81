"""Edges in host memory, read from there by a GPU."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.gpu import device, placement
from garaph_py.executor.gpu.device_graph import DeviceGraph
from garaph_py.executor.modes import COMPONENTS, PULL, PUSH, ZERO_COPY
from tests.support import twins
from tests.support.delta_programs import Core, Votes
from tests.support.real_gpu import Allocated, bytes_of_sums, memory_for

from ...support.runs import run_with, ways_of

pytestmark = pytest.mark.gpu

EDGES = twins.skewed(7, 40_000, 600_000)


class Gated(gp.VertexProgram):
    """Vertices that the source reaches over edges of length 2 and more; a search that reads edge values."""

    source: int = 0

    value = np.int64
    sum = gp.min

    def init(self, id):
        return 0 if id == self.source else self.identity

    def frontier(self, id):
        return id == self.source

    def gather(self, src, edge):
        return src + 1 if src != self.identity and edge >= 2 else self.identity

    def done(self, acc, old):
        return old != self.identity or acc != self.identity


PROGRAMS = [gp.apps.BFS(source=0), Gated(0), gp.apps.ConnectedComponents()]


@pytest.fixture(scope="module")
def graph():
    weights = (EDGES.sources.astype(np.int64) + EDGES.targets) % 7 + 1
    return gp.from_edges(EDGES.sources, EDGES.targets, weights=weights, vertices=range(EDGES.n), directed=False)


def components(program):
    return isinstance(program, gp.apps.ConnectedComponents)


@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize("share", [0.02, 0.4])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: type(program).__name__)
def test_answers_are_the_cpus(graph, program, share, encoding, device):
    sync = None if components(program) else True
    expected = run_with(program, graph, device="cpu", sync=sync)
    graph = graph if encoding == "raw" else graph.packed()
    memory = memory_for(program, graph, share, components=components(program))
    for iterations in (None, None if components(program) else 1000):  # with a limit, one superstep a launch
        found = run_with(
            program, graph, device=device, gpu_memory=memory, page_edges=60_000, sync=sync, iterations=iterations
        )
        rows = [row for row in found.stats.iterations if row.device == "gpu"]
        for name in expected.values.dtype.names or [None]:
            np.testing.assert_array_equal(found.column(name), expected.column(name))
        assert device == "hybrid" or ZERO_COPY in ways_of(rows)
        if device == "gpu":
            assert {row.mode for row in rows} >= ({COMPONENTS} if components(program) else {PULL, PUSH})


@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize("share", [0.02, 0.4])
@pytest.mark.parametrize("program", [gp.apps.SSSP(source=0), gp.apps.SSWP(source=0), Core(9), Votes()],
                         ids=lambda program: type(program).__name__)  # fmt: skip
def test_pulls_read_a_small_graph_in_place(monkeypatch, graph, program, share, encoding, device):
    monkeypatch.setattr(placement, "FEW_BYTES", graph._arrays.in_edges.nbytes)
    expected = run_with(program, graph, device="cpu", mode=PULL)
    graph = graph if encoding == "raw" else graph.packed()
    memory = memory_for(program, graph, share) + (bytes_of_sums(program, graph) if program.sum is gp.add else 0)
    for iterations in (None, 1000):
        found = run_with(program, graph, device=device, gpu_memory=memory, iterations=iterations)
        np.testing.assert_array_equal(found.values, expected.values)
        rows = [row for row in found.stats.iterations if row.device == "gpu" and row.mode == PULL]
        assert device == "hybrid" or ZERO_COPY in ways_of(rows)


def test_a_traced_search(graph, tmp_path):
    program = PROGRAMS[0]
    memory = memory_for(program, graph, 0.4)
    found = run_with(program, graph, device="gpu", gpu_memory=memory, sync=True, page_edges=60_000,
                     trace=tmp_path / "trace.json")  # fmt: skip
    np.testing.assert_array_equal(found.column("level"), gp.run(program, graph, device="cpu").column("level"))


def test_memory_is_given_back(graph, monkeypatch):
    program, allocated = PROGRAMS[0], Allocated(monkeypatch)
    memory = memory_for(program, graph, 0.4)
    for _ in range(3):
        run_with(program, graph, device="gpu", gpu_memory=memory, sync=True, page_edges=60_000)
        graph.release()
    assert allocated.nbytes == 0


@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_the_pages_with_the_most_lists_stay(encoding):
    """Hubs come first, so the first pages have few lists; pushes read edges before and behind those that stay."""
    degrees = np.bincount(np.concatenate([EDGES.sources, EDGES.targets]), minlength=EDGES.n)
    number = np.argsort(np.argsort(-degrees))
    graph = gp.from_edges(number[EDGES.sources], number[EDGES.targets], vertices=range(EDGES.n), directed=False)
    program = gp.apps.BFS(source=100)
    expected = run_with(program, graph, device="cpu", sync=True)
    graph = graph if encoding == "raw" else graph.packed()
    memory = memory_for(program, graph, 0.4)
    moved = []
    for _ in range(3):
        found = run_with(program, graph, device="gpu", gpu_memory=memory, sync=True, iterations=100, page_edges=20_000)
        np.testing.assert_array_equal(found.values["level"], expected.values["level"])
        gp.check(program, graph, found)
        assert {PULL, PUSH} == {row.mode for row in found.stats.iterations}
        assert ZERO_COPY in ways_of(found.stats.iterations)
        moved.append(sum(row.to_device for row in found.stats.iterations))
    assert 0 < moved[0] <= 0.45 * 4 * graph.m
    assert max(moved[1:]) < moved[0] / 10  # no page is copied again; pushes read a few lists in place


@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_gathers_begin_where_earlier_ones_ended(encoding):
    """A search leaves hints for later ones: for a vertex that a pull reaches, an in-neighbour one level before it."""
    given = gp.from_edges(EDGES.sources, EDGES.targets, vertices=range(EDGES.n), directed=False)
    graph = given if encoding == "raw" else given.packed()
    memory = memory_for(gp.apps.BFS(source=0), graph, 0.4) + 4 * graph.n
    ends = np.concatenate([EDGES.sources, EDGES.targets]), np.concatenate([EDGES.targets, EDGES.sources])
    neighbours = set(zip(*map(np.ndarray.tolist, ends), strict=True))
    hinted = []
    for source in (0, 1, 77, 1234, 0):
        program = gp.apps.BFS(source=source)
        found = run_with(program, graph, device="gpu", gpu_memory=memory, sync=True, page_edges=20_000, iterations=1000)
        np.testing.assert_array_equal(found.column("level"), gp.run(program, given, device="cpu").column("level"))
        kept, hints = DeviceGraph.of(graph._arrays, device.find()), np.empty(graph.n, np.uint32)
        with kept.device:
            kept.device.driver.memcpy_dtoh(hints.view(np.uint8), kept.memory.at("hints"))
        (vertices,) = np.nonzero(hints)
        hinted.append(len(vertices))
        assert neighbours.issuperset(zip((hints[vertices] - 1).tolist(), vertices.tolist(), strict=True))
        if len(hinted) == 1:
            levels = found.column("level")
            np.testing.assert_array_equal(levels[hints[vertices] - 1] + 1, levels[vertices])
    assert 0 < hinted[0] <= hinted[-1]
