"""Shortest paths by numbers of edges."""

import networkx as nx
import pytest

import garaph_py as gp
from tests.support.networkx_calls import KINDS, random_graph
from tests.support.stored_graphs import opened


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("cutoff", [None, -1, 0, 1, 1.5, 2, 100, float("inf"), float("nan")])
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
        if direction == "source" or not graph.is_directed():
            assert list(lengths) == list(expected)
            same = getattr(nx, f"single_{direction}_shortest_path")(graph, node, cutoff=cutoff)
            assert list(paths.items()) == list(same.items())
        assert list(lengths.values()) == sorted(lengths.values())
        assert {type(length) for length in lengths.values()} == {int}
        assert {end: len(path) - 1 for end, path in paths.items()} == expected
        for end, path in paths.items():
            assert nx.is_path(graph, path)
            assert (path[0], path[-1]) == ((node, end) if direction == "source" else (end, node))


@pytest.mark.parametrize("cutoff", [None, 0, 1.5, 2])
@pytest.mark.parametrize("what", ["shortest_path", "shortest_path_length"])
def test_all_pairs_with_a_cutoff(cutoff, what):
    graph = random_graph(nx.DiGraph)
    found, expected = (
        [(node, list(each.items())) for node, each in getattr(nx, f"all_pairs_{what}")(graph, cutoff, backend=name)]
        for name in ("garaph", "networkx")
    )
    assert found == expected


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_all_pairs_of_a_graph_of_garaph(tmp_path, encoding):
    graph = gp.rmat(5, 4)
    expected = dict(nx.all_pairs_shortest_path_length(graph, cutoff=2))
    gp.save(graph, tmp_path / "graph", encoding=encoding)
    for given in (gp.open(tmp_path / "graph"), opened(tmp_path / "graph", room=1 << 24)):
        assert dict(nx.all_pairs_shortest_path_length(given, cutoff=2)) == expected
        for source, paths in nx.all_pairs_shortest_path(given, cutoff=2):
            assert {end: len(path) - 1 for end, path in paths.items()} == expected[source]


@pytest.mark.slow
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
                expected = nx.bidirectional_shortest_path(graph, source, target)
                assert path == expected or (graph.is_directed() and len(path) == len(expected))
