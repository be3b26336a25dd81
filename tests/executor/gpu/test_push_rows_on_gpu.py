"""Rows of columns are pushed on a GPU: each column has the bits of its own run on the CPU."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.modes import PULL, PUSH
from garaph_py.program import bind
from garaph_py.program.columns import joined, pushing_rows
from tests.support import twins
from tests.support.real_gpu import memory_for

pytestmark = pytest.mark.gpu


class Steps(gp.VertexProgram):
    """Edges from a vertex, as columns: `run_many` has bits for BFS."""

    source: gp.VertexId

    value = np.int32
    sum = gp.min
    monotone = True

    def init(self, id):
        return 0 if id == self.source else self.identity

    def frontier(self, id):
        return id == self.source

    def gather(self, src):
        return src + 1 if src != self.identity else src


class Pushes(gp.Policy):
    """Every superstep pushes, each in launches of its own."""

    def decide(self, seen):
        return gp.Decision(PUSH, "told so", seen.device)


CASES = [(gp.apps.SSSP, "int32", 8), (gp.apps.SSSP, "float32", 2), (gp.apps.SSWP, "float64", 16), (Steps, None, 5)]
SOURCES = [0, 70, 71, 100, 2999, 5, 9, 1000, 1, 2, 3, 4, 6, 7, 8, 10]
PATH = 150
"""Vertices of a path: with a source at its end, few are active in most supersteps."""


def hubs(directed, weights):
    """Half of all edges lead to one vertex, whose row many warps change at the same time, or from one: its list is cut
    into pieces. Beside them there is a path."""
    edges = twins.skewed(47, 3000, 40000)
    edges.targets[::4], edges.sources[1::4] = 5, 9
    along = np.arange(PATH - 1) + 3000
    sources, targets = np.append(edges.sources, along), np.append(edges.targets, along + 1)
    values = np.random.default_rng(2).integers(1, 256, len(sources)).astype(weights) if weights else None
    return gp.from_edges(sources, targets, values, vertices=range(3000 + PATH), directed=directed)


def many(program, graph, count, **how):
    return gp.run_many(program, graph, [3000, *SOURCES][:count], device="gpu", options=gp.Options(**how))


def pulled(program, graph, count):
    """What pulls of rows give, each column of which has the bits of its own run on the CPU."""
    table = many(program, graph, count, mode=PULL)
    for source, result in table.items():
        assert result.values.tobytes() == gp.run(program(source), graph, device="cpu").values.tobytes()
    return table


def assert_same(found, expected):
    assert found[3000].stats.note is None
    assert found.values.tobytes() == expected.values.tobytes()
    rows, wanted = found[3000].stats.iterations, expected[3000].stats.iterations
    assert [row.active for row in rows] == [row.active for row in wanted]


@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(("program", "weights", "count"), CASES)
def test_answers_are_the_cpus(program, weights, count, directed, encoding):
    graph = hubs(directed, weights)
    expected = pulled(program, graph, count)
    graph = graph.packed() if encoding == "packed" else graph
    for how in {}, {"page_edges": 4000}, {"engine": Pushes()}:
        if how.get("engine") and directed and weights and encoding == "packed":
            continue  # packed values are not there in the order of sources, so a GPU cannot push
        for _ in range(2):  # the second run finds all edges there
            assert_same(found := many(program, graph, count, **how), expected)
        modes = {row.mode for row in found[3000].stats.iterations}
        assert modes == {PUSH} if "engine" in how else not (PUSH not in modes and encoding == "raw")


@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize("share", [0.4, 0.8])
def test_lists_in_host_memory(share, encoding):
    """A page with both hubs has more than a quarter of the edges: the buffer of one stream has room for it."""
    program, weights, count = CASES[0]
    graph = hubs(False, weights)
    expected = pulled(program, graph, count)
    graph = graph.packed() if encoding == "packed" else graph
    memory = memory_for(
        program, graph, share, encoding if encoding == "packed" else "segmented",
        bind=lambda _, graph: pushing_rows(joined([bind(program(source), graph) for source in SOURCES[:count]])),
    )  # fmt: skip
    found = many(program, graph, count, gpu_memory=memory, page_edges=4000, streams=1)
    assert_same(found, expected)
    ways = {(group.mode, group.transfer) for row in found[3000].stats.iterations for group in row.groups}
    assert (PUSH, "zero-copy") in ways


def test_rows_of_a_large_graph():
    """Frontiers from a vertex to nearly all, in every mode that the engine chooses."""
    graph = gp.rmat(16, 16, directed=False, weights=(1, 255), seed=3)
    sources = graph.ids.take(np.flatnonzero(graph.out_degrees)[:: graph.n // 100][:8]).tolist()
    found = gp.run_many(gp.apps.SSSP, graph, sources, device="gpu", verify=True)
    pulled = gp.run_many(gp.apps.SSSP, graph, sources, device="gpu", options=gp.Options(mode=PULL))
    assert {row.mode for row in found[sources[0]].stats.iterations} == {PUSH, PULL}
    assert found.values.tobytes() == pulled.values.tobytes()
