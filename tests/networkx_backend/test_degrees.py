"""Degrees, of nodes with loops too, and isolated nodes."""

import networkx as nx
import pytest

from tests.support.networkx_calls import KINDS, random_graph


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_loops_count_twice(kind):
    graph = random_graph(kind, n=6, m=30)
    assert nx.number_of_selfloops(graph)
    assert nx.degree_centrality(graph, backend="garaph") == nx.degree_centrality(graph)


@pytest.mark.parametrize("n", [0, 1])
def test_a_node_alone(n):
    assert nx.degree_centrality(nx.empty_graph(n), backend="garaph") == nx.degree_centrality(nx.empty_graph(n))


def test_isolated_nodes():
    graph = nx.DiGraph([(1, 1), (2, 3)])
    graph.add_nodes_from([7, 5])
    assert list(nx.isolates(graph, backend="garaph")) == [7, 5]
    assert nx.number_of_isolates(graph, backend="garaph") == 2
    assert [nx.is_isolate(graph, node, backend="garaph") for node in graph] == [False, False, False, True, True]
    with pytest.raises(nx.NetworkXError, match="Node 9"):
        nx.is_isolate(graph, 9, backend="garaph")
    assert not nx.is_isolate(graph, "nowhere", backend="garaph")  # NetworkX takes it for several nodes
