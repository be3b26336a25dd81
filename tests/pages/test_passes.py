"""Passes over all edges: the sums of weights, and self-loops, wherever the edges are."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.graph import group
from garaph_py.graph.arrays import OUT_WEIGHTS
from garaph_py.pages import passes
from tests.support import twins
from tests.support.stored_graphs import opened

EDGES = twins.skewed(4, 500, 3000, "float64")


@pytest.mark.parametrize("place", ["memory", "packed", "disk"])
@pytest.mark.parametrize("directed", [True, False])
def test_weights_of_out_edges_are_summed(graph_of, tmp_path, place, directed):
    edges = EDGES.weighted(EDGES.weights.astype(np.float32))
    graph = graph_of(edges, directed=directed)
    if place == "packed":
        graph = graph.packed()
    if place == "disk":
        gp.save(graph, tmp_path / "graph")
        graph = opened(tmp_path / "graph", room=1 << 24)
    every = edges if directed else edges.both_ways()
    sums = passes.out_weights(graph)
    np.testing.assert_allclose(sums, np.bincount(every.sources, every.weights, every.n), rtol=1e-12)
    assert passes.out_weights(graph) is sums
    graph._arrays.derived.release(OUT_WEIGHTS)
    assert OUT_WEIGHTS not in graph._arrays.derived


def test_smaller_sums_take_the_place_of_the_exact_ones(graph_of):
    graph = graph_of(EDGES)
    exact = passes.out_weights(graph)
    before = graph._arrays.derived.nbytes
    sums = passes.out_weights(graph, np.float32)
    np.testing.assert_array_equal(sums, exact.astype(np.float32))
    assert passes.out_weights(graph, np.float32) is sums
    assert graph._arrays.derived.nbytes == before - exact.nbytes + sums.nbytes


@pytest.mark.parametrize("place", ["memory", "disk"])
@pytest.mark.parametrize("looped", [True, False])
def test_self_loops_are_found(tmp_path, place, looped):
    sources, targets = np.arange(400), np.roll(np.arange(400), 1)
    targets[300] = 300 if looped else targets[300]
    graph = gp.from_edges(sources, targets)
    if place == "disk":
        gp.save(graph, tmp_path / "graph")
        graph = opened(tmp_path / "graph", room=1 << 24)
    assert graph.on_disk == (place == "disk")
    assert passes.has_loops(graph) is looped


def test_a_kernel_adds_what_its_function_adds():
    others, found, expected = EDGES.sources.astype(np.uint32), np.zeros(EDGES.n), np.zeros(EDGES.n)
    group.ADD_VALUES(others, EDGES.weights, len(others), 100, 400, found)
    group.ADD_VALUES.function(others, EDGES.weights, len(others), 100, 400, expected)
    np.testing.assert_array_equal(found, expected)
    assert not found[:100].any()
    assert not found[400:].any()
