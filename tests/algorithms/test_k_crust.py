"""k-crusts beside NetworkX's."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import k_crust
from tests.support.graphs import equal
from tests.support.networkx_graphs import assert_same_edges, on_disk, pairs, random_pair


@given(pairs(least=1), st.none() | st.integers(0, 4))
def test_networkx_has_the_same(both, k):
    ours, theirs = k_crust(both.ours, k=k), nx.k_crust(both.theirs, k)
    assert list(ours.ids) == sorted(theirs)
    assert_same_edges(ours, theirs)
    assert ours.directed == both.ours.directed


@given(pairs(least=1), st.integers(-1, 4))
def test_a_crust_and_the_next_core_divide_the_vertices(both, k):
    crust, core = k_crust(both.ours, k=k), gp.algorithms.k_core(both.ours, k=k + 1)
    assert sorted([*crust.ids, *core.ids]) == list(both.ours.ids)
    assert sorted([*k_crust(both.ours).ids, *gp.algorithms.k_core(both.ours).ids]) == list(both.ours.ids)


@pytest.mark.slow
def test_edges_may_be_on_disk(tmp_path):
    graph = gp.from_networkx(random_pair(1, 400, 3000, directed=False).theirs)
    assert equal(k_crust(on_disk(graph, tmp_path / "g")), k_crust(graph))


def test_bad_arguments_are_refused():
    with pytest.raises(gp.errors.ParameterError, match="give a whole number"):
        k_crust(gp.from_edges([1], [2]), k=1.5)
