"""Sums over distances by vertex programs: beside the kernels in memory, on disk and on a GPU."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.algorithms import distance_sums as module
from garaph_py.algorithms.closeness_centrality import closeness_centrality
from garaph_py.algorithms.distance_sums import Lengths, distance_sums, programs_pay
from garaph_py.algorithms.harmonic_centrality import harmonic_centrality
from garaph_py.apps.many_bfs import ManyBFS
from garaph_py.program import bind
from garaph_py.program.columns import joined, pushing_rows
from tests.support.cases import mostly_full
from tests.support.networkx_graphs import on_disk, pairs, random_pair, valued_graphs
from tests.support.stored_graphs import opened, with_memory

TYPES = [None, "int32", "int64", "float32", "float64"]
"""Of lengths; without any, a distance is a number of edges."""


def skewed(kind, directed, n=300, m=1500):
    """A graph of which a few vertices have many edges, some no in-edges, and some none at all."""
    rng = np.random.default_rng(3)
    ends, lengths = (rng.power(0.4, (m, 2)) * n).astype(np.int64), rng.integers(0, 30, m)
    values = None if kind is None else (lengths / (10 if "f" in kind else 1)).astype(kind)
    return gp.from_edges(*ends.T, values, vertices=np.arange(n + 2), directed=directed)


def by_programs(graph, by_length, sources=None, device="cpu"):
    places = np.arange(graph.n) if sources is None else np.array(sources)
    return [distance_sums(graph, places, by_length, inverse, device, 2)[:2] for inverse in (False, True)]


def assert_same(found, graph, by_length):
    """The sums are those that centralities in memory are made of."""
    (sums, reached), (inverse, _) = found
    closeness = np.divide(reached, sums, out=np.zeros(graph.n), where=sums > 0)
    plain = closeness_centrality(graph, distance=by_length, wf_improved=False)
    assert closeness == pytest.approx(plain.values, rel=1e-13)
    improved = closeness_centrality(graph, distance=by_length).values
    assert closeness * reached / max(graph.n - 1, 1) == pytest.approx(improved, rel=1e-13)
    assert inverse == pytest.approx(harmonic_centrality(graph, distance=by_length).values, rel=1e-13)


@pytest.mark.full
@given(pairs())
def test_kernels_have_the_same(both):
    assert_same(by_programs(both.ours, by_length=False), both.ours, by_length=False)


@pytest.mark.full
@given(valued_graphs(least=0), st.booleans())
def test_kernels_have_the_same_by_length(both, by_length):
    graph, _ = both
    assert_same(by_programs(graph, by_length=by_length and graph.m > 0), graph, by_length)


@pytest.mark.slow
@pytest.mark.parametrize("directed", mostly_full([False, True], "True"))
@pytest.mark.parametrize("kind", mostly_full(TYPES, "None", "float32"))
@pytest.mark.parametrize("encoding", mostly_full(["raw", "packed"], "raw"))
def test_edges_may_be_on_disk(kind, directed, encoding, tmp_path):
    graph = skewed(kind, directed)
    stored = on_disk(graph.packed() if encoding == "packed" else graph, tmp_path / "g")
    assert_same(by_programs(stored, kind is not None), graph, kind is not None)


@pytest.mark.parametrize("directed", [False, True])
def test_distances_above_127(directed):
    """Of vertices at the end of a path: levels then take four bytes."""
    graph = gp.from_edges(np.arange(300), np.arange(1, 301), directed=directed)
    assert_same(by_programs(graph, by_length=False), graph, by_length=False)


def test_sources_without_edges_are_not_searched_from():
    graph = gp.from_edges([0, 1], [2, 2], vertices=range(5))
    sums, reached, runs = distance_sums(graph, np.array([2, 3, 4]), False, False, "cpu", 1)
    assert sums.tolist() == [0] * 5
    assert reached.tolist() == [0] * 5
    assert runs.stats().iterations == []


@pytest.mark.slow
def test_the_table_takes_memory_of_a_graph_on_disk(tmp_path):
    gp.save(gp.rmat(16, 1, seed=1), tmp_path / "g")
    graph = opened(tmp_path / "g", 10 << 20)
    gp.run_many(gp.apps.BFS, graph, range(64), device="cpu")
    with pytest.raises(gp.errors.GraphError, match="allow"):
        harmonic_centrality(graph, sources=range(64))
    harmonic_centrality(with_memory(graph, graph.memory + (8 << 20)), sources=range(64))


def searching(program, graph):
    """`ManyBFS` instead of `BFS`: how the simulated GPU gets the layouts of its parameters."""
    return bind(ManyBFS(-1, -1), graph)


@pytest.mark.usefixtures("cut_small_graphs")
@pytest.mark.parametrize("directed", mostly_full([False, True], "True"))
def test_a_simulated_gpu_finds_the_same(directed, device_for):
    graph = random_pair(9, 200, 900, directed).ours
    device_for(None, graph, bind=searching)
    assert_same(by_programs(graph, by_length=False, device="gpu"), graph, by_length=False)
    result = harmonic_centrality(graph, device="gpu")
    assert result.stats.device == "NumPy"


@pytest.mark.usefixtures("cut_small_graphs")
def test_a_simulated_gpu_finds_the_same_by_length(device_for):
    graph, sources = skewed("int32", True), [3, 70, 299]
    device_for(None, graph, bind=lambda *_: pushing_rows(joined([bind(Lengths(v), graph) for v in sources])))
    found = harmonic_centrality(graph, distance=True, sources=sources, device="gpu")
    assert found.stats.device == "NumPy"
    assert found.values == pytest.approx(harmonic_centrality(graph, distance=True, sources=sources).values, rel=1e-13)


@pytest.mark.gpu
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("kind", TYPES)
def test_a_gpu_finds_the_same(kind, directed, device, tmp_path):
    graph = skewed(kind, directed)
    for each in graph, graph.packed(), on_disk(graph, tmp_path / "g"):
        assert_same(by_programs(each, kind is not None, device=device), graph, kind is not None)
    result = closeness_centrality(graph, distance=kind is not None, device=device)
    assert result.stats.device != "cpu"


FEW = 2000
"""Vertices of the graphs below, as many as let the searches in them be shallow or deep."""
EVERY = np.arange(FEW)


def close_together(directed=False):
    rng = np.random.default_rng(1)
    return gp.from_edges(*rng.integers(0, FEW, (2, 8 * FEW)), vertices=EVERY, directed=directed)


def a_path():
    return gp.from_edges(EVERY[:-1], EVERY[1:], directed=False)


def apart():
    """A tenth of the vertices are close together, the others have one neighbour."""
    rng, many = np.random.default_rng(1), FEW // 10
    inside = rng.integers(0, many, (2, 8 * many))
    pairs = np.arange(many, FEW).reshape(2, -1)
    return gp.from_edges(*np.concatenate([inside, pairs], axis=1), directed=False)


@pytest.mark.parametrize(("make", "pays"), [(close_together, True), (a_path, False), (apart, False)])
def test_programs_pay_where_vertices_are_close(monkeypatch, make, pays):
    graph = make()
    assert not programs_pay(graph, EVERY, 2), "there are few edges"
    monkeypatch.setattr(module, "LEAST_EDGES", 1)
    assert programs_pay(graph, EVERY, 2) == pays
    assert not programs_pay(graph, EVERY[:0], 2)


def test_sources_without_out_edges_do_not_count(monkeypatch):
    """A tenth of the vertices lead to all others."""
    monkeypatch.setattr(module, "LEAST_EDGES", 1)
    sources, targets = np.random.default_rng(1).integers(0, [[FEW // 10], [FEW]], (2, 40 * FEW // 10))
    graph = gp.from_edges(sources, targets, vertices=EVERY)
    assert programs_pay(graph, EVERY, 2)


@pytest.mark.parametrize("directed", [False, True])
def test_sums_in_memory_are_the_same_by_programs(monkeypatch, directed):
    graph = close_together(directed)
    found = [closeness_centrality(graph), harmonic_centrality(graph, sources=range(70), threads=1)]
    monkeypatch.setattr(module, "LEAST_EDGES", 1)
    again = [closeness_centrality(graph), harmonic_centrality(graph, sources=range(70), threads=1)]
    assert [len(result.stats.iterations) for result in found] == [1, 1]
    for one, two in zip(found, again, strict=True):
        assert len(two.stats.iterations) > 1
        assert one.values == pytest.approx(two.values, rel=1e-13)
