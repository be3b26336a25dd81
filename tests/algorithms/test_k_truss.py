"""k-trusses beside NetworkX's."""

import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import k_truss
from tests.support import twins
from tests.support.networkx_graphs import on_disk, pairs, random_pair


def edges_of(graph):
    return set(zip(*graph.edges().to_pydict().values(), strict=True))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs(directed=False), st.integers(0, 5))
def test_networkx_has_the_same(threads, both, k):
    ours, theirs = k_truss(both.ours, k=k, threads=threads), nx.k_truss(both.theirs, k)
    assert sorted(ours.ids) == sorted(theirs)
    assert edges_of(ours) == {tuple(sorted(edge)) for edge in theirs.edges}
    assert not ours.directed


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 4, 6])
def test_every_edge_is_in_triangles(k, threads):
    """A larger graph of two trusses and what lies between them; each edge keeps its value."""
    draw = np.random.default_rng(k)
    blocks = [np.stack(np.triu_indices(20, 1)) + shift for shift in (0, 20)]
    ends = np.concatenate([*blocks, draw.integers(0, 60, (2, 80))], axis=1)
    ends = ends[:, draw.random(ends.shape[1]) < 0.7]
    graph = gp.from_edges(*ends, weights=ends.sum(axis=0), directed=False, drop_parallel=True)
    theirs = nx.k_truss(nx.Graph((u, v) for u, v in ends.T.tolist() if u != v), k)
    ours = k_truss(graph.packed(), k=k, threads=threads)
    found = ours.edges().to_pydict()
    assert set(zip(found["source"], found["target"], strict=True)) == {tuple(sorted(edge)) for edge in theirs.edges}
    assert found["weight"] == [u + v for u, v in zip(found["source"], found["target"], strict=True)]
    common = nx.Graph(edges_of(gp.from_edges(found["source"], found["target"], directed=False)))
    assert all(len(set(common[u]) & set(common[v])) >= k - 2 for u, v in common.edges)


def test_bad_arguments_are_refused(tmp_path):
    undirected = random_pair(1, 40, 3000, directed=False).ours
    with pytest.raises(gp.errors.ParameterError, match="k=None: give a whole number"):
        k_truss(undirected, k=None)
    with pytest.raises(gp.errors.GraphError, match="k_truss needs an undirected graph"):
        k_truss(gp.from_edges([1], [2]), k=3)
    with pytest.raises(gp.errors.GraphError, match="k_truss needs edges in memory"):
        k_truss(on_disk(undirected, tmp_path / "g"), k=3)


@pytest.fixture(params=[0, 2])
def recounted(request, monkeypatch):
    """Count all edges again after each round that removes some, or after none."""
    monkeypatch.setattr(sys.modules["garaph_py.algorithms.k_truss"], "RECOUNTED", request.param)


@pytest.mark.spread
@pytest.mark.usefixtures("recounted")
@pytest.mark.parametrize("k", [3, 5, 9, 14])
def test_edges_that_have_lost_triangles_are_counted_again(k, threads):
    """Random edges leave in many rounds."""
    edges = twins.skewed(4, 300, 4000)
    graph = gp.from_edges(edges.sources, edges.targets, directed=False)
    ours, theirs = k_truss(graph, k=k, threads=threads), nx.Graph(edges_of(graph))
    theirs.remove_edges_from(list(nx.selfloop_edges(theirs)))
    assert edges_of(ours) == {tuple(sorted(edge)) for edge in nx.k_truss(theirs, k).edges}


def test_the_first_of_parallel_edges_is_kept_with_its_value_at_both_ends():
    sources, targets, values = [2, 1, 0, 2, 0, 1, 1], [1, 0, 2, 0, 1, 2, 1], [7, 4, 9, 3, 5, 6, 8]
    graph = gp.from_edges(sources, targets, values, directed=False)
    found = k_truss(graph, k=3)
    arrays, given = found._arrays.in_edges, graph._arrays.in_edges
    owners = np.repeat(np.arange(3), np.diff(arrays.offsets))
    kept = dict(zip(zip(owners.tolist(), arrays.neighbours.tolist(), strict=True), arrays.values.tolist(), strict=True))
    assert set(kept) == {(u, v) for u in range(3) for v in range(3) if u != v}
    for (u, v), value in kept.items():
        at = given.offsets[u] + np.searchsorted(given.neighbours[given.offsets[u] : given.offsets[u + 1]], v)
        assert value == given.values[at]
        assert value == kept[v, u]


@pytest.mark.parametrize("k", [-1, 0, 2, 3, 1 << 63, 1 << 64])
def test_graphs_without_triangles(k):
    graph = gp.from_edges([0, 1, 1, 5], [1, 2, 2, 5], vertices=range(7), directed=False)
    assert edges_of(k_truss(graph, k=k)) == (set() if k > 2 else {(0, 1), (1, 2)})
    assert k_truss(gp.from_edges([], [], directed=False), k=k).n == 0
