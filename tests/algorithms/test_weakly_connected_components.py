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
    assert gp.algorithms.number_weakly_connected_components(both.ours) == len(set(expected.values()))
    if both.ours.n:
        assert gp.algorithms.is_weakly_connected(both.ours) == (len(set(expected.values())) == 1)


def test_only_a_directed_graph_must_be_in_memory(tmp_path):
    graph = random_pair(1, 40, 3000, directed=True).ours
    stored = on_disk(graph, tmp_path / "directed")
    for name in ("weakly_connected_components", "is_weakly_connected", "number_weakly_connected_components"):
        with pytest.raises(gp.errors.GraphError, match=f"^{name} needs the edges of a directed graph"):
            getattr(gp.algorithms, name)(stored)
    stored = on_disk(graph.symmetrized(), tmp_path / "undirected")
    assert set(gp.algorithms.weakly_connected_components(stored).column()) == {10}


def test_a_graph_without_vertices_is_neither():
    with pytest.raises(gp.errors.GraphError, match="is_weakly_connected is not defined"):
        gp.algorithms.is_weakly_connected(gp.from_edges([], []))
