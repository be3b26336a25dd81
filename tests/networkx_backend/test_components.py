"""Components in NetworkX's order."""

import networkx as nx
import pytest

import garaph_py as gp
from tests.support.networkx_calls import KINDS, random_graph
from tests.support.stored_graphs import opened


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
def test_strong_components_come_after_those_that_they_lead_to(kind, seed):
    graph = random_graph(kind, n=40, m=60, seed=seed)
    found, expected = (list(nx.strongly_connected_components(graph, backend=b)) for b in ("garaph", "networkx"))
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))
    place = {node: k for k, component in enumerate(found) for node in component}
    assert all(place[v] <= place[u] for u, v in graph.edges())


@pytest.mark.parametrize("seed", range(5))
def test_strong_components_are_in_networkx_s_order_where_neighbours_ascend(seed):
    given = random_graph(nx.DiGraph, n=40, m=60, seed=seed)
    place = {node: k for k, node in enumerate(given)}
    graph = nx.DiGraph()
    graph.add_nodes_from(given)
    graph.add_edges_from(sorted(given.edges(), key=lambda edge: (place[edge[0]], place[edge[1]])))
    found, expected = (list(nx.strongly_connected_components(graph, backend=b)) for b in ("garaph", "networkx"))
    assert found == expected
