"""Components in NetworkX's order."""

import networkx as nx
import pytest

import garaph_py as gp
from tests.support.networkx_calls import KINDS, random_graph
from tests.support.stored_graphs import opened


@pytest.mark.spread
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("seed", range(5))
def test_components_are_networkx_s(kind, seed):
    graph = random_graph(kind, n=40, m=25, seed=seed)
    name = "weakly_connected" if graph.is_directed() else "connected"
    found, expected = (list(getattr(nx, f"{name}_components")(graph, backend=b)) for b in ("garaph", "networkx"))
    assert found == expected
    assert getattr(nx, f"number_{name}_components")(graph, backend="garaph") == len(expected)
    assert not getattr(nx, f"is_{name}")(graph, backend="garaph")
    if not graph.is_directed():
        for node in graph:
            assert nx.node_connected_component(graph, node, backend="garaph") == nx.node_connected_component(
                graph, node
            )


@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_directed_edges_may_be_on_disk(tmp_path, encoding):
    graph = gp.rmat(6, 1)
    expected = list(nx.weakly_connected_components(graph))
    gp.save(graph, tmp_path / "graph", encoding=encoding)
    assert list(nx.weakly_connected_components(opened(tmp_path / "graph", room=1 << 24))) == expected


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("seed", range(5))
def test_strong_components_are_networkx_s(kind, seed):
    graph = random_graph(kind, n=40, m=60, seed=seed)
    found, expected = (list(nx.strongly_connected_components(graph, backend=b)) for b in ("garaph", "networkx"))
    assert found == expected


def test_strong_components_of_a_graph_of_garaph_come_after_those_that_they_lead_to():
    graph = gp.rmat(6, 2)
    found = list(nx.strongly_connected_components(graph))
    place = {node: k for k, component in enumerate(found) for node in component}
    edges = graph.edges().to_pandas()
    assert all(place[v] <= place[u] for u, v in zip(edges["source"], edges["target"], strict=True))


@pytest.mark.slow
def test_strong_components_of_a_graph_on_disk_are_in_the_order_of_their_first_nodes(tmp_path):
    graph = gp.rmat(6, 2)
    gp.save(graph, tmp_path / "graph")
    found = list(nx.strongly_connected_components(opened(tmp_path / "graph", room=1 << 24)))
    assert found == sorted(nx.strongly_connected_components(graph), key=min)


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("seed", range(5))
def test_condensations_are_networkx_s(kind, seed):
    graph = random_graph(kind, n=40, m=60, seed=seed)
    mine, theirs = (nx.condensation(graph, backend=each) for each in ("garaph", "networkx"))
    assert list(mine.nodes.items()) == list(theirs.nodes.items())
    assert list(mine.edges) == list(theirs.edges)
    assert mine.graph == theirs.graph
    with pytest.raises(NotImplementedError):
        nx.condensation(graph, nx.strongly_connected_components(graph), backend="garaph")


def test_the_condensation_of_a_graph_of_garaph():
    graph = gp.from_edges([0, 1, 1, 2, 3, 0], [1, 0, 2, 3, 2, 3])
    for each in (graph, graph.packed()):
        found = nx.condensation(each)
        assert dict(found.nodes("members")) == {0: {2, 3}, 1: {0, 1}}
        assert list(found.edges) == [(1, 0)]


def test_a_list_is_no_node():
    for backend in ("garaph", "networkx"):
        with pytest.raises(TypeError, match="unhashable"):
            nx.node_connected_component(nx.path_graph(3), [0], backend=backend)
