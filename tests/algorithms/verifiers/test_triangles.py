"""Wrong numbers of triangles, coefficients and trusses are refuted; the triangles are those of NetworkX."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import average_clustering, clustering, k_truss, transitivity, triangles
from garaph_py.algorithms.verifiers import triangles as verifiers
from tests.support.networkx_graphs import pairs, random_pair, random_valued
from tests.support.wrong_answers import assert_refuted, changed


@pytest.mark.parametrize("paths", [1, 100, 1 << 22])
def test_triangles_are_counted_in_parts(monkeypatch, paths):
    monkeypatch.setattr(verifiers, "PATHS", paths)
    both = random_pair(1, 60, 500, directed=False)
    counts, degrees = verifiers.triangle_counts(both.ours)
    assert dict(zip(both.ours.ids.array().tolist(), counts.tolist(), strict=True)) == nx.triangles(both.theirs)
    assert degrees.tolist() == [degree for _, degree in both.theirs.degree]


@given(pairs(least=1), st.data())
def test_other_numbers_are_refuted(both, data):
    place = data.draw(st.integers(0, both.ours.n - 1))
    for function in [clustering] if both.ours.directed else [triangles, clustering]:
        result = function(both.ours)
        wrong = changed(result, place, result.values[place] + data.draw(st.sampled_from([-1, 1])))
        assert_refuted(function.__name__, both.ours, wrong, f"vertex {both.ours.ids[place]} has")


def test_other_numbers_of_some_vertices_are_refuted():
    graph = random_pair(1, 40, 300, directed=False).ours
    one, some = triangles(graph, nodes=12), triangles(graph, nodes=[12, 13])
    assert_refuted("triangles", graph, one + 1, "vertex 12 has", nodes=12)
    assert_refuted("triangles", graph, some | {13: -1}, "vertex 13 has", nodes=[12, 13])
    assert_refuted("triangles", graph, {12: one}, "it has other vertices", nodes=[12, 13])
    assert_refuted("average_clustering", graph, average_clustering(graph), "it is .*, not", nodes=[12, 13])
    assert_refuted("average_clustering", graph, 0.5, "it is .*, not 0.5")
    assert_refuted("transitivity", graph, transitivity(graph) + 1e-6, "it is .*, not")


@pytest.mark.parametrize("directed", [False, True])
def test_coefficients_by_other_weights_are_refuted(directed):
    graph, _ = random_valued(2, 40, 300, directed=directed)
    assert_refuted("clustering", graph, clustering(graph), "vertex .* has", weight=True)


def test_coefficients_without_directions_are_refuted():
    graph = random_pair(1, 40, 300, directed=True).ours
    assert_refuted("clustering", graph, clustering(graph.symmetrized()), "vertex .* has")


@pytest.mark.parametrize("k", [3, 5])
def test_other_trusses_are_refuted(k):
    clique, bow = [(u, v) for u in range(5) for v in range(u)], [(4, 5), (5, 6), (6, 4), (6, 7)]
    graph = gp.from_edges(*np.array(clique + bow).T, directed=False)
    truss = k_truss(graph, k=k)
    gp.check(k_truss, graph, truss, k=k)
    assert truss.n == (7 if k == 3 else 5)
    assert_refuted("k_truss", graph, k_truss(graph, k=2), "the subgraph should not have vertex", k=k)
    assert_refuted("k_truss", graph, k_truss(graph, k=6), "the subgraph lacks vertex", k=k)
    fewer = np.array([edge for edge in clique + bow if edge != (1, 0) and max(edge) < truss.n]).T
    assert_refuted("k_truss", graph, gp.from_edges(*fewer, directed=False), "the subgraph has other edges", k=k)
