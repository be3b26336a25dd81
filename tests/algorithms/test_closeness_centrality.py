"""Closeness beside NetworkX's."""

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import closeness_centrality
from tests.support.networkx_graphs import on_disk, pairs, random_pair


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


@pytest.mark.parametrize("directed", [False, True])
def test_more_vertices_than_a_word_has_bits(directed, threads):
    both = random_pair(9, 300, 900, directed)
    ours = closeness_centrality(both.ours.packed(), threads=threads)
    assert dict(ours) == pytest.approx(nx.closeness_centrality(both.theirs), rel=1e-15)
    assert ours.stats.edges > both.ours.m


def test_only_one_vertex_may_be_asked_for_if_edges_are_on_disk(tmp_path):
    both = random_pair(1, 40, 3000, directed=True)
    stored = on_disk(both.ours, tmp_path / "g")
    assert closeness_centrality(stored, u=20) == pytest.approx(nx.closeness_centrality(both.theirs, 20))
    with pytest.raises(gp.errors.GraphError, match="closeness_centrality needs edges in memory"):
        closeness_centrality(stored)
    with pytest.raises(gp.errors.UnknownVertexError, match="vertex 99 is not in the graph"):
        closeness_centrality(both.ours, u=99)
