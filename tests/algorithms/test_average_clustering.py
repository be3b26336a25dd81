"""Average clustering coefficients beside NetworkX's."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from tests.support.networkx_graphs import pairs


@given(pairs(directed=False, least=1), st.booleans())
def test_networkx_has_the_same(both, count_zeros):
    if count_zeros or any(nx.triangles(both.theirs).values()):
        ours = gp.algorithms.average_clustering(both.ours, count_zeros=count_zeros)
        assert ours == pytest.approx(nx.average_clustering(both.theirs, count_zeros=count_zeros))
    else:
        with pytest.raises(gp.errors.GraphError, match="no vertex is in a triangle"):
            gp.algorithms.average_clustering(both.ours, count_zeros=count_zeros)


def test_a_graph_without_vertices_has_none():
    with pytest.raises(gp.errors.GraphError, match="average_clustering is not defined"):
        gp.algorithms.average_clustering(gp.from_edges([], [], directed=False))
