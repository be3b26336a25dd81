"""Push: active vertices update their out-neighbours; in place and by priority where the order is free."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.errors import GraphError, ParameterError, ProgramError
from garaph_py.executor.cpu import chain
from garaph_py.executor.cpu.push import BATCH, CACHED, CACHED_PACKED, FETCHED
from garaph_py.executor.modes import PULL, PUSH
from garaph_py.graph import transpose
from garaph_py.graph.build import from_numbered_edges
from garaph_py.native.threads import ThreadPool
from tests.support import twins
from tests.support.cases import EXACT, assert_exact, mostly_full, mostly_kept
from tests.support.components import Flood
from tests.support.numpy_gpu import Quiet

from ...support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs")

exact = pytest.mark.parametrize("case", mostly_kept(EXACT))


def graph_of(edges, directed=True):
    return from_numbered_edges(edges.sources, edges.targets, edges.n, edges.weights, directed=directed)


def example(case, seed=41, n=9000, m=30000):
    edges = twins.skewed(seed, n, m, case.weights)
    return (edges.both_ways(), graph_of(edges, directed=False)) if case.symmetric else (edges, graph_of(edges))


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
@pytest.mark.parametrize("threads", [1, 2, 7])
@exact
def test_push_gives_the_same_answers(case, threads, sync):
    edges, graph = example(case)
    run = run_with(case.program(edges), graph, mode="push", sync=sync, threads=threads)
    assert_exact(run, case.twin(edges))
    assert {i.mode for i in run.stats.iterations} == {PUSH}


@pytest.mark.slow
@exact
def test_synchronous_push_and_pull_agree_after_every_iteration(case):
    edges, graph = example(case, n=400, m=900)
    for iterations in range(6):
        push, pull, paper = (
            run_with(case.program(edges), graph, sync=True, iterations=iterations, **options)
            for options in ({"mode": "push"}, {"mode": "pull"}, {"engine": "garaph"})
        )
        assert push.values.tobytes() == pull.values.tobytes() == paper.values.tobytes()
        frontiers = [[(i.active, i.f) for i in run.stats.iterations] for run in (push, pull, paper)]
        assert frontiers[0] == frontiers[1] == frontiers[2]


class Largest(gp.VertexProgram):
    """The largest value, summed by an operation of one's own."""

    value = np.float32
    sum = gp.Monoid(lambda a, b: a if a >= b else b, -np.inf, idempotent=True)
    monotone = True

    def init(self, id):
        return float(id % 97)

    def gather(self, src):
        return src

    def priority(self, value):
        return -value


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("program", [Flood(), Largest()], ids=["or", "own"])
def test_programs_of_ones_own_may_push(program):
    edges = twins.skewed(43, 6000, 20000)
    graph = graph_of(edges)
    expected = run_with(program, graph, engine="garaph").values
    for options in ({}, {"mode": "push"}, {"mode": "push", "sync": False}, {"mode": "pull", "sync": False}):
        np.testing.assert_array_equal(run_with(program, graph, threads=3, **options).values, expected)


@pytest.mark.parametrize("program", [gp.apps.PageRank(), gp.apps.HeatSimulation()], ids=lambda p: type(p).__name__)
def test_programs_that_do_not_relax_cannot_push(program):
    graph = graph_of(twins.skewed(43, 60, 200))
    with pytest.raises(ParameterError, match=r"mode='push'.*idempotent sum.*choose another mode"):
        run_with(program, graph, mode="push")


@pytest.mark.parametrize("mode", ["push", "pull-tiled"])
def test_the_papers_engine_does_not_know_our_modes(mode):
    with pytest.raises(ParameterError, match=rf"mode='{mode}' is not in the paper"):
        run_with(gp.apps.ConnectedComponents(), graph_of(twins.skewed(43, 60, 200), False), engine="garaph", mode=mode)


class Hops(Quiet):
    """Hops from vertex 0, in any order."""

    monotone = True


@pytest.mark.slow
def test_a_push_after_an_asynchronous_pull_is_right():
    """Vertices that change in a pull in place are added to the active set, which must be empty when it is used anew."""
    steps = [(0, 5000)] * 5000 + [(5000, 100), (100, 50)] + [(200 + k, 201 + k) for k in range(79)]
    edges = twins.Edges(24000, *np.array(steps).T, np.ones(len(steps), np.int32))
    run = gp.run(Hops(), graph_of(edges))
    assert PULL in {i.mode for i in run.stats.iterations}
    assert run.values[[5000, 100, 50]].tolist() == [1, 2, 3]


@pytest.mark.parametrize("threads", [1, 2])
def test_opening_a_bucket_counts_its_edges(threads, monkeypatch):
    launched, launch = [], ThreadPool.launch
    monkeypatch.setattr(
        ThreadPool, "launch", lambda pool, rows: launched.append(rows.kernel.name) or launch(pool, rows)
    )
    monkeypatch.setattr(chain, "MOST_EDGES", 0)  # Python opens every bucket
    graph = gp.rmat(13, 8, directed=False, weights=(1, 30), seed=3)
    gp.check(gp.apps.SSSP(0), graph, run_with(gp.apps.SSSP(0), graph, device="cpu", threads=threads))
    after = {later for name, later in pairwise(launched) if name == "open_bucket"}
    assert "push" in after
    assert "count_edges" not in after


class Number(gp.VertexProgram):
    """`activate` returns a number; any but 0 activates."""

    value = np.float64
    sum = gp.add

    def init(self, id):
        return float(id)

    def gather(self, src):
        return src

    def apply(self, acc):
        return acc / float(2)

    def activate(self, new, old):
        return new - old


@pytest.mark.full
@pytest.mark.parametrize("mode", mostly_full(["pull", "notify-pull", "pull-tiled"], "notify-pull"))
def test_any_number_but_0_is_yes(mode):
    graph = graph_of(twins.Edges(6, np.array([0, 1, 2, 3, 4, 5, 5]), np.array([1, 2, 3, 4, 5, 0, 3])))
    run = run_with(Number(), graph, mode=mode, iterations=2)
    expected = sum(new != old for new, old in zip(gp.run(Number(), graph, iterations=1).values, range(6), strict=True))
    assert run.stats.iterations[1].active == expected


class TwoFields(gp.VertexProgram):
    """A priority on a value of two fields, which buckets do not support."""

    value = {"near": np.int64, "far": np.int64}  # noqa: RUF012
    sum = gp.min

    def init(self, id):
        return id, id

    def gather(self, src):
        return src

    def apply(self, old, acc):
        return min(old.near, acc.near), min(old.far, acc.far)

    def priority(self, value):
        return value


@pytest.mark.full
def test_a_priority_is_only_a_hint():
    graph = graph_of(twins.skewed(48, 100, 500))
    assert run_with(TwoFields(), graph, sync=False).stats.converged


def test_without_apply_values_and_sums_are_of_one_kind():
    class Mixed(Flood):
        accumulator = np.int64

    with pytest.raises(ProgramError, match=r"Mixed has no apply.*uint64.*int64"):
        gp.run(Mixed(), graph_of(twins.skewed(43, 60, 200)))


ROWS = [(gp.apps.SSSP, "int32", False)]
ROWS += [pytest.param(*more, marks=pytest.mark.full) for more in (
    (gp.apps.SSSP, "int32", True), (gp.apps.SSSP, "float32", False), (gp.apps.SSWP, "float64", False),
)]  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize(("program", "weights", "packed"), ROWS)
def test_rows_are_pushed_column_by_column(program, weights, packed):
    """Half of all edges lead to one vertex, whose row the threads change at the same time."""
    edges = twins.skewed(47, 3000, 20000, weights)
    edges.targets[::2] = 5
    graph, sources = graph_of(edges), [3, 70, 71, 100, 2999]
    graph = graph.packed() if packed else graph
    pulled = gp.run_many(program, graph, sources, device="cpu", options=gp.Options(mode="pull"))
    for threads in (1, 7):
        table = gp.run_many(program, graph, sources, device="cpu", threads=threads, options=gp.Options(mode="push"))
        assert {i.mode for i in table[3].stats.iterations} == {PUSH}
        assert table.values.tobytes() == pulled.values.tobytes()
        kept = [[(i.active, i.f) for i in each[3].stats.iterations] for each in (table, pulled)]
        assert kept[0] == kept[1]


def test_sparse_supersteps_push_and_dense_ones_pull():
    edges = twins.skewed(44, 20000, 200000)
    modes = [i.mode for i in gp.run(gp.apps.BFS(int(edges.out_degrees.argmax())), graph_of(edges)).stats.iterations]
    assert PULL in modes
    assert modes[-1] == PUSH


# Order


@pytest.mark.full
def test_a_run_to_the_end_of_a_monotone_program_chooses_its_order():
    path = twins.Edges(300, np.arange(299), np.arange(1, 300))
    components = gp.apps.ConnectedComponents()
    both = graph_of(path, directed=False)
    free, in_order = gp.run(components, both, threads=1), run_with(components, both, threads=1, sync=True)
    assert len(free.stats.iterations) < len(in_order.stats.iterations) == 299 + 1
    assert free.values.tobytes() == in_order.values.tobytes()
    counted = [run_with(components, both, iterations=3, sync=sync).values.tobytes() for sync in (None, True)]
    assert counted[0] == counted[1]  # three iterations mean something only if they are synchronous


@pytest.mark.full
def test_near_vertices_go_first():
    """Heavy edges lead from the source into a long path, whose vertices would change repeatedly in any other order."""
    n = 4000
    light = twins.Edges(n, np.arange(n - 1), np.arange(1, n), np.ones(n - 1, np.int32))
    shortcuts = np.arange(10, n, 10)
    edges = twins.Edges(
        n,
        np.append(light.sources, np.zeros(len(shortcuts), np.int64)),
        np.append(light.targets, shortcuts),
        np.append(light.weights, (shortcuts * 3).astype(np.int32)),
    )
    graph = graph_of(edges)
    followed = {}
    for turns in (True, False):
        kind = gp.apps.SSSP if turns else type("Plain", (gp.apps.SSSP,), {"priority": None})
        run = run_with(kind(0), graph, mode="push", sync=False, threads=1)
        np.testing.assert_array_equal(run.values, np.arange(n))
        followed[turns] = sum(i.edges for i in run.stats.iterations)
    assert followed[True] <= followed[False]


WEIGHTS = st.one_of(st.integers(0, 3), st.integers(0, 2**31 - 1), st.floats(0, 1e30), st.floats(0, 2**-100))


@pytest.mark.full
@given(
    st.integers(2, 30), st.lists(st.tuples(st.integers(0, 29), st.integers(0, 29), WEIGHTS), min_size=1, max_size=90)
)
def test_distances_and_widths_for_any_weights(n, triples):
    sources, targets = (np.array([t[k] % n for t in triples]) for k in (0, 1))
    whole = all(isinstance(t[2], int) for t in triples)
    edges = twins.Edges(n, sources, targets, np.array([t[2] for t in triples], np.int32 if whole else np.float64))
    graph = graph_of(edges)
    assert_exact(gp.run(gp.apps.SSSP(0), graph, threads=2, verify=True), twins.sssp(edges, 0))
    assert_exact(gp.run(gp.apps.SSWP(0), graph, threads=2, verify=True), twins.sswp(edges, 0))


@pytest.mark.full
@pytest.mark.parametrize("packed", [False, True], ids=["raw", "packed"])
def test_a_long_list_in_a_graph_larger_than_the_cache(packed):
    n = (CACHED_PACKED if packed else CACHED) + 2 * FETCHED
    graph = gp.from_edges(np.zeros(n - 1, np.int64), np.arange(1, n), np.arange(1, n) % 7 + 1)
    graph = graph.packed() if packed else graph
    for kind in gp.apps.SSSP, type("Plain", (gp.apps.SSSP,), {"priority": None}):
        assert (run_with(kind(0), graph, mode="push").values == np.append(0, np.arange(1, n) % 7 + 1)).all()


@pytest.mark.parametrize("m", [BATCH - 1, BATCH, BATCH + 1, 3 * BATCH, 3 * BATCH + 7])
def test_every_edge_of_every_batch_is_visited(m):
    """Vertex 0 reaches fifty others, whose lists together have `m` edges; many of these improve one target in turns."""
    ways, middle = np.arange(m), np.arange(1, 51)
    edges = twins.Edges(
        60,
        np.append(np.zeros(50, np.int64), np.sort(ways % 50) + 1),
        np.append(middle, 51 + np.append(ways[:-1] % 8, 8)),  # only the last edge leads to vertex 59
        np.append(np.ones(50, np.int32), m - ways).astype(np.int32),
    )
    run = run_with(gp.apps.SSSP(0), graph_of(edges), mode="push", sync=False, threads=1)
    assert_exact(run, twins.sssp(edges, 0))
    assert run.values[59] == 2


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["int32", "float64"])
@pytest.mark.parametrize("packed", [False, True])
def test_push_finds_the_values_of_a_directed_graphs_out_edges(monkeypatch, packed, weights):
    monkeypatch.setattr(transpose, "CHUNK", 1024)
    edges = twins.skewed(45, 500, 70000, weights)
    graph = graph_of(edges)
    with ThreadPool(2) as pool:
        given = graph.packed() if packed else graph
        out = given._arrays.valued_out_edges(pool)
        assert given._arrays.valued_out_edges(pool) is out
        assert (out.value_array.codec == "packed") == (packed and weights == "int32")
        plain = graph_of(twins.skewed(45, 50, 300))
        assert plain._arrays.valued_out_edges(pool) is plain._arrays.out_edges
    u = np.repeat(np.arange(graph.n), graph.out_degrees)
    found = sorted(zip(u.tolist(), out.neighbours.tolist(), out.values.tolist(), strict=True))
    expected = sorted(zip(edges.sources.tolist(), edges.targets.tolist(), edges.weights.tolist(), strict=True))
    assert found == expected


def test_out_edges_that_differ_from_the_in_edges_are_reported():
    """A file with valid checksums may hold such edges; no value may be written outside its array."""
    graph = graph_of(twins.skewed(46, 50, 300, "int32"))
    out = replace(graph._arrays.out_edges, offsets=np.append(np.zeros(graph.n, np.int64), graph.m))
    with pytest.raises(GraphError, match="out-edges are not its in-edges reversed; import it again"):
        run_with(gp.apps.SSSP(0), graph._replace(out_edges=out), mode="push")
