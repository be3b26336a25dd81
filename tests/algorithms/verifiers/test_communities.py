"""Wrong communities and sets are refuted."""

import pytest

import garaph_py as gp
from garaph_py.algorithms import label_propagation_communities
from tests.support.wrong_answers import assert_refuted, changed

GRAPH = gp.from_edges([0, 1, 2, 3, 4, 5, 2, 6], [1, 2, 0, 4, 5, 3, 3, 6], vertices=range(8), directed=False)
"""Two triangles, which an edge joins; a vertex with a self-loop, and one without edges."""


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        ([1, 1, 1, 3, 3, 3, 6, 7], "vertex 0 has the label 1, not the least vertex of these"),
        ([0, 1, 0, 3, 3, 3, 6, 7], "vertex 1 shares its label with 0 neighbours, another one with 2"),
        ([0, 0, 0, 3, 3, 3, 6, 6], "vertex 6 is in a community without any neighbour"),
        ([0, 1, 2, 3, 4, 5, 6, 7], "vertex 0 shares its label with 0 neighbours, another one with 1"),
    ],
)
def test_other_communities_are_refuted(labels, problem):
    name, found = "label_propagation_communities", label_propagation_communities(GRAPH)
    assert found.values.tolist() == [0, 0, 0, 3, 3, 3, 6, 7]
    gp.check(label_propagation_communities, GRAPH, found)
    gp.check(label_propagation_communities, GRAPH, changed(found, slice(6), 0))  # settled, too
    assert_refuted(name, GRAPH, changed(found, slice(None), labels), problem)


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ([0, 2, 4, 6, 7], ". is in the set beside a neighbour"),
        ([0, 4, 6], "7 could be added to the set"),
        ([0, 4, 7], "6 could be added to the set"),
        ([4, 6, 7], "0 could be added to the set"),
        ([0, 0, 4, 6, 7], "the set has a vertex twice"),
        ([0, 4, 6, 7, 9], ".*9"),
        ([1, 4, 6, 7], "the set lacks one of the nodes"),
    ],
)
def test_other_sets_are_refuted(members, problem):
    gp.check(gp.algorithms.maximal_independent_set, GRAPH, [0, 4, 6, 7], nodes=[0])
    given = {"nodes": [0]} if 1 in members else {}
    assert_refuted("maximal_independent_set", GRAPH, members, problem, **given)
