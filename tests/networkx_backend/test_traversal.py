"""The nodes that others reach."""

import networkx as nx
import pytest

from tests.support.networkx_calls import KINDS, random_graph


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_layers_and_descendants(kind):
    graph = random_graph(kind, n=20, m=25)
    nodes = list(graph)
    for sources in (*nodes, nodes[:3], nodes[::5], []):
        found, expected = (list(nx.bfs_layers(graph, sources, backend=name)) for name in ("garaph", "networkx"))
        assert found == expected
    for node in nodes:
        for distance in (-1, 0, 1, 2, 50):
            assert nx.descendants_at_distance(graph, node, distance, backend="garaph") == nx.descendants_at_distance(
                graph, node, distance
            )
        assert nx.ancestors(graph, node, backend="garaph") == nx.ancestors(graph, node)


@pytest.mark.parametrize("name", ["ancestors", "descendants"])
def test_a_list_is_no_node(name):
    graph = nx.path_graph(3)
    for backend in ("garaph", "networkx"):
        with pytest.raises(TypeError, match="unhashable"):
            getattr(nx, name)(graph, [0], backend=backend)
