"""Subgraphs with other edges, values or vertices are refuted."""

import numpy as np

import garaph_py as gp
from garaph_py.algorithms import k_core
from tests.support.wrong_answers import assert_refuted

ENDS = [0, 1, 2, 2], [1, 2, 0, 3]
GRAPH = gp.from_edges(*ENDS, [1.5, np.nan, 3, 4], directed=False)
OTHER = "the subgraph has other edges, or other edge values"


def test_the_edges_and_their_values_count():
    gp.check(k_core, GRAPH, k_core(GRAPH))
    for ends, values in [
        ([[0, 1], [1, 2]], [1.5, np.nan]),
        ([[0, 1, 2, 0], [1, 2, 0, 1]], [1.5, np.nan, 3, 1.5]),
        ([[0, 1, 2], [1, 2, 0]], [1.5, np.nan, 2]),
        ([[0, 1, 2], [1, 2, 0]], None),
        ([[0, 1, 2], [1, 2, 0]], np.float32([1.5, np.nan, 3])),
    ]:
        assert_refuted("k_core", GRAPH, gp.from_edges(*ends, values, directed=False), OTHER)
    both_ways = gp.from_edges([0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2], [1.5, 1.5, np.nan, np.nan, 3, 3])
    assert_refuted("k_core", GRAPH, both_ways, OTHER)


def test_unknown_vertices_and_another_order_are_refuted():
    unknown = gp.from_edges([0, 1, 2], [1, 2, 9], [1.5, 1, 3], directed=False)
    assert_refuted("k_core", GRAPH, unknown, ".*9")
    triangle = [0, 2, 4, 6], [1, 2, 0, 2, 0, 1], [np.nan, 3, np.nan, 1.5, 3, 1.5]
    turned = gp.from_csr(*triangle, ids=[2, 1, 0], directed=False)
    assert_refuted("k_core", GRAPH, turned, "the subgraph has vertices in another order")


def test_a_subgraph_without_edges_is_proven():
    empty = gp.from_edges([], [], directed=False)
    gp.check(k_core, empty, k_core(empty))
    gp.check(k_core, GRAPH, k_core(GRAPH, k=9), k=9)
    assert_refuted("k_core", GRAPH, k_core(GRAPH, k=9), r"the subgraph lacks vertex \[0\]")
