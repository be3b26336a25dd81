"""Wrong core numbers, subgraphs by core numbers and h-indices are refuted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import core_number, h_index, k_core, k_corona, k_crust, k_shell
from tests.support.networkx_graphs import pairs, random_pair
from tests.support.wrong_answers import assert_refuted, changed

CLIQUE = [(u, v) for u in range(5) for v in range(u)]
GRAPH = gp.from_edges(*np.array([*CLIQUE, (4, 5), (5, 6), (5, 7), (7, 7)]).T, directed=False)
"""A 4-core of 0 to 4, to which 5 and its neighbours 6 and 7 are tied."""


@given(pairs(least=1), st.data())
def test_other_core_numbers_are_refuted(both, data):
    result = core_number(both.ours)
    wrong = changed(result, data.draw(st.integers(0, both.ours.n - 1)), data.draw(st.integers(-1, 9)))
    if (wrong.values != result.values).any():
        assert_refuted("core_number", both.ours, wrong, "vertex")


def test_core_numbers_that_are_all_smaller_are_refuted():
    """A cycle of three vertices, which no neighbour of a larger number betrays."""
    cycle = gp.from_edges([0, 1, 2], [1, 2, 0], directed=False)
    wrong = changed(core_number(cycle), slice(None), 1)
    assert_refuted("core_number", cycle, wrong, "vertex 0 is in a larger core than the 1-core")
    assert_refuted("core_number", GRAPH, changed(core_number(GRAPH), 5, 2), "vertex 5 has 1 such neighbours for 2")


def test_a_long_path_is_proven():
    path = gp.from_edges(np.arange(5000), np.arange(1, 5001), directed=False)
    gp.check(core_number, path, core_number(path))


@pytest.mark.parametrize(
    ("function", "arguments"), [(k_core, {"k": 4}), (k_shell, {"k": 1}), (k_crust, {}), (k_corona, {"k": 1})]
)
def test_other_subgraphs_are_refuted(function, arguments):
    found, name = function(GRAPH, **arguments), function.__name__
    ids = list(found.ids)
    other = next(v for v in GRAPH.ids if v not in ids)
    assert_refuted(name, GRAPH, found.subgraph(ids[1:]), r"the subgraph lacks vertex \[", **arguments)
    more = GRAPH.subgraph([*ids, other])
    assert_refuted(name, GRAPH, more, rf"the subgraph should not have vertex \[{other}\]", **arguments)


@given(pairs(least=1), st.data())
def test_other_h_indices_are_refuted(both, data):
    values = data.draw(st.lists(st.floats(-1, 6), min_size=both.ours.n, max_size=both.ours.n))
    result = h_index(both.ours, values=values)
    wrong = changed(result, data.draw(st.integers(0, both.ours.n - 1)), data.draw(st.integers(-1, 9)))
    if (wrong.values != result.values).any():
        assert_refuted("h_index", both.ours, wrong, "vertex .* has", values=values)


def test_h_indices_of_other_values_are_refuted():
    graph = random_pair(1, 40, 300, directed=True).ours
    assert_refuted("h_index", graph, h_index(graph), "vertex", values=[1] * graph.n)
