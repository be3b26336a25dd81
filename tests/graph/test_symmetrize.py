"""The undirected graph of a directed one, against counting."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from garaph_py.graph.build import from_edges

VALUES = {"none": None, "int32": [-1, 3], "float64": [0.5, -np.inf, np.nan]}
VERTICES = st.integers(0, 6)


def union(edges):
    """How often each undirected edge occurs: of k in one direction and l in the other, max(k, l)."""
    forth = Counter((u, v, value) for u, v, value in edges if u <= v)
    back = Counter((v, u, value) for u, v, value in edges if u > v)
    return forth | back


def counts_of(graph):
    """The same of a graph's lists, after a check that both vertices of an edge list it in the same order."""
    ids, edges, lists = graph.ids.array(), graph._arrays.in_edges, {}
    values = ["-"] * graph.m if edges.values is None else map(str, edges.values.tolist())
    owners = np.repeat(ids, np.diff(edges.offsets)).tolist()
    for owner, other, value in zip(owners, ids[edges.neighbours].tolist(), values, strict=True):
        lists.setdefault((owner, other), []).append(value)
    assert all(found == lists[other, owner] for (owner, other), found in lists.items())
    return Counter((u, v, value) for (u, v), found in lists.items() if u <= v for value in found)


@pytest.mark.full
@settings(deadline=None)
@given(st.lists(st.tuples(VERTICES, VERTICES, st.integers(0, 2)), min_size=1), st.sampled_from(list(VALUES)))
def test_equal_edges_in_both_directions_become_one(edges, kind):
    values = VALUES[kind]
    weights = None if values is None else np.array([values[i % len(values)] for _, _, i in edges], kind)
    graph = from_edges(*np.array(edges).T[:2], weights, threads=2)
    both = graph.symmetrized(threads=2)
    said = ["-"] * len(edges) if weights is None else map(str, weights.tolist())
    assert counts_of(both) == union([(u, v, value) for (u, v, _), value in zip(edges, said, strict=True)])
    assert (both.edge_dtype, both.directed) == (graph.edge_dtype, False)
    assert both.symmetrized() is both


@pytest.mark.full
@pytest.mark.parametrize("threads", [1, 3])
def test_many_edges(threads):
    rng = np.random.default_rng(1)
    sources, targets, weights = rng.integers(0, 300, 60_000), rng.integers(0, 300, 60_000), rng.integers(0, 4, 60_000)
    both = from_edges(sources, targets, weights).symmetrized(threads)
    edges = list(zip(sources.tolist(), targets.tolist(), map(str, weights.tolist()), strict=True))
    assert counts_of(both) == union(edges)


def test_packed_edges_can_be_symmetrized():
    graph = from_edges([1, 2, 2, 3], [2, 1, 3, 3], [5, 5, 7, 8])
    assert counts_of(graph.packed().symmetrized()) == Counter({(1, 2, "5"): 1, (2, 3, "7"): 1, (3, 3, "8"): 1})
