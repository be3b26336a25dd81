"""Answers of algorithms are proven: right ones of every function, with all kinds of arguments, and calls of `check`."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import garaph_py as gp
from tests.support.networkx_graphs import on_disk, pairs, random_pair, random_valued, valued_graphs

ALGORITHMS = gp.algorithms
FIRST, SECOND = 10, 11
"""Vertices of the graphs of `random_pair`."""

EITHER = [
    ("core_number", {}),
    ("k_core", {}),
    ("k_core", {"k": 3}),
    ("k_shell", {}),
    ("k_shell", {"k": 4}),
    ("k_crust", {}),
    ("k_crust", {"k": 4}),
    ("k_corona", {"k": 5}),
    ("clustering", {}),
    ("clustering", {"nodes": SECOND}),
    ("average_clustering", {}),
    ("average_clustering", {"count_zeros": False, "nodes": [FIRST, SECOND]}),
    ("h_index", {}),
    ("h_index", {"values": {FIRST: 3.5, SECOND: 2}}),
    ("weakly_connected_components", {}),
    ("is_weakly_connected", {}),
    ("number_weakly_connected_components", {}),
    ("katz_centrality", {"alpha": 0.01}),
    ("katz_centrality", {"alpha": -0.01, "beta": np.arange(40) % 3, "normalized": False}),
    ("eigenvector_centrality", {"max_iter": 1000}),
    ("eigenvector_centrality", {"max_iter": 2}),
    ("hits", {"max_iter": 1000}),
    ("hits", {"max_iter": 1000, "normalized": False}),
    ("betweenness_centrality", {}),
    ("betweenness_centrality", {"k": 5, "seed": 2, "normalized": False}),
    ("betweenness_centrality", {"k": 1, "seed": 2}),
    ("betweenness_centrality", {"endpoints": True}),
    ("closeness_centrality", {}),
    ("closeness_centrality", {"wf_improved": False}),
    ("closeness_centrality", {"u": SECOND}),
    ("harmonic_centrality", {}),
    ("harmonic_centrality", {"sources": [FIRST, SECOND]}),
    ("shortest_path_tree", {"source": SECOND}),
    ("shortest_path_tree", {"source": SECOND, "cutoff": 1.5}),
    ("shortest_path", {"source": SECOND, "target": FIRST}),
    ("single_source_shortest_path", {"source": SECOND}),
    ("single_source_shortest_path", {"source": SECOND, "cutoff": 1}),
    ("single_source_shortest_path", {"source": SECOND, "targets": [FIRST, 20, 49]}),
    ("multi_source_dijkstra_path_length", {"sources": [FIRST, SECOND]}),
    ("multi_source_dijkstra_path_length", {"sources": [FIRST], "cutoff": 1}),
    ("random_walks", {"length": 9}),
    ("random_walks", {"starts": [FIRST] * 5, "length": 0}),
]
DIRECTED = [
    ("strongly_connected_components", {}),
    ("is_strongly_connected", {}),
    ("number_strongly_connected_components", {}),
    ("is_directed_acyclic_graph", {}),
]
UNDIRECTED = [
    ("triangles", {}),
    ("triangles", {"nodes": [FIRST, SECOND]}),
    ("triangles", {"nodes": SECOND}),
    ("transitivity", {}),
    ("k_truss", {"k": 2}),
    ("k_truss", {"k": 5}),
    ("k_truss", {"k": 40}),
    ("label_propagation_communities", {}),
    ("maximal_independent_set", {}),
    ("maximal_independent_set", {"nodes": [SECOND], "seed": 1}),
]
CALLS = [(*call, directed) for directed in (False, True) for call in EITHER + (DIRECTED if directed else UNDIRECTED)]
WEIGHTED = [
    ("k_core", {"k": 3}),
    ("k_truss", {"k": 4}),
    ("clustering", {"weight": True}),
    ("average_clustering", {"weight": True}),
    ("katz_centrality", {"alpha": 0.01}),
    ("katz_centrality", {"alpha": 0.01, "weight": False}),
    ("eigenvector_centrality", {"max_iter": 1000}),
    ("hits", {"max_iter": 1000}),
    ("betweenness_centrality", {"weight": True}),
    ("closeness_centrality", {"distance": True}),
    ("closeness_centrality", {"distance": True, "u": 3}),
    ("harmonic_centrality", {"distance": True}),
    ("shortest_path_tree", {"source": 3}),
    ("shortest_path_tree", {"source": 3, "cutoff": 1.5}),
    ("shortest_path_tree", {"source": 3, "weight": False}),
    ("shortest_path", {"source": 3, "target": 1, "weight": True}),
    ("shortest_path", {"source": 3, "target": 1}),
    ("single_source_shortest_path", {"source": 3, "weight": True}),
    ("multi_source_dijkstra_path_length", {"sources": [3, 4]}),
    ("multi_source_dijkstra_path_length", {"sources": [3, 4], "weight": False}),
    ("random_walks", {"length": 9}),
]
ONLY_UNDIRECTED = {name for name, _ in UNDIRECTED}


def is_proven(name, graph, arguments):
    function = getattr(ALGORITHMS, name)
    gp.check(function, graph, function(graph, **arguments), **arguments)


def test_every_function_is_called_here():
    assert {name for name, *_ in CALLS} | {"topological_generations"} == set(ALGORITHMS.__all__)


@pytest.mark.parametrize(("name", "arguments", "directed"), CALLS)
def test_right_answers_are_proven(name, arguments, directed):
    is_proven(name, random_pair(1, 40, 300, directed).ours, arguments)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("name", "arguments"), WEIGHTED)
def test_right_answers_by_edge_values_are_proven(name, arguments, directed):
    if not (directed and name in ONLY_UNDIRECTED):
        is_proven(name, random_valued(2, 40, 300, directed)[0], arguments)


NEEDED = {"k_corona": {"k": 1}, "k_truss": {"k": 3}, "katz_centrality": {"alpha": 0.01}, "random_walks": {"length": 3}}


@settings(max_examples=20)
@given(pairs(least=1), st.data())
def test_right_answers_for_small_graphs_are_proven(both, data):
    """Graphs with self-loops, parallel edges, and vertices without edges."""
    graph = both.ours
    rest = DIRECTED if graph.directed else UNDIRECTED
    for name in {name for name, _ in EITHER + rest} - {"shortest_path", "eigenvector_centrality"}:
        arguments = dict(NEEDED.get(name, {}))
        if name in ("shortest_path_tree", "single_source_shortest_path"):
            arguments["source"] = data.draw(st.sampled_from(list(graph.ids)))
        if name == "multi_source_dijkstra_path_length":
            arguments["sources"] = data.draw(st.lists(st.sampled_from(list(graph.ids)), min_size=1))
        is_proven(name, graph, arguments)


@settings(max_examples=50)
@given(valued_graphs())
def test_distances_over_edges_of_length_0_are_proven(both):
    graph, _ = both
    for name in "closeness_centrality", "harmonic_centrality":
        is_proven(name, graph, {"distance": True})
    for name in "shortest_path_tree", "single_source_shortest_path":
        is_proven(name, graph, {"source": 0, "weight": True})
    is_proven("multi_source_dijkstra_path_length", graph, {"sources": [0, 1], "cutoff": 3})
    is_proven("random_walks", graph, {"length": 3})


def test_generations_are_proven():
    ends = np.sort(random_pair(1, 40, 300, True).ours.edges().to_pandas().to_numpy()[:, :2], axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]]
    is_proven("topological_generations", gp.from_edges(*ends.T), {})
    is_proven("topological_generations", gp.from_edges([], []), {})
    is_proven("is_directed_acyclic_graph", gp.from_edges(*ends.T), {})


@pytest.mark.parametrize("name", ["weakly_connected_components", "katz_centrality", "hits", "maximal_independent_set"])
def test_answers_of_graphs_on_disk_are_proven(name, tmp_path):
    graph = random_pair(1, 40, 300, directed=False).ours
    is_proven(name, on_disk(graph, tmp_path / "g"), NEEDED.get(name, {}))


@pytest.mark.slow
def test_betweenness_of_a_graph_on_disk_is_proven(tmp_path):
    graph = gp.from_networkx(random_pair(1, 40, 300, directed=True).theirs)
    is_proven("betweenness_centrality", on_disk(graph, tmp_path / "g"), {"k": 8, "seed": 1})


def test_other_calls_are_refused():
    graph, numbers = gp.from_edges([0, 1], [1, 2], directed=False), ALGORITHMS.core_number
    answer = numbers(graph)
    for arguments, problem in [
        ((nx.core_number, graph, answer), "check takes a program or a function of gp.algorithms, not <function core"),
        ((gp.apps.BFS, graph, answer), "check takes a program or a function of gp.algorithms, not <class"),
        ((numbers, [1], answer), "check takes a Graph, not list"),
        ((numbers, graph, [1, 1, 1]), "check takes the Result of core_number, not list; give what it returned"),
        ((numbers, gp.from_edges([0], [1]), answer), "the result has 3 values, but the graph has 2 vertices; give the"),
        ((ALGORITHMS.k_core, graph, answer), "check takes the Graph of k_core, not garaph_py.output.result.Result"),
        ((ALGORITHMS.transitivity, graph, "0.5"), "check takes what transitivity returned, not str"),
        ((ALGORITHMS.hits, graph, answer), "check takes what hits returned, not garaph_py.output.result.Result"),
        ((ALGORITHMS.k_truss, graph, graph), "check of k_truss: missing a required.* 'k'; give the arguments of that"),
        ((numbers, graph, answer, 3), "check takes program and graph and result in order, and all else by name"),
    ]:
        with pytest.raises(gp.errors.ParameterError, match=problem):
            gp.check(*arguments)
    with pytest.raises(gp.errors.ParameterError, match="check of core_number: got an unexpected keyword argument 'k'"):
        gp.check(numbers, graph, answer, k=3)
    with pytest.raises(gp.errors.ParameterError, match="check takes no source for a program"):
        gp.check(gp.apps.BFS(0), graph, gp.run(gp.apps.BFS(0), graph), source=0)
    with pytest.raises(gp.errors.ParameterError, match="give seed, by which the call chose its sources"):
        gp.check(ALGORITHMS.betweenness_centrality, graph, ALGORITHMS.betweenness_centrality(graph, k=2), k=2)


def test_errors_of_arguments_are_not_blamed_on_the_answer():
    graph = gp.from_edges([0, 1], [1, 2], directed=False)
    between = ALGORITHMS.betweenness_centrality
    with pytest.raises(gp.errors.ParameterError, match=r"^check of betweenness_centrality: give seed"):
        gp.check(between, graph, between(graph, k=2), k=2)
    with pytest.raises(gp.errors.UnknownVertexError, match="7"):
        gp.check(ALGORITHMS.closeness_centrality, graph, 0.5, u=7)
