"""Closeness beside NetworkX's."""

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import closeness_centrality
from tests.support.networkx_graphs import on_disk, pair, pairs, random_pair, random_valued, valued, valued_graphs


@pytest.mark.full
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs(), st.booleans())
def test_networkx_has_the_same(threads, both, wf_improved):
    ours = closeness_centrality(both.ours, wf_improved=wf_improved, threads=threads)
    theirs = nx.closeness_centrality(both.theirs, wf_improved=wf_improved)
    assert dict(ours) == pytest.approx(theirs, rel=1e-15)
    if both.ours.n:
        last = both.ours.ids[-1]
        one = closeness_centrality(both.ours, u=last, wf_improved=wf_improved)
        assert (type(one), one) == (float, pytest.approx(theirs[last], rel=1e-15))


@pytest.mark.spread
@pytest.mark.parametrize("directed", [False, True])
def test_more_vertices_than_a_word_has_bits(directed, threads):
    both = random_pair(9, 300, 900, directed)
    ours = closeness_centrality(both.ours.packed(), threads=threads)
    assert dict(ours) == pytest.approx(nx.closeness_centrality(both.theirs), rel=1e-15)
    assert ours.stats.edges > both.ours.m


def test_a_vertex_that_the_graph_lacks():
    with pytest.raises(gp.errors.UnknownVertexError, match="vertex 99 is not in the graph"):
        closeness_centrality(random_pair(1, 40, 3000, directed=True).ours, u=99)


@pytest.mark.slow
def test_edges_may_be_on_disk(tmp_path):
    both = random_pair(1, 100, 3000, directed=True)
    stored = on_disk(both.ours, tmp_path / "g")
    assert closeness_centrality(stored, u=20) == pytest.approx(nx.closeness_centrality(both.theirs, 20))
    for improved in (True, False):
        found = closeness_centrality(stored, wf_improved=improved, threads=1)
        assert dict(found) == pytest.approx(nx.closeness_centrality(both.theirs, wf_improved=improved), rel=1e-15)
        gp.check(closeness_centrality, stored, found, wf_improved=improved)
    assert (found.program, found.stats.threads) == ("closeness_centrality", 1)
    assert sum(row.from_disk for row in found.stats.iterations) > 0


@pytest.mark.slow
def test_lengths_may_be_on_disk(tmp_path):
    ours, theirs = random_valued(3, 120, 500, directed=True)
    stored = on_disk(ours, tmp_path / "g")
    found = closeness_centrality(stored, distance=True)
    assert dict(found) == pytest.approx(nx.closeness_centrality(theirs, distance="weight"), rel=1e-12, abs=1e-15)
    gp.check(closeness_centrality, stored, found, distance=True)


def test_a_graph_without_vertices():
    assert dict(closeness_centrality(pair(0, [], directed=True).ours)) == {}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(valued_graphs(least=0))
def test_lengths(threads, both):
    ours, theirs = both
    expected = nx.closeness_centrality(theirs, distance="weight")
    assert dict(closeness_centrality(ours, distance=True, threads=threads)) == pytest.approx(
        expected, rel=1e-12, abs=1e-12
    )


@pytest.mark.spread
@pytest.mark.parametrize("directed", [False, True])
def test_a_larger_graph_with_lengths(directed, threads):
    ours, theirs = random_valued(3, 120, 500, directed)
    found = closeness_centrality(ours.packed(), distance=True, threads=threads)
    assert dict(found) == pytest.approx(nx.closeness_centrality(theirs, distance="weight"), rel=1e-12, abs=1e-15)
    assert found.stats.edges > ours.m


def test_a_graph_without_lengths_has_edges_of_length_1():
    both = random_pair(7, 60, 300, directed=True)
    assert dict(closeness_centrality(both.ours, distance=True)) == dict(closeness_centrality(both.ours))
    assert not closeness_centrality(valued(2, [], True)[0], distance=True).values.any()


@pytest.mark.parametrize("length", [-1, 1 << 53])
def test_lengths_must_not_be_negative_nor_inexact(length):
    graph = gp.from_edges([1, 2], [2, 3], weights=[1, length])
    with pytest.raises(gp.errors.GraphError, match=r"needs edge values that are 0 or more .* 2 -> 3"):
        closeness_centrality(graph, distance=True)


@pytest.mark.slow
@given(valued_graphs())
def test_lengths_of_one_vertex(both):
    ours, theirs = both
    expected = nx.closeness_centrality(theirs, 3, distance="weight")
    assert closeness_centrality(ours, u=3, distance=True) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("u", [None, 3])
@pytest.mark.parametrize("weights", [[2**62] * 3, [1e308] * 3, [1.0, float("inf"), 2.0], [-1.0, 1.0, 1.0]])
def test_lengths_whose_sums_would_not_be_right_are_refused(u, weights):
    graph = gp.from_edges([0, 1, 2], [1, 2, 3], weights=weights)
    with pytest.raises(gp.errors.GraphError, match=r"closeness_centrality needs edge values .* the edge [01] -> [12]"):
        closeness_centrality(graph, distance=True, u=u)


def test_the_inverse_of_a_tiny_sum_is_infinite():
    graph = gp.from_edges([0, 1], [1, 2], weights=[5e-324] * 2)
    assert closeness_centrality(graph, distance=True, wf_improved=False).values.tolist() == [
        0,
        float("inf"),
        float("inf"),
    ]
