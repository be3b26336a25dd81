"""Push in delta form on a GPU: the answers of pulls on the CPU, of integers bit by bit."""

from dataclasses import replace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch import policy
from garaph_py.executor.costs import EXPECTED
from garaph_py.executor.modes import PULL, PUSH
from tests.support import twins
from tests.support.cases import numbers
from tests.support.delta_programs import Core, Influence, Single, Steps, Votes, edges_of, frontiers, graph_of, modes
from tests.support.real_gpu import Allocated, bytes_of_sums, memory_for
from tests.support.shapes import path, star, web

from ...support.runs import run_with, ways_of

pytestmark = pytest.mark.gpu


def loops():
    """Loops, parallel edges, and vertices without any edge; some lists are cut in pieces."""
    rng = np.random.default_rng(2)
    sources, targets = rng.integers(0, 70, 50_000), rng.integers(0, 9, 50_000)
    return twins.Edges(5000, sources, targets, rng.integers(0, 9, 50_000).astype(np.int32))


GRAPHS = {
    "skewed": lambda: twins.skewed(5, 6000, 90000, "int32"),
    "sparse": lambda: twins.skewed(6, 20000, 30000, "int32"),
    "path": lambda: path(300),
    "star out": lambda: star(True),
    "star in": lambda: star(False),
    "web": web,
    "loops": loops,
    "no edges": lambda: twins.Edges(77, *np.zeros((3, 0), np.int64)),
}
PROGRAMS = {"core 1": Core(1), "core 3": Core(3), "core 9": Core(9), "votes": Votes()}


def assert_pushes_where_few_are_active(run, graph):
    """It does after the first iteration; and it follows the edges of the active vertices."""
    rows = run.stats.iterations
    even_f = EXPECTED.push / EXPECTED.gpu  # although the values stay in the cache: each delta changes a sum
    assert [row.mode == PUSH for row in rows] == [k > 0 and row.f <= even_f for k, row in enumerate(rows)]
    pushes = [row for row in rows if row.mode == PUSH]
    assert [row.edges for row in pushes] == [round(row.f * graph.m) for row in pushes]
    assert ways_of(pushes) <= {"resident"}


@pytest.mark.parametrize("kind", ["directed", "undirected", "packed"])
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_integers_are_the_same(program, name, kind):
    graph = graph_of(GRAPHS[name](), directed=kind == "directed")
    expected = run_with(PROGRAMS[program], graph, device="cpu", mode=PULL)
    for _ in range(2):  # the second run finds the edges there
        found = run_with(
            PROGRAMS[program], graph.packed() if kind == "packed" else graph, device="gpu", page_edges=4000
        )
        assert found.stats.note is None
        assert found.values.tobytes() == expected.values.tobytes()
        assert frontiers(found) == frontiers(expected)
        assert_pushes_where_few_are_active(found, graph)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("program", ["core 3", "votes"])
def test_integers_are_the_same_after_every_iteration(program, directed):
    graph = graph_of(edges_of(), directed)
    for iterations in range(12):
        pull = run_with(PROGRAMS[program], graph, device="cpu", mode=PULL, iterations=iterations)
        found = run_with(PROGRAMS[program], graph, device="gpu", iterations=iterations)
        assert found.values.tobytes() == pull.values.tobytes()
        assert frontiers(found) == frontiers(pull)


def test_what_a_vertex_withholds_is_pushed_when_it_becomes_active():
    """A vertex counts on even if `activate` says no; other vertices, which are active once only, have most edges."""
    clock, others = ([0, 0, 1], [0, 1, 2]), np.arange(3, 43)
    graph = gp.from_edges(np.append(clock[0], others), np.append(clock[1], others[::-1]), vertices=range(43))
    program = Steps(pace=[1, 4, *[1000] * 41])
    run = run_with(program, graph, device="gpu", iterations=9)
    assert modes(run) == [PULL] + [PUSH] * 8
    assert run.values["count"][:2].tolist() == [9, 9]
    assert run.values["sum"][:3].tolist() == [8, 8, 8]


RANKS = {
    f"{name}-{dtype}": (made, dtype)
    for dtype in ("float32", "float64")
    for name, made in {
        "plain": lambda edges, how: gp.apps.DeltaPageRank(weighted=False, **how),
        "weighted": lambda edges, how: gp.apps.DeltaPageRank(weighted=True, **how),
        "personal": lambda edges, how: gp.apps.DeltaPageRank(personalization=numbers(edges), weighted=False, **how),
        "weighted and personal": lambda edges, how: gp.apps.DeltaPageRank(personalization=numbers(edges), **how),
    }.items()
}


@pytest.mark.parametrize("kind", ["directed", "undirected", "packed"])
@pytest.mark.parametrize("name", RANKS)
def test_ranks(monkeypatch, name, kind):
    made, dtype = RANKS[name]
    edges = edges_of(n=9000, m=60_000, weights=dtype)
    graph = graph_of(edges, directed=kind == "directed")
    program = made(edges, {"dtype": np.dtype(dtype), "tolerance": 1e-3})
    expected = run_with(program, graph, device="cpu", mode=PULL)
    for bound in 1 / EXPECTED.push_edge, 1:  # 1: all push after the first iteration
        monkeypatch.setattr(policy, "even_f", lambda _, bound=bound: bound)
        found = run_with(program, graph.packed() if kind == "packed" else graph, device="gpu", verify=True)
        assert PUSH in modes(found)
        assert found.stats.converged
        # in single precision, rounding decides what a vertex withholds
        close = {"rtol": 1e-3, "atol": 1e-2 / edges.n} if dtype == "float32" else {"rtol": 1e-9}
        np.testing.assert_allclose(found.column(), expected.column(), **close)


@pytest.mark.parametrize("kind", ["directed", "undirected"])
@pytest.mark.parametrize(("program", "rounding"), [(Influence(), 1e-9), (Single(), 1e-3)], ids=["double", "single"])
def test_weighted_sums_of_ones_own(monkeypatch, program, rounding, kind):
    monkeypatch.setattr(policy, "even_f", lambda _: 1)
    graph = graph_of(edges_of(weights="float32"), directed=kind == "directed")
    expected = run_with(program, graph, device="cpu", mode=PULL)
    found = run_with(program, graph, device="gpu")
    assert modes(found)[1:] == [PUSH] * (len(modes(found)) - 1)
    np.testing.assert_allclose(found.column(), expected.column(), rtol=rounding)


@pytest.mark.parametrize("directed", [True, False])
def test_a_large_graph(directed):
    graph = gp.rmat(18, 16, directed=directed)
    ranks = gp.apps.DeltaPageRank(tolerance=1e-2)
    for program in Core(12), ranks:
        expected = run_with(program, graph, device="cpu", mode=PULL)
        for gather in "segmented", "replicated", "auto":
            found = run_with(program, graph, device="gpu", gather=gather, verify=program is ranks)
            assert PUSH in modes(found)
            np.testing.assert_allclose(found.column(), expected.column(), rtol=1e-9 if program is ranks else 0)


@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_pushes_page_by_page(tmp_path, encoding):
    """A trace has spans of each page."""
    graph = graph_of(edges_of(n=9000, m=60_000), directed=False)
    given = graph.packed() if encoding == "packed" else graph
    for program in Core(), Votes():
        expected = run_with(program, graph, device="cpu", mode=PULL)
        for _ in range(2):
            found = run_with(program, given, device="gpu", page_edges=4000, trace=tmp_path / "trace.json")
            assert PUSH in modes(found)
            assert found.values.tobytes() == expected.values.tobytes()
            assert frontiers(found) == frontiers(expected)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_pages_that_are_streamed(directed, share):
    """The lists of an undirected graph in host memory are those of its out-edges, too: deltas are pushed there."""
    graph = graph_of(edges_of(n=9000, m=60_000), directed)
    memory = memory_for(Votes(), graph, share) + (0 if directed else bytes_of_sums(Votes(), graph))
    found = run_with(Votes(), graph, device="gpu", gpu_memory=memory, page_edges=4000)
    assert (PUSH in modes(found)) == (not directed)
    assert found.values.tobytes() == run_with(Votes(), graph, device="cpu", mode=PULL).values.tobytes()


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("share", [0.3, 2])
def test_asynchronous_runs(monkeypatch, directed, share):
    """They pull in place, and push after a pull that makes sums."""
    monkeypatch.setattr(policy, "even_f", lambda _: 0.6)
    graph = graph_of(edges_of(n=9000, m=60_000), directed)
    ranks = gp.apps.DeltaPageRank(tolerance=1e-3)
    for program in Core(12), ranks:
        memory = memory_for(program, graph, share) + bytes_of_sums(program, graph)
        expected = run_with(program, graph, device="cpu", mode=PULL)
        found = run_with(program, graph, device="gpu", sync=False, gpu_memory=memory, page_edges=4000)
        rows = found.stats.iterations
        kinds = [(row.mode, "makes the sums" in row.why) for row in rows]
        assert kinds[0] == (PULL, False)
        assert directed or PUSH in modes(found)
        if PUSH in modes(found):
            assert kinds[modes(found).index(PUSH) - 1] == (PULL, True)
        if program is ranks:
            gp.check(program, graph, found)
        else:
            assert found.values.tobytes() == expected.values.tobytes()


def test_runs_that_do_not_push():
    graph = graph_of(edges_of(weights="float32"))
    expected = run_with(Influence(), graph, device="cpu", mode=PULL).column()
    for how in {"deterministic": True}, {"mode": PULL}, {"engine": "garaph"}, {"device": "hybrid"}:
        runs = [run_with(Influence(), graph, **({"device": "gpu"} | how)) for _ in range(2)]
        for found in runs:
            assert PUSH not in modes(found)
            np.testing.assert_allclose(found.column(), expected, rtol=1e-9)
        if "deterministic" in how:
            assert runs[0].values.tobytes() == runs[1].values.tobytes()


def test_a_checkpointed_run_goes_on_with_a_pull(tmp_path):
    class Stop(Exception):
        pass

    def stop(event):
        if isinstance(event, gp.events.Checkpoint) and event.iterations >= 3:
            raise Stop

    graph, how = graph_of(edges_of()), {"device": "gpu", "checkpoint": tmp_path / "c"}
    expected = run_with(Core(), graph, device="cpu", mode=PULL)
    with pytest.raises(Stop):
        run_with(Core(), graph, checkpoint_every=1, on_event=stop, **how)
    with run_with(Core(), graph, resume=True, **how) as run:
        assert run.stats.resumed == 3
        assert modes(run)[0] == PULL
        assert run.values.tobytes() == expected.values.tobytes()


def test_memory_is_given_back(monkeypatch):
    allocated, graph = Allocated(monkeypatch), graph_of(web())
    for program in Core(1), replace(Core(), k=2), Votes():
        run_with(program, graph, device="gpu")
    graph.release()
    assert allocated.nbytes == 0
