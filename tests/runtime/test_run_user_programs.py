"""Programs that a user could write: every part of a vertex program, every unified operation, every type."""

import numpy as np
import pytest

import garaph_py as gp
from tests.support import twins
from tests.support.cases import mostly_full
from tests.support.programs import DataDriven, Relabel, Strongest

from ..support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs")

MODES = ("pull", "notify-pull")


@pytest.mark.slow
@pytest.mark.parametrize("mode", mostly_full(MODES, "notify-pull"))
def test_prepare(graph_of, mode):
    """Every vertex has one out-edge, so a value need not be divided among several."""
    rng = np.random.default_rng(41)
    edges = twins.Edges(600, np.arange(600), (600 * rng.random(600) ** 2).astype(int))
    for threads in (1, 7):
        result = run_with(DataDriven(), graph_of(edges), mode=mode, threads=threads)
        np.testing.assert_allclose(result.values, twins.pagerank(edges, 200), atol=600 * 1e-7)
        active = [iteration.active for iteration in result.stats.iterations]
        assert active[0] == 600
        assert active[-1] < 100


class Exhaustive(gp.apps.BFS):
    """BFS that looks at every edge."""

    done = None


class WaitingOnly(gp.apps.BFS):
    """BFS that looks at every edge of the vertices without a level."""

    def done(self, old):
        return old != self.identity


@pytest.mark.full
@pytest.mark.parametrize("threads", [1, 7])
def test_done_by_the_old_value_visits_fewer_edges(graph_of, threads):
    edges = twins.skewed(42, 2000, 30000)
    source, graph = int(edges.out_degrees.argmax()), graph_of(edges)
    earliest, early, all_edges = (
        run_with(kind(source), graph, mode="pull", sync=True, threads=threads)  # without `done`, it need not be
        for kind in (gp.apps.BFS, WaitingOnly, Exhaustive)
    )
    assert (earliest.values == all_edges.values).all()
    assert (early.values == all_edges.values).all()
    assert earliest.stats.edges < early.stats.edges
    level, rounds = early.values["level"], len(early.stats.iterations)
    waiting = [edges.in_degrees[(level > k) | (level < 0)].sum() for k in range(rounds)]
    assert [i.edges for i in early.stats.iterations] == waiting
    assert [i.edges for i in all_edges.stats.iterations] == [30000] * rounds


def test_done_is_not_used_asynchronously(graph_of):
    edges = twins.skewed(42, 2000, 30000)
    result = run_with(gp.apps.BFS(int(edges.out_degrees.argmax())), graph_of(edges), mode="pull", sync=False)
    assert {i.edges for i in result.stats.iterations} == {30000}


@pytest.mark.full
@pytest.mark.parametrize("mode", mostly_full(MODES, "notify-pull"))
def test_aggregate_and_converged(graph_of, mode):
    rng = np.random.default_rng(43)
    chain = np.arange(299)
    others = rng.integers(300, 9000, (2, 9000))
    edges = twins.Edges(9000, np.append(chain, others[0]), np.append(chain + 1, others[1]))
    label, expected = np.arange(edges.n), []
    while not expected or expected[-1][0] >= 20:
        new = label.copy()
        np.minimum.at(new, edges.targets, label[edges.sources])
        expected.append(((new != label).sum(), new.sum(), edges.n))
        label = new
    for threads in (1, 7):
        program = Relabel()
        program.seen = []
        result = run_with(program, graph_of(edges), mode=mode, threads=threads, page_edges=2000)
        np.testing.assert_array_equal(result.values, label)
        assert [(total.changed, total.labels, n) for total, n in program.seen] == expected  # they may be kept
        assert result.stats.converged


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("mode", mostly_full(MODES, "pull"))
def test_own_monoid_over_named_fields(graph_of, mode, threads):
    edges = twins.skewed(44, 300, 2500, "float64")
    edges = edges.weighted(np.round(edges.weights, 1))
    result = run_with(Strongest(), graph_of(edges), mode=mode, threads=threads, iterations=1)
    for v in range(edges.n):
        here = np.flatnonzero(edges.targets == v)
        strength, source = max(((edges.weights[e], -edges.sources[e]) for e in here), default=(-1, 1))
        assert result.values[v].tolist() == (strength, -source, len(here))


class Reduce(gp.VertexProgram):
    """One sum over the in-neighbours' numbers."""

    numbers: gp.PerVertex = 0

    def init(self, numbers):
        return numbers

    def gather(self, src):
        return src

    def apply(self, acc):
        return acc


# The library's programs use add, min and max; logical_or follows below.
REDUCTIONS = {
    "mul": (np.int64, np.multiply, (-3, -1, 1, 1, 2, 5)),
    "logical_and": (np.int64, np.logical_and, (0, 1, 2, 3, 4, -5)),
    "logical_xor": (np.int32, np.logical_xor, (0, 1, -2)),
    "bitwise_and": (np.uint64, np.bitwise_and, (7, 6, 14, 2**40 + 6)),
    "bitwise_or": (np.uint32, np.bitwise_or, (1, 2, 8, 2**31)),
    "bitwise_xor": (np.int64, np.bitwise_xor, (1, -2, 12, 2**50)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_full(REDUCTIONS, "mul", "bitwise_xor"))
def test_unified_operations(graph_of, name):
    dtype, operation, choices = REDUCTIONS[name]
    kind = type(f"Reduce_{name}", (Reduce,), {"value": dtype, "sum": getattr(gp, name)})
    edges = twins.skewed(45, 300, 1500)
    numbers = np.random.default_rng(45).choice(np.array(choices, np.int64), edges.n)
    program = kind(numbers=numbers)
    identity = np.asarray(program.sum.identity_of(np.dtype(dtype)), dtype)
    expected = [
        operation.reduce(numbers[edges.sources[edges.targets == v]].astype(dtype), initial=identity)
        for v in range(edges.n)
    ]
    for threads in (1, 7):
        values = run_with(program, graph_of(edges), mode="pull", threads=threads, iterations=1).values
        assert values.dtype == dtype
        np.testing.assert_array_equal(values, np.array(expected).astype(dtype))


class AnyNeighbour(gp.VertexProgram):
    """Whether an in-neighbour is marked; gathering ends at the first marked one."""

    marked: gp.PerVertex = 0

    value = np.int32
    sum = gp.logical_or

    def init(self, marked):
        return marked

    def gather(self, src):
        return src

    def apply(self, acc):
        return acc

    def done(self, acc):
        return acc != 0


@pytest.mark.slow
def test_done_ends_a_gather_once_the_sum_is_final(graph_of, monkeypatch):
    edges = twins.skewed(46, 300, 3000)
    marked = (np.arange(edges.n) % 3 == 0).astype(int)
    with monkeypatch.context() as patch:
        patch.setattr("garaph_py.executor.cpu.runs.Runs.count", lambda *_: 1)  # no bound cuts a vertex's edges
        result = run_with(AnyNeighbour(marked), graph_of(edges), mode="pull", threads=1, iterations=1)
    visited = 0
    for v in range(edges.n):
        found = marked[np.sort(edges.sources[edges.targets == v])]
        assert result.values[v] == found.any()
        visited += found.argmax() + 1 if found.any() else len(found)
    assert result.stats.edges == visited < 3000
    cut = run_with(AnyNeighbour(marked), graph_of(edges), mode="pull", threads=7, iterations=1)
    assert (cut.values == result.values).all()
    paper = run_with(AnyNeighbour(marked), graph_of(edges), engine="garaph", mode="pull", threads=1, iterations=1)
    assert (paper.values == result.values).all()
    assert paper.stats.edges == 3000  # it gathers every in-edge


def test_per_vertex_parameters(graph_of):
    """The user gives one number for all vertices, one per vertex in the order of ids, or some by id."""
    graph = gp.from_edges(["b", "a", "c"], ["a", "c", "b"])
    assert graph.ids.array().tolist() == ["b", "a", "c"]

    def start(marked):
        return gp.run(AnyNeighbour(marked), graph, iterations=0).values.tolist()

    assert start(4) == [4, 4, 4]
    assert start([1, 2, 3]) == start(np.array([1, 2, 3], np.uint8)) == [1, 2, 3]
    assert start({"a": 5}) == [0, 5, 0]
    assert start({}) == [0, 0, 0]


@pytest.mark.parametrize(
    ("marked", "problem"),
    [
        ([1, 2], r"shape \(2,\), but the graph has 3 vertices"),
        ([[1, 2, 3]], r"shape \(1, 3\)"),
        ("many", ""),
        ({"a": "x"}, ""),
        (None, ""),
    ],
)
def test_unusable_per_vertex_parameters(marked, problem):
    graph = gp.from_edges(["b", "a", "c"], ["a", "c", "b"])
    with pytest.raises(gp.errors.ParameterError, match=rf"AnyNeighbour\(marked.*{problem}"):
        gp.run(AnyNeighbour(marked), graph)


def test_per_vertex_parameters_of_other_vertices():
    with pytest.raises(gp.errors.GraphError, match="'z' is not in the graph"):
        gp.run(AnyNeighbour({"z": 1}), gp.from_edges(["b"], ["a"]))


class Balance(gp.VertexProgram):
    """Sum over in-edges of edge * (src - dst), from the in-degree, to see every argument of `gather` at once."""

    value = np.float64
    sum = gp.add

    def init(self, id, in_degree, out_degree, n):
        return in_degree - out_degree + id / n

    def gather(self, dst, src_id, edge, src):
        return edge * (src - dst) + src_id

    def apply(self, acc, id, n, in_degree, out_degree, old):
        return acc + id * in_degree + out_degree / n - old


@pytest.mark.full
@pytest.mark.parametrize("mode", mostly_full(MODES, "notify-pull"))
def test_every_argument(graph_of, mode):
    edges = twins.skewed(47, 300, 2000, "float64")
    u, v, ids = edges.sources, edges.targets, np.arange(edges.n)
    old = edges.in_degrees - edges.out_degrees + ids / edges.n
    acc = edges.sums(edges.weights * (old[u] - old[v]) + u)
    expected = acc + ids * edges.in_degrees + edges.out_degrees / edges.n - old
    for threads in (1, 7):
        values = run_with(Balance(), graph_of(edges), mode=mode, threads=threads, iterations=1).values
        np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-9)


def test_a_run_does_not_change_its_program(graph_of):
    graph = graph_of(twins.skewed(46, 300, 3000))
    program = gp.apps.PageRank(damping=0.5)
    before = dict(vars(program))
    gp.run(program, graph, iterations=2)
    assert vars(program) == before


def test_parameters_are_of_the_run_not_of_the_compiled_code(graph_of):
    edges = twins.skewed(46, 300, 3000)
    for damping in (0.3, 0.9):
        result = gp.run(gp.apps.PageRank(damping=damping), graph_of(edges), iterations=5)
        np.testing.assert_allclose(result.values, twins.pagerank(edges, 5, damping=damping), rtol=1e-12)
