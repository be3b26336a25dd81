"""Many small supersteps in one call: the answers, and in synchronous runs also the records, of single ones."""

from types import SimpleNamespace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.executor.cpu import chain
from garaph_py.native.threads import ThreadPool
from tests.support import twins

from ...support.runs import run_with

NO_CHAIN = {"iterations": 1 << 20}
"""A run with a limit does one iteration at a time."""


def path(n):
    return np.arange(n - 1), np.arange(1, n)


def grid(side):
    at = np.arange(side * side).reshape(side, side)
    return np.append(at[:, :-1].ravel(), at[:-1].ravel()), np.append(at[:, 1:].ravel(), at[1:].ravel())


def star_of_paths():
    """A hub of more edges than a chain takes, from which a path leads on."""
    leaves = np.arange(1, chain.MOST_EDGES + 2)
    beyond = path(300)
    return np.append(np.zeros_like(leaves), beyond[0] + leaves[-1]), np.append(leaves, beyond[1] + leaves[-1])


EDGES = {"path": path(500), "grid": grid(40), "star": star_of_paths()}
PROGRAMS = {"BFS": gp.apps.BFS(0), "SSSP": gp.apps.SSSP(0), "SSWP": gp.apps.SSWP(0)}


def graph_of(name, directed=False):
    if name == "rmat":
        return gp.rmat(11, 8, directed=directed, weights=(1, 30), seed=3)
    sources, targets = EDGES[name]
    weights = np.random.default_rng(5).integers(1, 30, len(sources)).astype(np.int32)
    return gp.from_edges(sources, targets, weights, directed=directed)


def rows_of(run):
    return [(row.active, row.f, row.edges, row.mode, row.device) for row in run.stats.iterations]


@pytest.fixture
def calls(monkeypatch):
    """How many supersteps each call of a chain did."""
    seen, works = [], chain.Chain.__call__

    def counted(*arguments):
        result = works(*arguments)
        if result is not None:
            seen.append(1 if result.supersteps is None else len(result.supersteps))
        return result

    monkeypatch.setattr(chain.Chain, "__call__", counted)
    return seen


@pytest.fixture
def no_hurry(monkeypatch):
    """A call does not end because a busy machine has held it up."""
    monkeypatch.setattr(chain, "LONGEST", 60 * 10**9)
    monkeypatch.setattr("garaph_py.executor.cpu.program._known", {})  # kernels with the other limit


@pytest.mark.full
@pytest.mark.parametrize("packed", [False, True], ids=["raw", "packed"])
@pytest.mark.parametrize("name", [*EDGES, "rmat"])
@pytest.mark.parametrize("called", PROGRAMS)
def test_synchronous_supersteps_are_those_of_single_ones(calls, called, name, packed):
    graph = graph_of(name)
    graph = graph.packed() if packed else graph
    single = run_with(PROGRAMS[called], graph, device="cpu", sync=True, **NO_CHAIN)
    assert not calls
    found = run_with(PROGRAMS[called], graph, device="cpu", sync=True)
    np.testing.assert_array_equal(found.values, single.values)
    assert rows_of(found) == rows_of(single)
    assert sum(calls) > 0
    assert len(calls) < len(found.stats.iterations)


@pytest.mark.slow
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("called", PROGRAMS)
def test_asynchronous_answers(calls, called, name, directed):
    graph, program = graph_of(name, directed), PROGRAMS[called]
    single = run_with(program, graph, device="cpu", sync=True, **NO_CHAIN)
    found = run_with(program, graph, device="cpu")
    np.testing.assert_array_equal(found.column(), single.column())
    gp.check(program, graph, found)
    assert sum(calls) > 0


@pytest.mark.full
def test_buckets_are_opened_within_a_call(calls, no_hurry):
    """Also the first: the whole run is one call."""
    found = run_with(gp.apps.SSSP(0), graph_of("path"), device="cpu")
    assert len(found.stats.iterations) >= 499
    assert calls == [len(found.stats.iterations)]


def test_it_counts_the_vertices_that_wait(calls, no_hurry):
    """A star whose leaves are each far beyond the one before: a bucket has one, and all that wait are looked at."""
    weights = np.array([1, 10**3, 10**6, 10**9], np.int32)
    star = gp.from_edges(np.zeros(4, int), np.arange(1, 5), weights, directed=False)
    rows = run_with(gp.apps.SSSP(0), star, device="cpu").stats.iterations
    assert calls == [5]
    assert [(row.active, row.edges, row.waited) for row in rows] == [
        (1, 4, 4), (1, 1, 3), (1, 1, 2), (1, 1, 1), (1, 1, 0)
    ]  # fmt: skip


def test_real_priorities(calls):
    sources, targets = grid(30)
    lengths = np.random.default_rng(1).random(len(sources)) * 1e-3
    graph = gp.from_edges(sources, targets, lengths, directed=False)
    found = run_with(gp.apps.SSSP(0), graph, device="cpu")
    gp.check(gp.apps.SSSP(0), graph, found)
    assert sum(calls) > 0


def test_a_chain_ends_where_many_edges_leave(calls):
    graph = graph_of("star")
    found = run_with(gp.apps.BFS(1), graph, device="cpu", sync=True)
    assert found.column().max() == 301
    active = [row.active for row in found.stats.iterations]
    assert max(active) >= chain.MOST_EDGES
    assert sum(calls) < len(active)  # the hub's superstep is not among them


@pytest.mark.full
@pytest.mark.parametrize("options", [{"trace": "trace.json"}, {"checkpoint": "kept"}, {"check": "finite"}], ids=str)
def test_no_chain_where_somebody_looks_at_each_iteration(calls, tmp_path, options):
    given = {key: tmp_path / value if key != "check" else value for key, value in options.items()}
    run_with(gp.apps.BFS(0), graph_of("path"), device="cpu", **given)
    assert not calls


def test_a_listener_hears_of_the_supersteps_of_a_call(calls):
    heard = []
    found = gp.run(gp.apps.BFS(0), graph_of("path"), device="cpu", on_event=heard.append)
    assert sum(isinstance(event, gp.events.Iteration) for event in heard) == len(found.stats.iterations) == 500
    assert 0 < len(calls) < 50


@pytest.mark.full
def test_it_stops_after_a_while(calls, no_hurry, monkeypatch):
    """So that an interrupt is heard; the next call goes on."""
    graph, program = graph_of("path"), gp.apps.BFS(0)
    expected = run_with(program, graph, device="cpu", sync=True)
    assert max(calls) > 100
    calls.clear()
    monkeypatch.setattr(chain, "LONGEST", 0)
    monkeypatch.setattr("garaph_py.executor.cpu.program._known", {})  # kernels with the other limit
    found = run_with(program, graph, device="cpu", sync=True)
    assert set(calls) == {1}
    assert rows_of(found) == rows_of(expected)


def test_nobody_looks_for_waiting_vertices_after_the_last_bucket(calls, no_hurry, monkeypatch):
    launched = []
    launch = ThreadPool.launch
    monkeypatch.setattr(
        ThreadPool, "launch", lambda pool, rows: launched.append(rows.kernel.name) or launch(pool, rows)
    )
    graph = graph_of("grid")
    gp.check(gp.apps.SSSP(0), graph, run_with(gp.apps.SSSP(0), graph, device="cpu"))
    assert len(calls) == 1
    assert "open_bucket" not in launched


@pytest.mark.full
@pytest.mark.parametrize("called", ["SSSP", "SSWP"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_buckets_of_any_kind_of_numbers_have_many_vertices(calls, dtype, called):
    """A step of 0 would give each vertex a bucket of its own."""
    edges, rng = twins.skewed(3, 5000, 30000), np.random.default_rng(2)
    lengths = (rng.random(len(edges.sources)) * 1000).astype(dtype) + np.dtype(dtype).type(1)
    graph = gp.from_edges(edges.sources, edges.targets, lengths, vertices=range(edges.n), directed=False)
    program = PROGRAMS[called]
    single = run_with(program, graph, device="cpu", **NO_CHAIN)
    found = run_with(program, graph, device="cpu")
    assert len(found.stats.iterations) <= 10 * len(single.stats.iterations)
    gp.check(program, graph, found)
    assert sum(calls) > 0


NEW = 99
"""The value of vertices that have not been reached."""


@pytest.mark.parametrize(
    ("values", "v", "distance"),
    [
        ([1, 2, 3, NEW, NEW], 2, chain.BESIDE),  # the search comes from below
        ([NEW, NEW, 3, 2, 1], 2, -chain.BESIDE),
        ([NEW, NEW, 3, NEW, NEW], 2, 0),
        ([1, 2, 3, 2, 1], 2, 0),
        ([3, NEW, NEW, NEW, NEW], 0, chain.BESIDE),  # ids below the first and above the last are not read
        ([NEW, NEW, NEW, NEW, 3], 4, -chain.BESIDE),
    ],
)
def test_it_prefetches_where_a_search_goes_on(monkeypatch, values, v, distance):
    fetched, edges = [], []
    monkeypatch.setattr(chain, "prefetch_kept", lambda array, index: fetched.append((array, index)))
    functions = SimpleNamespace(identity=lambda parameters: NEW)
    reader = SimpleNamespace(fetch=lambda where, e: edges.append(e))
    offsets = [3 * u for u in range(6)]
    t = SimpleNamespace(n=5, values=values, out_offsets=offsets, parameters=None)
    chain.make_look_beside(functions, reader)(None, t, v)
    assert fetched == [(values, v + distance), (offsets, v + distance)]
    assert edges == [3 * (v + distance), 3 * (v + distance + distance // 4)]


@pytest.mark.full
@pytest.mark.parametrize("packed", [False, True], ids=["raw", "packed"])
@pytest.mark.parametrize("source", [0, 820, 1599])
def test_prefetching_leaves_answers_as_they_are(monkeypatch, source, packed):
    graph, program = graph_of("grid"), gp.apps.BFS(source)
    graph = graph.packed() if packed else graph
    expected = run_with(program, graph, device="cpu", sync=True)
    monkeypatch.setattr(chain, "CACHED", 0)
    monkeypatch.setattr("garaph_py.executor.cpu.program._known", {})  # kernels that prefetch
    found = run_with(program, graph, device="cpu", sync=True)
    np.testing.assert_array_equal(found.values, expected.values)
    assert rows_of(found) == rows_of(expected)
