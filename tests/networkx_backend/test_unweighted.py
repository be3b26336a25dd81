"""Shortest paths by numbers of edges."""

import networkx as nx
import pytest

from tests.support.networkx_calls import KINDS, random_graph


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("cutoff", [None, -1, 0, 1, 1.5, 2, 100, float("inf")])
@pytest.mark.parametrize("direction", ["source", "target"])
def test_lengths_and_paths_with_a_cutoff(kind, cutoff, direction):
    graph = random_graph(kind, n=20, m=25)
    for node in graph:
        lengths, paths = (
            getattr(nx, f"single_{direction}_{what}")(graph, node, cutoff=cutoff, backend="garaph")
            for what in ("shortest_path_length", "shortest_path")
        )
        expected = getattr(nx, f"single_{direction}_shortest_path_length")(graph, node, cutoff=cutoff)
        assert lengths == expected
        assert list(lengths.values()) == sorted(lengths.values())
        assert {type(length) for length in lengths.values()} == {int}
        assert {end: len(path) - 1 for end, path in paths.items()} == expected
        for end, path in paths.items():
            assert nx.is_path(graph, path)
            assert (path[0], path[-1]) == ((node, end) if direction == "source" else (end, node))


@pytest.mark.parametrize("cutoff", [None, 0, 1.5, 2])
def test_all_pairs_with_a_cutoff(cutoff):
    graph = random_graph(nx.DiGraph)
    found, expected = (
        list(nx.all_pairs_shortest_path_length(graph, cutoff=cutoff, backend=name)) for name in ("garaph", "networkx")
    )
    assert found == expected


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_path_of_every_pair(kind):
    graph = random_graph(kind)
    for source in graph:
        for target in graph:
            assert nx.has_path(graph, source, target, backend="garaph") == nx.has_path(graph, source, target)
            if nx.has_path(graph, source, target):
                path = nx.bidirectional_shortest_path(graph, source, target, backend="garaph")
                assert nx.is_path(graph, path)
                assert (path[0], path[-1]) == (source, target)
                assert len(path) == len(nx.bidirectional_shortest_path(graph, source, target))
