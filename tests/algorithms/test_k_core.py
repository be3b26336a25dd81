"""k-cores beside NetworkX's."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from tests.support.networkx_graphs import assert_same_edges, pairs


@given(pairs(), st.none() | st.integers(0, 4))
def test_networkx_has_the_same(both, k):
    ours = gp.algorithms.k_core(both.ours, k=k)
    if both.ours.n:  # NetworkX finds no largest number among none
        theirs = nx.k_core(both.theirs, k)
        assert list(ours.ids) == list(theirs)
        assert_same_edges(ours, theirs)
    assert ours.directed == both.ours.directed


def test_a_graph_without_vertices_has_none():
    assert gp.algorithms.k_core(gp.from_edges([], [])).n == 0


@pytest.mark.parametrize("k", [1.5, "2", True])
def test_k_is_a_whole_number(k):
    with pytest.raises(gp.errors.ParameterError, match="give a whole number"):
        gp.algorithms.k_core(gp.from_edges([1], [2]), k=k)
