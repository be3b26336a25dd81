"""The verifiers of the library's programs: right answers pass, and each kind of wrong answer is reported."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

import garaph_py as gp
from garaph_py.codec.codecs import limits_of
from garaph_py.errors import GraphError, ParameterError, VerificationError
from garaph_py.program import bind
from garaph_py.storage import directory as store
from tests.support import twins
from tests.support.cases import FLOAT


@pytest.fixture(scope="module")
def diamond(graph_of):
    """0 -> 1 -> 3, 0 -> 2 -> 3 -> 4; 5 and 6 point at each other, and nothing leads there."""
    edges = twins.Edges(7, np.array([0, 0, 1, 2, 3, 5, 6]), np.array([1, 2, 3, 3, 4, 6, 5]))
    return edges.weighted(np.array([1, 2, 5, 3, 0, 0, 0], np.int32))


def corrupted(result, vertex, value):
    values = result.values.copy()
    values[vertex] = value
    return replace(result, values=values)


@pytest.mark.parametrize(
    ("vertex", "value", "problem"),
    [
        (0, (1, 0), "source"),
        (0, (0, 1), "source"),
        (5, (0, 5), "alone"),
        (3, (3, 1), "skips a level"),
        (4, (-1, -1), "skips a level"),
        (3, (2, 0), "not one level below"),
        (3, (2, -1), "parent is missing"),
        (3, (2, 99), "parent is missing"),
        (5, (-1, 6), "parent is missing"),
        (4, (3, 4), "not one level below"),
        (6, (2, 1), "no in-neighbour|skips a level"),
    ],
)
def test_bfs_verifier(graph_of, diamond, vertex, value, problem):
    program, graph = gp.apps.BFS(0), graph_of(diamond, weighted=False)
    result = gp.run(program, graph)
    gp.check(program, graph, result)
    gp.check(program, graph, corrupted(result, 3, (2, 2)))  # the other parent is as good
    with pytest.raises(VerificationError, match=problem):
        gp.check(program, graph, corrupted(result, vertex, value))


def test_bfs_verifier_wants_tree_edges(graph_of):
    program, graph = gp.apps.BFS(0), graph_of(twins.Edges(4, np.array([0, 0, 1]), np.array([1, 2, 3])))
    result = gp.run(program, graph)
    with pytest.raises(VerificationError, match="no in-neighbour"):
        gp.check(program, graph, corrupted(result, 3, (2, 2)))


@pytest.mark.parametrize("weights", ["int32", "float64"])
@pytest.mark.parametrize(
    ("vertices", "value", "problem"),
    [(0, 1, "source"), (3, 7, "shorter way"), ([3, 4], 4, "no path"), ([5, 6], 7, "no path"), (1, 0, "no path")],
)
def test_sssp_verifier(graph_of, diamond, weights, vertices, value, problem):
    program, graph = gp.apps.SSSP(0), graph_of(diamond.weighted(diamond.weights.astype(weights)))
    result = gp.run(program, graph)
    gp.check(program, graph, result)
    with pytest.raises(VerificationError, match=problem):
        gp.check(program, graph, corrupted(result, vertices, value))


@pytest.mark.parametrize(
    ("vertices", "value", "problem"),
    [(0, 1, "source"), (3, 1, "wider"), ([3, 4], 4, "no path"), ([5, 6], 5, "no path"), (slice(None), 0, "source")],
)
def test_sswp_verifier(graph_of, diamond, vertices, value, problem):
    program, graph = gp.apps.SSWP(0), graph_of(diamond.weighted(np.array([1, 2, 5, 3, 9, 5, 5], np.int32)))
    result = gp.run(program, graph)
    gp.check(program, graph, result)
    with pytest.raises(VerificationError, match=problem):
        gp.check(program, graph, corrupted(result, vertices, value))


@pytest.mark.parametrize(
    ("vertices", "value", "problem"),
    [
        (4, 4, "joins two"),
        ([0, 1, 2, 3, 4], 4, "least"),
        ([5, 6], 0, "labels for"),
        ([5, 6], 99, "least"),
        ([5, 6], -1, "least"),
        ([5, 6], 1, "least"),
    ],
)
def test_components_verifier(graph_of, diamond, vertices, value, problem):
    program, graph = gp.apps.ConnectedComponents(), graph_of(diamond, weighted=False, directed=False)
    result = gp.run(program, graph)
    gp.check(program, graph, result)
    with pytest.raises(VerificationError, match=problem):
        gp.check(program, graph, corrupted(result, vertices, value))


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("weights", [None, "float64"])
@pytest.mark.parametrize("kind", [gp.apps.PageRank, gp.apps.DeltaPageRank])
def test_pagerank_verifiers(graph_of, kind, weights):
    graph = graph_of(twins.skewed(11, 300, 1500, weights))
    program = kind(tolerance=1e-8, personalization=weights and {3: 1, 8: 2})
    result = gp.run(program, graph)
    gp.check(program, graph, result)
    with pytest.raises(VerificationError, match="residual"):
        gp.check(program, graph, corrupted(result, 7, result.values[7] + 1e-6))


@pytest.mark.parametrize("value", [np.nan, -1e-30, np.inf])
def test_pagerank_verifier_wants_probabilities(graph_of, value):
    program, graph = gp.apps.PageRank(), graph_of(twins.skewed(11, 300, 1500))
    with pytest.raises(VerificationError, match="negative or not finite"):
        gp.check(program, graph, corrupted(gp.run(program, graph), 7, value))


def test_a_program_without_a_verifier_says_so(graph_of):
    class Unverified(gp.apps.BFS):
        verify = None

    with pytest.raises(ParameterError, match="Unverified has no verifier"):
        gp.run(Unverified(0), graph_of(twins.skewed(11, 30, 90)), verify=True)


SETTLING = [case for case in FLOAT if "PageRank" not in case.name]


@pytest.mark.spread
@pytest.mark.parametrize("device", ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("mode", ["pull", "notify-pull"])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", SETTLING, ids=lambda case: case.name)
def test_what_settles_fulfils_its_equation(graph_of, case, dtype, directed, mode, sync, device):
    for seed, n, m in (21, 300, 1500), (22, 60, 40), (23, 5, 300):
        edges = twins.skewed(seed, n, m)
        if case.weights:
            edges = edges.weighted(np.random.default_rng(seed).uniform(0.5, 1.5, m))  # no edge takes long to settle
        both = edges if directed else edges.both_ways()
        program, graph = replace(case.settling(both), dtype=dtype, tolerance=1e-6), graph_of(edges, directed=directed)
        result = gp.run(program, graph, device=device, options=gp.Options(mode=mode, sync=sync), verify=True)
        assert result.stats.converged
        far = float(np.abs(result.values).max()) + 1
        for vertex in np.argsort(both.sums(both.numbers))[-4:]:
            with pytest.raises(VerificationError, match=f"{case.name}: the (residual|value) at vertex"):
                gp.check(program, graph, corrupted(result, vertex, far))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("case", SETTLING, ids=lambda case: case.name)
def test_a_value_that_is_not_finite_fulfils_no_equation(graph_of, case, value):
    edges = twins.skewed(22, 60, 40, case.weights)
    program, graph = case.settling(edges), graph_of(edges)
    with pytest.raises(VerificationError, match=f"{case.name}: the value at vertex 7 is"):
        gp.check(program, graph, corrupted(gp.run(program, graph, iterations=2), 7, value))


@pytest.mark.parametrize(
    "program",
    [
        gp.apps.HeatSimulation(fixed={"c": 2.0}),
        gp.apps.CircuitSimulation(fixed={"c": 2.0}),
        gp.apps.PenalizedHittingProbability("c"),
    ],
    ids=lambda program: type(program).__name__,
)
def test_what_is_fixed_stays_so_in_runs_that_have_not_converged(program):
    graph = gp.from_edges(["a", "b", "c"], ["b", "c", "a"])
    result = gp.run(program, graph, iterations=1, verify=True)
    assert not result.stats.converged
    gp.check(program, graph, corrupted(result, 0, 0.25))
    with pytest.raises(
        VerificationError, match=r"the value at vertex c is 0\.25, and not the [12]\.0 at which it is kept"
    ):
        gp.check(program, graph, corrupted(result, 2, 0.25))


def test_edge_values_that_cancel_say_nothing():
    graph = gp.from_edges(["a", "b", "a"], ["c", "c", "b"], weights=[0.1, -0.1, 0.3])
    program = gp.apps.CircuitSimulation(fixed={"a": 1.0}, tolerance=1e-12)
    result = gp.run(program, graph, verify=True)
    gp.check(program, graph, corrupted(result, 2, 5.0))
    with pytest.raises(VerificationError, match="residual at vertex b is"):
        gp.check(program, graph, corrupted(result, 1, 5.0))


NUMERIC = (gp.apps.NeuralNetwork, gp.apps.HeatSimulation, gp.apps.CircuitSimulation)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [*NUMERIC, partial(gp.apps.PenalizedHittingProbability, query="x")])
def test_edge_values_that_are_not_finite_are_refused(kind, value):
    graph = gp.from_edges(["x", "y", "z"], ["y", "z", "x"], np.array([1, value, 2]))
    with pytest.raises(
        GraphError, match=f"needs finite edge values, but the edge y -> z has {value}; remove or change"
    ):
        bind(kind(), graph)


def test_edge_values_fit_the_type_of_the_program():
    graph = gp.from_edges([0, 1], [1, 2], np.array([1, 1e39]))
    bind(gp.apps.NeuralNetwork(), graph)
    with pytest.raises(GraphError, match=r"but the edge 1 -> 2 has 1e\+39"):
        bind(gp.apps.NeuralNetwork(dtype=np.float32), graph)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_edge_values_on_disk_are_checked(tmp_path, encoding):
    targets, values = np.arange(1, 3001), np.ones(3000)
    values[2000] = np.inf
    gp.save(gp.from_edges(np.zeros(3000, int), targets, values), tmp_path / "graph", encoding=encoding)
    graph = store.read_graph(tmp_path / "graph", "auto", 1 << 24, None, gp.events.ignore, on_disk=True)
    with pytest.raises(GraphError, match="but the edge 0 -> 2001 has inf"):
        bind(gp.apps.NeuralNetwork(), graph)


def test_edge_values_are_read_once(graph_of, diamond, monkeypatch):
    graph, calls = graph_of(diamond), []
    monkeypatch.setattr("garaph_py.graph.arrays.limits_of", lambda *given: calls.append(given) or limits_of(*given))
    for program in (gp.apps.NeuralNetwork(), gp.apps.SSSP(0), gp.apps.NeuralNetwork()):
        bind(program, graph)
    assert len(calls) == 1


@pytest.mark.parametrize("given", [{"y": np.inf}, np.array([0, np.inf]), np.inf])
@pytest.mark.parametrize(("kind", "name"), [*((kind, "fixed") for kind in NUMERIC[1:]), (NUMERIC[0], "initial")])
def test_numbers_of_vertices_that_are_not_finite_are_refused(kind, name, given):
    graph = gp.from_edges(["x"], ["y"])
    where = "" if given is np.inf else " at vertex y"
    with pytest.raises(ParameterError, match=rf"{kind.__name__}\({name}=\.\.\.\) is inf{where}; give finite numbers"):
        bind(kind(**{name: given}), graph)


def test_a_number_that_marks_no_number_is_for_fixed_vertices_only():
    graph = gp.from_edges([0], [1])
    bind(gp.apps.HeatSimulation(fixed=[np.nan, 1]), graph)
    with pytest.raises(ParameterError, match=r"HeatSimulation\(initial=\.\.\.\) is nan at vertex 0"):
        bind(gp.apps.HeatSimulation(initial=[np.nan, 1]), graph)


def test_a_number_that_is_not_finite_is_at_its_own_vertex():
    graph = gp.from_edges([0, 0, 1, 2, 5], [1, 2, 2, 3, 5])
    for given in (pd.Series([np.inf, 1.0], index=[5, 0]), {5: np.inf, 0: 1.0}, [0, 0, 0, 0, np.inf]):
        with pytest.raises(ParameterError, match=r"HeatSimulation\(initial=...\) is inf at vertex 5"):
            gp.run(gp.apps.HeatSimulation(initial=given), graph)
