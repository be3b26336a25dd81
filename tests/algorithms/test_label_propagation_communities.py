"""Communities by label propagation: NetworkX's, and what holds at the end."""

from collections import Counter

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings

import garaph_py as gp
from garaph_py.algorithms import label_propagation_communities
from tests.support.networkx_graphs import on_disk, pairs, random_pair


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setitem(label_propagation_communities.__wrapped__.__globals__, "PIECE", 1)


def communities(theirs):
    return {v: min(group) for group in nx.community.label_propagation_communities(theirs) for v in group}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs(directed=False))
def test_networkx_has_the_same(threads, both):
    assert label_propagation_communities(both.ours, threads=threads).to_dict() == communities(both.theirs)


def test_each_vertex_has_a_label_of_most_neighbours(threads):
    both = random_pair(6, 500, 1500, directed=False)
    result = label_propagation_communities(both.ours.packed(), threads=threads)
    found = result.to_dict()
    assert found == communities(both.theirs)
    assert 10 < len(set(found.values())) < 490
    for v in both.theirs:
        near = Counter(found[u] for u in both.theirs[v])
        assert not near or near[found[v]] == max(near.values())
    assert result.stats.edges > both.ours.m


def test_other_graphs_are_refused(tmp_path):
    graph = random_pair(1, 40, 3000, directed=True).ours
    with pytest.raises(gp.errors.GraphError, match="label_propagation_communities needs an undirected graph"):
        label_propagation_communities(graph)
    with pytest.raises(gp.errors.GraphError, match="label_propagation_communities needs edges in memory"):
        label_propagation_communities(on_disk(graph, tmp_path / "g"))
