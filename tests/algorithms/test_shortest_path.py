"""A shortest path between two vertices, beside NetworkX's."""

from contextlib import suppress
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given

import garaph_py as gp
from garaph_py.algorithms import shortest_path
from tests.support.cases import mostly_full
from tests.support.networkx_graphs import valued_graphs


@pytest.mark.slow
@pytest.mark.parametrize("packed", mostly_full([False, True], "True"))
@pytest.mark.parametrize("weight", mostly_full([None, "weight"], "None"))
@given(both=valued_graphs())
def test_it_is_as_short_as_networkx_s(packed, weight, both):
    ours, theirs = both
    ours = ours.packed(threads=1) if packed else ours
    for target in range(ours.n):
        if nx.has_path(theirs, 0, target):
            path = shortest_path(ours, 0, target, weight=weight is not None, threads=1)
            assert (path[0], path[-1]) == (0, target)
            steps = [min(d["weight"] for d in theirs[a][b].values()) for a, b in pairwise(path)]
            length = sum(steps) if weight else len(steps)
            assert length == nx.dijkstra_path_length(theirs, 0, target, weight=weight or (lambda *_: 1))
        else:
            with pytest.raises(gp.errors.GraphError, match=f"no path leads from 0 to {target}"):
                shortest_path(ours, 0, target, weight=weight is not None, threads=1)


def least_lengths(graph):
    """The least length of the edges from a vertex to another."""
    least = {}
    for u, v, length in zip(*graph.edges().to_pydict().values(), strict=True):
        for ends in ((u, v),) if graph.directed else ((u, v), (v, u)):
            least[ends] = min(length, least.get(ends, length))
    return least


@pytest.mark.full
@given(both=valued_graphs())
def test_no_edge_leads_to_a_vertex_sooner_than_its_path(both):
    """So no path does, and a vertex without a path is one that no edge leads to from a vertex with one."""
    graph, _ = both
    least = least_lengths(graph)
    for source in range(0, graph.n, 3):
        lengths = {}
        for target in range(graph.n):
            with suppress(gp.errors.GraphError):
                path = shortest_path(graph, source, target, weight=True, threads=1)
                assert (path[0], path[-1]) == (source, target)
                lengths[target] = sum(least[ends] for ends in pairwise(path))
        assert lengths[source] == 0
        for (u, v), length in least.items():
            assert u not in lengths or lengths[v] <= lengths[u] + length


def test_unknown_ends_are_refused():
    graph = gp.from_edges(["a"], ["b"])
    for ends in (("a", "x"), ("x", "a")):
        with pytest.raises(gp.errors.UnknownVertexError, match="x"):
            shortest_path(graph, *ends)
