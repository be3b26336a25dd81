"""Properties that define answers, on R-MAT graphs of some size, on which NetworkX takes long."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph

import garaph_py as gp

ALGORITHMS = gp.algorithms


def graph_of(directed, scale=9):
    """With parallel edges and self-loops, as R-MAT makes them."""
    return gp.rmat(scale, 8, directed=directed, seed=3)


def matrix_of(graph, simple):
    """The adjacency matrix; if `simple`, without self-loops, and with parallel edges as one."""
    ends = graph.edges()
    u, v = (ends[name].to_numpy() for name in ("source", "target"))
    if not graph.directed:
        loop = u == v
        u, v = np.concatenate([u, v[~loop]]), np.concatenate([v, u[~loop]])
    matrix = sparse.csr_array((np.ones(len(u)), (u, v)), shape=(graph.n, graph.n))
    if simple:
        matrix.setdiag(0)
        matrix.eliminate_zeros()
        matrix.data[:] = 1
    return matrix


def steps_of(graph):
    """The number of edges from each vertex to each other; infinite where there is no path, and to itself."""
    steps = csgraph.shortest_path(matrix_of(graph, simple=True), unweighted=True)
    np.fill_diagonal(steps, np.inf)
    return steps


@pytest.mark.parametrize("directed", [True, False])
def test_betweenness_adds_up_to_the_inner_vertices_of_paths(directed):
    graph = graph_of(directed)
    steps = steps_of(graph)
    inner = (steps[np.isfinite(steps)] - 1).sum() / (1 if directed else 2)
    assert ALGORITHMS.betweenness_centrality(graph, normalized=False).values.sum() == pytest.approx(inner)


@pytest.mark.parametrize("directed", [True, False])
def test_closeness_and_harmonic_centrality_follow_from_distances(directed):
    graph = graph_of(directed)
    steps = steps_of(graph)
    near = np.isfinite(steps).sum(0)
    total = np.where(np.isfinite(steps), steps, 0).sum(0)
    closeness = np.divide(near, total, out=np.zeros(graph.n), where=total > 0) * near / (graph.n - 1)
    assert ALGORITHMS.closeness_centrality(graph).values == pytest.approx(closeness)
    assert ALGORITHMS.harmonic_centrality(graph).values == pytest.approx((1 / steps).sum(0))


@pytest.mark.parametrize("directed", [True, False])
def test_katz_centrality_solves_its_equation(directed):
    graph = graph_of(directed)
    found = ALGORITHMS.katz_centrality(graph, alpha=0.002, tol=1e-12, normalized=False).values
    assert found == pytest.approx(0.002 * (matrix_of(graph, simple=False).T @ found) + 1)


@pytest.mark.slow
def test_eigenvector_centrality_is_an_eigenvector():
    graph = graph_of(directed=False)
    found = ALGORITHMS.eigenvector_centrality(graph, tol=1e-12, max_iter=1000).values
    image = matrix_of(graph, simple=False) @ found
    assert image == pytest.approx(found * (found @ image), abs=1e-8)
    assert (found @ found, found.min() >= 0) == (pytest.approx(1), True)


def test_triangles_and_clustering_follow_from_closed_paths():
    graph = graph_of(directed=False)
    matrix = matrix_of(graph, simple=True)
    closed = ((matrix @ matrix) * matrix).sum(1)
    degrees = matrix.sum(1)
    pairs = degrees * (degrees - 1)
    assert (2 * ALGORITHMS.triangles(graph).values == closed).all()
    expected = np.divide(closed, pairs, out=np.zeros(graph.n), where=pairs > 0)
    assert ALGORITHMS.clustering(graph).values == pytest.approx(expected)
    assert ALGORITHMS.average_clustering(graph) == pytest.approx(expected.mean())
    assert ALGORITHMS.transitivity(graph) == pytest.approx(closed.sum() / pairs.sum())


def test_directed_clustering_follows_from_closed_paths_in_any_direction():
    """Equation 5 of Fagiolo, "Clustering in complex directed networks", Physical Review E 76, 2007."""
    graph = graph_of(directed=True)
    matrix = matrix_of(graph, simple=True)
    either = matrix + matrix.T
    closed, degrees, both = ((either @ either) * either).sum(1), either.sum(1), (matrix * matrix.T).sum(1)
    pairs = degrees * (degrees - 1) - 2 * both
    expected = np.divide(closed / 2, pairs, out=np.zeros(graph.n), where=pairs > 0)
    assert ALGORITHMS.clustering(graph).values == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.parametrize("directed", [True, False])
def test_weak_components_are_closed_and_connected(directed):
    graph = graph_of(directed, scale=12)
    found = ALGORITHMS.weakly_connected_components(graph).values
    ends = graph.edges()
    assert (found[ends["source"].to_numpy()] == found[ends["target"].to_numpy()]).all()
    count, _ = csgraph.connected_components(matrix_of(graph, simple=True), directed=False)
    assert len(np.unique(found)) == ALGORITHMS.number_weakly_connected_components(graph) == count
    assert (found[found] == found).all()
    assert (found <= np.arange(graph.n)).all()


@pytest.mark.parametrize("k", [3, 8, None])
def test_a_core_is_the_largest_subgraph_of_such_degrees(k):
    """Each vertex of the core has k neighbours in it, and the others can be removed one after the other."""
    graph = graph_of(directed=False, scale=11)
    core = ALGORITHMS.k_core(graph, k=k)
    least = int(ALGORITHMS.core_number(graph).values.max()) if k is None else k
    matrix, left = matrix_of(graph, simple=True), np.ones(graph.n, bool)
    while (weak := left & (matrix @ left.astype(float) < least)).any():
        left &= ~weak
    assert sorted(core.ids) == np.flatnonzero(left).tolist()
