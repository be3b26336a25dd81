"""Eigenvector centrality beside NetworkX's."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

import garaph_py as gp
from tests.support.cases import mostly_full
from tests.support.networkx_graphs import on_disk, pairs, random_pair


@given(pairs(directed=False, least=1))
def test_networkx_has_the_same(both):
    simple = gp.from_edges(
        *(np.array(list(both.theirs.edges), np.int64).reshape(-1, 2).T), vertices=both.ours.ids.array(), directed=False
    )
    try:
        expected = nx.eigenvector_centrality(both.theirs, tol=1e-9, max_iter=3000)
    except nx.PowerIterationFailedConvergence:
        return
    found = gp.algorithms.eigenvector_centrality(simple, tol=1e-9, max_iter=3000)
    np.testing.assert_allclose(found.values, [expected[v] for v in simple.ids], atol=1e-6)


@pytest.mark.full
@pytest.mark.parametrize("weight", [True, False])
def test_weights_are_networkx_s(tmp_path, weight):
    rng = np.random.default_rng(7)
    u, v = np.arange(50), (np.arange(50) + 1) % 50  # a ring: strongly connected
    u, v = np.append(u, rng.integers(0, 50, 300)), np.append(v, rng.integers(0, 50, 300))
    keep = np.unique(u * 50 + v, return_index=True)[1]
    u, v, w = u[keep], v[keep], rng.random(len(keep))
    theirs = nx.DiGraph()
    theirs.add_nodes_from(range(50))
    theirs.add_weighted_edges_from(zip(u.tolist(), v.tolist(), w.tolist(), strict=True))
    expected = nx.eigenvector_centrality(theirs, tol=1e-10, max_iter=1000, weight="weight" if weight else None)
    graph = gp.from_edges(u, v, w, vertices=range(50))
    for ours in (graph, graph.packed(), on_disk(graph, tmp_path / "g")):
        found = gp.algorithms.eigenvector_centrality(ours, tol=1e-10, max_iter=1000, weight=weight)
        np.testing.assert_allclose(found.values, [expected[v] for v in ours.ids], atol=1e-8)
        assert found.stats.converged
        assert found.program == "eigenvector_centrality"


def test_few_iterations_are_said_not_to_be_enough():
    graph = random_pair(1, 40, 300, directed=False).ours
    assert not gp.algorithms.eigenvector_centrality(graph, max_iter=2, tol=1e-12).stats.converged


def test_bad_arguments():
    with pytest.raises(gp.errors.GraphError, match=r"^eigenvector_centrality needs edge values of 0 or more"):
        gp.algorithms.eigenvector_centrality(gp.from_edges([0], [1], [-1]))
    with pytest.raises(gp.errors.GraphError, match="is not defined for a graph without vertices"):
        gp.algorithms.eigenvector_centrality(gp.from_edges([], []))
    for tol in (-1, "x", None):
        with pytest.raises(
            gp.errors.ParameterError, match=rf"eigenvector_centrality\(tol={tol!r}\): give a number above 0"
        ):
            gp.algorithms.eigenvector_centrality(gp.from_edges([0], [1]), tol=tol)


@pytest.mark.full
@pytest.mark.parametrize("encoding", ["raw", "packed", "disk"])
def test_an_undirected_path_takes_few_iterations(tmp_path, encoding):
    n = 40
    graph = gp.from_edges(np.arange(n - 1), np.arange(1, n), directed=False)
    graph = on_disk(graph, tmp_path / "g") if encoding == "disk" else graph._encoded(encoding, None)
    found = gp.algorithms.eigenvector_centrality(graph, max_iter=400, tol=1e-9)
    expected = np.sin(np.arange(1, n + 1) * np.pi / (n + 1))
    np.testing.assert_allclose(found.values, expected / np.linalg.norm(expected), atol=1e-6)
    assert found.stats.converged
    assert [row.number for row in found.stats.iterations] == list(range(len(found.stats.history)))
    assert found.stats.edges == len(found.stats.history) * graph.m


@pytest.mark.slow
def test_undirected_weights_are_those_of_the_matrix():
    rng = np.random.default_rng(3)
    u, v, w = np.arange(30), (np.arange(30) + 1) % 30, rng.integers(1, 9, 30)
    matrix = np.zeros((30, 30))
    np.add.at(matrix, (np.append(u, v), np.append(v, u)), np.append(w, w))
    graph = gp.from_edges(u, v, w, vertices=range(30), directed=False)
    found = gp.algorithms.eigenvector_centrality(graph, max_iter=2000, tol=1e-12)
    np.testing.assert_allclose(found.values, np.abs(np.linalg.eigh(matrix)[1][:, -1]), atol=1e-7)


@pytest.mark.parametrize("most", [1, 20, 21, 25])
def test_no_more_iterations_than_are_allowed(most):
    graph = gp.from_edges(np.arange(99), np.arange(1, 100), directed=False)
    found = gp.algorithms.eigenvector_centrality(graph, max_iter=most, tol=1e-12)
    assert len(found.stats.history) == most
    assert not found.stats.converged
    assert np.linalg.norm(found.values) == pytest.approx(1)


@pytest.mark.spread
@pytest.mark.parametrize("weight", mostly_full([True, False], "True"))
@pytest.mark.parametrize("directed", mostly_full([True, False], "True"))
def test_first_values(weight, directed):
    rng = np.random.default_rng(3)
    graph = gp.from_edges(*rng.integers(0, 40, (2, 400)), rng.random(400), vertices=range(40), directed=directed)
    given = {"tol": 1e-11, "weight": weight, "max_iter": 500}
    expected = gp.algorithms.eigenvector_centrality(graph, **given)
    again = gp.algorithms.eigenvector_centrality(graph, **given, nstart=100 * expected.values)
    assert len(again.stats.iterations) <= 2 < len(expected.stats.iterations)
    far = gp.algorithms.eigenvector_centrality(graph, **given, nstart=dict.fromkeys(range(0, 40, 3), 1e300))
    for found in again, far:
        np.testing.assert_allclose(found.values, expected.values, atol=1e-8)
    one = gp.algorithms.eigenvector_centrality(graph, nstart={0: 1}, max_iter=1)
    assert np.abs(one.values - expected.values).max() > 0.1
    with pytest.raises(gp.errors.ParameterError, match=r"eigenvector_centrality\(nstart=...\): give numbers of 0"):
        gp.algorithms.eigenvector_centrality(graph, nstart={0: 0})
