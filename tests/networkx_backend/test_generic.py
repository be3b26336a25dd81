"""`shortest_path` and `shortest_path_length` with all combinations of their arguments."""

from itertools import product

import networkx as nx
import pytest

from tests.support.networkx_calls import KINDS, outcome, random_graph


@pytest.mark.spread
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("method", ["dijkstra", "bellman-ford", "other"])
def test_lengths_are_networkx_s(kind, weight, method):
    graph = random_graph(kind, connected=True)
    nodes = (None, *list(graph)[:2], "nowhere")
    for source, target in product(nodes, nodes):
        found, expected = (
            outcome(nx.shortest_path_length, graph, source, target, weight, method, backend=name)
            for name in ("garaph", "networkx")
        )
        assert found == expected, (source, target)


def flat(answer):
    """The paths in an answer of `shortest_path`; of a failure, what was raised."""
    if isinstance(answer, list) and answer and isinstance(answer[0], tuple):
        return [path for _, paths in answer for path in paths.values()]
    return list(answer.values()) if isinstance(answer, dict) else [answer]


@pytest.mark.spread
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("method", ["dijkstra", "bellman-ford"])
def test_paths_are_as_short_as_networkx_s(kind, weight, method):
    graph = random_graph(kind, connected=True)
    nodes = (None, *list(graph)[:2])

    def facts(path):
        return path[0], path[-1], len(path) - 1 if weight is None else nx.path_weight(graph, path, weight)

    for source, target in product(nodes, nodes):
        found, expected = (
            outcome(nx.shortest_path, graph, source, target, weight, method, backend=name)
            for name in ("garaph", "networkx")
        )
        assert all(nx.is_path(graph, path) for path in flat(found))
        assert sorted(map(facts, flat(found))) == sorted(map(facts, flat(expected))), (source, target)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("weight", [None, "weight"])
def test_exceptions_for_a_pair(kind, weight):
    graph = random_graph(kind)  # its last node has no edges
    nodes = (*list(graph)[:2], list(graph)[-1], "nowhere")
    for source, target in product(nodes, nodes):
        found, expected = (
            outcome(nx.shortest_path, graph, source, target, weight, backend=name) for name in ("garaph", "networkx")
        )
        assert found == expected or isinstance(expected, list), (source, target)
    for given in ({"source": "nowhere"}, {"target": "nowhere"}):
        found, expected = (
            outcome(nx.shortest_path, graph, **given, weight=weight, backend=b) for b in ("garaph", "networkx")
        )
        assert found == expected, given
