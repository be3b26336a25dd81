"""Hubs and authorities beside NetworkX's, and beside the singular vectors that define them."""

import re

import networkx as nx
import numpy as np
import pytest

import garaph_py as gp
from garaph_py.algorithms import edge_sums, runs
from tests.support.cases import mostly_full
from tests.support.networkx_graphs import on_disk


def random_edges(seed, n, m):
    rng = np.random.default_rng(seed)
    ends = (rng.power(0.5, (m, 2)) * n).astype(np.int64)
    keep = np.unique(ends[:, 0] * n + ends[:, 1], return_index=True)[1]
    return *ends[keep].T, rng.random(len(keep))


@pytest.mark.parametrize("seed", range(4))
def test_networkx_has_the_same(seed):
    u, v, _ = random_edges(seed, 40, 300)
    theirs = nx.DiGraph()
    theirs.add_nodes_from(range(40))
    theirs.add_edges_from(zip(u.tolist(), v.tolist(), strict=True))
    hubs, authorities = nx.hits(theirs, tol=1e-12)
    found = gp.algorithms.hits(gp.from_edges(u, v, vertices=range(40)), tol=1e-12, max_iter=2000)
    np.testing.assert_allclose(found.column("hub"), [hubs[k] for k in range(40)], atol=1e-7)
    np.testing.assert_allclose(found.column("authority"), [authorities[k] for k in range(40)], atol=1e-7)


@pytest.mark.full
@pytest.mark.parametrize("weight", [True, False])
def test_they_are_singular_vectors(tmp_path, weight):
    u, v, w = random_edges(9, 50, 400)
    matrix = np.zeros((50, 50))
    matrix[u, v] = w if weight else 1
    left, _, right = np.linalg.svd(matrix)
    graph = gp.from_edges(u, v, w, vertices=range(50))
    for ours in (graph, graph.packed(), on_disk(graph, tmp_path / "g")):
        found = gp.algorithms.hits(ours, tol=1e-12, max_iter=2000, weight=weight, normalized=False)
        assert found.stats.converged
        assert found.column("hub").max() == found.column("authority").max() == 1
        for name, vector in (("hub", left[:, 0]), ("authority", right[0])):
            np.testing.assert_allclose(found.column(name), np.abs(vector) / np.abs(vector).max(), atol=1e-8)


def test_close_eigenvalues_do_not_lead_away_from_the_answer():
    """On a path, the largest eigenvalue is there twice, for the vertices of even and of odd numbers."""
    n = 100
    graph = gp.from_edges(np.arange(n - 1), np.arange(1, n), directed=False)
    found = gp.algorithms.hits(graph, tol=1e-10, max_iter=2000, normalized=False)
    expected = np.sin(np.arange(1, n + 1) * np.pi / (n + 1))
    assert found.stats.converged
    np.testing.assert_allclose(found.column("hub"), expected / expected.max(), atol=1e-7)


@pytest.mark.parametrize("threads", [None, 1])
def test_each_run_gets_the_threads_that_were_asked_for(monkeypatch, threads):
    """Without any, a run leaves cores to the threads of a GPU."""
    given, run = [], runs.run
    monkeypatch.setattr(runs, "run", lambda *values, **named: given.append(named["threads"]) or run(*values, **named))
    gp.algorithms.hits(gp.from_edges([0, 0, 1], [2, 3, 2]).packed(), max_iter=1, threads=threads)
    assert given == [threads, threads]


def test_stats_have_two_iterations_for_each():
    graph = gp.from_edges([0, 0, 1], [2, 3, 2])
    found = gp.algorithms.hits(graph, max_iter=3, tol=1e-15)
    assert not found.stats.converged
    assert [row.number for row in found.stats.iterations] == list(range(6))
    assert found.stats.edges == 6 * 3


@pytest.mark.parametrize("directed", [True, False])
def test_graphs_without_edges(directed):
    found = gp.algorithms.hits(gp.from_edges([], [], vertices=[3, 4], directed=directed))
    assert found[3] == {"hub": 0.0, "authority": 0.0}
    assert len(gp.algorithms.hits(gp.from_edges([], []))) == 0


def test_bad_arguments():
    graph = gp.from_edges([0], [1], [-1])
    with pytest.raises(gp.errors.GraphError, match="edge values of 0 or more"):
        gp.algorithms.hits(graph)
    assert gp.algorithms.hits(graph, weight=False)[0]["hub"] == 1
    with pytest.raises(gp.errors.ParameterError, match=r"hits\(max_iter=0\)"):
        gp.algorithms.hits(graph, max_iter=0)
    for tol in (float("nan"), "x", None, [1e-3]):
        with pytest.raises(
            gp.errors.ParameterError, match=rf"hits\(tol={re.escape(repr(tol))}\): give a number above 0"
        ):
            gp.algorithms.hits(graph, tol=tol)


@pytest.mark.slow
def test_vectors_count_as_memory_of_a_graph_on_disk(tmp_path):
    """17 MiB are enough for a run, but not for a run beside the vectors of the algorithm: 5 of 512 KiB."""
    gp.save(gp.rmat(16, 64, seed=1), tmp_path / "g")
    graph = gp.open(tmp_path / "g", memory="10MiB")
    assert graph.on_disk
    graph = graph._replace(memory=17 << 20)
    gp.run(edge_sums.SumIn(np.ones(graph.n)), graph, iterations=1)
    with pytest.raises(gp.errors.GraphError, match=r"the vertices and its own buffers.*; allow 19"):
        gp.algorithms.hits(graph)
    hubs = gp.algorithms.hits(graph._replace(memory=20 << 20)).column("hub")
    np.testing.assert_allclose(hubs, gp.algorithms.hits(gp.open(tmp_path / "g")).column("hub"), atol=1e-7)


@pytest.mark.parametrize("encoding", mostly_full(["raw", "packed"], "raw"))
def test_infinite_values_are_an_error(encoding):
    graph = gp.from_edges([0, 1, 1], [1, 0, 1], [1e308, 1e308, 1e308])._encoded(encoding, None)
    with pytest.raises(gp.errors.NumberError):
        gp.algorithms.hits(graph)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("directed", [True, False])
def test_parallel_edges_and_self_loops_add_up(kind, directed, threads):
    ends, values = [(0, 0), (0, 1), (0, 1), (2, 1), (3, 2)], [2, 1, 3, 1, 4]
    matrix = np.zeros((4, 4))
    for (u, v), value in zip(ends, values, strict=True):
        matrix[u, v] += value
        if not directed and u != v:
            matrix[v, u] += value
    graph = gp.from_edges(*zip(*ends, strict=True), np.array(values, kind), directed=directed)
    found = gp.algorithms.hits(graph, tol=1e-13, max_iter=3000, normalized=False, threads=threads)
    left, _, right = np.linalg.svd(matrix)
    for name, vector in (("hub", left[:, 0]), ("authority", right[0])):
        np.testing.assert_allclose(found.column(name), np.abs(vector) / np.abs(vector).max(), atol=1e-8)


def test_first_authorities():
    u, v, _ = random_edges(3, 40, 300)
    graph = gp.from_edges(u, v, vertices=range(40))
    expected = gp.algorithms.hits(graph, tol=1e-12, max_iter=500)
    again = gp.algorithms.hits(graph, tol=1e-12, nstart=expected.column("authority"))
    far = gp.algorithms.hits(graph, tol=1e-12, max_iter=500, nstart={7: 3, 8: 1e9})
    assert len(again.stats.iterations) < len(expected.stats.iterations) / 2
    for name in "hub", "authority":
        for found in again, far:
            np.testing.assert_allclose(found.column(name), expected.column(name), atol=1e-9)
    with pytest.raises(gp.errors.ParameterError, match=r"hits\(nstart=...\): give numbers of 0 or more"):
        gp.algorithms.hits(graph, nstart=-expected.column("hub"))


def test_first_authorities_decide_between_several_answers(tmp_path):
    """Two edges have the same largest singular value: the answers are all combinations of both."""
    graph = gp.from_edges([0, 2], [1, 3])
    for each in graph, graph.packed(), on_disk(graph, tmp_path / "g"):
        found = gp.algorithms.hits(each, nstart=[5, 1, 7, 3])
        np.testing.assert_allclose(found.column("authority"), [0, 0.25, 0, 0.75])
        np.testing.assert_allclose(found.column("hub"), [0.25, 0, 0.75, 0])
    with pytest.raises(gp.errors.ParameterError, match=r"hits\(nstart=...\): give a number above 0 to a"):
        gp.algorithms.hits(graph, nstart=[1, 0, 1, 0])
