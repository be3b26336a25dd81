"""Communities by label propagation."""

import networkx as nx
import pytest

import garaph_py as gp
from tests.support.networkx_calls import random_graph

COMMUNITIES = nx.community.label_propagation_communities


@pytest.mark.parametrize("m", [0, 20, 60])
def test_communities_are_networkx_s(m):
    graph = random_graph(nx.Graph, n=25, m=m)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    found, expected = (COMMUNITIES(graph, backend=each) for each in ("garaph", "networkx"))
    assert type(found) is type(expected)
    assert list(found) == list(expected)


def test_no_nodes():
    assert list(COMMUNITIES(nx.Graph(), backend="garaph")) == []


def test_loops_and_parallel_edges_are_left_to_networkx():
    """They count in NetworkX."""
    for graph in (nx.Graph([(0, 1), (1, 1)]), nx.MultiGraph([(0, 1), (0, 1), (1, 2)])):
        with pytest.raises(NotImplementedError):
            COMMUNITIES(graph, backend="garaph")
    own = gp.from_edges(["a", "b", "c", "c"], ["b", "c", "a", "c"], directed=False)
    assert list(COMMUNITIES(own)) == [{"a", "b", "c"}]
