"""Betweenness beside NetworkX's, and the estimates from some sources."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import betweenness_centrality
from tests.support.cases import mostly_full
from tests.support.networkx_graphs import on_disk, pairs, random_pair, random_valued, valued, valued_graphs


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs(), st.booleans(), st.booleans())
def test_networkx_has_the_same(threads, both, normalized, endpoints):
    how = {"normalized": normalized, "endpoints": endpoints}
    ours = betweenness_centrality(both.ours, threads=threads, **how)
    assert dict(ours) == pytest.approx(nx.betweenness_centrality(both.theirs, **how), rel=1e-12, abs=1e-12)


@pytest.mark.spread
@pytest.mark.parametrize("directed", [False, True])
def test_a_larger_graph(directed, threads):
    both = random_pair(7, 120, 600, directed)
    ours = betweenness_centrality(both.ours.packed(), threads=threads)
    assert dict(ours) == pytest.approx(nx.betweenness_centrality(both.theirs), rel=1e-12, abs=1e-15)
    assert (ours.stats.threads, ours.values.dtype) == (threads, np.float64)


@pytest.mark.parametrize("endpoints", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("normalized", [False, True])
def test_estimates_are_right_on_average(normalized, directed, endpoints, monkeypatch):
    """The mean of the estimates from all sets of 3 sources is the exact value."""
    both = random_pair(8, 7, 20, directed)
    how, estimates = {"normalized": normalized, "endpoints": endpoints}, []
    for chosen in combinations(range(7), 3):
        names = betweenness_centrality.__wrapped__.__globals__
        monkeypatch.setitem(names, "chosen_sources", lambda n, k, random, chosen=chosen: np.array(chosen))
        estimates.append(betweenness_centrality(both.ours, k=3, **how).values)
    exact = list(nx.betweenness_centrality(both.theirs, **how).values())
    assert np.mean(estimates, axis=0) == pytest.approx(exact)


def test_a_seed_chooses_the_sources():
    graph = random_pair(7, 120, 600, directed=True).ours
    one, same, other = (betweenness_centrality(graph, k=30, seed=seed, threads=2).values for seed in (1, 1, 2))
    exact = betweenness_centrality(graph, threads=2).values
    assert (one == same).all()
    assert (one != other).any()
    assert (betweenness_centrality(graph, k=120, threads=2).values == exact).all()
    bound = np.sqrt(np.log(2 * 120 / 0.01) / (2 * 30))
    assert 0 < np.abs(one - exact).max() < bound
    assert np.isnan(betweenness_centrality(graph, k=1, seed=1).values).sum() == 1


@pytest.mark.parametrize("k", [0, 4, 1.0, True])
def test_bad_numbers_of_sources_are_refused(k):
    with pytest.raises(gp.errors.ParameterError, match=f"k={k}: give a number of sources from 1 to 3"):
        betweenness_centrality(gp.from_edges([1, 2], [2, 3]), k=k)


@pytest.mark.slow
@pytest.mark.parametrize("directed", mostly_full([False, True], "True"))
def test_edges_may_be_on_disk(directed, tmp_path):
    theirs = random_pair(1, 60, 300, directed).theirs
    ours, how = gp.from_networkx(theirs), {"k": 20, "seed": 3, "endpoints": True}
    found = betweenness_centrality(on_disk(ours, tmp_path / "g"), threads=1, **how)
    assert found.values == pytest.approx(betweenness_centrality(ours, **how).values, rel=1e-12, abs=1e-15)
    assert sum(row.from_disk for row in found.stats.iterations) > 0
    assert (found.stats.threads, found.values.dtype) == (1, np.float64)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(valued_graphs(least=1))
def test_lengths(threads, both):
    ours, theirs = both
    expected = nx.betweenness_centrality(theirs, weight="weight")
    assert dict(betweenness_centrality(ours, weight=True, threads=threads)) == pytest.approx(
        expected, rel=1e-12, abs=1e-12
    )


@pytest.mark.slow
@pytest.mark.parametrize("directed", [False, True])
def test_a_larger_graph_with_lengths(directed, threads):
    ours, theirs = random_valued(3, 120, 500, directed)
    found = betweenness_centrality(ours.packed(), weight=True, threads=threads)
    assert dict(found) == pytest.approx(nx.betweenness_centrality(theirs, weight="weight"), rel=1e-12, abs=1e-15)
    assert found.stats.edges > ours.m


def test_a_graph_without_lengths_has_edges_of_length_1():
    both = random_pair(7, 60, 300, directed=True)
    assert dict(betweenness_centrality(both.ours, weight=True)) == dict(betweenness_centrality(both.ours))
    assert not betweenness_centrality(valued(2, [], True)[0], weight=True).values.any()


@pytest.mark.parametrize("length", [0, -1, float("nan"), float("inf")])
def test_edges_must_be_longer_than_0(length):
    graph = gp.from_edges([1, 2], [2, 3], weights=[1.0, length])
    with pytest.raises(gp.errors.GraphError, match=r"needs edge values that are above 0 .* 2 -> 3"):
        betweenness_centrality(graph, weight=True)
