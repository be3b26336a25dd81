"""Pulls leave out the vertices that are done, over edges on disk and where they are most."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.apps.many_bfs import ManyBFS
from garaph_py.events import ignore
from garaph_py.executor.cpu import pull, runs
from garaph_py.executor.cpu.executor import CpuExecutor
from garaph_py.executor.cpu.launch import Launcher
from garaph_py.executor.state import State
from garaph_py.graph.build import from_numbered_edges
from garaph_py.graph.generate import random_rmat
from garaph_py.graph.vertex_set import VertexSet
from garaph_py.io.bulk.build import ImportOptions
from garaph_py.io.bulk.import_ import write_random
from garaph_py.native.threads import ThreadPool
from garaph_py.program import bind
from garaph_py.storage import directory as store
from tests.support import twins
from tests.support.stored_graphs import hub, opened, stored_cases

from ...support.runs import run_with

pytestmark = pytest.mark.usefixtures("read_like_large_graphs")


@pytest.fixture(scope="module", params=stored_cases((True, "packed")))
def ordered(request, tmp_path_factory):
    """A graph on disk whose vertices are in the order of their degrees, so that those of few edges lie together."""
    directed, encoding = request.param
    folder = tmp_path_factory.mktemp("ordered")
    write_random(random_rmat(14, 16), folder / "made", ImportOptions(directed, order="degree"))
    store.save(gp.open(folder / "made"), folder / "graph", encoding=encoding, block_bytes=8192)
    return folder / "graph"


def last_pull(run):
    return [row for row in run.stats.iterations if row.mode == "pull"][-1]


@pytest.mark.full
def test_the_lists_of_vertices_that_are_done_are_not_read(ordered, monkeypatch):
    graph = opened(ordered, 400_000)
    source = graph.ids.take([hub(graph)])[0]
    how = {"device": "cpu", "page_edges": 4000}
    run = run_with(gp.apps.BFS(source), graph, **how)
    monkeypatch.setattr(pull, "UNFINISHED_SHARE", -1.0)
    whole = run_with(gp.apps.BFS(source), graph, **how)
    assert (
        run.values.tobytes()
        == whole.values.tobytes()
        == run_with(gp.apps.BFS(source), gp.open(ordered)).values.tobytes()
    )
    assert last_pull(run).pages_skipped > 0 == last_pull(whole).pages_skipped
    assert last_pull(run).from_disk < last_pull(whole).from_disk / 2
    assert [(row.mode, row.active) for row in run.stats.iterations] == [
        (row.mode, row.active) for row in whole.stats.iterations
    ]


@pytest.mark.parametrize(("left", "skips"), [(None, False), (200, False), (199, True)])
def test_a_pull_skips_vertices_that_are_done_if_few_edges_are_left(left, skips):
    """In any case it does so if one active in-neighbour is enough."""
    graph = gp.from_edges(np.arange(100), np.roll(np.arange(100), 1))
    with ThreadPool(1) as pool:
        for program, enough in ((ManyBFS(3, 3), False), (gp.apps.BFS(0), True)):
            executor = CpuExecutor(bind(program, graph), graph, pool, ignore)
            state = executor.initialize(True)
            state.active_edges, state.unfinished_edges = graph.m, left
            assert executor._pull.reads_active_only(state) == (enough or skips)


def test_edges_are_left_until_a_pull_has_visited_them():
    state = State.empty(4, *np.zeros((2, 4)), True, VertexSet.empty(4))
    state.visited("pull", 9, 3, 1)
    assert state.unfinished_edges is None
    state.unfinished_edges = 5
    for mode, edges, active, changeable, left in (
        ("push", 9, 3, 1, 3), ("push", 9, 4, 0, 0), ("pull", 9, 4, 4, 9), ("pull", 7, 4, 3, 6),
    ):  # fmt: skip
        state.visited(mode, edges, active, changeable)
        assert state.unfinished_edges == left


class Reached(gp.VertexProgram):
    """Whether a path leads to a vertex, with a gather that ends early."""

    value = "uint32"
    sum = gp.bitwise_or

    def init(self, id):
        return 1 if id == 0 else 0

    def frontier(self, id):
        return id == 0

    def gather(self, src):
        return src

    def done(self, acc, old):
        return acc == 1 or old == 1


@pytest.mark.parametrize("cut", [True, False])
def test_sums_that_nobody_merges_need_no_kernel(monkeypatch, cut):
    monkeypatch.setattr(runs, "MIN_RUN_EDGES", 1 if cut else 1 << 12)
    prepared, prepare = [], Launcher.prepare
    monkeypatch.setattr(Launcher, "prepare", lambda self, *given: prepared.extend(given) or prepare(self, *given))
    edges = twins.skewed(17, 300, 2000, None)
    graph = from_numbered_edges(edges.sources, edges.targets, edges.n, None, directed=True)
    found = run_with(gp.apps.BFS(0), graph, device="cpu", mode="pull", threads=2)
    np.testing.assert_array_equal(found.values["level"], twins.bfs(edges, 0)[0])
    assert ("merge_partial_sums" in {kernel.name for kernel in prepared}) == cut


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
def test_a_program_of_ones_own_with_done(tmp_path, threads):
    edges = twins.skewed(17, 9000, 60_000, None)
    graph = from_numbered_edges(edges.sources, edges.targets, edges.n, None, directed=True)
    store.save(graph, tmp_path / "g", block_bytes=8192)
    run = run_with(
        Reached(), opened(tmp_path / "g", 150_000), device="cpu", page_edges=5000, mode="pull", threads=threads
    )
    assert run.values.tobytes() == run_with(Reached(), graph, device="cpu", mode="pull").values.tobytes()
    assert any(row.pages_skipped for row in run.stats.iterations)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["auto", "garaph:every_edge=no"])
def test_garaph_gathers_every_in_edge(engine):
    """As in the paper; otherwise a gather ends at the first neighbour in the last level."""
    graph = gp.rmat(10, directed=False, seed=1)
    program = gp.apps.BFS(source=graph.ids[graph.out_degrees.argmax()])
    papers, other = (
        gp.run(program, graph, device="cpu", options=gp.Options(engine=one, mode="pull", sync=True))
        for one in ("garaph", engine)
    )
    np.testing.assert_array_equal(papers.column(), other.column())
    assert [row.edges for row in papers.stats.iterations] == [graph.m] * len(papers.stats.iterations)
    assert other.stats.edges < papers.stats.edges / 2
