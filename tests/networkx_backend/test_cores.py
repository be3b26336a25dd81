"""Core numbers of graphs of NetworkX, and subgraphs of those of garaph_py."""

import logging

import networkx as nx
import pytest

import garaph_py as gp
from garaph_py.networkx_backend import backend
from tests.support.graphs import equal
from tests.support.networkx_calls import outcome, random_graph
from tests.support.networkx_graphs import on_disk


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_core_numbers(kind):
    graph = random_graph(kind, n=20, m=60)
    assert outcome(nx.core_number, graph, backend="garaph") == outcome(nx.core_number, graph)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    assert nx.core_number(graph, backend="garaph") == nx.core_number(graph)
    assert list(nx.core_number(graph, backend="garaph")) == list(nx.core_number(graph))


@pytest.fixture(scope="module")
def graph():
    """As NetworkX has it and as garaph_py has it, without self-loops."""
    theirs = random_graph(nx.Graph, n=30, m=120)
    theirs.remove_edges_from(list(nx.selfloop_edges(theirs)))
    return theirs, gp.from_networkx(theirs, weight="weight")


@pytest.mark.parametrize("k", [None, 0, 1, 3, 4, 9])
@pytest.mark.parametrize("name", ["k_core", "k_shell", "k_crust", "k_corona", "k_truss"])
def test_a_subgraph_is_a_graph_of_garaph(graph, name, k):
    theirs, ours = graph
    if k is None and name in ("k_corona", "k_truss"):
        return
    found, expected = (getattr(nx, name)(each, k=k) for each in (ours, theirs))
    assert isinstance(found, gp.Graph)
    assert sorted(found.ids) == sorted(expected)
    ends = zip(*(each.to_pylist() for each in found.edges().columns), strict=True)
    assert {(frozenset(pair), weight) for *pair, weight in ends} == {
        (frozenset(pair), weight) for *pair, weight in expected.edges(data="weight")
    }


@pytest.fixture(scope="module")
def stored(graph, tmp_path_factory):
    """The graph of garaph_py with its edges on disk."""
    return on_disk(graph[1], tmp_path_factory.mktemp("cores") / "graph")


@pytest.mark.slow
def test_core_numbers_of_a_graph_on_disk(graph, stored, tmp_path):
    assert nx.core_number(stored) == nx.core_number(graph[0])
    looped = on_disk(gp.from_edges(range(99), [*range(1, 99), 98], directed=False), tmp_path / "looped")
    with pytest.raises(nx.NetworkXNotImplemented, match="self loops"):
        nx.core_number(looped)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["k_core", "k_shell", "k_crust", "k_corona"])
def test_a_subgraph_of_a_graph_on_disk(graph, stored, name):
    given = {"k": 2} if name == "k_corona" else {}
    found = getattr(nx, name)(stored, **given)
    assert found.n
    assert equal(found, getattr(nx, name)(graph[1], **given))


def test_a_subgraph_of_networkx_s_is_left_to_networkx(graph, monkeypatch, caplog):
    """It has all attributes. NetworkX makes it, of core numbers that are found here."""
    theirs = graph[0].copy()
    theirs.nodes["node 3"]["colour"] = "red"
    with pytest.raises(NotImplementedError, match="k_core"):
        nx.k_core(theirs, backend="garaph")
    monkeypatch.setattr(nx.config.backend_priority, "algos", ["garaph"])
    monkeypatch.setattr(nx.config.backend_priority, "generators", ["garaph"])
    monkeypatch.setattr(backend, "should_run", lambda *call: True)
    with caplog.at_level(logging.DEBUG, "networkx"):
        core = nx.k_core(theirs, 1)
    assert core.nodes["node 3"]["colour"] == "red"
    assert "Backend 'garaph' raised when calling 'k_core'" in caplog.text
    assert "Using backend 'garaph' for call to 'core_number'" in caplog.text


def test_what_only_networkx_takes(graph):
    for name, given, why in (
        ("k_core", {"core_number": {}}, "the core numbers are known"),
        ("k_shell", {"k": 2.5}, "k is not a whole number"),
        ("k_truss", {"k": 2.5}, "k is not a whole number"),
    ):
        assert backend.can_run(name, (graph[1],), given) == why
    with pytest.raises(nx.NetworkXNotImplemented, match="self loops"):
        nx.k_core(gp.from_edges([0, 1], [1, 1], directed=False))
    converted = backend.convert_from_nx(graph[0])
    with pytest.raises(NotImplementedError, match="k_crust of a graph of NetworkX has all its attributes"):
        backend.k_crust(converted)
