"""Wrong components and generations are refuted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import (
    is_directed_acyclic_graph,
    strongly_connected_components,
    topological_generations,
    weakly_connected_components,
)
from tests.support.networkx_graphs import pairs
from tests.support.wrong_answers import assert_refuted, changed

LOOPED = gp.from_edges([0, 1, 2, 2, 3], [1, 0, 2, 3, 3])
"""A cycle of 0 and 1; 2 leads to 3, and both have self-loops."""
CHAIN = gp.from_edges([0, 0, 1, 3, 1], [1, 2, 2, 2, 1000])


@given(pairs(directed=True, least=1), st.data())
def test_other_components_are_refuted(both, data):
    place, label = (data.draw(st.integers(0, both.ours.n - 1)) for _ in range(2))
    for function in strongly_connected_components, weakly_connected_components:
        result = function(both.ours)
        wrong = changed(result, place, label)
        if (wrong.values != result.values).any():
            with pytest.raises(gp.errors.VerificationError):
                gp.check(function, both.ours, wrong)


def test_joined_and_divided_components_are_refuted():
    found = strongly_connected_components(LOOPED)
    assert found.values.tolist() == [0, 0, 2, 3]
    for labels in [0, 1, 2, 3], [1, 1, 2, 3], [0, 0, 2, 2], [0, 0, 0, 0], [0, 0, -1, 3]:
        problem = "vertex . is in the component of ., and not in that of number"
        assert_refuted("strongly_connected_components", LOOPED, changed(found, slice(None), labels), problem)


@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("is_strongly_connected", False),
        ("number_strongly_connected_components", 3),
        ("is_weakly_connected", False),
        ("number_weakly_connected_components", 2),
        ("is_directed_acyclic_graph", False),
    ],
)
def test_other_numbers_are_refuted(name, right):
    gp.check(getattr(gp.algorithms, name), LOOPED, right)
    assert_refuted(name, LOOPED, right + 1 if right else True, f"it is {right}, not")


def test_graphs_without_cycles():
    loop, line = gp.from_edges([0, 1], [1, 1]), gp.from_edges([0], [1])
    for graph, right in (loop, False), (line, True), (gp.from_edges([0], [1], directed=False), False):
        assert is_directed_acyclic_graph(graph) is right
        gp.check(is_directed_acyclic_graph, graph, right)
        assert_refuted("is_directed_acyclic_graph", graph, not right, f"it is {right}, not")


def test_many_generations_are_proven():
    """It takes time in proportion to the graph; to go over all vertices for each generation would take hours."""
    vertices = np.arange(1_000_000)
    graph = gp.from_edges(vertices[:-1], vertices[1:])
    gp.check(topological_generations, graph, [*vertices.reshape(-1, 1)])


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ([[0, 3], [1], [2]], "vertex 1000 is in no generation"),
        ([[0, 3], [1], [2, 1000], [0]], "vertex 0 is in two generations"),
        ([[0, 3, 3], [1], [2, 1000]], "generation 0 has vertices twice or in another order"),
        ([[3, 0], [1], [2, 1000]], "generation 0 has vertices twice or in another order"),
        ([[0, 3], [], [1], [2, 1000]], "vertex 1 has no edge from generation 1"),
        ([[0], [1, 3], [2, 1000]], "vertex 3 has no edge from generation 0"),
        ([[0, 3], [1, 1000], [2]], "the edge 1 -> 1000 leads to no later generation"),
        ([[0, 3], [1], [2, 1000, 5]], ".*5"),
    ],
)
def test_other_generations_are_refuted(wrong, problem):
    right = [[0, 3], [1], [2, 1000]]
    found = topological_generations(CHAIN)
    assert [each.tolist() for each in found] == right
    gp.check(topological_generations, CHAIN, found)
    answer = [np.array(each, np.int64) for each in wrong]
    assert_refuted("topological_generations", CHAIN, answer, problem)
