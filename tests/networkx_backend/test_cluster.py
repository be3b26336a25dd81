"""Core numbers, triangles and clustering with NetworkX's arguments and exceptions."""

import networkx as nx
import pytest

from tests.support.networkx_calls import outcome, random_graph


def simple():
    graph = random_graph(nx.Graph, n=20, m=60)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


@pytest.mark.parametrize("name", ["triangles", "clustering", "average_clustering"])
def test_of_some_nodes(name):
    graph = simple()
    nodes = list(graph)
    for chosen in (None, nodes[0], nodes[:5], 5):
        if name == "average_clustering" and chosen in (nodes[0], 5):
            continue
        found, expected = (outcome(getattr(nx, name), graph, chosen, backend=b) for b in ("garaph", "networkx"))
        assert found == expected if chosen != 5 else found[0] is nx.NetworkXError
        assert type(found) is type(expected)
    assert list(map(type, nx.clustering(graph, backend="garaph").values())) == list(
        map(type, nx.clustering(graph).values())
    )


@pytest.mark.parametrize("count_zeros", [True, False])
def test_mean(count_zeros):
    graph = simple()
    found, expected = (nx.average_clustering(graph, count_zeros=count_zeros, backend=b) for b in ("garaph", "networkx"))
    assert found == expected


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_core_numbers(kind):
    graph = random_graph(kind, n=20, m=60)
    assert outcome(nx.core_number, graph, backend="garaph") == outcome(nx.core_number, graph)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    assert nx.core_number(graph, backend="garaph") == nx.core_number(graph)
    assert list(nx.core_number(graph, backend="garaph")) == list(nx.core_number(graph))


def test_weights_are_left_to_networkx():
    with pytest.raises(NotImplementedError):
        nx.clustering(simple(), weight="weight", backend="garaph")
