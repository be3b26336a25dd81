"""All predecessors on shortest paths."""

import networkx as nx
import pytest

import garaph_py as gp
from tests.support.networkx_calls import KINDS, outcome, random_graph
from tests.support.stored_graphs import opened


def listed(found):
    """An answer with the items of its dictionaries in their order."""
    if isinstance(found, tuple):
        return [listed(each) for each in found]
    return list(found.items()) if isinstance(found, dict) else found


def both(name, *args, **given):
    """The answers of the backend and of NetworkX."""
    return [listed(outcome(getattr(nx, name), *args, **given, backend=each)) for each in ("garaph", "networkx")]


@pytest.mark.spread
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("cutoff", [None, -1, 0, 1, 1.5, 2, 100, float("nan")])
def test_by_numbers_of_edges(kind, cutoff):
    graph = random_graph(kind, n=20, m=60)
    for source in (*graph, "nowhere"):
        for return_seen in (None, True):
            found, expected = both("predecessor", graph, source, cutoff=cutoff, return_seen=return_seen)
            assert found == expected
    first, *others = graph
    for target in (first, *others, "nowhere", [1]):
        for return_seen in (None, True):
            found, expected = both("predecessor", graph, first, target, cutoff, return_seen)
            assert found == expected


@pytest.mark.spread
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("whole", [True, False], ids=["integers", "floats"])
@pytest.mark.parametrize("weight", ["weight", None, "absent"])
def test_by_weight(kind, whole, weight):
    """Among the weights is 0, so that nodes may be before each other."""
    graph = random_graph(kind, n=20, m=60, whole=whole)
    for source in (*graph, "nowhere"):
        found, expected = both("dijkstra_predecessor_and_distance", graph, source, weight=weight)
        assert found == expected


def test_a_cutoff_is_left_to_networkx():
    with pytest.raises(NotImplementedError):
        nx.dijkstra_predecessor_and_distance(nx.path_graph(3), 0, cutoff=1, backend="garaph")


@pytest.mark.parametrize("on_disk", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_of_a_graph_of_garaph(on_disk, tmp_path):
    graph = gp.rmat(5, 4, weights=(1, 3))
    theirs = nx.MultiDiGraph()
    theirs.add_nodes_from(graph.ids)
    theirs.add_weighted_edges_from(zip(*graph.edges().to_pydict().values(), strict=True))
    if on_disk:
        gp.save(graph, tmp_path / "graph")
        graph = opened(tmp_path / "graph", room=1 << 24)
    for ours, expected in (
        (nx.predecessor(graph, 0), nx.predecessor(theirs, 0)),
        (nx.dijkstra_predecessor_and_distance(graph, 0)[0], nx.dijkstra_predecessor_and_distance(theirs, 0)[0]),
    ):
        assert {node: sorted(before) for node, before in ours.items()} == {
            node: sorted(before) for node, before in expected.items()
        }
