"""Conversions: the edges are the same, nodes keep their order, and what no array holds is refused."""

import operator
import sys
from collections import OrderedDict, UserDict

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.networkx_backend.convert import WAYS, convert_from_nx, convert_to_nx
from garaph_py.networkx_backend.graph import BackendGraph
from tests.support.networkx_calls import KINDS, random_graph

NODES = st.one_of(st.integers(0, 9), st.sampled_from(["a", "b", (1, 2), 2.5, frozenset()]))
EDGES = st.lists(st.tuples(NODES, NODES, st.one_of(st.none(), st.integers(-3, 3))), max_size=20)


def bag(graph, default=1):
    """The edges with their weights, in no order; both ends of an undirected edge are in one order."""
    numbers = {node: k for k, node in enumerate(graph)}
    found = []
    for u, v, weight in graph.edges(data="weight", default=default):
        ends = [numbers[u], numbers[v]]
        found.append((*(ends if graph.is_directed() else sorted(ends)), weight))
    return sorted(found)


@pytest.mark.spread
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(edges=EDGES, lone=st.lists(NODES, max_size=3))
def test_there_and_back(kind, edges, lone):
    graph = kind()
    graph.add_nodes_from(lone)
    for u, v, weight in edges:
        graph.add_edge(u, v, **({} if weight is None else {"weight": weight}))
    converted = convert_from_nx(graph, edge_attrs={"weight": 1})
    back = convert_to_nx(converted)
    assert list(back) == list(graph) == list(converted)
    assert bag(back) == bag(graph)
    assert back.is_directed() == graph.is_directed()
    assert back.is_multigraph() or not graph.is_multigraph()
    plain = convert_from_nx(graph)
    assert plain.graph.edge_dtype is None
    assert plain.number_of_edges() == converted.number_of_edges() == graph.number_of_edges()


@pytest.mark.parametrize("nodes", [range(30), range(0, 60, 2), [3, 1, 2, 0], [10**12, 5], [True, 0, 2], [-1, 0]])
def test_integers_in_any_order_are_nodes(nodes):
    graph = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(zip(nodes, [*nodes][1:], strict=False))
    found = convert_to_nx(convert_from_nx(graph))
    assert list(found) == list(nodes)
    assert set(found.edges) == set(graph.edges)


def test_views_are_graphs():
    graph = random_graph(nx.DiGraph)
    several = random_graph(nx.MultiGraph)
    for view in (
        graph.reverse(copy=False),
        graph.subgraph(list(graph)[::2]),
        nx.restricted_view(several, [], list(several.edges(keys=True))[::2]),
    ):
        found = convert_to_nx(convert_from_nx(view, edge_attrs={"weight": 1}))
        assert bag(found) == bag(view)


def test_an_edge_that_lacks_the_attribute_has_the_default():
    graph = nx.Graph([(0, 1, {"length": 5}), (1, 2)])
    assert bag(convert_to_nx(convert_from_nx(graph, edge_attrs={"length": 7})).edge_subgraph([]), 0) == []
    assert sorted(convert_from_nx(graph, edge_attrs={"length": 7}).graph.edges()["weight"].to_pylist()) == [5, 7]
    assert convert_to_nx(convert_from_nx(graph, edge_attrs={"length": 7}))[1][2] == {"length": 7}


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2], np.int64),
        ([1, 2.5], np.float64),
        ([True, False], np.int32),
        ([np.float32(1), np.float32(2)], np.float32),
    ],
)
def test_numbers_keep_their_type(values, dtype):
    graph = nx.Graph([(0, 1, {"weight": values[0]}), (1, 2, {"weight": values[1]})])
    assert convert_from_nx(graph, edge_attrs={"weight": 1}).graph.edge_dtype == dtype


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    "value",
    [None, "5", [1, 2], [[1], 2], 1j, float("nan"), float("inf"), 2**63, 2**70, -(2**63) - 1, object()],
    ids=lambda value: repr(value).partition(" at ")[0],  # the same in each process
)
def test_what_is_no_number_of_64_bits_is_refused(value, kind):
    graph = kind()
    graph.add_edge(0, 1, weight=value)
    graph.add_edge(1, 2, weight=3)
    with pytest.raises(NotImplementedError, match="weight"):
        convert_from_nx(graph, edge_attrs={"weight": 1})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_integers_whose_sum_takes_more_than_63_bits_are_refused(kind):
    graph = kind([(0, 1, {"weight": 2**62}), (1, 2, {"weight": 2**62})])
    with pytest.raises(NotImplementedError, match="exceeds 63 bits"):
        convert_from_nx(graph, edge_attrs={"weight": 1})
    graph = kind([(0, 1, {"weight": 2**62}), (1, 2, {"weight": 2**61})])
    assert convert_from_nx(graph, edge_attrs={"weight": 1}).graph.edge_dtype == np.int64


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph], ids=lambda kind: kind.__name__)
def test_a_view_without_directions_keeps_no_weights(kind):
    """NetworkX takes the weight of the edge in the direction of its search."""
    graph = kind([(0, 1, {"weight": 2}), (1, 0, {"weight": 3}), (1, 2, {"weight": 4})])
    view = graph.to_undirected(as_view=True)
    for each in (view, view.subgraph([0, 1])):
        with pytest.raises(NotImplementedError, match="the view"):
            convert_from_nx(each, edge_attrs={"weight": 1})
        assert convert_from_nx(each).number_of_edges() == each.number_of_edges()
    assert convert_from_nx(graph.to_undirected(), edge_attrs={"weight": 1}).graph.edge_dtype == np.int64


def test_a_view_of_a_graph_that_changes_is_converted_again():
    graph = nx.path_graph(6, create_using=nx.DiGraph)
    for view in (graph.subgraph([0, 1, 2, 3]), graph.reverse(copy=False), graph.to_undirected(as_view=True)):
        for change in (graph.add_edge, graph.remove_edge):
            assert nx.descendants(view, 3, backend="garaph") == nx.descendants(view, 3)
            change(3, 0)
        assert nx.descendants(view, 3, backend="garaph") == nx.descendants(view, 3)


@pytest.mark.spread
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("factory", ["adjlist_outer", "adjlist_inner", "edge_key", "edge_attr"])
@pytest.mark.parametrize("mapping", [OrderedDict, UserDict])
def test_dictionaries_of_other_classes_are_converted(kind, factory, mapping):
    graph = type("Made", (kind,), {f"{factory}_dict_factory": mapping})([(0, 1, {"weight": 2}), (1, 2, {})])
    found = convert_from_nx(graph, edge_attrs={"weight": 1}).graph
    assert found.edges().to_pydict() == {"source": [0, 1], "target": [1, 2], "weight": [2, 1]}
    assert convert_from_nx(graph).graph.edges().to_pydict() == {"source": [0, 1], "target": [1, 2]}


def test_a_neighbour_that_is_no_node_is_refused():
    graph = nx.DiGraph([(0, 1), (1, 3)])
    del graph._node[1]
    with pytest.raises(gp.errors.GraphError, match="an edge to 1, which is not one of its nodes"):
        convert_from_nx(graph)


def test_a_python_without_its_lock_reads_dictionaries_itself(monkeypatch):
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    graph = random_graph(nx.MultiGraph)
    assert bag(convert_to_nx(convert_from_nx(graph, edge_attrs={"weight": 1}))) == bag(graph)


def test_one_attribute_is_kept():
    graph = nx.path_graph(3)
    with pytest.raises(NotImplementedError, match="one edge attribute"):
        convert_from_nx(graph, edge_attrs={"a": 1, "b": 1})
    with pytest.raises(NotImplementedError, match="one edge attribute"):
        convert_from_nx(graph, preserve_edge_attrs=True)


def test_neighbours_that_are_computed_are_refused():
    class Complement(nx.Graph):
        def __getitem__(self, node):
            return {other: {} for other in self if other not in self._adj[node]}

    with pytest.raises(NotImplementedError, match="Complement has a way of its own"):
        convert_from_nx(Complement([(0, 1)]))


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_other_ways_to_find_nodes_and_neighbours_are_refused_too(kind):
    class Named(kind):
        def __str__(self):
            return "named"

    assert convert_from_nx(Named([(0, 1)])).graph.n == 2
    for name in (name for name in WAYS if hasattr(kind, name)):
        own = type("Own", (kind,), {name: lambda self, *given: False})
        with pytest.raises(NotImplementedError, match="Own has a way of its own"):
            convert_from_nx(own())


class Unwilling:
    def __array__(self, dtype=None, copy=None):
        raise TypeError("no number")


@pytest.mark.parametrize(("weights", "why"), [
    ([Unwilling(), Unwilling()], "no numbers"), ([1e308, 1e308], "may be infinite"),
    (np.float32([3e38, 3e38]), "may be infinite"), ([1.5, np.int64(2**53 + 1)], "large integers among floats"),
    ([np.uint64(2**53 + 1), np.int64(1)], "large integers among floats"),
])  # fmt: skip
def test_weights_that_would_be_changed_are_refused(weights, why):
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, dict(zip(graph.edges, weights, strict=True)), "weight")
    with pytest.raises(NotImplementedError, match=why):
        convert_from_nx(graph, edge_attrs={"weight": 1})


def test_a_graph_of_garaph_becomes_networkx_s():
    graph = gp.from_edges(["a", "b", "b"], ["b", "c", "c"], [1, 2, 3])
    found = convert_to_nx(graph)
    assert isinstance(found, nx.MultiDiGraph)
    assert list(found.edges(data="weight")) == [("a", "b", 1), ("b", "c", 2), ("b", "c", 3)]
    assert convert_to_nx(5) == 5
    assert isinstance(convert_to_nx(BackendGraph(gp.from_edges([0], [1], directed=False))), nx.Graph)


@pytest.mark.parametrize("weight", ["weight", None])
@pytest.mark.parametrize("keeps", [operator.lt, operator.gt], ids=["up", "down"])
def test_undirected_views_that_leave_out_one_direction_are_refused(keeps, weight):
    graph = nx.path_graph(7)
    view = nx.subgraph_view(graph, filter_edge=keeps)
    with pytest.raises(NotImplementedError, match="in one direction only"):
        convert_from_nx(view, edge_attrs=weight and {weight: 1})
    both = nx.subgraph_view(graph, filter_edge=lambda u, v: {u, v} != {2, 3})
    assert convert_from_nx(both, edge_attrs=weight and {weight: 1}).graph.m == 10
