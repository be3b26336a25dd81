"""Shortest paths from one vertex, beside those to each target alone."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import shortest_path, single_source_shortest_path
from tests.support.networkx_graphs import valued_graphs


@given(valued_graphs(), st.booleans())
def test_they_are_those_to_each_target(both, weight):
    ours, theirs = both
    found = single_source_shortest_path(ours, 0, weight=weight, threads=1)
    assert set(found) == nx.descendants(theirs, 0) | {0}
    for target, path in found.items():
        assert path == shortest_path(ours, 0, target, weight=weight, threads=1)
    some = single_source_shortest_path(ours, 0, targets=[1, 2], weight=weight, threads=1)
    assert some == {target: found[target] for target in (1, 2) if target in found}


def test_a_target_must_be_in_the_graph():
    with pytest.raises(gp.errors.UnknownVertexError, match="x"):
        single_source_shortest_path(gp.from_edges(["a"], ["b"]), "a", targets=["b", "x"])
