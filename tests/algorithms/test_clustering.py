"""Clustering coefficients beside NetworkX's."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from tests.support.networkx_graphs import pairs


@given(pairs())
def test_networkx_has_the_same(both):
    result = gp.algorithms.clustering(both.ours)
    assert dict(result) == pytest.approx(nx.clustering(both.theirs), rel=1e-15)
    assert result.values.dtype == np.float64


def weighted_pair(seed, n, m, draw, directed):
    """A graph of ours with weights, some edges twice, and NetworkX's with the largest of parallel edges."""
    rng = np.random.default_rng(seed)
    u, v = (rng.power(0.5, (m, 2)) * n).astype(np.int64).T
    weights = draw(rng, m)
    theirs = nx.DiGraph() if directed else nx.Graph()
    theirs.add_nodes_from(range(n))
    for a, b, weight in zip(u.tolist(), v.tolist(), weights.tolist(), strict=True):
        theirs.add_edge(a, b, weight=max(weight, theirs.get_edge_data(a, b, {"weight": weight})["weight"]))
    return gp.from_edges(u, v, weights, vertices=range(n), directed=directed), theirs


DRAWS = {
    "floats": lambda rng, m: rng.random(m),
    "integers": lambda rng, m: rng.integers(1, 9, m),
    "signed": lambda rng, m: rng.normal(size=m),
    "float32": lambda rng, m: rng.random(m).astype(np.float32),
    "zeros": lambda rng, m: rng.integers(0, 3, m),
}


@pytest.mark.spread
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
@pytest.mark.parametrize(("n", "m"), [(9, 20), (60, 60), (120, 900)])
def test_weights_are_networkx_s(threads, draw, n, m, directed):
    ours, theirs = weighted_pair(n, n, m, draw, directed)
    expected = nx.clustering(theirs, weight="weight")
    for graph in (ours, ours.packed()):
        found = gp.algorithms.clustering(graph, weight=True, threads=threads)
        assert dict(found) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    some = [n - 1, 0, n // 2]
    assert gp.algorithms.clustering(ours, nodes=some, weight=True) == pytest.approx(
        nx.clustering(theirs, some, weight="weight"), rel=1e-9, abs=1e-12
    )


@given(pairs())
def test_without_edge_values_weights_are_1(both):
    assert dict(gp.algorithms.clustering(both.ours, weight=True)) == dict(gp.algorithms.clustering(both.ours))


def test_weights_do_not_count_unless_they_are_asked_for():
    ours, theirs = weighted_pair(1, 20, 90, DRAWS["signed"], directed=True)
    assert dict(gp.algorithms.clustering(ours)) == pytest.approx(nx.clustering(theirs), rel=1e-15)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("weights", [[0.0, -1.0], [0, 0]])
def test_weights_that_cannot_be_divided_by_the_largest(weights, directed):
    graph = gp.from_edges([0, 1], [1, 2], weights, directed=directed)
    with pytest.raises(gp.errors.GraphError, match=r"clustering divides edge values by the largest, which is 0; give"):
        gp.algorithms.clustering(graph, weight=True)
    edge = "0 -> 1" if directed else "1 -> 0"
    with pytest.raises(gp.errors.GraphError, match=f"clustering needs finite edge values, but the edge {edge} has nan"):
        gp.algorithms.clustering(gp.from_edges([0, 1], [1, 2], [np.nan, 1], directed=directed), weight=True)


@pytest.mark.parametrize(("name", "directed"), [("triangles", False), ("clustering", False), ("clustering", True)])
@given(data=st.data())
def test_of_some_vertices(name, directed, data):
    both = data.draw(pairs(directed, least=1))
    ours, theirs = getattr(gp.algorithms, name), getattr(nx, name)
    nodes = list(both.theirs)
    for some in ([], nodes[-1:], nodes[::2], [*nodes[::-1], *nodes], np.array(nodes[:2])):
        found = ours(both.ours, nodes=some)
        assert found == pytest.approx(theirs(both.theirs, list(some)), rel=1e-15)
        assert list(found) == list(dict.fromkeys(np.array(some).tolist()))
    assert ours(both.ours, nodes=nodes[0]) == pytest.approx(theirs(both.theirs, nodes[0]), rel=1e-15)


@pytest.mark.parametrize("name", ["triangles", "clustering"])
@pytest.mark.parametrize("nodes", ["z", ["a", "z"]])
def test_an_unknown_vertex(name, nodes):
    graph = gp.from_edges(["a", "b"], ["b", "c"], directed=False)
    with pytest.raises(gp.errors.UnknownVertexError, match="vertex 'z' is not in the graph"):
        getattr(gp.algorithms, name)(graph, nodes=nodes)
    assert getattr(gp.algorithms, name)(graph, nodes="a") == 0


@pytest.mark.parametrize("directed", [True, False])
def test_the_verifier_takes_whole_weights(directed):
    graph = gp.from_edges([0, 1, 2], [1, 2, 0], weights=[1, 2, 3], directed=directed)
    gp.check(gp.algorithms.clustering, graph, gp.algorithms.clustering(graph, weight=True), weight=True)
