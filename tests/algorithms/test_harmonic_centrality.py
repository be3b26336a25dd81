"""Harmonic centrality beside NetworkX's."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import harmonic_centrality
from tests.support.networkx_graphs import FIRST, on_disk, pairs, random_pair, random_valued, valued, valued_graphs


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs(), st.data())
def test_networkx_has_the_same(threads, both, data):
    vertex = st.integers(FIRST, FIRST + max(both.ours.n - 1, 0))
    sources = data.draw(st.none() | st.lists(vertex, max_size=4)) if both.ours.n else None
    ours = harmonic_centrality(both.ours, sources=sources, threads=threads)
    assert dict(ours) == pytest.approx(nx.harmonic_centrality(both.theirs, sources=sources), rel=1e-14)


@pytest.mark.spread
@pytest.mark.parametrize("directed", [False, True])
def test_more_vertices_than_a_word_has_bits(directed, threads):
    both = random_pair(9, 300, 900, directed)
    ours = harmonic_centrality(both.ours.packed(), threads=threads)
    assert dict(ours) == pytest.approx(nx.harmonic_centrality(both.theirs), rel=1e-14)


def test_bad_arguments_are_refused():
    graph = random_pair(1, 40, 3000, directed=True).ours
    with pytest.raises(gp.errors.UnknownVertexError, match="vertex 99 is not in the graph"):
        harmonic_centrality(graph, sources=[99])
    with pytest.raises(gp.errors.ParameterError, match="device='tpu'"):
        harmonic_centrality(graph, device="tpu")


@pytest.mark.slow
def test_edges_may_be_on_disk(tmp_path):
    both = random_pair(1, 100, 3000, directed=True)
    stored = on_disk(both.ours, tmp_path / "g")
    for sources in (None, [FIRST, FIRST + 90]):
        found = harmonic_centrality(stored, sources=sources, threads=1)
        assert dict(found) == pytest.approx(nx.harmonic_centrality(both.theirs, sources=sources), rel=1e-14)
        gp.check(harmonic_centrality, stored, found, sources=sources)
    assert (found.program, found.stats.threads) == ("harmonic_centrality", 1)
    assert sum(row.from_disk for row in found.stats.iterations) > 0


@pytest.mark.slow
def test_lengths_may_be_on_disk(tmp_path):
    ours, theirs = random_valued(3, 120, 500, directed=True)
    stored = on_disk(ours, tmp_path / "g")
    found = harmonic_centrality(stored, distance=True)
    assert dict(found) == pytest.approx(nx.harmonic_centrality(theirs, distance="weight"), rel=1e-12, abs=1e-15)
    gp.check(harmonic_centrality, stored, found, distance=True)


@given(pairs(least=1))
def test_what_a_vertex_gives_to_all_it_has_in_the_reversed_graph(both):
    """And the sums over single sources add up to that over all."""
    given = np.array([harmonic_centrality(both.ours, sources=[s]).values for s in both.ours.ids])
    turned = both.ours.reversed() if both.ours.directed else both.ours
    assert given.sum(1) == pytest.approx(harmonic_centrality(turned).values)
    assert given.sum(0) == pytest.approx(harmonic_centrality(both.ours).values)
    near = [[s != v and v in both.ours.neighbors(s) for v in both.ours.ids] for s in both.ours.ids]
    assert ((given == 1) == near).all()
    assert ((given >= 0) & (given <= 1)).all()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(valued_graphs(least=0))
def test_lengths(threads, both):
    ours, theirs = both
    expected = nx.harmonic_centrality(theirs, distance="weight")
    assert dict(harmonic_centrality(ours, distance=True, threads=threads)) == pytest.approx(
        expected, rel=1e-12, abs=1e-12
    )


@pytest.mark.spread
@pytest.mark.parametrize("directed", [False, True])
def test_a_larger_graph_with_lengths(directed, threads):
    ours, theirs = random_valued(3, 120, 500, directed)
    found = harmonic_centrality(ours.packed(), distance=True, threads=threads)
    assert dict(found) == pytest.approx(nx.harmonic_centrality(theirs, distance="weight"), rel=1e-12, abs=1e-15)
    assert found.stats.edges > ours.m


def test_a_graph_without_lengths_has_edges_of_length_1():
    both = random_pair(7, 60, 300, directed=True)
    assert dict(harmonic_centrality(both.ours, distance=True)) == dict(harmonic_centrality(both.ours))
    assert not harmonic_centrality(valued(2, [], True)[0], distance=True).values.any()


@pytest.mark.parametrize("length", [-1, 1 << 53])
def test_lengths_must_not_be_negative_nor_inexact(length):
    graph = gp.from_edges([1, 2], [2, 3], weights=[1, length])
    with pytest.raises(gp.errors.GraphError, match=r"needs edge values that are 0 or more .* 2 -> 3"):
        harmonic_centrality(graph, distance=True)
