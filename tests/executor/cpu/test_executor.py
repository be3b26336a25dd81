"""A program's answer does not depend on modes, threads, pages or timing."""

import os
import threading

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.cpu import launch, runs
from garaph_py.executor.modes import NOTIFY_PULL, PULL
from tests.support import twins
from tests.support.cases import EXACT, FLOAT, assert_close, assert_exact, columns, mostly_full, mostly_kept

from ...support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs")

MODES = ("auto", "pull", "notify-pull")
THREADS = (1, 2, 7)
PAGES = (None, 3000)
ITERATIONS = 7

by_name = pytest.mark.parametrize("case", mostly_kept(EXACT + FLOAT))
exact = pytest.mark.parametrize("case", mostly_kept(EXACT))
floating = pytest.mark.parametrize("case", mostly_kept(FLOAT))


@pytest.fixture(scope="module")
def example(graph_of):
    """A function that gives for a case the edges, as its twin sees them, and the graph: made once each."""
    made = {}

    def get(case):
        symmetric = getattr(case, "symmetric", False)
        key = case.weights, symmetric
        if key not in made:
            edges = twins.skewed(21, 9000, 20000, case.weights)  # three blocks of 4096 vertices, the last one partial
            made[key] = edges.both_ways() if symmetric else edges, graph_of(edges, directed=not symmetric)
        return made[key]

    return get


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
@pytest.mark.parametrize("mode", MODES)
@exact
def test_exact_answers_are_one_and_the_same(example, case, mode, sync):
    edges, graph = example(case)
    expected = case.twin(edges)
    for threads in THREADS:
        for page_edges in PAGES:
            run = run_with(case.program(edges), graph, mode=mode, sync=sync, threads=threads, page_edges=page_edges)
            assert_exact(run, expected)
            assert run.stats.converged


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("mode", MODES)
@floating
def test_synchronous_floats_equal_their_twin_and_themselves(example, case, mode):
    edges, graph = example(case)
    expected = case.twin(edges, ITERATIONS)
    for threads in THREADS:
        for page_edges in PAGES:
            options = {"mode": mode, "threads": threads, "page_edges": page_edges, "iterations": ITERATIONS}
            first, again = (run_with(case.program(edges), graph, **options) for _ in range(2))
            assert_close(first, expected)
            assert first.values.tobytes() == again.values.tobytes()


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
@pytest.mark.parametrize("mode", MODES)
@floating
def test_floats_settle_on_a_solution(graph_of, case, mode, sync):
    edges = twins.regular(22, 600, 4, case.weights)
    graph = graph_of(edges)
    for threads, page_edges in ((1, None), (2, 500), (7, None)):
        run = run_with(case.settling(edges), graph, mode=mode, sync=sync, threads=threads, page_edges=page_edges)
        assert run.stats.converged
        np.testing.assert_allclose(case.step(edges, run.values), run.values, atol=1e-7)


@pytest.mark.slow
@by_name
@pytest.mark.parametrize("engine", mostly_full(["garaph", "garaph:every_edge=no"], "garaph"))
def test_the_papers_engine_gives_the_same_answers(example, case, engine):
    edges, graph = example(case)
    if case in EXACT:
        assert_exact(run_with(case.program(edges), graph, engine=engine, threads=2), case.twin(edges))
    else:
        run = run_with(case.program(edges), graph, engine=engine, threads=2, iterations=ITERATIONS)
        assert_close(run, case.twin(edges, ITERATIONS))


@pytest.mark.full
def test_the_papers_engine_switches_at_one_half(graph_of):
    edges = twins.skewed(21, 2000, 40000)
    run = run_with(EXACT[0].program(edges), graph_of(edges), engine="garaph")
    assert {i.mode for i in run.stats.iterations} == {PULL, NOTIFY_PULL}
    assert all((i.mode == NOTIFY_PULL) == (i.f <= 0.5) for i in run.stats.iterations)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES[1:])
def test_a_forced_mode_is_used_throughout(example, mode):
    edges, graph = example(EXACT[0])
    assert {i.mode for i in run_with(EXACT[0].program(edges), graph, mode=mode).stats.iterations} == {mode}


def test_asynchronous_runs_need_no_more_iterations(graph_of):
    path = twins.Edges(500, np.arange(499), np.arange(1, 500))
    options = {"mode": "pull", "threads": 1}
    late, at_once = (run_with(EXACT[0].program(path), graph_of(path), sync=sync, **options) for sync in (True, False))
    assert len(late.stats.iterations) == 500
    assert len(at_once.stats.iterations) == 2  # in the order of the path; and one that changes nothing


@pytest.mark.full
def test_pages_nobody_notified_are_skipped(graph_of):
    path = twins.Edges(500, np.arange(499), np.arange(1, 500))
    run = run_with(EXACT[0].program(path), graph_of(path), mode="notify-pull", page_edges=50, threads=2)
    assert all(i.pages + i.pages_skipped == 10 for i in run.stats.iterations)
    assert all(i.pages <= 1 and i.edges <= 2 for i in run.stats.iterations)


# The vertices that the threads' bounds cut.


def star(inwards, seed=31, n=9000, m=20000):
    """90 % of the edges at one vertex."""
    rng = np.random.default_rng(seed)
    hub = np.where(rng.random(m) < 0.9, 4321, rng.integers(0, n, m))
    others = rng.integers(0, n, m)
    ends = (others, hub) if inwards else (hub, others)
    return twins.Edges(n, *ends)


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("inwards", [True, False])
@pytest.mark.parametrize("case", mostly_kept(c for c in EXACT + FLOAT if c.weights is None))
def test_one_vertex_with_nine_tenths_of_the_edges(graph_of, case, inwards):
    edges = star(inwards)
    symmetric = getattr(case, "symmetric", False)
    graph, edges = graph_of(edges, directed=not symmetric), edges.both_ways() if symmetric else edges
    expected = case.twin(edges) if case in EXACT else case.twin(edges, ITERATIONS)
    for mode in MODES[1:]:
        for threads in THREADS:
            for page_edges in PAGES:
                options = {"mode": mode, "threads": threads, "page_edges": page_edges}
                if case in EXACT:
                    assert_exact(run_with(case.program(edges), graph, **options), expected)
                else:
                    assert_close(run_with(case.program(edges), graph, iterations=ITERATIONS, **options), expected)


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("mode", MODES[1:])
@by_name
def test_more_threads_than_edges(graph_of, case, mode):
    for m in range(1, 6):
        weights = None if case.weights is None else np.arange(1, m + 1).astype(case.weights)
        edges = twins.Edges(5, np.arange(m) % 2, np.full(m, 2), weights)
        symmetric = getattr(case, "symmetric", False)
        graph, edges = graph_of(edges, directed=not symmetric), edges.both_ways() if symmetric else edges
        if case in EXACT:
            assert_exact(run_with(case.program(edges), graph, mode=mode, threads=7), case.twin(edges))
        else:
            assert_close(run_with(case.program(edges), graph, mode=mode, threads=7, iterations=3), case.twin(edges, 3))


@pytest.mark.slow
@pytest.mark.parametrize("mode", mostly_full(MODES[1:], "pull"))
def test_bounds_cut_vertices(graph_of, monkeypatch, mode):
    class Watched(launch.Partitions):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            made.append(self)

    made = []
    monkeypatch.setattr(launch, "Partitions", Watched)
    edges = star(inwards=True)
    run_with(gp.apps.PageRank(), graph_of(edges), engine="garaph", threads=7, iterations=1, mode=mode)
    (heads, tails) = next(parts.cuts.T for parts in made if len(parts.cuts) == 7)
    assert (tails == 4321).sum() == 1  # the hub begins in one partition, spans some, ends in another
    assert (heads == 4321).sum() >= 5


def test_small_graphs_are_not_cut_by_default(graph_of, monkeypatch):
    monkeypatch.setattr(runs, "MIN_RUN_EDGES", 1 << 15)

    class One(launch.Partitions):
        def __init__(self, parts, bound):
            assert parts == 1
            super().__init__(parts, bound)

    monkeypatch.setattr(launch, "Partitions", One)
    graph = graph_of(twins.skewed(3, 5000, 20000))
    assert gp.run(gp.apps.PageRank(), graph, threads=7, iterations=1).stats.threads == 7


# Everybody is updated in notify-pull: also the vertices without in-edges, wherever they stand.


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("case", mostly_kept(FLOAT[:2]))
def test_notify_pull_with_everybody_active(graph_of, case, threads):
    beginning = twins.Edges(5000, np.arange(4500, 5000), np.arange(4450, 4950))  # no in-edge in the first block
    n = 3 * 4096
    targets = np.flatnonzero(np.arange(n) % 4096 < 3996)  # none at the blocks' ends, where three threads' bounds are
    ends = twins.Edges(n, np.arange(len(targets)), targets)
    for edges in (beginning, ends):
        run = run_with(case.program(edges), graph_of(edges), mode="notify-pull", threads=threads, iterations=2)
        assert_close(run, case.twin(edges, 2))


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_vertex_that_gathers_from_itself_goes_on_alone(graph_of, mode):
    """Its neighbours no longer change, but heat still flows to it."""
    edge = twins.Edges(2, np.array([0]), np.array([1]), np.array([1.0]))
    program = gp.apps.HeatSimulation(fixed={0: 1.0}, tolerance=1e-9)
    np.testing.assert_allclose(run_with(program, graph_of(edge), mode=mode).values, 1, atol=1e-7)


# Runs do not meet.


@pytest.mark.slow
def test_runs_from_two_python_threads(example):
    cases = [EXACT[0], FLOAT[0]]
    inputs = [example(case) for case in cases]
    expected = [
        columns(gp.run(case.program(edges), graph, threads=2, iterations=4))
        for case, (edges, graph) in zip(cases, inputs, strict=True)
    ]
    wrong = []

    def work(mine):
        for turn in range(60):
            which = (mine + turn) % 2
            edges, graph = inputs[which]
            found = columns(gp.run(cases[which].program(edges), graph, threads=2, iterations=4))
            if any(a.tobytes() != b.tobytes() for a, b in zip(found, expected[which], strict=True)):
                wrong.append((mine, turn))

    workers = [threading.Thread(target=work, args=(mine,)) for mine in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_run_after_fork(example):
    edges, graph = example(EXACT[0])
    expected = gp.run(EXACT[0].program(edges), graph, threads=2).values.tobytes()
    child = os.fork()
    if not child:
        status = 1
        try:
            status = int(gp.run(EXACT[0].program(edges), graph, threads=2).values.tobytes() != expected)
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
