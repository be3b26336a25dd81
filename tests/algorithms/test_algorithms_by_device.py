"""Functions that run vertex programs where `device` says: on a simulated GPU, on a real one, and without any."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py import algorithms
from garaph_py.apps.sssp import has_distance
from tests.support.cases import mostly_full


def random_graph(directed, n, m):
    """A graph with lengths; a few vertices have many edges, and some have none."""
    random = np.random.default_rng(4)
    ends = (random.power(0.4, (2, m)) * n).astype(np.int64)
    return gp.from_edges(*ends, random.integers(1, 9, m).astype(np.int32), vertices=range(n), directed=directed)


def values(result):
    return result.values


def lengths(result):
    return np.where(has_distance(result.values), result.values, -1)


def steps(paths):
    """The numbers of vertices on paths: of several shortest paths, any may be the answer."""
    return {target: len(path) for target, path in paths.items()}


HUB, TARGETS = 17, [3, 11, 16, 38]
UNDIRECTED, DIRECTED, BOTH = (False,), (True,), (False, True)
CALLS = {
    "weakly_connected_components": (BOTH, {}, values),
    "is_weakly_connected": (BOTH, {}, bool),
    "number_weakly_connected_components": (BOTH, {}, int),
    "katz_centrality": (BOTH, {"alpha": 1e-3, "tol": 1e-10}, values),
    "eigenvector_centrality": (BOTH, {"tol": 1e-10, "max_iter": 22}, values),
    "closeness_centrality": (BOTH, {"u": HUB}, float),
    "hits": (BOTH, {"max_iter": 4}, lambda result: np.append(result.column("hub"), result.column("authority"))),
    "maximal_independent_set": (UNDIRECTED, {"seed": 3, "nodes": [HUB]}, list),
    "shortest_path_tree": (BOTH, {"source": HUB}, lambda result: result.column("distance")),
    "shortest_path": (BOTH, {"source": HUB, "target": TARGETS[0]}, len),
    "single_source_shortest_path": (BOTH, {"source": HUB, "targets": TARGETS}, steps),
    "multi_source_dijkstra_path_length": (BOTH, {"sources": [HUB, *TARGETS]}, lengths),
}
"""For each function: directions of graphs, arguments, and what of its answer is the same on every device."""
CASES = [(name, directed) for name, (kinds, _, _) in CALLS.items() for directed in kinds]
COMPARED_ELSEWHERE = {
    "betweenness_centrality": BOTH,
    "closeness_centrality": BOTH,
    "harmonic_centrality": BOTH,
    "topological_generations": DIRECTED,
    "is_directed_acyclic_graph": DIRECTED,
}
"""Functions whose answers on every device other files compare, called without arguments: directions of graphs."""
CALLED = [(name, directed, CALLS[name][1]) for name, directed in CASES]
CALLED += [(name, directed, {}) for name, kinds in COMPARED_ELSEWHERE.items() for directed in kinds]
"""Calls of all these functions: the name, whether the graph is directed, and the arguments."""
DEFINED_FOR_NONE = (
    "weakly_connected_components",
    "number_weakly_connected_components",
    "katz_centrality",
    "hits",
    *COMPARED_ELSEWHERE,
)
"""Functions that have an answer for a graph without vertices, unless they are asked about a vertex `u`."""
LENGTHS = ("shortest_path", "single_source_shortest_path")
"""Functions that by default take every edge for one of length 1."""


def answer(name, graph, **how):
    """What is the same on every device, and the answer itself."""
    _, given, compared = CALLS[name]
    found = getattr(algorithms, name)(graph, **given, **how)
    return compared(found), found


def assert_same(found, expected):
    if isinstance(expected, dict):
        assert found == expected
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("encoding", mostly_full(["raw", "packed"], "raw"))
@pytest.mark.parametrize(("name", "directed"), CASES)
def test_a_simulated_gpu_finds_the_same(name, directed, encoding, on_gpu):
    graph = random_graph(directed, 40, 70)._encoded(encoding, None)
    expected, _ = answer(name, graph, device="cpu")
    del on_gpu[:]
    found, result = answer(name, graph, device="gpu")
    assert_same(found, expected)
    assert set(on_gpu) == {"NumPy"}
    if isinstance(result, gp.Result):
        assert result.stats.device == "NumPy"
        assert {row.device for row in result.stats.iterations} == {"gpu"}


@pytest.mark.parametrize("name", LENGTHS)
def test_paths_by_length_come_from_a_gpu(name, on_gpu):
    graph = random_graph(True, 40, 200)
    expected, _ = answer(name, graph, weight=True, device="cpu")
    del on_gpu[:]
    assert answer(name, graph, weight=True, device="gpu")[0] == expected
    assert on_gpu == ["NumPy"]


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize(("name", "directed", "given"), CALLED)
def test_without_a_gpu_it_is_an_error(name, directed, given, device):
    """Also for a graph in which there is nothing to do."""
    vertices = [] if name in DEFINED_FOR_NONE and "u" not in given else [HUB, *TARGETS]
    graph = gp.from_edges([], [], vertices=vertices, directed=directed)
    with pytest.raises(gp.errors.DeviceError, match="no GPU here"):
        getattr(algorithms, name)(graph, device=device, **given)


@pytest.mark.parametrize(("name", "directed", "given"), CALLED)
def test_unknown_devices_are_refused(name, directed, given):
    with pytest.raises(gp.errors.ParameterError, match="device='tpu'"):
        getattr(algorithms, name)(random_graph(directed, 40, 70), device="tpu", **given)


@pytest.mark.gpu
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("encoding", ["raw", "packed"])
@pytest.mark.parametrize(("name", "directed"), CASES)
def test_a_gpu_finds_the_same(name, directed, encoding, device):
    graph = random_graph(directed, 20_000, 200_000)._encoded(encoding, None)
    expected, _ = answer(name, graph, device="cpu")
    found, result = answer(name, graph, device=device)
    assert_same(found, expected)
    if isinstance(result, gp.Result) and device == "gpu":
        assert result.stats.device != "cpu"
