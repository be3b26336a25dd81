"""Average clustering coefficients beside NetworkX's."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from tests.support.networkx_graphs import pairs


@pytest.mark.slow
@given(pairs(least=1), st.booleans())
def test_networkx_has_the_same(both, count_zeros):
    if count_zeros or any(nx.clustering(both.theirs).values()):
        ours = gp.algorithms.average_clustering(both.ours, count_zeros=count_zeros)
        assert ours == pytest.approx(nx.average_clustering(both.theirs, count_zeros=count_zeros))
    else:
        with pytest.raises(gp.errors.GraphError, match="no vertex has a coefficient other than 0"):
            gp.algorithms.average_clustering(both.ours, count_zeros=count_zeros)


@pytest.mark.parametrize("count_zeros", [True, False])
@pytest.mark.parametrize("weight", [True, False])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("nodes", [None, range(4), [2, 5, 2, 5]], ids=str)
def test_of_some_vertices_by_weight(count_zeros, weight, directed, nodes):
    theirs = nx.gnm_random_graph(12, 30 + 30 * directed, seed=1, directed=directed)
    for k, (*_, data) in enumerate(theirs.edges(data=True)):
        data["weight"] = k - 3
    given = {"nodes": nodes, "count_zeros": count_zeros}
    found = gp.algorithms.average_clustering(gp.from_networkx(theirs), weight=weight, **given)
    assert found == pytest.approx(nx.average_clustering(theirs, weight="weight" if weight else None, **given))


def test_the_mean_of_no_vertices():
    graph = gp.from_edges(["a"], ["b"], directed=False)
    with pytest.raises(gp.errors.GraphError, match="average_clustering: nodes is empty; give some"):
        gp.algorithms.average_clustering(graph, nodes=[], count_zeros=False)
    with pytest.raises(gp.errors.GraphError, match="no vertex has a coefficient other than 0; leave count_zeros"):
        gp.algorithms.average_clustering(graph, count_zeros=0)
    for nodes in (5.5, "a"):
        with pytest.raises(gp.errors.GraphError, match=rf"ids is {nodes!r}; give a list"):
            gp.algorithms.average_clustering(graph, nodes=nodes)
    with pytest.raises(gp.errors.UnknownVertexError, match="vertex 'c' is not in the graph"):
        gp.algorithms.average_clustering(graph, nodes=["a", "c"])


def test_a_graph_without_vertices_has_none():
    with pytest.raises(gp.errors.GraphError, match="average_clustering is not defined"):
        gp.algorithms.average_clustering(gp.from_edges([], [], directed=False))
