"""Push with reentry: vertices of a page push again while it is in memory; answers stay the same."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.reentry import DiskPushes
from garaph_py.executor.cpu import reentry
from garaph_py.executor.cpu.launch import Launcher
from garaph_py.graph.build import from_numbered_edges
from garaph_py.pages.disk_source import DiskPageSource
from garaph_py.storage import directory as store
from tests.support.cases import mostly_full
from tests.support.stored_graphs import opened

from ...support.runs import run_with

pytestmark = pytest.mark.usefixtures("read_like_large_graphs")

SIDE = 150
ROOM = 200_000


def grid_edges(side):
    at = np.arange(side * side, dtype=np.uint32).reshape(side, side)
    sources = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    return sources, np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])


def grid(directed, order=None, side=SIDE):
    """A grid with random lengths; if directed, with edges of other lengths back."""
    sources, targets = grid_edges(side)
    if directed:
        sources, targets = np.concatenate([sources, targets]), np.concatenate([targets, sources])
    if order is not None:
        sources, targets = order[sources].astype(np.uint32), order[targets].astype(np.uint32)
    lengths = np.random.default_rng(5).integers(1, 100, len(sources)).astype(np.int32)
    return from_numbered_edges(sources, targets, side * side, lengths, directed=directed)


def stored(graph, path, encoding="raw"):
    store.save(graph, path, encoding=encoding, block_bytes=1 << 14)
    return opened(path, ROOM)


def reentered(run):
    return [i for i in run.stats.iterations if "reentry" in i.why]


@pytest.mark.full
@pytest.mark.parametrize(
    ("program", "directed", "encoding"),
    [
        (gp.apps.BFS, False, "raw"),
        pytest.param(gp.apps.BFS, True, "packed", marks=pytest.mark.full),
        pytest.param(gp.apps.SSSP, False, "packed", marks=pytest.mark.full),
        pytest.param(gp.apps.SSSP, True, "raw", marks=pytest.mark.full),
        pytest.param(gp.apps.BFS, False, "packed", marks=pytest.mark.full),
        pytest.param(gp.apps.BFS, True, "raw", marks=pytest.mark.full),
        pytest.param(gp.apps.SSSP, False, "raw", marks=pytest.mark.full),
        (gp.apps.SSSP, True, "packed"),
    ],
)
def test_answers_are_those_of_runs_in_memory(tmp_path, program, directed, encoding):
    graph = grid(directed)
    run = run_with(program(0), stored(graph, tmp_path / "g", encoding), device="cpu", page_edges=3001)
    assert reentered(run)
    whole = run_with(program(0), graph, device="cpu")
    assert run.values.tobytes() == whole.values.tobytes()
    assert sum(i.from_disk for i in reentered(run)) < sum(i.from_disk for i in run.stats.iterations)


@pytest.mark.full
def test_a_search_along_long_paths_reads_each_page_a_few_times(tmp_path):
    graph = stored(grid(False), tmp_path / "g")
    run = run_with(gp.apps.BFS(0), graph, device="cpu", page_edges=3000)
    edges = store.info(tmp_path / "g").arrays["in_sources"].stored_bytes
    assert len(run.stats.iterations) < SIDE  # its supersteps are 2 * SIDE
    assert sum(i.from_disk for i in run.stats.iterations) < 6 * edges
    by_step = run_with(gp.apps.BFS(0), graph, device="cpu", page_edges=3000, sync=True)
    assert len(by_step.stats.iterations) == 2 * SIDE - 1
    assert sum(i.from_disk for i in by_step.stats.iterations) > 12 * edges
    assert run.values.tobytes() == by_step.values.tobytes()


@pytest.mark.full
def test_where_neighbours_are_far_apart_it_is_given_up(tmp_path):
    order = np.random.default_rng(7).permutation(SIDE * SIDE)
    graph = grid(False, order)
    there = stored(graph, tmp_path / "g")
    run = run_with(gp.apps.BFS(0), there, device="cpu", page_edges=3000)
    by_step = run_with(gp.apps.BFS(0), there, device="cpu", page_edges=3000, sync=True)
    first = run.stats.iterations.index(reentered(run)[0])
    later = run.stats.iterations[first:]
    assert any("reentry" not in i.why for i in later)
    assert {i.mode for i in later} == {"push"}
    assert sum(i.from_disk for i in run.stats.iterations) < 2 * sum(i.from_disk for i in by_step.stats.iterations)
    assert run.values.tobytes() == run_with(gp.apps.BFS(0), graph, device="cpu").values.tobytes()


@pytest.mark.full
def test_reentry_into_a_page_may_take_several_calls(tmp_path, monkeypatch):
    graph = grid(False, side=60)
    expected = run_with(gp.apps.SSSP(0), graph, device="cpu").values.tobytes()
    monkeypatch.setattr(reentry, "MOST_WORK", 40)
    monkeypatch.setattr("garaph_py.executor.cpu.program._known", {})  # the kernel has the constant in it
    store.save(graph, tmp_path / "g", block_bytes=1 << 12)
    run = run_with(gp.apps.SSSP(0), opened(tmp_path / "g", 80_000), device="cpu", page_edges=1000)
    assert reentered(run)
    assert run.values.tobytes() == expected


@pytest.mark.full
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_a_call_does_not_look_at_the_whole_page_for_each_vertex_of_a_path(tmp_path, monkeypatch, directed):
    """A path has as many rounds as vertices; each looks at a block of them, not at all that were active before."""
    n = 150_000
    at = np.arange(n, dtype=np.uint32)
    graph = from_numbered_edges(at[:-1], at[1:], n, None, directed=directed)
    store.save(graph, tmp_path / "g", block_bytes=1 << 14)
    there = opened(tmp_path / "g", 15 * ROOM)
    calls, visits = [], []
    monkeypatch.setattr(DiskPushes, "reenters", property(lambda pushes: True))
    launch, release = Launcher.__call__, DiskPageSource.release

    def counted(self, kernel, *given, **named):
        calls.append(kernel.name)
        return launch(self, kernel, *given, **named)

    def visited(self, page):
        visits.append(page)
        release(self, page)

    monkeypatch.setattr(Launcher, "__call__", counted)
    monkeypatch.setattr(DiskPageSource, "release", visited)
    run = run_with(gp.apps.BFS(0), there, device="cpu", page_edges=1_000_000)
    assert reentered(run)
    assert run.column("level").tolist() == at.tolist()
    assert calls.count("reenter") <= len(visits) + 100 * n // reentry.MOST_WORK


class Hops(gp.VertexProgram):
    """The number of edges to vertex 0, in a program that promises nothing."""

    value = np.int32
    sum = gp.min

    def init(self, id):
        return 0 if id == 0 else self.identity

    def frontier(self, id):
        return id == 0

    def gather(self, src):
        return src + 1


class MonotoneHops(Hops):
    monotone = True


class EndingHops(MonotoneHops):
    def done(self, acc, old):
        return old != self.identity or acc != self.identity


@pytest.mark.full
@pytest.mark.parametrize("program", [MonotoneHops, pytest.param(EndingHops, marks=pytest.mark.full)])
def test_a_program_of_ones_own_works_off_pages_if_it_is_monotone(tmp_path, program):
    graph = stored(grid(False), tmp_path / "g")
    run = run_with(program(), graph, device="cpu", page_edges=3000)
    assert reentered(run)
    plain = run_with(Hops(), graph, device="cpu", page_edges=3000)
    assert not reentered(plain)
    assert run.values.tobytes() == plain.values.tobytes()


@pytest.mark.full
@pytest.mark.parametrize(
    "options",
    mostly_full(
        [{"sync": True}, {"iterations": 1000}, {"deterministic": True}, {"mode": "push"}, {"engine": "garaph"}],
        "{'sync': True}",
    ),
)
def test_nobody_who_asks_for_supersteps_gets_others(tmp_path, options):
    graph = stored(grid(False), tmp_path / "g")
    run = run_with(gp.apps.BFS(0), graph, device="cpu", page_edges=3000, **options)
    assert not reentered(run)
    assert len(run.stats.iterations) == 2 * SIDE - 1


@pytest.mark.full
def test_a_run_with_checkpoints_keeps_values_that_done_takes_for_final(tmp_path):
    graph = stored(grid(False), tmp_path / "g")
    run = run_with(gp.apps.BFS(0), graph, device="cpu", page_edges=3000, checkpoint=tmp_path / "c")
    assert not reentered(run)
    run = run_with(gp.apps.SSSP(0), graph, device="cpu", page_edges=3000, checkpoint=tmp_path / "d")
    assert reentered(run)


def test_a_run_with_reentry_resumes(tmp_path):
    graph = stored(grid(False), tmp_path / "g")
    how = {"device": "cpu", "page_edges": 3000, "checkpoint": tmp_path / "c"}

    def stop(event):
        if isinstance(event, gp.events.Iteration) and "reentry" in event.why:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        run_with(gp.apps.SSSP(0), graph, checkpoint_every=1, on_event=stop, **how)
    resumed = run_with(gp.apps.SSSP(0), graph, resume=True, **how)
    assert resumed.stats.resumed > 0
    assert resumed.values.tobytes() == run_with(gp.apps.SSSP(0), grid(False), device="cpu").values.tobytes()
