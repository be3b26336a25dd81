"""Maximal independent sets. A seed leads to another one than in NetworkX."""

import networkx as nx
import numpy as np
import pytest

import garaph_py as gp
from tests.support.networkx_calls import outcome, random_graph


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph])
def test_sets_are_independent_and_maximal(kind):
    graph = random_graph(kind, n=40, m=60)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    node = next(iter(graph))
    found = [nx.maximal_independent_set(graph, [node], seed=seed, backend="garaph") for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    for chosen in found:
        assert node in chosen
        assert len(set(chosen)) == len(chosen)
        near = set().union(*(graph[each] for each in chosen))
        assert near == set(graph) - set(chosen)


@pytest.mark.parametrize("seed", [None, np.random.RandomState(5), np.random.default_rng(5)])
def test_any_seed_of_networkx(seed):
    assert len(nx.maximal_independent_set(nx.complete_graph(5), seed=seed, backend="garaph")) == 1


def test_exceptions_are_networkx_s():
    path = nx.path_graph(4)
    for graph, nodes in ((path, [0, 1]), (path, ["x"]), (path, [[1]]), (nx.Graph(), None), (path, [3])):
        mine, theirs = (outcome(nx.maximal_independent_set, graph, nodes, backend=b) for b in ("garaph", "networkx"))
        assert mine == theirs or (nodes == [3] and 3 in mine)


def test_graphs_with_self_loops_are_left_to_networkx():
    with pytest.raises(NotImplementedError):
        nx.maximal_independent_set(nx.Graph([(0, 0), (0, 1)]), backend="garaph")


def test_a_graph_of_garaph():
    assert nx.maximal_independent_set(gp.from_edges(["a", "b"], ["b", "c"], directed=False), ["b"]) == ["b"]
