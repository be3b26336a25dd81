"""Graphs of NetworkX, against the edges that NetworkX lists itself."""

import sys
from collections import OrderedDict, UserDict

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from garaph_py.errors import GaraphError, GraphError, ParameterError
from garaph_py.graph import networkx
from garaph_py.graph.build import from_edges
from garaph_py.graph.networkx import from_networkx
from garaph_py.graph.nodes import Nodes
from tests.support.networkx_calls import KINDS, random_graph

NODES = st.one_of(
    st.lists(st.integers(-2, 9), min_size=1),
    st.lists(st.integers(0, 2**63 - 1), min_size=1),
    st.lists(st.integers(0, 5).map(np.int32), min_size=1),
    st.lists(st.sampled_from("abcdef"), min_size=1),
    st.lists(st.sampled_from(["a", 7, (1, "b"), 2.5, True, frozenset()]), min_size=1),
)
WEIGHTS = st.sampled_from(
    [
        st.none(),
        st.integers(-3, 3),
        st.integers(-(2**63), 2**63 - 1) | st.floats(),
        st.booleans(),
        st.sampled_from([None, 1, 2.5]),
        st.sampled_from([np.float32(1.5), np.float32(2)]),
        st.sampled_from([1, "heavy", 2**63, 2**70, 1j]),
    ]
)
OTHERS = st.dictionaries(st.sampled_from(["a", "cost", 5, ("b", 1)]), st.just(0), max_size=2)


@st.composite
def graphs(draw):
    graph, nodes, weights = draw(st.sampled_from(KINDS))(), draw(NODES), draw(WEIGHTS)
    graph.add_nodes_from(nodes)
    for _ in range(draw(st.integers(0, 20))):
        ends, data = [draw(st.sampled_from(nodes)) for _ in range(2)], draw(OTHERS)
        if draw(st.booleans()):
            data["weight"] = draw(weights)
        graph.add_edges_from([(*ends, data)])
    return graph


def from_list(graph, *, weight="weight", **options):
    """The graph of the edges that NetworkX lists."""
    integers = all(isinstance(node, (int, np.integer)) and not isinstance(node, bool) for node in graph)
    name, edges = int if integers else str, list(graph.edges(data=weight or ""))
    values = [1 if value is None else value for _, _, value in edges]
    return from_edges(
        [name(u) for u, _, _ in edges],
        [name(v) for _, v, _ in edges],
        values if any(value is not None for _, _, value in edges) else None,
        vertices=list(map(name, graph)),
        directed=graph.is_directed(),
        **options,
    )


def outcome(make, graph, **options):
    """The edges, in one order, the ids, and the type of values; or the type of an error."""
    try:
        made = make(graph, **options)
    except GaraphError as error:
        return type(error)
    sources, targets, *values = (column.to_pylist() for column in made.edges().columns)
    ends = zip(sources, targets, strict=True)
    ends = [pair if made.directed else tuple(sorted(pair)) for pair in ends]
    rows = sorted(zip(ends, map(repr, *values), strict=True)) if values else sorted(ends)
    return rows, sorted(made.ids.array().tolist()), made.directed, made.m, made.edge_dtype


@pytest.mark.full
@settings(deadline=None)
@given(graph=graphs(), weight=st.sampled_from(["weight", None]), options=st.sampled_from([{}, {"drop_parallel": True}]))
def test_the_edges_are_those_that_networkx_lists(graph, weight, options):
    assert outcome(from_networkx, graph, weight=weight, **options) == outcome(
        from_list, graph, weight=weight, **options
    )


@pytest.mark.slow
@settings(deadline=None)
@given(graph=graphs(), data=st.data())
def test_views_show_their_own_edges(graph, data):
    nodes = data.draw(st.sets(st.sampled_from(list(graph))))
    for view in (
        graph.subgraph(nodes),
        nx.restricted_view(graph, nodes, list(graph.edges)[::2]),
        graph.reverse(copy=False) if graph.is_directed() else nx.freeze(graph.copy()),
        graph.to_undirected(as_view=True),
        graph.to_directed(as_view=True),
        nx.subgraph_view(graph, filter_edge=lambda u, *others: hash(u) < hash(others[0])),
        nx.subgraph_view(graph, filter_edge=lambda u, *others: hash(u) > hash(others[0])),
    ):
        assert outcome(from_networkx, view) == outcome(from_list, view)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("factory", ["adjlist_outer", "adjlist_inner", "edge_key", "edge_attr"])
@pytest.mark.parametrize("mapping", [OrderedDict, UserDict])
def test_dictionaries_may_be_of_other_classes(kind, factory, mapping):
    made = type("Made", (kind,), {f"{factory}_dict_factory": mapping})
    graph = made([(0, 1, {"weight": 2}), (1, 2, {})])
    assert from_networkx(graph).edges().to_pydict() == {"source": [0, 1], "target": [1, 2], "weight": [2, 1]}


def test_a_class_may_list_other_edges():
    class Other(nx.DiGraph):
        @property
        def edges(self):
            return nx.DiGraph([(2, 1)]).edges

    class Kept:
        """Not a class of NetworkX's, but it has what this package asks for."""

        def __init__(self, graph):
            self.nodes, self.edges, self.is_directed = graph.nodes, graph.edges, graph.is_directed

    graph = random_graph(nx.MultiDiGraph)
    assert outcome(from_networkx, Kept(graph)) == outcome(from_list, graph)
    assert from_networkx(Other([(0, 1), (2, 0)])).edges().to_pydict() == {"source": [2], "target": [1]}


def test_a_class_may_list_its_nodes_in_another_order():
    class Sorted(nx.DiGraph):
        def __iter__(self):
            return iter(sorted(self._node))

    graph = Sorted([("c", "a"), ("a", "b"), ("c", "b")])
    assert outcome(from_networkx, graph) == outcome(from_list, graph)
    assert from_networkx(graph).ids.array().tolist() == list(graph.nodes)


def test_a_python_without_its_lock_reads_dictionaries_itself(monkeypatch):
    graph = random_graph(nx.MultiGraph)
    expected = outcome(from_networkx, graph)
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    monkeypatch.setattr("garaph_py.graph.dictionaries.FIND_INTEGERS", None)
    assert outcome(from_networkx, graph) == expected == outcome(from_list, graph)


def test_a_neighbour_that_is_no_node_is_refused():
    graph = nx.DiGraph([(0, 1), (1, 3)])
    del graph._node[1]
    with pytest.raises(GraphError, match="an edge to 1, which is not one of its nodes"):
        from_networkx(graph)


@pytest.mark.parametrize("way", ["compiled", "python"])
def test_a_graph_that_has_changed_meanwhile_is_refused(way, monkeypatch):
    if way == "python":
        monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    graph = nx.MultiGraph([(0, 1), (1, 2)])
    lists = networkx.Lists(graph, Nodes(list(graph)))
    graph.add_edge(0, 1)
    with pytest.raises(GraphError, match="another thread has changed the graph"):
        lists.weights("weight")


def test_what_compares_keys_may_raise_and_may_change_the_graph():
    class Clears:
        def __hash__(self):
            return hash("weight")

        def __eq__(self, other):
            for row in graph._adj.values():
                row.clear()
            raise LookupError("the graph is gone")

    graph = nx.Graph([(k, k + 1, {"weight": float(k)}) for k in range(1, 1000)])
    graph.add_edges_from([(0, 1, {Clears(): 1})])
    with pytest.raises(LookupError, match="the graph is gone"):
        from_networkx(graph)


def test_an_edge_without_the_attribute_has_the_value_1():
    graph = from_networkx(nx.DiGraph([(1, 2, {"weight": 2.5}), (2, 3)]))
    assert graph._arrays.in_edges.values.tolist() == [2.5, 1.0]
    assert from_networkx(nx.DiGraph(), weight="cost").m == 0


def test_vertices_are_in_the_order_of_names_or_of_numbers():
    assert from_networkx(nx.DiGraph([("b", "c"), ("a", "b")])).ids.array().tolist() == ["b", "c", "a"]
    assert from_networkx(nx.DiGraph([(2, 3), (1, 2)])).ids.array().tolist() == [1, 2, 3]


def networkx_graph(*weights):
    graph = nx.DiGraph()
    graph.add_edges_from((k, k + 1, {"weight": value}) for k, value in enumerate(weights))
    return graph


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: from_networkx(None), "not a NetworkX graph but NoneType"),
        (lambda: from_networkx({1: [2]}), "not a NetworkX graph but dict"),
        (lambda: from_networkx(nx.Graph), "not a NetworkX graph but type"),
        (lambda: from_networkx(nx.Graph(), weight=[]), r"weight=\[\]: give the name"),
        (lambda: from_networkx(nx.Graph(), drop_parallel="no"), "drop_parallel='no': give True or False"),
        (lambda: from_networkx(networkx_graph([1], [1, 2])), "weights are a nested list"),
        (lambda: from_networkx(networkx_graph("heavy")), "weights of type string cannot"),
        (lambda: from_networkx(nx.Graph([(1, "1")])), "same name"),
        (lambda: from_networkx(nx.Graph([(1, 2**70)])), "an integer of 71 bits"),
        (lambda: from_networkx(nx.Graph([(1, 2, {"cost": 3})]), weight="costs"), "no edge has an attribute 'costs'"),
    ],
)
def test_what_is_no_graph_is_refused(make, message):
    with pytest.raises((GraphError, ParameterError), match=message):
        make()


def test_graphs_are_read_without_values_on_request():
    assert from_networkx(networkx_graph(3, 4), weight=None).edge_dtype is None
