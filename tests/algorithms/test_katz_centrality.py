"""Katz centrality beside NetworkX's."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from tests.support.cases import mostly_full
from tests.support.networkx_graphs import on_disk, pairs, random_pair


def values_of(theirs, ours):
    return [theirs[v] for v in ours.ids]


@given(pairs(), st.booleans())
def test_networkx_has_the_same(both, normalized):
    looped = nx.MultiDiGraph() if both.ours.directed else nx.MultiGraph()
    looped.add_nodes_from(both.ours.ids.array().tolist())
    looped.add_edges_from(zip(*(both.ours.edges()[name].to_pylist() for name in ("source", "target")), strict=True))
    if not both.ours.n:
        return
    matrix = nx.to_numpy_array(looped)  # parallel edges add up
    expected = np.linalg.solve(np.eye(both.ours.n) - 0.01 * matrix.T, np.ones(both.ours.n))
    found = gp.algorithms.katz_centrality(both.ours, alpha=0.01, tol=1e-12, normalized=normalized)
    assert found.stats.converged
    np.testing.assert_allclose(found.values, expected / (np.linalg.norm(expected) if normalized else 1), rtol=1e-9)


@pytest.mark.full
@pytest.mark.parametrize("weight", [True, False])
def test_weights_and_own_centrality_are_networkx_s(tmp_path, weight):
    rng = np.random.default_rng(5)
    u, v, w = rng.integers(0, 60, 400), rng.integers(0, 60, 400), rng.random(400)
    keep = np.unique(u * 60 + v, return_index=True)[1]
    u, v, w = u[keep], v[keep], w[keep]
    theirs = nx.DiGraph()
    theirs.add_nodes_from(range(60))
    theirs.add_weighted_edges_from(zip(u.tolist(), v.tolist(), w.tolist(), strict=True))
    beta = {vertex: 1.0 + vertex % 3 for vertex in range(60)}
    expected = nx.katz_centrality(theirs, alpha=0.02, beta=beta, tol=1e-10, weight="weight" if weight else None)
    graph = gp.from_edges(u, v, w, vertices=range(60))
    for ours in (graph, graph.packed(), on_disk(graph, tmp_path / "g")):
        found = gp.algorithms.katz_centrality(ours, alpha=0.02, beta=beta, tol=1e-10, weight=weight)
        np.testing.assert_allclose(found.values, values_of(expected, ours), rtol=1e-8)
        assert found.program == "katz_centrality"


def test_too_large_an_alpha_does_not_converge():
    graph = random_pair(1, 30, 300, directed=True).ours
    assert not gp.algorithms.katz_centrality(graph, alpha=0.5, max_iter=20).stats.converged
    with pytest.raises(
        gp.errors.NumberError, match=r"^katz_centrality\(alpha=1e\+100\): .*; give an alpha below 1 / the"
    ):
        gp.algorithms.katz_centrality(graph, alpha=1e100)


def test_bad_arguments():
    graph = gp.from_edges([0], [1])
    with pytest.raises(gp.errors.ParameterError, match=r"katz_centrality\(tol=0\): give a number above 0"):
        gp.algorithms.katz_centrality(graph, tol=0)
    for alpha in ("x", None, float("inf")):
        with pytest.raises(
            gp.errors.ParameterError, match=rf"katz_centrality\(alpha={alpha!r}\): give a finite number"
        ):
            gp.algorithms.katz_centrality(graph, alpha=alpha)
    with pytest.raises(gp.errors.ParameterError, match="beta"):
        gp.algorithms.katz_centrality(graph, beta={0: 1.0})
    with pytest.raises(gp.errors.ParameterError, match="Graph"):
        gp.algorithms.katz_centrality(nx.path_graph(3))


@pytest.mark.parametrize("weight", mostly_full([True, False], "True"))
def test_first_values(weight):
    rng = np.random.default_rng(3)
    graph = gp.from_edges(*rng.integers(0, 40, (2, 200)), rng.random(200), vertices=range(40))
    given = {"alpha": 0.03, "tol": 1e-10, "weight": weight}
    expected = gp.algorithms.katz_centrality(graph, **given, normalized=False)
    again = gp.algorithms.katz_centrality(graph, **given, normalized=False, nstart=expected)
    assert len(again.stats.iterations) == 1 < len(expected.stats.iterations)
    far = gp.algorithms.katz_centrality(graph, **given, normalized=False, nstart={0: 100, 7: -3})
    for found in again, far:
        np.testing.assert_allclose(found.values, expected.values, rtol=1e-8)
    one = gp.algorithms.katz_centrality(graph, **given, normalized=False, nstart={0: 1e4}, max_iter=1)
    assert np.abs(one.values - expected.values).max() > 0.5
    with pytest.raises(gp.errors.ParameterError, match=r"katz_centrality\(nstart=...\) has shape"):
        gp.algorithms.katz_centrality(graph, nstart=[1])


def test_a_beta_that_leaves_vertices_out_is_refused_in_any_form():
    graph, small = gp.from_edges([0, 1, 2], [1, 2, 3]), gp.from_edges([0], [1])
    for beta in ({0: 5.0}, pd.Series({0: 5.0}), gp.run(gp.apps.PageRank(), small)):
        with pytest.raises(gp.errors.ParameterError, match=r"beta=.* has \d of 4 vertices; give it all of them"):
            gp.algorithms.katz_centrality(graph, beta=beta)
    whole = pd.Series([1.0, 2.0, 3.0, 4.0])
    found = gp.algorithms.katz_centrality(graph, beta=whole, normalized=False).values
    np.testing.assert_allclose(found, [1, 2.1, 3.21, 4.321])


@pytest.mark.parametrize("function", [gp.algorithms.katz_centrality, gp.algorithms.eigenvector_centrality])
@pytest.mark.parametrize("most", [-1, 2.5, None, True])
def test_numbers_of_iterations_are_whole(function, most):
    with pytest.raises(gp.errors.ParameterError, match=rf"max_iter={most}\): give a number of iterations, 0 or more"):
        function(gp.from_edges([0], [1]), max_iter=most)
