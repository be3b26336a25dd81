"""PageRank with NetworkX's arguments."""

import networkx as nx
import pytest

from tests.support.networkx_calls import KINDS, outcome, random_graph


@pytest.mark.spread
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    "given",
    [{}, {"alpha": 0.5}, {"weight": None}, {"weight": "absent"}, {"tol": 1e-12, "max_iter": 500}, {"alpha": 0}],
    ids=str,
)
def test_ranks_are_networkx_s(kind, given):
    graph = random_graph(kind, whole=False)
    found, expected = (nx.pagerank(graph, **given, backend=name) for name in ("garaph", "networkx"))
    assert list(found) == list(expected)
    assert found == pytest.approx(expected, rel=1e-12)
    assert {type(rank) for rank in found.values()} == {float}


def test_personalization_may_name_few_nodes():
    graph = random_graph(nx.DiGraph)
    chosen = dict.fromkeys(list(graph)[:3], 2)
    for given in ({}, {"dangling": chosen}, {"dangling": dict.fromkeys(list(graph)[2:9:3], 3)}):
        found, expected = (
            nx.pagerank(graph, personalization=chosen, **given, backend=b) for b in ("garaph", "networkx")
        )
        assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weight", ["weight", None])
def test_ranks_of_dangling_nodes_go_to_those_that_are_named(weight):
    graph = random_graph(nx.DiGraph, whole=False)
    chosen = dict.fromkeys(list(graph)[:3], 2) | {"absent": 5}
    dangling = [node for node, degree in graph.out_degree() if not degree]
    assert dangling
    found, expected, shared = (
        nx.pagerank(graph, weight=weight, dangling=given, backend=name)
        for name, given in (("garaph", chosen), ("networkx", chosen), ("networkx", None))
    )
    assert found == pytest.approx(expected, rel=1e-12)
    assert found != pytest.approx(shared, rel=1e-3)


def test_first_ranks_may_name_few_nodes():
    graph = random_graph(nx.DiGraph, whole=False)
    nodes = list(graph)
    for given in ({}, {"personalization": {nodes[2]: 1}}, {"weight": None}, {"max_iter": 1}):
        found, expected = (
            outcome(nx.pagerank, graph, nstart={nodes[0]: 3, nodes[5]: 1}, **given, backend=b)
            for b in ("garaph", "networkx")
        )
        assert found == (expected if isinstance(expected, tuple) else pytest.approx(expected, rel=1e-12))


@pytest.mark.parametrize("given", [{"max_iter": 3}, {"max_iter": 0}, {"tol": 0}, {"personalization": {0: 0}}], ids=str)
def test_fails_as_networkx_does(given):
    graph = nx.karate_club_graph()
    found, expected = (outcome(nx.pagerank, graph, **given, backend=name) for name in ("garaph", "networkx"))
    assert isinstance(expected[0], type)
    assert found == expected


@pytest.mark.parametrize(
    "given",
    [
        {"alpha": 1},
        {"alpha": -0.1},
        {"nstart": {0: 0}},
        {"nstart": {0: 1, 1: -1}},
        {"nstart": {0: 1, 1: float("inf")}},
        {"personalization": {0: 1, 1: float("inf")}},
        {"dangling": {0: 0}},
        {"dangling": {0: 1, 1: -1}},
        {"personalization": {0: -1, 1: 2}},
    ],
    ids=str,
)
def test_does_not_run_here(given):
    with pytest.raises(NotImplementedError, match=r"not implemented|raised NotImplementedError"):
        nx.pagerank(nx.path_graph(3), **given, backend="garaph")


def test_no_nodes_have_no_ranks():
    assert nx.pagerank(nx.Graph(), backend="garaph") == {}
