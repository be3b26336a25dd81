"""k-coronas beside NetworkX's."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import k_core, k_corona, k_shell
from tests.support.graphs import equal
from tests.support.networkx_graphs import assert_same_edges, on_disk, pairs, random_pair


@given(pairs(least=1), st.integers(0, 4))
def test_networkx_has_the_same(both, k):
    ours, theirs = k_corona(both.ours, k=k), nx.k_corona(both.theirs, k)
    assert list(ours.ids) == sorted(theirs)
    assert_same_edges(ours, theirs)
    assert ours.directed == both.ours.directed


@given(pairs(least=4))
def test_a_vertex_of_the_shell_is_in_the_corona_if_it_has_k_neighbours_in_the_core(both):
    for k in range(5):
        shell, core = k_shell(both.ours, k=k), set(k_core(both.ours, k=k).ids)
        near = {v: core & set(both.ours.neighbors(v)) - {v} for v in shell.ids}
        assert list(k_corona(both.ours, k=k).ids) == [v for v in shell.ids if len(near[v]) == k]
        assert both.ours.directed or all(len(found) >= k for found in near.values())


def test_of_a_shell_that_is_not_there():
    assert k_corona(gp.from_edges([1], [2]), k=2**70).n == 0


@pytest.mark.slow
@pytest.mark.parametrize("directed", [False, True])
def test_edges_may_be_on_disk(tmp_path, directed):
    """Also self-loops; a k is that of a corona, and of a shell with more vertices."""
    theirs = random_pair(1, 400, 3000, directed=directed).theirs
    theirs.add_edges_from((v, v) for v in list(theirs)[:40])
    graph = gp.from_networkx(theirs)
    numbers = gp.algorithms.core_number(graph).values
    stored = on_disk(graph, tmp_path / "g")
    assert stored.on_disk
    some = 0
    for k in np.unique(numbers).tolist():
        corona = k_corona(graph, k=k)
        some += 0 < corona.n < np.count_nonzero(numbers == k)
        assert equal(k_corona(stored, k=k), corona)
    assert some
    assert k_corona(stored, k=2**70).n == 0


def test_bad_arguments_are_refused():
    with pytest.raises(gp.errors.ParameterError, match="give a whole number"):
        k_corona(gp.from_edges([1], [2]), k=1.5)
