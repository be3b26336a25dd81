"""Harmonic centrality beside NetworkX's."""

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import harmonic_centrality
from tests.support.networkx_graphs import FIRST, on_disk, pairs, random_pair


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs(), st.data())
def test_networkx_has_the_same(threads, both, data):
    vertex = st.integers(FIRST, FIRST + max(both.ours.n - 1, 0))
    sources = data.draw(st.none() | st.lists(vertex, max_size=4)) if both.ours.n else None
    ours = harmonic_centrality(both.ours, sources=sources, threads=threads)
    assert dict(ours) == pytest.approx(nx.harmonic_centrality(both.theirs, sources=sources), rel=1e-14)


@pytest.mark.parametrize("directed", [False, True])
def test_more_vertices_than_a_word_has_bits(directed, threads):
    both = random_pair(9, 300, 900, directed)
    ours = harmonic_centrality(both.ours.packed(), threads=threads)
    assert dict(ours) == pytest.approx(nx.harmonic_centrality(both.theirs), rel=1e-14)


def test_bad_arguments_are_refused(tmp_path):
    graph = random_pair(1, 40, 3000, directed=True).ours
    with pytest.raises(gp.errors.GraphError, match="harmonic_centrality needs edges in memory"):
        harmonic_centrality(on_disk(graph, tmp_path / "g"))
    with pytest.raises(gp.errors.UnknownVertexError, match="vertex 99 is not in the graph"):
        harmonic_centrality(graph, sources=[99])
