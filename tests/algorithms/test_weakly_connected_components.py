"""Weakly connected components beside NetworkX's."""

import networkx as nx
import pytest
from hypothesis import given

import garaph_py as gp
from tests.support.networkx_graphs import on_disk, pairs, random_pair


@given(pairs())
def test_networkx_has_the_same(both):
    components = nx.connected_components(both.theirs.to_undirected())
    expected = {v: min(component) for component in components for v in component}
    assert gp.algorithms.weakly_connected_components(both.ours).to_dict() == expected


def test_only_a_directed_graph_must_be_in_memory(tmp_path):
    graph = random_pair(1, 40, 3000, directed=True).ours
    with pytest.raises(gp.errors.GraphError, match="weakly_connected_components needs the edges of a directed graph"):
        gp.algorithms.weakly_connected_components(on_disk(graph, tmp_path / "directed"))
    stored = on_disk(graph.symmetrized(), tmp_path / "undirected")
    assert set(gp.algorithms.weakly_connected_components(stored).column()) == {10}
