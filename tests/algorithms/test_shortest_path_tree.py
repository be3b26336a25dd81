"""Shortest-path trees: their distances are NetworkX's, and a path along parents is as long as a distance says."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import shortest_path_tree
from garaph_py.algorithms.shortest_path_tree import path_to
from tests.support.networkx_graphs import on_disk, valued, valued_graphs


def check(ours, theirs, source, weight, cutoff=None):
    found = shortest_path_tree(ours, source, cutoff=cutoff, weight=weight is not None, threads=1)
    how = {"cutoff": cutoff, "weight": weight or (lambda *_: 1)}
    expected = nx.single_source_dijkstra_path_length(theirs, source, **how)
    distance, parent = found.values["distance"], found.values["parent"]
    assert {v for v in range(ours.n) if parent[v] >= 0} == set(expected)
    for v, length in expected.items():
        path = path_to(parent, v)
        assert path[0] == source
        assert distance[v] == length
        hops = [min(d.get(weight, 1) for d in theirs[a][b].values()) for a, b in pairwise(path)]
        assert sum(hops) == length if weight else len(hops) == length


@given(valued_graphs(), st.sampled_from([None, "weight"]), st.sampled_from([None, 0, 1, 2.5, 4, np.inf]))
def test_paths_along_parents_are_shortest(both, weight, cutoff):
    check(*both, 0, weight, cutoff)


@pytest.mark.full
def test_a_larger_graph(tmp_path):
    """In memory and on disk; edges of length 0 form cycles, and follow each other."""
    draw = np.random.default_rng(3)
    edges = np.column_stack([draw.integers(0, 300, (1500, 2)), draw.integers(0, 3, 1500)]).tolist()
    edges += [(v, v + 1, 0) for v in range(299, 330)] + [(330, 299, 0)]
    ours, theirs = valued(331, edges, True)
    check(ours, theirs, 5, "weight")
    stored = shortest_path_tree(on_disk(ours, tmp_path / "g"), 5)
    assert (stored.values == shortest_path_tree(ours.packed(), 5).values).all()


def test_results_have_the_users_ids():
    graph = gp.from_edges(["a", "a", "b"], ["b", "c", "c"], weights=[1.0, 5, 2], vertices=["a", "b", "c", "d"])
    found = shortest_path_tree(graph, "a")
    assert found["c"] == {"distance": 3.0, "parent": "b"}
    assert found["d"] == {"distance": np.inf, "parent": None}
    assert shortest_path_tree(graph, "a", weight=False)["d"] == {"distance": -1, "parent": None}


def test_bad_arguments_are_refused():
    with pytest.raises(gp.errors.UnknownVertexError):
        shortest_path_tree(gp.from_edges([1], [2], weights=[1]), 9)
    with pytest.raises(gp.errors.ParameterError, match=r"shortest_path_tree\(cutoff=nan\): give a number of 0 or more"):
        shortest_path_tree(gp.from_edges([1], [2]), 1, cutoff=np.nan)
    graph = gp.from_edges([1, 2], [2, 3], weights=[1, -1])
    with pytest.raises(gp.errors.GraphError, match="needs edge values of 0 or more"):
        shortest_path_tree(graph, 1)


def test_paths_of_infinite_length_are_none():
    graph = gp.from_edges([0, 1, 2], [1, 2, 3], weights=np.float32([3e38] * 3))
    assert gp.algorithms.shortest_path_tree(graph, 0).values["parent"].tolist() == [0, 0, -1, -1]
