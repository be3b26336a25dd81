"""What the functions of the backend read of a graph."""

import networkx as nx
import pytest

import garaph_py as gp
from garaph_py.networkx_backend.convert import convert_from_nx
from garaph_py.networkx_backend.graph import BackendGraph, backend_graph


def test_reads_like_a_graph_of_networkx():
    graph = nx.MultiDiGraph([("a", "b"), ("a", "b"), ("b", "c")])
    found = convert_from_nx(graph)
    assert (len(found), found.order(), found.number_of_nodes(), found.number_of_edges()) == (3, 3, 3, 3)
    assert (list(found), found.is_directed(), found.is_multigraph()) == (["a", "b", "c"], True, True)
    assert "a" in found
    assert "z" not in found
    assert ["a"] not in found
    assert repr(found) == "<BackendGraph of <Graph: 3 vertices, 3 directed edges>>"


def test_a_graph_of_garaph_has_its_ids_as_nodes():
    graph = gp.from_edges([30, 10], [10, 20])
    found = backend_graph(graph)
    assert list(found) == list(graph.ids)
    assert found.find(10) == graph.ids.index(10)
    assert found.find(11) is None
    assert backend_graph(found) is found


def test_has_one_attribute():
    found = BackendGraph(gp.from_edges([0], [1], [5]))
    assert found.weighted("weight").edge_dtype is not None
    assert found.weighted(None).edge_dtype is None
    with pytest.raises(nx.NetworkXError, match="'weight', not 'length'"):
        found.weighted("length")
    assert BackendGraph(gp.from_edges([0], [1])).weighted("length").edge_dtype is None


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiDiGraph])
def test_searches_and_components_need_no_more_than_rows(kind, monkeypatch):
    graph = kind([(0, 1), (1, 2), (3, 4)])
    calls = [(nx.descendants, 0), (nx.bfs_layers, [0]), (nx.single_source_shortest_path, 0)]
    if graph.is_directed():
        whole = nx.is_directed_acyclic_graph, nx.is_strongly_connected, nx.number_strongly_connected_components
        whole += nx.strongly_connected_components, nx.topological_generations, nx.weakly_connected_components
        whole += nx.is_weakly_connected, nx.condensation
    else:
        whole = nx.connected_components, nx.is_connected, nx.number_connected_components
    monkeypatch.setattr("garaph_py.networkx_backend.graph.from_csr", None)
    for function, *arguments in [*calls, *((function,) for function in whole)]:
        found, expected = (function(graph, *arguments, backend=each) for each in ("garaph", "networkx"))
        if hasattr(found, "__next__"):
            found, expected = list(found), list(expected)
        assert getattr(found, "adj", found) == getattr(expected, "adj", expected)


def test_reversed_edges_keep_their_weights():
    turned = convert_from_nx(nx.DiGraph([(0, 1, {"w": 5})]), edge_attrs={"w": 1}).reversed()
    assert turned.weighted("w").edges().to_pydict() == {"source": [1], "target": [0], "weight": [5]}
