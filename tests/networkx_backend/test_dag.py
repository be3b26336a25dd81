"""Graphs without cycles."""

import networkx as nx
import pytest

from tests.support.networkx_calls import KINDS, outcome, random_graph


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("cyclic", [True, False])
def test_generations(kind, cyclic):
    graph = random_graph(kind, n=20, m=40)
    if not cyclic:
        order = {node: k for k, node in enumerate(graph)}
        graph.remove_edges_from([edge for edge in list(graph.edges) if order[edge[0]] >= order[edge[1]]])
    assert nx.is_directed_acyclic_graph(graph, backend="garaph") == nx.is_directed_acyclic_graph(graph)
    found, expected = (outcome(nx.topological_generations, graph, backend=b) for b in ("garaph", "networkx"))
    if isinstance(expected, list):
        assert list(map(set, found)) == list(map(set, expected))
    else:
        assert found == expected
