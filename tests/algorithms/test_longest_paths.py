"""Longest paths by a vertex program: beside Kahn's algorithm, in graphs of any shape, on disk and on a GPU."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given

import garaph_py as gp
from garaph_py.algorithms.longest_paths import WAITING, longest_paths
from garaph_py.algorithms.runs import Runs
from tests.support.cases import mostly_full
from tests.support.networkx_graphs import on_disk, pair, pairs
from tests.support.stored_graphs import with_memory


def expected(graph):
    """Kahn's algorithm, one generation after the other."""
    edges = list(zip(*(column.tolist() for column in map(graph.ids.indices, graph.edges().columns[:2])), strict=True))
    left = Counter(v for _, v in edges)
    numbers, removed, k = np.full(graph.n, WAITING), {v for v in range(graph.n) if not left[v]}, 0
    while removed:
        numbers[list(removed)], before = k, removed
        reached = [v for u, v in edges if u in before]
        left.subtract(reached)
        removed, k = {v for v in reached if not left[v]}, k + 1
    return numbers.tolist()


def ordered(seed, n, m, more=()):
    """`m` random edges from smaller to larger vertices, renumbered at random, and some `more` edges."""
    rng = np.random.default_rng(seed)
    ends = np.sort((rng.power(0.4, (m, 2)) * n).astype(np.int64), axis=1)
    edges = np.concatenate((ends[ends[:, 0] < ends[:, 1]], np.array(more, np.int64).reshape(-1, 2)))
    return pair(n, rng.permutation(n)[edges].tolist(), directed=True).ours


def path(length):
    places = np.random.default_rng(1).permutation(length)
    return gp.from_edges(places[:-1], places[1:])


SHAPES = {
    "path": lambda: path(300),
    "ordered": lambda: ordered(1, 300, 3000),
    "cycle": lambda: ordered(2, 300, 3000, more=[(250, 200), (200, 250)]),
    "loop": lambda: ordered(3, 300, 3000, more=[(250, 250)]),
    "only a cycle": lambda: gp.from_edges(range(50), [*range(1, 50), 0]),
    "parallel": lambda: gp.from_edges([0, 0, 0, 1, 1], [1, 1, 2, 2, 2], vertices=range(6)),
}


@pytest.mark.full
@given(pairs(directed=True))
def test_kahn_has_the_same(both):
    assert longest_paths(Runs(both.ours, "cpu", 1, 0)).tolist() == expected(both.ours)


@pytest.mark.slow
@pytest.mark.parametrize("shape", mostly_full(SHAPES, "ordered", "cycle"))
@pytest.mark.parametrize("kept", mostly_full(["memory", "packed", "raw on disk", "packed on disk"], "raw on disk"))
def test_graphs_of_any_shape(shape, kept, tmp_path):
    graph = SHAPES[shape]()
    wanted = expected(graph)
    graph = graph.packed() if "packed" in kept else graph
    graph = on_disk(graph, tmp_path / "g") if "disk" in kept else graph
    assert longest_paths(Runs(graph, "cpu", 2, 0)).tolist() == wanted


def test_without_vertices():
    assert longest_paths(Runs(pair(0, [], directed=True).ours, "cpu", 1, 0)).tolist() == []


@pytest.mark.usefixtures("on_gpu")
@pytest.mark.parametrize("shape", mostly_full(SHAPES, "cycle"))
def test_a_simulated_gpu_finds_the_same(shape):
    graph = SHAPES[shape]()
    runs = Runs(graph, "gpu", None, 0)
    assert longest_paths(runs).tolist() == expected(graph)
    assert runs.stats().device == "NumPy"


@pytest.mark.gpu
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_gpu_finds_the_same(shape, device):
    graph = SHAPES[shape]()
    assert longest_paths(Runs(graph, device, None, 0)).tolist() == expected(graph)


@pytest.mark.gpu
def test_a_gpu_finds_the_same_in_a_large_graph(tmp_path):
    graph = ordered(4, 200_000, 1_000_000)
    wanted = [ids.tolist() for ids in gp.algorithms.topological_generations(graph)]
    for each in graph, graph.packed(), with_memory(on_disk(graph, tmp_path / "g"), 64 << 20):
        found = gp.algorithms.topological_generations(each, device="gpu")
        assert [ids.tolist() for ids in found] == wanted
        assert gp.algorithms.is_directed_acyclic_graph(each, device="gpu")
