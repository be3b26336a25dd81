"""Every program of the library against its twin, against SciPy and NetworkX, and under its own verifier."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import spsolve

import garaph_py as gp
from garaph_py.errors import GraphError, ParameterError
from garaph_py.program import bind
from tests.support import twins
from tests.support.cases import EXACT, FLOAT, Exact, assert_close, assert_exact, hub, mostly_full, numbers, some, stable
from tests.support.programs import RING, WEIGHTED
from tests.support.stored_graphs import opened

pytestmark = pytest.mark.usefixtures("cut_small_graphs")

SHAPES = ((1, 60, 400), (2, 700, 900), (3, 5000, 20000))
CASES = EXACT + FLOAT
QUICK = ("PageRank", "BFS", "SSSP-int", "ConnectedComponents")
"""The cases whose kernels many other quick tests use."""
UNDIRECTED_ONLY = [case for case in EXACT if case.symmetric]


@pytest.mark.spread
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("case", "directed"),
    [
        pytest.param(case, directed, marks=() if case.name in QUICK else pytest.mark.slow)
        for case in CASES
        for directed in (True, False)
        if not (directed and case in UNDIRECTED_ONLY)
    ],
    ids=lambda item: item.name if not isinstance(item, bool) else "directed" if item else "undirected",
)
def test_program_equals_its_twin(graph_of, case, directed, shape):
    edges = twins.skewed(*shape, case.weights)
    graph, edges = graph_of(edges, directed=directed), edges if directed else edges.both_ways()
    if isinstance(case, Exact):
        assert_exact(gp.run(case.program(edges), graph), case.twin(edges))
    else:
        assert_close(gp.run(case.program(edges), graph, iterations=8), case.twin(edges, 8))


def matrix(edges):
    """Entry (v, u) sums the weights of the edges u -> v."""
    return sparse.coo_array((edges.numbers.astype(float), (edges.targets, edges.sources)), (edges.n, edges.n)).tocsr()


def solve(equations, right, free, known):
    """The solution of ``equations @ x = right`` in the `free` vertices, where the others are `known`."""
    x = np.where(free, 0.0, known)
    system, rest = equations[free][:, free], right[free] - (equations[free] @ x)
    x[free] = spsolve(system.tocsc(), rest)
    return x


@pytest.fixture(scope="module")
def network():
    """A strongly connected graph, so that fixed vertices influence all others."""
    edges = twins.skewed(5, 80, 500, "float64")
    ring = np.arange(edges.n)
    return twins.Edges(
        edges.n,
        np.append(edges.sources, ring),
        np.append(edges.targets, np.roll(ring, 1)),
        np.append(edges.weights, np.full(edges.n, 0.5)),
    )


@pytest.mark.full
def test_heat_settles_where_scipy_says(graph_of, network):
    weights = matrix(network)
    fixed = some(network)
    laplacian = sparse.diags_array(weights.sum(axis=1)).tocsr() - weights
    expected = solve(laplacian, np.zeros(network.n), np.isnan(fixed), fixed)
    program = gp.apps.HeatSimulation(numbers(network), fixed, conductivity=stable(network), tolerance=1e-13)
    np.testing.assert_allclose(gp.run(program, graph_of(network)).values, expected, atol=1e-9)


@pytest.mark.full
def test_circuit_settles_where_scipy_says(graph_of, network):
    weights = matrix(network)
    fixed = some(network)
    equations = sparse.diags_array(weights.sum(axis=1)).tocsr() - weights
    expected = solve(equations, np.zeros(network.n), np.isnan(fixed), fixed)
    result = gp.run(gp.apps.CircuitSimulation(fixed, tolerance=1e-13), graph_of(network))
    np.testing.assert_allclose(result.values, expected, atol=1e-9)


@pytest.mark.slow
def test_hitting_probability_settles_where_scipy_says(graph_of, network):
    network = network.weighted(None)
    query, weights = hub(network), matrix(network)
    walk = sparse.diags_array(0.8 / weights.sum(axis=1)) @ weights
    known = np.where(np.arange(network.n) == query, 1.0, np.nan)
    expected = solve((sparse.eye_array(network.n) - walk).tocsr(), np.zeros(network.n), np.isnan(known), known)
    result = gp.run(gp.apps.PenalizedHittingProbability(query, tolerance=1e-13), graph_of(network))
    np.testing.assert_allclose(result.values, expected, atol=1e-9)


@pytest.mark.parametrize("stop", ["sum", "mean"])
def test_pagerank_stops_when_it_should(graph_of, stop):
    edges = twins.skewed(6, 300, 1500)
    result = gp.run(gp.apps.PageRank(stop=stop, tolerance=1e-5), graph_of(edges), verify=True)
    assert result.stats.converged
    assert len(result.stats.iterations) == twins.pagerank_iterations(edges, 1e-5, stop)


def test_pagerank_never_stops_by_itself(graph_of):
    result = gp.run(gp.apps.PageRank(stop="never"), graph_of(twins.skewed(6, 300, 1500)), iterations=40)
    assert len(result.stats.iterations) == 40
    assert not result.stats.converged


def test_pagerank_drops_the_rank_of_dangling_vertices_if_told(graph_of):
    edges = twins.skewed(6, 300, 400)
    result = gp.run(gp.apps.PageRank(dangling="drop", damping=0.6), graph_of(edges), iterations=7)
    assert_close(result, twins.pagerank(edges, 7, damping=0.6, dangling="drop"))
    assert result.values.sum() < 0.9


@pytest.fixture(scope="module")
def flows():
    """Edges with weights; those that leave the hub have weight 0, as if it had none."""
    edges = twins.skewed(8, 300, 1200, "float64")
    return edges.weighted(np.where(edges.sources == hub(edges), 0, edges.weights))


def ranks(edges, **options):
    """PageRank as NetworkX has it."""
    theirs = nx.MultiDiGraph()
    theirs.add_nodes_from(range(edges.n))
    numbers = zip(edges.sources.tolist(), edges.targets.tolist(), edges.numbers.tolist(), strict=True)
    theirs.add_weighted_edges_from(numbers)
    expected = nx.pagerank(theirs, alpha=0.85, tol=1e-10, max_iter=500, **options)
    return [expected[v] for v in range(edges.n)]


@pytest.mark.full
@pytest.mark.parametrize("personalization", [None, {0: 1, 7: 2.5, 299: 4}], ids=["all", "some"])
@pytest.mark.parametrize("weighted", [False, True])
def test_pagerank_equals_networkx(graph_of, flows, weighted, personalization):
    expected = ranks(flows, weight="weight" if weighted else None, personalization=personalization)
    program = gp.apps.PageRank(stop="mean", tolerance=1e-10, personalization=personalization)
    result = gp.run(program, graph_of(flows, weighted=weighted), verify=True)
    np.testing.assert_allclose(result.values, expected, atol=1e-9)
    assert result.program == "PageRank"


@pytest.mark.spread
@pytest.mark.parametrize("personalization", [None, {0: 1, 7: 2.5, 299: 4}, {7: 1}], ids=["all", "some", "one"])
@pytest.mark.parametrize("weighted", mostly_full([False, True], "True"))
def test_pagerank_starts_where_it_is_told_to(graph_of, flows, weighted, personalization):
    graph = graph_of(flows, weighted=weighted)
    how = {"stop": "mean", "tolerance": 1e-13, "personalization": personalization}
    expected = gp.run(gp.apps.PageRank(**how), graph)
    again = gp.run(gp.apps.PageRank(**how, nstart=5 * expected.values), graph, verify=True)
    assert len(again.stats.iterations) == 1 < len(expected.stats.iterations)
    far = gp.run(gp.apps.PageRank(**how, nstart={3: 1, 9: 1}), graph, verify=True)
    for found in again, far:
        np.testing.assert_allclose(found.values, expected.values, atol=1e-9)
        assert found.program == "PageRank"
    first = gp.run(gp.apps.PageRank(**how, nstart={3: 1, 9: 3}), graph, iterations=0)
    assert first.values[[3, 9]].tolist() == [0.25, 0.75]
    with pytest.raises(ParameterError, match=r"PageRank\(nstart=...\): give finite numbers of 0 or more, at least one"):
        bind(gp.apps.PageRank(nstart={3: -1}), graph)


@pytest.mark.spread
@pytest.mark.parametrize("personalization", [None, {0: 1, 7: 2.5, 299: 4}, {7: 1}], ids=["all", "some", "one"])
@pytest.mark.parametrize("weighted", mostly_full([False, True], "True"))
def test_pagerank_leads_from_dangling_vertices_where_it_is_told_to(graph_of, flows, weighted, personalization):
    how, graph = {"personalization": personalization}, graph_of(flows, weighted=weighted)
    weight, to = "weight" if weighted else None, {1: 2, 5: 3, 299: 0.5}
    expected = ranks(flows, weight=weight, dangling=to, **how)
    assert np.abs(np.subtract(expected, ranks(flows, weight=weight, **how))).max() > 1e-3
    near, nearer, far = (
        gp.run(gp.apps.PageRank(stop="mean", tolerance=tolerance, redistribution=to, **how), graph, verify=True)
        for tolerance, how in ((1e-10, how), (1e-14, how), (1e-14, how | {"nstart": {3: 1, 9: 3}}))
    )
    np.testing.assert_allclose(near.values, expected, atol=1e-9)
    np.testing.assert_allclose(far.values, nearer.values, atol=1e-11)
    assert near.program == "PageRank"


def test_the_redistribution_is_verified(graph_of, flows):
    graph, program = graph_of(flows), gp.apps.PageRank(redistribution={1: 2, 5: 3}, tolerance=1e-9)
    result = gp.run(gp.apps.PageRank(tolerance=1e-9), graph, verify=True)
    with pytest.raises(gp.errors.VerificationError, match="the residual is"):
        gp.check(program, graph, result)


def test_a_redistribution_that_is_none_is_refused():
    with pytest.raises(ParameterError, match=r"PageRank\(redistribution=...\): give finite numbers of 0 or more"):
        bind(gp.apps.PageRank(redistribution={0: -1, 1: 2}), RING)
    with pytest.raises(ParameterError, match="what is dropped goes nowhere; leave one of them out"):
        gp.apps.PageRank(dangling="drop", redistribution={0: 1})


@pytest.mark.parametrize("program", [gp.apps.PageRank, gp.apps.DeltaPageRank])
def test_ranks_read_edge_values_only_as_weights(graph_of, flows, program):
    graph = graph_of(flows)
    assert bind(program(), graph).reads_edge_values
    for unweighted in bind(program(weighted=False), graph), bind(program(), graph_of(flows, weighted=False)):
        assert not unweighted.reads_edge_values
        assert unweighted.vertex_data is None
    assert not bind(program(weighted=False, personalization={0: 1}), graph).reads_edge_values


@pytest.mark.slow
def test_personalization_is_by_the_users_ids():
    graph = gp.from_edges(["a", "b", "c"], ["b", "c", "a"], [0.5, 1.5, 1.0])
    nearest = gp.run(gp.apps.PageRank(personalization={"b": 3}), graph)
    by_place = gp.run(gp.apps.PageRank(personalization=[0, 1e300, 0]), graph)
    assert nearest.top(1)[0][0] == "b"
    np.testing.assert_array_equal(nearest.values, by_place.values)


@pytest.mark.parametrize("given", [{}, {0: -1, 1: 2}, {0: np.nan}, [0, 0, np.inf], 0], ids=str)
def test_a_personalization_that_is_none_is_refused(given):
    with pytest.raises(ParameterError, match=r"PageRank\(personalization=.*at least one above 0"):
        bind(gp.apps.PageRank(personalization=given), RING)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-1, "0 or more.* or give weighted=False$"),
        (np.nan, "0 or more"),
        (np.inf, "vertex 1 add up to inf"),
        (1e-310, "1e-"),
    ],
)
def test_weights_that_ranks_cannot_be_divided_by_are_refused(weight, message):
    graph = gp.from_edges([0, 1, 2], [1, 2, 0], weights=[1.0, weight, 1.0])
    with pytest.raises(GraphError, match=f"PageRank.*{message}"):
        bind(gp.apps.PageRank(), graph)


def test_a_program_derived_from_pagerank_says_that_it_knows_no_weights():
    class Mine(gp.apps.PageRank):
        pass

    with pytest.raises(ParameterError, match=r"Mine is derived from PageRank.*weighted=False"):
        bind(Mine(), WEIGHTED)
    bind(Mine(weighted=False), WEIGHTED)
    bind(Mine(), RING)


PLACES = {"tiled": "pull-tiled", "packed": "pull", "on disk": "pull"}


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_weighted_ranks_are_the_same_everywhere(graph_of, flows, tmp_path, place):
    graph, program = graph_of(flows), gp.apps.PageRank(personalization={7: 1}, stop="never")
    expected = gp.run(program, graph, iterations=5, options=gp.Options(mode="pull"))
    if place == "packed":
        graph = graph.packed()
    if place == "on disk":
        gp.save(graph, tmp_path / "graph")
        graph = opened(tmp_path / "graph", room=1 << 24)
    found = gp.run(program, graph, iterations=5, options=gp.Options(mode=PLACES[place]))
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)


@pytest.mark.full
def test_float32_pagerank_is_float64_pagerank_to_its_precision(graph_of):
    edges = twins.skewed(9, 2000, 9000)
    result = gp.run(gp.apps.PageRank(dtype=np.float32), graph_of(edges), verify=True)
    assert result.values.dtype == np.float32
    np.testing.assert_allclose(result.values, twins.pagerank(edges, 100), rtol=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weighted", "personalization"),
    [
        pytest.param(False, None, marks=pytest.mark.full),
        pytest.param(True, None, marks=pytest.mark.full),
        (True, {7: 1}),
    ],
    ids=["plain", "weights", "both"],
)
def test_delta_pagerank_is_as_near_as_it_promises(graph_of, flows, weighted, personalization):
    graph = graph_of(flows, weighted=weighted)
    program = gp.apps.DeltaPageRank(tolerance=1e-3, personalization=personalization)
    exact = gp.apps.PageRank(dangling="drop", tolerance=1e-12, personalization=personalization)
    error = np.abs(gp.run(program, graph, verify=True).values - gp.run(exact, graph).values).sum()
    assert 0 < error <= 1e-3 * 0.85 / 0.15


@pytest.mark.slow
@pytest.mark.parametrize("weights", [pytest.param(None, marks=pytest.mark.full), [2.0, 3.0, 4.0]])
@pytest.mark.parametrize("mode", ["pull", "notify-pull", "push"])
def test_delta_pagerank_of_vertices_that_nobody_notifies(mode, weights):
    graph = gp.from_edges([0, 1, 3], [1, 2, 2], weights, vertices=range(5))
    program = gp.apps.DeltaPageRank(tolerance=1e-9)
    found = gp.run(program, graph, device="cpu", verify=True, options=gp.Options(mode=mode))
    np.testing.assert_allclose(found.column(), np.array([0.15, 0.2775, 0.513375, 0.15, 0.15]) / 5, rtol=1e-8)


def test_delta_pagerank_starts_with_what_jumps_give():
    """All ranks of an undirected graph without isolated vertices add up to 1 from the beginning."""
    graph = gp.rmat(10, 16, directed=False)
    one = gp.run(gp.apps.DeltaPageRank(), graph, iterations=1).column()
    isolated = graph.in_degrees == 0
    assert one.sum() == pytest.approx(1 - 0.85 * isolated.mean())


# Against other libraries, on whatever graphs hypothesis thinks of.

VERTICES = 12
pairs = st.tuples(st.integers(0, VERTICES - 1), st.integers(0, VERTICES - 1), st.integers(0, 9))
any_edges = st.lists(pairs, max_size=40)
threads = st.sampled_from([1, 2, 7])


def edges_of(triples):
    u, v, w = np.array(triples, np.int64).reshape(-1, 3).T
    return twins.Edges(VERTICES, u, v, w.astype(np.int32))


def networkx_of(triples):
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(VERTICES))
    graph.add_weighted_edges_from(triples)
    return graph


@given(triples=any_edges, threads=threads)
def test_bfs_equals_networkx_and_scipy(graph_of, triples, threads):
    edges = edges_of(triples).weighted(None)
    result = gp.run(gp.apps.BFS(0), graph_of(edges), threads=threads, verify=True)
    expected = nx.single_source_shortest_path_length(networkx_of(triples), 0)
    level = result.values["level"]
    assert {v: level[v] for v in np.flatnonzero(level >= 0)} == expected
    distance = csgraph.dijkstra(matrix(edges).T, indices=0, unweighted=True)
    np.testing.assert_array_equal(np.where(level < 0, np.inf, level), distance)


@pytest.mark.slow
@given(triples=any_edges, threads=threads)
def test_sssp_equals_networkx(graph_of, triples, threads):
    expected = nx.single_source_dijkstra_path_length(networkx_of(triples), 0)
    for weights in ("int32", "float64"):
        edges = edges_of(triples)
        graph = graph_of(edges.weighted(edges.weights.astype(weights)))
        distance = gp.run(gp.apps.SSSP(0), graph, threads=threads, verify=True).values
        far = twins.UNREACHED if weights == "int32" else np.inf
        assert {v: distance[v] for v in np.flatnonzero(distance != far)} == expected


@pytest.mark.slow
@given(triples=any_edges, threads=threads)
def test_sssp_equals_scipy(graph_of, triples, threads):
    lengths = {}
    for u, v, w in triples:
        lengths[u, v] = min(w + 0.25, lengths.get((u, v), np.inf))  # SciPy adds parallel edges up
    edges = edges_of([(u, v, 0) for u, v in lengths]).weighted(np.array(list(lengths.values()), float))
    found = gp.run(gp.apps.SSSP(0), graph_of(edges), threads=threads, verify=True).values
    np.testing.assert_array_equal(found, csgraph.dijkstra(matrix(edges).T, indices=0))


@given(triples=any_edges, threads=threads)
def test_sswp_is_bounded_by_every_cut(graph_of, triples, threads):
    """A width w is right if edges of width w or more reach the vertex, and wider edges alone do not."""
    edges = edges_of(triples)
    width = gp.run(gp.apps.SSWP(0), graph_of(edges), threads=threads, verify=True).values
    for w in range(1, 10):
        reached = nx.single_source_shortest_path_length(networkx_of([t for t in triples if t[2] >= w]), 0)
        assert set(np.flatnonzero(width >= w)) == set(reached)


@pytest.mark.slow
@given(triples=any_edges, threads=threads)
def test_components_equal_networkx_and_scipy(graph_of, triples, threads):
    edges = edges_of(triples).weighted(None)
    graph = graph_of(edges).symmetrized()
    label = gp.run(gp.apps.ConnectedComponents(), graph, threads=threads, verify=True).values
    for component in nx.weakly_connected_components(networkx_of(triples)):
        assert set(label[list(component)]) == {min(component)}
    count, theirs = csgraph.connected_components(matrix(edges), directed=True, connection="weak")
    assert len(set(zip(label, theirs, strict=True))) == len(set(label)) == count


# Verifiers accept right answers (above and here) and find what is wrong with others.


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        (gp, "PageRank", r"; write gp\.apps\.PageRank"),
        (gp, "Pagerank", r"; did you mean apps\.PageRank\?"),
        (gp, "Option", r"; did you mean Options\?"),
        (gp, "pagerank", ""),
        (gp.apps, "Pagerank", r"; did you mean PageRank\?"),
        (gp.algorithms, "pagerank", r"; write gp\.apps\.PageRank"),
        (gp.algorithms, "connected_components", r"; write gp\.apps\.ConnectedComponents"),
        (gp.algorithms, "core_numbers", r"; did you mean core_number\?"),
        (gp.apps, "Colouring", r"; it has BFS, .*PageRank.*"),
    ],
)
def test_a_program_in_the_wrong_place_or_misspelt(module, name, advice):
    with pytest.raises(AttributeError, match=f" has no attribute '{name}'{advice}$"):
        getattr(module, name)


@pytest.mark.full
@pytest.mark.parametrize("weights", [None, (1, 9)])
def test_jumps_to_one_vertex_need_no_number_for_each(weights):
    """A mapping with one vertex runs another program than one with two, of which one has 0; the bits are the same."""
    graph, options = gp.rmat(10, 8, weights=weights), gp.Options(mode="pull")
    one, two = (
        gp.run(gp.apps.PageRank(personalization=jumps), graph, device="cpu", verify=True, options=options)
        for jumps in ({3: 2}, {3: 2, 5: 0})
    )
    assert one.values.tobytes() == two.values.tobytes()
