"""Shortest paths by weights."""

import networkx as nx
import pytest

import garaph_py as gp
from garaph_py.errors import GraphError
from tests.support.networkx_calls import KINDS, outcome, random_graph


@pytest.mark.parametrize("cutoff", [float("nan"), float("inf"), -float("inf"), 2.0**53, 2**53, 1e300, 2**70])
def test_unusual_cutoffs(cutoff):
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, 2**53 + 1, "weight")
    for weight in (None, "weight"):
        found = nx.single_source_dijkstra_path_length(graph, 0, cutoff, weight, backend="garaph")
        assert found == nx.single_source_dijkstra_path_length(graph, 0, cutoff, weight)


@pytest.mark.parametrize("function", [nx.dijkstra_path, nx.bellman_ford_path])
def test_without_a_target_there_is_a_path_to_each_node(function):
    assert function(nx.path_graph(3), 0, None, backend="garaph") == {0: [0], 1: [0, 1], 2: [0, 1, 2]}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("whole", [True, False], ids=["integers", "floats"])
@pytest.mark.parametrize("cutoff", [None, -1, 0, 5])
def test_distances_and_paths(kind, whole, cutoff):
    """Among the weights is 0, so that edges without length form circles."""
    graph = random_graph(kind, n=15, m=40, whole=whole)
    for node in graph:
        found, paths = nx.single_source_dijkstra(graph, node, cutoff=cutoff, backend="garaph")
        expected, same = nx.single_source_dijkstra(graph, node, cutoff=cutoff)
        assert list(found.items()) == list(expected.items())
        assert list(paths.items()) == list(same.items())
        assert list(map(type, found.values())) == list(map(type, expected.values()))


@pytest.mark.spread
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("weight", ["weight", None, "absent"])
@pytest.mark.parametrize("cutoff", [None, 2])
def test_from_several_sources(kind, weight, cutoff):
    graph = random_graph(kind, n=20, m=25)
    sources = list(graph)[::4]
    for name in ("multi_source_dijkstra_path_length", "multi_source_dijkstra_path"):
        found, expected = (
            getattr(nx, name)(graph, sources, cutoff=cutoff, weight=weight, backend=each)
            for each in ("garaph", "networkx")
        )
        assert list(found.items()) == list(expected.items())
    for target in [None, *graph, "nowhere", [1]]:
        found, expected = (
            outcome(nx.multi_source_dijkstra, graph, sources, target, cutoff, weight, backend=each)
            for each in ("garaph", "networkx")
        )
        assert found == expected


def test_from_several_sources_of_a_graph_of_garaph():
    graph = gp.from_edges([0, 1, 2, 5], [1, 2, 3, 3], weights=[1, 1, 4, 2])
    distances, paths = nx.multi_source_dijkstra(graph, [0, 5])
    assert distances == {0: 0, 5: 0, 1: 1, 2: 2, 3: 2}
    assert paths == {0: [0], 5: [5], 1: [0, 1], 2: [0, 1, 2], 3: [5, 3]}
    assert nx.multi_source_dijkstra(graph, [0, 5], target=2) == (2, [0, 1, 2])


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_paths_from_each_node_to_each(kind):
    graph = random_graph(kind)
    for source in graph:
        for target in graph:
            found, expected = (
                outcome(nx.dijkstra_path, graph, source, target, backend=name) for name in ("garaph", "networkx")
            )
            assert found == expected


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph], ids=lambda kind: kind.__name__)
def test_paths_of_a_graph_of_garaph(kind):
    graph = random_graph(kind)
    mine = gp.from_edges(*zip(*graph.edges(), strict=True), [w for *_, w in graph.edges(data="weight")],
                         directed=graph.is_directed())  # fmt: skip
    node = next(iter(graph))
    found, paths = nx.single_source_dijkstra(mine, node)
    assert found == nx.single_source_dijkstra_path_length(graph, node)
    assert list(found) == list(paths)
    assert list(found.values()) == sorted(found.values())
    for end, path in paths.items():
        assert (path[0], path[-1], len(set(path))) == (node, end, len(path))
        assert nx.path_weight(graph, path, "weight") == found[end]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("whole", [True, False], ids=["integers", "floats"])
def test_all_pairs(kind, whole):
    graph = random_graph(kind, whole=whole)
    for cutoff in (None, 4):
        found, expected = (
            [(k, list(each.items())) for k, each in nx.all_pairs_dijkstra_path_length(graph, cutoff, backend=name)]
            for name in ("garaph", "networkx")
        )
        assert found == expected


def test_weights_beyond_float64_are_exact():
    graph = nx.DiGraph([(0, 1, {"weight": 2**60}), (1, 2, {"weight": 1})])
    assert dict(nx.all_pairs_dijkstra_path_length(graph, backend="garaph"))[0][2] == 2**60 + 1
    assert nx.dijkstra_path_length(graph, 0, 2, backend="garaph") == 2**60 + 1


@pytest.mark.parametrize("name", ["dijkstra", "bellman_ford"])
@pytest.mark.parametrize("pair", [(0, 2), (2, 0), (0, 0), (0, 9), (9, 0), (9, 9)], ids=str)
def test_pairs_and_their_exceptions(name, pair):
    graph = nx.DiGraph([(0, 1, {"weight": 2}), (1, 2, {"weight": 3}), (0, 2, {"weight": 9})])
    for what in ("path", "path_length"):
        function = getattr(nx, f"{name}_{what}")
        assert outcome(function, graph, *pair, backend="garaph") == outcome(function, graph, *pair)
    function = getattr(nx, f"single_source_{name}")
    assert outcome(function, graph, *pair, backend="garaph") == outcome(function, graph, *pair)


def test_lengths_below_0_are_networkx_s():
    graph = nx.DiGraph([(0, 1, {"weight": -2})])
    for function in (nx.single_source_dijkstra_path_length, nx.single_source_bellman_ford_path_length):
        with pytest.raises(NotImplementedError):
            function(graph, 0, backend="garaph")
    for function in (nx.all_pairs_dijkstra_path_length, nx.all_pairs_bellman_ford_path, nx.all_pairs_dijkstra):
        with pytest.raises(NotImplementedError):  # at once, while NetworkX can still fall back
            function(graph, backend="garaph")
    with pytest.raises(NotImplementedError):  # also for a target that is not there
        nx.dijkstra_path_length(graph, 0, "nowhere", backend="garaph")
    with pytest.raises(GraphError, match="the edge 0 -> 1 has -2"):
        nx.shortest_path_length(gp.from_edges([0], [1], [-2]), 0, 1, weight="weight")


@pytest.mark.parametrize("sources", [[], [0, 9], [0, [1]]], ids=str)
def test_sources_that_are_none(sources):
    for name in ("multi_source_dijkstra", "multi_source_dijkstra_path", "multi_source_dijkstra_path_length"):
        found, expected = (
            outcome(getattr(nx, name), nx.path_graph(2), sources, backend=each) for each in ("garaph", "networkx")
        )
        assert found == expected


@pytest.mark.parametrize(
    "name", ["single_source_dijkstra", "single_source_dijkstra_path_length", "single_source_bellman_ford_path"]
)
def test_a_list_is_no_node(name):
    for backend in ("garaph", "networkx"):
        with pytest.raises(TypeError, match="unhashable"):
            getattr(nx, name)(nx.path_graph(3), [0], backend=backend)
