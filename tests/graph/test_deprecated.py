"""Replaced names work for one more version, with a warning that says what to use instead."""

from dataclasses import replace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py import graph as module
from garaph_py.graph import Adjacency
from garaph_py.native.threads import ThreadPool


@pytest.fixture
def graph():
    return gp.rmat(6, 4, weights=(1, 9))


@pytest.fixture
def old_packed():
    text = "PackedAdjacency will be removed in the next version; use Adjacency"
    with pytest.warns(DeprecationWarning, match=text) as caught:
        found = module.PackedAdjacency
    assert caught[0].filename == __file__
    return found


def test_the_class_of_packed_edges(graph, old_packed):
    with ThreadPool(1) as pool:
        packed = old_packed.of(graph._arrays.in_edges, pool)
    assert isinstance(packed, old_packed)
    assert isinstance(packed, Adjacency)
    assert not isinstance(graph._arrays.in_edges, old_packed)
    np.testing.assert_array_equal(packed.neighbours, graph._arrays.in_edges.neighbours)
    again = old_packed(packed.offsets, packed.neighbour_array, packed.value_array)
    assert isinstance(again, old_packed)


def test_the_class_of_edges_on_disk(graph, tmp_path):
    gp.save(graph, tmp_path / "g", block_bytes=8192, encoding="raw")
    with pytest.warns(DeprecationWarning, match="StoredAdjacency"):
        old = module.StoredAdjacency
    assert not isinstance(graph._arrays.in_edges, old)
    assert isinstance(gp.open(tmp_path / "g", memory="2kB")._arrays.in_edges, old)


@pytest.mark.parametrize(("old", "new"), [
    ("packed", "neighbour_array"), ("packed_values", "value_array"), ("lists", "neighbour_array"),
    ("numbers", "value_array"),
])  # fmt: skip
def test_attributes(graph, old, new):
    packed = graph.packed(1)._arrays.in_edges
    with pytest.warns(DeprecationWarning, match=f"Adjacency.{old} will be removed .* use Adjacency.{new}") as caught:
        found = getattr(packed, old)
    assert found is getattr(packed, new)
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match=old):
        assert isinstance(getattr(graph._arrays.in_edges, old), np.ndarray)


def test_has_packed_values(graph):
    for edges, expected in ((graph._arrays.in_edges, False), (graph.packed(1)._arrays.in_edges, True)):
        with pytest.warns(DeprecationWarning, match="use Adjacency.value_array.codec"):
            assert edges.has_packed_values is expected


@pytest.mark.parametrize(("old", "new"), [
    ("in_edges", "predecessors"), ("out_edges", "neighbors"), ("derived", r"Graph.release\(\)"),
])  # fmt: skip
def test_the_arrays_of_a_graph(graph, old, new):
    with pytest.warns(DeprecationWarning, match=f"Graph.{old} will be removed .* use .*{new}") as caught:
        found = getattr(graph, old)
    assert found is getattr(graph._arrays, old)
    assert caught[0].filename == __file__


def test_arguments(graph):
    edges = graph._arrays.in_edges
    with pytest.warns(DeprecationWarning, match="neighbour_array and value_array"):
        other = Adjacency(edges.offsets, neighbours=edges.neighbours, values=edges.values)
    assert other.neighbours is edges.neighbours
    values = np.zeros(graph.m, np.float32)
    with pytest.warns(DeprecationWarning, match="neighbour_array and value_array"):
        assert replace(edges, values=values).values is values
    assert replace(edges, offsets=edges.offsets).values is edges.values


def test_other_names_are_none(graph):
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = graph._arrays.in_edges.nothing
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = module.Nothing


def test_the_method_that_unpacked_edges(graph):
    packed = graph.packed()._arrays.in_edges
    said = pytest.warns(DeprecationWarning, match="Adjacency.unpacked .*; use Adjacency.encoded")
    with ThreadPool(1) as pool, said as caught:
        raw = packed.unpacked(pool)
    assert caught[0].filename == __file__
    assert raw.encoding == "raw"
    np.testing.assert_array_equal(raw.neighbours, graph._arrays.in_edges.neighbours)
    np.testing.assert_array_equal(raw.values, graph._arrays.in_edges.values)
