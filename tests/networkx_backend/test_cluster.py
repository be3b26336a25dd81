"""Triangles and clustering with NetworkX's arguments and exceptions."""

from itertools import product

import networkx as nx
import pytest

from garaph_py.networkx_backend import backend
from tests.support.networkx_calls import outcome, random_graph

EITHER = pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])


def simple(kind=nx.Graph):
    graph = random_graph(kind, n=20, m=60)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


@pytest.mark.parametrize(
    ("name", "kind"),
    [("triangles", nx.Graph), *product(["clustering", "average_clustering"], [nx.Graph, nx.DiGraph])],
)
def test_of_some_nodes(name, kind):
    graph = simple(kind)
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


@EITHER
@pytest.mark.parametrize("count_zeros", [True, False])
def test_mean(count_zeros, kind):
    graph = simple(kind)
    found, expected = (nx.average_clustering(graph, count_zeros=count_zeros, backend=b) for b in ("garaph", "networkx"))
    assert found == expected


@EITHER
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("name", ["clustering", "average_clustering"])
def test_weights(name, whole, kind):
    graph = random_graph(kind, n=20, m=60, whole=whole)
    nodes = list(graph)
    for chosen in (None, nodes[0], nodes[:5], nodes[3:1:-1] * 2, ["nowhere"], "nowhere", [[]]):
        for weight in ("weight", "absent"):
            found, expected = (
                outcome(getattr(nx, name), graph, chosen, weight, backend=b) for b in ("garaph", "networkx")
            )
            assert found == (expected if isinstance(expected, tuple) else pytest.approx(expected, rel=1e-12)), chosen
            if isinstance(expected, dict):
                assert list(found) == list(expected)
                assert list(map(type, found.values())) == list(map(type, expected.values()))


@EITHER
def test_weights_that_are_left_to_networkx(kind):
    graph = nx.complete_graph(3, kind)
    nx.set_edge_attributes(graph, 0, "weight")
    assert backend.can_run("clustering", (graph,), {"weight": len}) == "weight is a function"
    with pytest.raises(NotImplementedError, match="clustering"):
        nx.clustering(graph, weight="weight", backend="garaph")
