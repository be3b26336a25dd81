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
        assert list(map(set, found)) == list(map(set, expected))
        assert list(map(len, found)) == list(map(len, expected))
    for node in nodes:
        for distance in (-1, 0, 1, 2, 50):
            assert nx.descendants_at_distance(graph, node, distance, backend="garaph") == nx.descendants_at_distance(
                graph, node, distance
            )
        assert nx.ancestors(graph, node, backend="garaph") == nx.ancestors(graph, node)
