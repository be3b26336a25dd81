"""Wrong centralities are refuted."""

from dataclasses import replace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.algorithms import (
    betweenness_centrality,
    closeness_centrality,
    eigenvector_centrality,
    harmonic_centrality,
    hits,
    katz_centrality,
)
from garaph_py.algorithms.verifiers import centrality
from tests.support.networkx_graphs import random_pair, random_valued
from tests.support.wrong_answers import assert_refuted, changed

BOTH = pytest.mark.parametrize("directed", [False, True])


@BOTH
@pytest.mark.parametrize("normalized", [True, False])
def test_other_katz_centralities_are_refuted(directed, normalized):
    graph = random_pair(1, 40, 300, directed).ours
    given = {"alpha": 0.01, "normalized": normalized}
    found = katz_centrality(graph, **given)
    problem = "the two sides" if not normalized else "the two sides|the values have another norm"
    assert_refuted("katz_centrality", graph, changed(found, 3, found.values[3] * 1.01), problem, **given)
    assert_refuted("katz_centrality", graph, found, problem, **(given | {"alpha": 0.02}))
    assert_refuted("katz_centrality", graph, found, problem, **given, beta=np.arange(40))


@BOTH
def test_other_eigenvectors_are_refuted(directed):
    graph = random_pair(1, 40, 300, directed).ours
    found = eigenvector_centrality(graph, max_iter=1000)
    swapped = found.values.copy()
    swapped[[3, 30]] = swapped[[30, 3]]
    assert swapped[3] != swapped[30]
    name = "eigenvector_centrality"
    assert_refuted(name, graph, replace(found, values=swapped), "this is no eigenvector")
    assert_refuted(name, graph, replace(found, values=-found.values), "vertex .* has -.*, not 0 or more")
    assert_refuted(name, graph, replace(found, values=2 * found.values), "the norm is not 1")


@BOTH
def test_other_scores_are_refuted(directed):
    graph = random_pair(1, 40, 300, directed).ours
    found = hits(graph, max_iter=1000)
    for name in "hub", "authority":
        for make, problem in [
            (lambda old: old[::-1], "hubs and authorities differ by"),
            (lambda old: 2 * old, "the scores have another sum"),
            (lambda old: -old, "vertex .* has .*, not 0 or more"),
            (np.zeros_like, "all scores are 0, or those of one kind"),
        ]:
            values = found.values.copy()
            values[name] = make(values[name])
            assert_refuted("hits", graph, replace(found, values=values), problem)
    assert_refuted("hits", graph, found, "the scores have another sum, or largest score", normalized=False)


def test_scores_are_0_where_all_weights_are():
    graph = gp.from_edges([0, 1, 2], [1, 2, 0], np.zeros(3))
    found = hits(graph)
    assert not found.values["hub"].any()
    gp.check(hits, graph, found)
    assert_refuted("hits", graph, found, "all scores are 0, or those of one kind", weight=False)


@BOTH
@pytest.mark.parametrize("function", [betweenness_centrality, closeness_centrality, harmonic_centrality])
def test_other_values_are_refuted(function, directed, monkeypatch):
    monkeypatch.setattr(centrality, "SEARCHED", 40)
    graph = random_pair(1, 40, 300, directed).ours
    found = function(graph)
    for place in 0, 17, 39:
        assert_refuted(function.__name__, graph, changed(found, place, found.values[place] + 1e-6), "vertex .* has")


def test_values_by_other_lengths_sources_or_scales_are_refuted():
    graph, _ = random_valued(2, 40, 300, directed=True)
    between, close, near = betweenness_centrality(graph), closeness_centrality(graph), harmonic_centrality(graph)
    assert_refuted("betweenness_centrality", graph, between, "vertex .* has", weight=True)
    assert_refuted("betweenness_centrality", graph, between, "vertex .* has", endpoints=True)
    assert_refuted("betweenness_centrality", graph, between, "vertex .* has", normalized=False)
    assert_refuted("betweenness_centrality", graph, between, "vertex .* has", k=9, seed=1)
    assert_refuted("closeness_centrality", graph, close, "vertex .* has", distance=True)
    assert_refuted("closeness_centrality", graph, close.values[3] + 0.1, "vertex 3 has", u=3)
    assert_refuted("harmonic_centrality", graph, near, "vertex .* has", sources=[1, 2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_value_may_be_off_by_how_its_distances_are_rounded(dtype):
    """One vertex's distances are added in the type of the lengths, here along a path of many edges."""
    vertices = np.arange(2000)
    graph = gp.from_edges(vertices[:-1], vertices[1:], np.full(1999, 0.1, dtype), directed=False)
    arguments = {"u": 0, "distance": True}
    found = closeness_centrality(graph, **arguments)
    gp.check(closeness_centrality, graph, found, **arguments)
    wrong = found * (1 + 1e-3 if dtype == np.float32 else 1 + 1e-8)
    assert_refuted("closeness_centrality", graph, wrong, "vertex 0 has another value", **arguments)


def test_many_vertices_are_not_all_searched_to():
    graph = random_pair(1, 400, 3000, directed=False).ours
    found = harmonic_centrality(graph)
    for place, is_seen in (0, True), (1, False), (399, True):
        wrong = changed(found, place, 0.0)
        if is_seen:
            assert_refuted("harmonic_centrality", graph, wrong, "vertex .* has")
        else:
            gp.check(harmonic_centrality, graph, wrong)
