"""The functions together: they are NetworkX's, and answer as it does."""

import inspect
import logging
from collections.abc import Iterator
from itertools import chain

import networkx as nx
import pytest

import garaph_py as gp
from garaph_py.errors import GraphError
from garaph_py.networkx_backend import backend
from garaph_py.networkx_backend.info import FUNCTIONS
from tests.support.cases import mostly_full
from tests.support.networkx_calls import KINDS, SUBGRAPHS, outcome, random_graph
from tests.support.stored_graphs import opened

CONNECTED = ("average_shortest_path_length", "center", "diameter", "eccentricity", "periphery", "radius")
"""Functions that raise an exception for a graph that is not connected."""
UNDIRECTED = ("transitivity",)
"""Functions that NetworkX has for directed graphs too, and the backend has not."""
DIRECTED = ("condensation", "in_degree", "out_degree", "strongly", "topological", "weakly")
"""What the names of functions for directed graphs have in them."""
IN_MEMORY = (
    "average_clustering", "clustering", "condensation", "k_truss",
    "label_propagation_communities", "transitivity", "triangles",
)  # fmt: skip
"""Functions that need a graph's edges in memory."""
SIMILAR = sorted({*FUNCTIONS} - {*SUBGRAPHS, "label_propagation_communities", "maximal_independent_set"})
"""Functions that share answers and exceptions with NetworkX on all graphs. The others have tests of their own."""

MOST_KINDS = [*KINDS[:-1], pytest.param(nx.MultiDiGraph, marks=pytest.mark.spread)]
"""Kinds of graphs, as parameters: in quick tests one function meets the last, which has what two of the others have."""


def public(name):
    """NetworkX's function of this name."""
    return getattr(nx, name) if hasattr(nx, name) else getattr(nx.community, name)


def original(name):
    return nx.utils.backends._registered_algorithms[name].orig_func


def test_info_has_the_functions():
    found = {name for name, value in vars(backend).items() if hasattr(value, "can_run")}
    assert found == set(FUNCTIONS)
    assert list(FUNCTIONS) == sorted(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_are_networkx_s(name):
    mine, theirs = (inspect.signature(f).parameters.values() for f in (getattr(backend, name), original(name)))
    assert [(one.name, one.kind, one.default) for one in mine] == [(one.name, one.kind, one.default) for one in theirs]


def arguments(graph, name):
    """A set of arguments for a function: nodes for what it requires."""
    first, _, third, *_ = graph
    required = [
        one.name
        for one in inspect.signature(original(name)).parameters.values()
        if one.default is one.empty and one.name != "G"
    ]
    given = {"source": first, "target": third, "sources": [first, third], "n": first, "distance": 2, "k": 2}
    return {each: given[each] for each in required}


def same(name, mine, theirs):
    """Whether two answers agree. There may be several shortest paths; their ends and lengths are compared elsewhere."""
    if isinstance(theirs, tuple) and isinstance(theirs[0], type):
        return mine == theirs
    if name.endswith(("path", "dijkstra", "ford")) and name != "has_path":
        return type(mine) is type(theirs) and len(mine) == len(theirs)
    if isinstance(theirs, nx.Graph):
        return [type(mine), mine.graph, *mine.adjacency(), *mine.nodes.items()] == [
            type(theirs), theirs.graph, *theirs.adjacency(), *theirs.nodes.items()
        ]  # fmt: skip
    if name == "hits":
        return all(one == pytest.approx(other, abs=1e-7) for one, other in zip(mine, theirs, strict=True))
    if name == "pagerank" or name.endswith("centrality"):
        return list(mine) == list(theirs) and mine == pytest.approx(theirs, rel=1e-9)
    return mine == theirs


@pytest.mark.parametrize("kind", MOST_KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", SIMILAR)
def test_answers_are_networkx_s(name, kind):
    graph = random_graph(kind, connected=name in CONNECTED)
    given = arguments(graph, name)
    mine = outcome(getattr(nx, name), graph, **given, backend="garaph")
    theirs = outcome(getattr(nx, name), graph, **given, backend="networkx")
    if name in UNDIRECTED and kind is nx.DiGraph:
        assert mine[0] is NotImplementedError
    else:
        assert same(name, mine, theirs), (mine, theirs)


def kinds_of(answer):
    """The types of an answer and of its parts."""
    if isinstance(answer, (dict, list, set, tuple, Iterator)):
        parts = chain.from_iterable(answer.items()) if isinstance(answer, dict) else answer
        return type(answer), frozenset(map(kinds_of, parts))
    return type(answer)


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - set(SUBGRAPHS)))
def test_answers_have_networkx_s_types(name):
    """A generator is no other iterator: it can be closed, for example."""
    graph = random_graph(nx.Graph, connected=name in CONNECTED)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    if any(word in name for word in DIRECTED):
        graph = nx.gn_graph(12, seed=1)
    mine, theirs = (
        kinds_of(public(name)(graph, **arguments(graph, name), backend=each)) for each in ("garaph", "networkx")
    )
    assert mine == theirs


@pytest.mark.parametrize("kind", MOST_KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", SIMILAR)
def test_exceptions_are_networkx_s(name, kind):
    """Nodes that are not there; a graph that is not connected; a graph without nodes."""
    if name in UNDIRECTED and kind is nx.DiGraph:
        return
    graph, empty = random_graph(kind), kind()
    lost = dict.fromkeys(arguments(graph, name), "nowhere")
    assert (
        outcome(getattr(nx, name), graph, **lost, backend="garaph")
        == outcome(getattr(nx, name), graph, **lost, backend="networkx")
        or not lost
    )
    if name in CONNECTED:
        assert outcome(getattr(nx, name), graph, backend="garaph") == outcome(getattr(nx, name), graph)
    if not lost and name not in ("center", "diameter", "periphery", "radius"):
        mine, theirs = (outcome(getattr(nx, name), empty, backend=each) for each in ("garaph", "networkx"))
        assert mine == theirs or same(name, mine, theirs)


@pytest.mark.parametrize("name", sorted(set(CONNECTED) - {"eccentricity", "average_shortest_path_length"}))
def test_nothing_is_the_greatest_or_least_of_no_nodes(name):
    with pytest.raises(ValueError, match="empty"):
        getattr(nx, name)(nx.DiGraph(), backend="garaph")


def test_takes_a_graph_of_garaph():
    graph = gp.from_edges(["a", "b", "d"], ["b", "c", "e"], weights=[1, 5, 2])
    assert nx.shortest_path(graph, "a", "c") == ["a", "b", "c"]  # the type alone brings it here
    assert nx.shortest_path_length(graph, "a", weight="weight", backend="garaph") == {"a": 0, "b": 1, "c": 6}
    assert list(nx.weakly_connected_components(graph)) == [{"a", "b", "c"}, {"d", "e"}]
    with pytest.raises(nx.NetworkXNotImplemented):
        nx.connected_components(graph)


ON_DISK = ("bfs_layers", "hits", "pagerank", "shortest_path_length", "triangles")
"""Functions that each search, iterate or look at lists in another way: every commit tests these."""


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_full(FUNCTIONS, *ON_DISK))
def test_takes_a_graph_on_disk(name, tmp_path):
    """The answer is that for the graph in memory, or an error that says that edges must be there."""
    directed = any(word in name for word in DIRECTED)
    made = gp.rmat(5, 4, directed=directed, weights=(1, 9))
    gp.save(made, tmp_path / "disk.graph")
    graph = opened(tmp_path / "disk.graph", room=1 << 24)
    if "weakly" in name or name == "strongly_connected_components":
        return  # test_components.py
    if name in ("core_number", "k_core", "k_shell", "k_crust", "k_corona"):
        return  # test_cores.py
    if name == "betweenness_centrality":
        return  # test_centrality.py
    given = arguments(made.ids, name) | ({"seed": 1} if name == "maximal_independent_set" else {})
    found = outcome(public(name), graph, **given)
    if name in IN_MEMORY:
        assert found[0] is GraphError
        assert found[1].startswith(f"{name} needs edges in memory, and those of this graph are on disk")
    else:
        assert same(name, found, outcome(public(name), made, **given))


@pytest.mark.parametrize("name", UNDIRECTED)
def test_a_directed_graph_is_refused_by_the_function_itself(name):
    with pytest.raises(GraphError, match=f"^{name} needs an undirected graph"):
        getattr(nx, name)(gp.from_edges([1], [2]))


@pytest.mark.parametrize(
    ("name", "subject"),
    [("dijkstra_path_length", "a distance"), ("wiener_index", "a distance"), ("pagerank", "pagerank")],
)
def test_a_weight_below_0_is_not_refused_in_a_program_s_name(name, subject):
    graph = gp.from_edges([1, 2, 3], [2, 3, 1], weights=[1, -2, 3])
    with pytest.raises(GraphError, match=f"^{subject} needs edge values of 0 or more, .* such edges$"):
        getattr(nx, name)(graph, **({"weight": "weight"} | ({"source": 1, "target": 2} if "path" in name else {})))


def test_falls_back_for_a_reason(caplog, monkeypatch):
    graph = random_graph(nx.Graph)
    first, second, *_ = graph
    monkeypatch.setattr(nx.config.backend_priority, "algos", ["garaph"])
    monkeypatch.setattr(backend, "should_run", lambda *call: True)
    with caplog.at_level(logging.DEBUG, "networkx"):
        lengths = nx.single_source_dijkstra_path_length(graph, first, weight=lambda u, v, data: 2)
    assert "because: weight is a function" in caplog.text
    assert lengths == nx.single_source_dijkstra_path_length(
        graph, first, weight=lambda u, v, data: 2, backend="networkx"
    )
    graph.add_edge(first, second, weight=-1)
    with caplog.at_level(logging.DEBUG, "networkx"):
        lengths = nx.bellman_ford_path_length(nx.DiGraph([(1, 2, {"weight": -3})]), 1, 2)
    assert lengths == -3
    assert "edge values of 0 or more" in caplog.text


def test_refuses_what_the_caller_insists_on():
    with pytest.raises(NotImplementedError, match="not implemented by 'garaph' backend for the given arguments"):
        nx.pagerank(nx.path_graph(3), alpha=1, backend="garaph")


NO_NODE = (1, [2])
"""A tuple, but not hashable."""
ODD = [
    ("has_path", {"source": "node 3", "target": None}),
    ("has_path", {"source": None, "target": "node 3"}),
    ("has_path", {"source": [1], "target": None}),
    ("shortest_path", {"source": NO_NODE}),
    ("bidirectional_shortest_path", {"source": "node 3", "target": NO_NODE}),
    ("descendants_at_distance", {"source": "node 3", "distance": "weight"}),
    ("descendants_at_distance", {"source": "node 3", "distance": 2.0}),
    ("descendants_at_distance", {"source": "node 3", "distance": float("nan")}),
    ("is_isolate", {"n": None}),
    ("is_isolate", {"n": NO_NODE}),
    ("is_isolate", {"n": 5}),
    ("closeness_centrality", {"u": NO_NODE}),
    ("closeness_centrality", {"u": [1], "distance": "weight"}),
    ("harmonic_centrality", {"sources": ["node 3", [1]]}),
    ("harmonic_centrality", {"nbunch": [NO_NODE, "node 3"]}),
    ("harmonic_centrality", {"nbunch": NO_NODE}),
    ("dijkstra_path", {"source": "node 3", "target": [1]}),
    ("dijkstra_path_length", {"source": NO_NODE, "target": "node 3"}),
    ("dijkstra_path_length", {"source": "node 3", "target": NO_NODE}),
    ("bellman_ford_path_length", {"source": NO_NODE, "target": "node 3"}),
    ("bellman_ford_path_length", {"source": "node 3", "target": NO_NODE}),
    ("bellman_ford_path", {"source": "node 3", "target": NO_NODE}),
    ("single_source_bellman_ford", {"source": [1], "target": [1]}),
]


@pytest.mark.parametrize(("name", "given"), ODD, ids=[f"{name}{tuple(given.values())}" for name, given in ODD])
def test_odd_arguments_have_networkx_s_answers(name, given):
    graph = random_graph(nx.Graph)
    found, expected = (outcome(getattr(nx, name), graph, **given, backend=each) for each in ("garaph", "networkx"))
    assert found == expected
