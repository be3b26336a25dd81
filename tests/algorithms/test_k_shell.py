"""k-shells beside NetworkX's."""

from itertools import chain, pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import k_shell
from tests.support.graphs import equal
from tests.support.networkx_graphs import assert_same_edges, on_disk, pairs, random_pair


@given(pairs(least=1), st.none() | st.integers(0, 4))
def test_networkx_has_the_same(both, k):
    ours, theirs = k_shell(both.ours, k=k), nx.k_shell(both.theirs, k)
    assert list(ours.ids) == sorted(theirs)
    assert_same_edges(ours, theirs)
    assert ours.directed == both.ours.directed


@given(pairs(least=1))
def test_shells_are_what_a_core_has_beyond_the_next(both):
    """Together they have each vertex once, and the last is the main core."""
    cores = [set(gp.algorithms.k_core(both.ours, k=k).ids) for k in range(2 * both.ours.n + 1)]
    shells = [set(k_shell(both.ours, k=k).ids) for k in range(2 * both.ours.n)]
    assert shells == [core - following for core, following in pairwise(cores)]
    assert sorted(chain.from_iterable(shells)) == list(both.ours.ids)
    assert set(k_shell(both.ours).ids) == set(gp.algorithms.k_core(both.ours).ids)


@pytest.mark.slow
def test_edges_may_be_on_disk(tmp_path):
    graph = gp.from_networkx(random_pair(1, 400, 3000, directed=False).theirs)
    assert equal(k_shell(on_disk(graph, tmp_path / "g")), k_shell(graph))


def test_bad_arguments_are_refused():
    with pytest.raises(gp.errors.ParameterError, match="give a whole number"):
        k_shell(gp.from_edges([1], [2]), k=1.5)
