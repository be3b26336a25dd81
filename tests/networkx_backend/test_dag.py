"""Graphs without cycles."""

import networkx as nx
import pytest

import garaph_py as gp
from tests.support.networkx_calls import KINDS, outcome, random_graph
from tests.support.networkx_graphs import on_disk


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("cyclic", [True, False])
def test_generations(kind, cyclic):
    graph = random_graph(kind, n=20, m=40)
    if not cyclic:
        order = {node: k for k, node in enumerate(graph)}
        graph.remove_edges_from([edge for edge in list(graph.edges) if order[edge[0]] >= order[edge[1]]])
    assert nx.is_directed_acyclic_graph(graph, backend="garaph") == nx.is_directed_acyclic_graph(graph)
    for function in (nx.topological_generations, nx.topological_sort):
        found, expected = (outcome(function, graph, backend=each) for each in ("garaph", "networkx"))
        assert found == expected


def test_generations_before_a_cycle():
    graph = nx.DiGraph([(0, 1), (1, 2), (2, 3), (3, 2)])
    for name in ("garaph", "networkx"):
        generations = nx.topological_generations(graph, backend=name)
        assert [next(generations), next(generations)] == [[0], [1]]
        with pytest.raises(nx.NetworkXUnfeasible):
            next(generations)


def test_generations_of_a_graph_of_garaph():
    graph = gp.from_edges(["a", "b", "a"], ["b", "c", "c"])
    assert list(nx.topological_generations(graph)) == [["a"], ["b"], ["c"]]
    assert list(nx.topological_sort(graph)) == ["a", "b", "c"]
    with pytest.raises(nx.NetworkXUnfeasible):
        next(nx.topological_generations(gp.from_edges([0, 1], [1, 0])))


@pytest.mark.slow
def test_generations_of_a_graph_on_disk(tmp_path):
    theirs = nx.gn_graph(500, seed=1)
    stored = on_disk(gp.from_networkx(theirs), tmp_path / "tree")
    for function in (nx.topological_generations, nx.topological_sort):
        assert outcome(function, stored) == outcome(function, gp.from_networkx(theirs))
    theirs.add_edge(0, 1)
    theirs.add_edge(1, 0)
    with pytest.raises(nx.NetworkXUnfeasible):
        next(nx.topological_sort(on_disk(gp.from_networkx(theirs), tmp_path / "cyclic")))
