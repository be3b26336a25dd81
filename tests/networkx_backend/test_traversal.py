"""Breadth-first searches: the nodes that others reach, and trees."""

from itertools import chain, pairwise

import networkx as nx
import pytest

import garaph_py as gp
from tests.support.networkx_calls import KINDS, outcome, random_graph


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_layers_and_descendants(kind):
    graph = random_graph(kind, n=20, m=25)
    nodes = list(graph)
    for sources in (*nodes, nodes[:3], nodes[::5], []):
        found, expected = (list(nx.bfs_layers(graph, sources, backend=name)) for name in ("garaph", "networkx"))
        assert found == expected
    for node in nodes:
        for distance in (-1, 0, 1, 2, 50):
            assert nx.descendants_at_distance(graph, node, distance, backend="garaph") == nx.descendants_at_distance(
                graph, node, distance
            )
        assert nx.ancestors(graph, node, backend="garaph") == nx.ancestors(graph, node)


@pytest.mark.parametrize("name", ["ancestors", "descendants"])
def test_a_list_is_no_node(name):
    graph = nx.path_graph(3)
    for backend in ("garaph", "networkx"):
        with pytest.raises(TypeError, match="unhashable"):
            getattr(nx, name)(graph, [0], backend=backend)


TREES = ("bfs_edges", "bfs_predecessors", "bfs_successors")


@pytest.mark.spread
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("depth_limit", [None, -1, 0, 1, 1.5, 2, 100, float("nan")])
def test_trees(kind, depth_limit):
    graph = random_graph(kind, n=20, m=30)
    for source in (*graph, "nowhere", [1]):
        for name in TREES:
            found, expected = (
                outcome(getattr(nx, name), graph, source, depth_limit=depth_limit, backend=each)
                for each in ("garaph", "networkx")
            )
            assert found == expected
    for source in graph:
        tree, same = (nx.bfs_tree(graph, source, depth_limit=depth_limit, backend=b) for b in ("garaph", "networkx"))
        assert (list(tree), list(tree.edges)) == (list(same), list(same.edges))


@pytest.mark.parametrize("given", [{"reverse": True}, {"sort_neighbors": sorted}], ids=str)
def test_another_order_of_edges_is_left_to_networkx(given):
    for name in ("bfs_edges", "bfs_tree"):
        with pytest.raises(NotImplementedError):
            getattr(nx, name)(nx.path_graph(3), 0, **given, backend="garaph")


@pytest.mark.parametrize("directed", [True, False])
def test_the_tree_of_a_graph_of_garaph(directed):
    """Nodes come by their levels, and those found from one node together, as in NetworkX."""
    graph = gp.rmat(5, 2, directed=directed)
    level = nx.single_source_shortest_path_length(graph, 0)
    edges = list(nx.bfs_edges(graph, 0))
    assert all(level[child] == level[parent] + 1 for parent, child in edges)
    assert sorted([0, *(child for _, child in edges)]) == sorted(level)
    assert all(level[first] <= level[last] for (_, first), (_, last) in pairwise(edges))
    groups = dict(nx.bfs_successors(graph, 0))
    assert [(parent, child) for parent, children in groups.items() for child in children] == edges
    assert sorted(chain([0], *groups.values())) == sorted(level)
    assert list(nx.bfs_predecessors(graph, 0)) == [(child, parent) for parent, child in edges]
