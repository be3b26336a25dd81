"""Eccentricities and what follows from them."""

import networkx as nx
import pytest

from tests.support.networkx_calls import KINDS, outcome, random_graph

NAMES = ("center", "diameter", "eccentricity", "periphery", "radius", "average_shortest_path_length")


@pytest.mark.spread
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("name", NAMES)
def test_measures_are_networkx_s(name, weight, kind):
    graph = random_graph(kind, connected=True)
    found, expected = (getattr(nx, name)(graph, weight=weight, backend=b) for b in ("garaph", "networkx"))
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("connected", [True, False])
def test_wiener_index(kind, weight, connected):
    graph = random_graph(kind, connected=connected)
    found, expected = (nx.wiener_index(graph, weight, backend=b) for b in ("garaph", "networkx"))
    assert found == expected
    assert type(found) is type(expected)


def test_eccentricities_of_some_nodes():
    graph = random_graph(nx.Graph, connected=True)
    first, second, *_ = graph
    for bunch in (first, [second, first, "nowhere"], [], 5, None):
        assert outcome(nx.eccentricity, graph, bunch, backend="garaph") == outcome(nx.eccentricity, graph, bunch)


@pytest.mark.parametrize("name", NAMES)
def test_known_answers_are_left_to_networkx(name):
    given = {"eccentricity": {"sp": {}}, "average_shortest_path_length": {"method": "floyd-warshall"}}
    with pytest.raises(NotImplementedError):
        getattr(nx, name)(nx.path_graph(3), **given.get(name, {"e": {}}), backend="garaph")


@pytest.mark.parametrize("method", ["unweighted", "dijkstra", "bellman-ford", "other"])
def test_methods(method):
    graph = random_graph(nx.DiGraph, connected=True)
    found, expected = (
        outcome(nx.average_shortest_path_length, graph, "weight", method, backend=name)
        for name in ("garaph", "networkx")
    )
    assert found == expected


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", ["center", "diameter", "periphery", "radius"])
def test_exceptions_with_bounds(name, kind):
    graph = random_graph(kind)
    found, expected = (outcome(getattr(nx, name), graph, usebounds=True, backend=b) for b in ("garaph", "networkx"))
    assert found == expected


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_center_of_no_nodes(kind):
    found, expected = (outcome(nx.center, kind(), backend=name)[0] for name in ("garaph", "networkx"))
    assert found is expected
