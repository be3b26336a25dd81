"""Weakly connected components beside NetworkX's."""

from importlib import import_module

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

import garaph_py as gp
from garaph_py.algorithms import in_memory
from garaph_py.graph.build import from_numbered_edges
from tests.support import twins
from tests.support.components import GRAPHS, lengthen
from tests.support.networkx_graphs import on_disk, pairs, random_pair
from tests.support.stored_graphs import opened

module = import_module("garaph_py.algorithms.weakly_connected_components")
FUNCTIONS = "weakly_connected_components", "is_weakly_connected", "number_weakly_connected_components"


@given(pairs())
def test_networkx_has_the_same(both):
    components = nx.connected_components(both.theirs.to_undirected())
    expected = {v: min(component) for component in components for v in component}
    for graph in both.ours, both.ours.packed():
        assert gp.algorithms.weakly_connected_components(graph).to_dict() == expected
        assert gp.algorithms.number_weakly_connected_components(graph) == len(set(expected.values()))
        if graph.n:
            assert gp.algorithms.is_weakly_connected(graph) == (len(set(expected.values())) == 1)


@pytest.mark.spread
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize("called", GRAPHS)
def test_edges_in_one_direction_are_enough(called, encoding, turned, threads):
    edges = GRAPHS[called]
    graph = from_numbered_edges(edges.sources, edges.targets, edges.n)
    graph = (graph.reversed() if turned else graph)._encoded(encoding, None)
    found = gp.algorithms.weakly_connected_components(graph, threads=threads)
    np.testing.assert_array_equal(found.values, twins.components(edges))


@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize("called", GRAPHS)
def test_labels_are_roots_where_parents_are_none(called, encoding, monkeypatch):
    """A thread of `flatten` that shortens a path late leaves such parents."""
    edges, on_vertices = GRAPHS[called], in_memory.Call.on_vertices

    def late(self, kernel, *arguments, **vertices):
        counts = on_vertices(self, kernel, *arguments, **vertices)
        if kernel is module.FLATTEN:
            lengthen(*arguments)
        return counts

    monkeypatch.setattr(in_memory.Call, "on_vertices", late)
    graph = from_numbered_edges(edges.sources, edges.targets, edges.n)._encoded(encoding, None)
    found = gp.algorithms.weakly_connected_components(graph)
    np.testing.assert_array_equal(found.values, twins.components(edges))


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("called", GRAPHS)
def test_lists_in_any_order_are_enough(called, both):
    edges, rng = GRAPHS[called], np.random.default_rng(1)
    order = rng.permutation(len(edges.sources) * (1 + both))
    sources = np.concatenate([edges.sources, edges.targets])[: len(order)][order]
    targets = np.concatenate([edges.targets, edges.sources])[: len(order)][order]
    grouped = np.argsort(sources, kind="stable")
    offsets = np.append(0, np.cumsum(np.bincount(sources, minlength=edges.n)))
    graph = from_numbered_edges(edges.sources, edges.targets, edges.n)
    expected = gp.algorithms.weakly_connected_components(graph).values
    for threads in (1, 3):
        found = module.labels_of(offsets, targets[grouped].astype(np.uint32), both, threads)
        assert found.tolist() == expected.tolist()


def test_edges_within_the_largest_tree_are_left_out():
    edges = GRAPHS["dense"]
    graph = from_numbered_edges(edges.sources, edges.targets, edges.n)
    (row,) = gp.algorithms.weakly_connected_components(graph).stats.iterations
    assert row.edges < graph.m / 2


@pytest.mark.full
@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_edges_may_be_on_disk(tmp_path, encoding, two_cores):
    graph = random_pair(1, 3000, 4000, directed=True).ours
    gp.save(graph, tmp_path / "graph", encoding=encoding)
    stored = opened(tmp_path / "graph", 1 << 24)
    expected = gp.algorithms.weakly_connected_components(graph)
    found = gp.algorithms.weakly_connected_components(stored)
    np.testing.assert_array_equal(found.values, expected.values)
    assert found.stats.history.column("edges").sum() == graph.m
    assert gp.algorithms.number_weakly_connected_components(stored) == len(set(expected.values.tolist()))
    assert not gp.algorithms.is_weakly_connected(stored)


def test_undirected_edges_may_be_on_disk(tmp_path):
    stored = on_disk(random_pair(1, 40, 3000, directed=False).ours, tmp_path / "graph")
    assert set(gp.algorithms.weakly_connected_components(stored).column()) == {10}


def test_too_little_memory_is_refused(tmp_path):
    gp.save(random_pair(1, 3000, 40_000, directed=True).ours, tmp_path / "graph")
    with pytest.raises(gp.errors.GraphError, match=r"the run takes .* of memory for the vertices"):
        gp.algorithms.weakly_connected_components(opened(tmp_path / "graph", 1 << 20))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_no_graph_is_refused(name):
    with pytest.raises(gp.errors.ParameterError, match=f"{name} takes a Graph"):
        getattr(gp.algorithms, name)(nx.path_graph(3))


def test_a_graph_without_vertices_is_neither():
    with pytest.raises(gp.errors.GraphError, match="is_weakly_connected is not defined"):
        gp.algorithms.is_weakly_connected(gp.from_edges([], []))
