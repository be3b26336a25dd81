"""Published answers: LDBC Graphalytics' validation graphs, and the p2p-31 graph with its references."""

import lzma

import numpy as np
import pytest

import garaph_py as gp

pytestmark = pytest.mark.slow

P2P_SOURCE = 6
EXAMPLE_SOURCE = {"directed": 1, "undirected": 2}
KINDS = pytest.mark.parametrize("kind", ["directed", "undirected"])


def table(path, dtype):
    """Lines of an id and a value: ascending ids, and values of `dtype` in their order."""
    content = path.read_bytes()
    text = (lzma.decompress(content) if path.suffix == ".xz" else content).decode().split()
    ids, values = np.array(text[::2], np.int64), np.array(text[1::2]).astype(dtype)
    order = np.argsort(ids)
    return ids[order], values[order]


def edge_list(stem, directed, weights=None):
    """A graph from ``stem.v`` and ``stem.e``, with edge values of the dtype `weights` or without."""
    vertices = np.loadtxt(f"{stem}.v", np.int64, usecols=0, ndmin=1)
    columns = np.loadtxt(f"{stem}.e", float, ndmin=2).T
    sources, targets = columns[:2].astype(np.int64)
    values = None if weights is None else columns[2].astype(weights)
    return gp.from_edges(sources, targets, values, vertices=vertices, directed=directed)


def adjacency(path, directed):
    """A graph from lines of a vertex and its out-neighbours; undirected edges stand in both lines."""
    vertices, sources, targets = [], [], []
    for line in path.read_text().splitlines():
        vertex, *neighbours = map(int, line.split())
        vertices.append(vertex)
        kept = [other for other in neighbours if directed or vertex <= other]
        sources += [vertex] * len(kept)
        targets += kept
    return gp.from_edges(sources, targets, vertices=vertices, directed=directed)


def assert_levels(graph, source, path):
    ids, expected = table(path, np.int64)
    result = gp.run(gp.apps.BFS(source), graph, verify=True)
    np.testing.assert_array_equal(result.ids, ids)
    np.testing.assert_array_equal(result.values["level"], np.where(expected == np.iinfo(np.int64).max, -1, expected))


def assert_distances(graph, source, path, rtol):
    """`rtol` 0 where lengths are integers."""
    ids, expected = table(path, np.float64)
    result = gp.run(gp.apps.SSSP(source), graph, verify=True)
    np.testing.assert_array_equal(result.ids, ids)
    found = result.values.astype(float)
    found[result.values == np.iinfo(np.int64).max] = np.inf
    expected[expected > 1e300] = np.inf
    np.testing.assert_allclose(found, expected, rtol=rtol)


def assert_components(graph, path):
    """The same partition, whatever its labels."""
    ids, expected = table(path, np.int64)
    result = gp.run(gp.apps.ConnectedComponents(), graph.symmetrized(), verify=True)
    np.testing.assert_array_equal(result.ids, ids)
    pairs = set(zip(result.values.tolist(), expected.tolist(), strict=True))
    assert len(pairs) == len(set(result.values.tolist())) == len(set(expected.tolist()))


def assert_ranks(graph, iterations, path, rtol):
    ids, expected = table(path, np.float64)
    result = gp.run(gp.apps.PageRank(stop="never"), graph, iterations=iterations)
    np.testing.assert_array_equal(result.ids, ids)
    np.testing.assert_allclose(result.values, expected, rtol=rtol)


@pytest.fixture(scope="module")
def example(reference_data):
    return reference_data / "graphalytics-validation" / "example"


@KINDS
def test_example_bfs(example, kind):
    graph = edge_list(example / f"example-{kind}", kind == "directed")
    assert_levels(graph, EXAMPLE_SOURCE[kind], example / f"example-{kind}-BFS")


@KINDS
def test_example_sssp(example, kind):
    graph = edge_list(example / f"example-{kind}", kind == "directed", np.float64)
    assert_distances(graph, EXAMPLE_SOURCE[kind], example / f"example-{kind}-SSSP", 1e-14)


@KINDS
def test_example_components(example, kind):
    assert_components(edge_list(example / f"example-{kind}", kind == "directed"), example / f"example-{kind}-WCC")


@KINDS
def test_example_pagerank(example, kind):
    graph = edge_list(example / f"example-{kind}", kind == "directed")
    assert_ranks(graph, 2, example / f"example-{kind}-PR", 1e-14)


@KINDS
def test_validation_bfs(reference_data, kind):
    folder, stem = reference_data / "graphalytics-validation" / "bfs", kind.removesuffix("ected")
    assert_levels(adjacency(folder / f"{stem}-input", kind == "directed"), 1, folder / f"{stem}-output")


@KINDS
def test_validation_components(reference_data, kind):
    folder, stem = reference_data / "graphalytics-validation" / "wcc", kind.removesuffix("ected")
    assert_components(adjacency(folder / f"{stem}-input", kind == "directed"), folder / f"{stem}-output")


@pytest.mark.parametrize(("kind", "iterations", "rtol"), [("dir", 40, 1e-14), ("undir", 26, 1e-7)])
def test_validation_pagerank(reference_data, kind, iterations, rtol):
    folder = reference_data / "graphalytics-validation" / "pr"
    assert_ranks(adjacency(folder / f"{kind}-input", kind == "dir"), iterations, folder / f"{kind}-output", rtol)


@KINDS
def test_validation_sssp(reference_data, kind):
    folder, stem = reference_data / "graphalytics-validation" / "sssp", kind.removesuffix("ected")
    graph = edge_list(folder / f"{stem}-input", kind == "directed", np.float64)
    assert_distances(graph, 1, folder / f"{stem}-output", 1e-14)


@pytest.fixture(scope="module")
def p2p(reference_data):
    """The folder, and a function that reads the graph once in each way."""
    folder, graphs = reference_data / "p2p-31", {}

    def get(directed, weights=None):
        if (directed, weights) not in graphs:
            graphs[directed, weights] = edge_list(folder / "p2p-31", directed, weights)
        return graphs[directed, weights]

    return folder, get


@KINDS
def test_p2p_bfs(p2p, kind):
    folder, graph = p2p
    name = "p2p-31-BFS-directed.xz" if kind == "directed" else "p2p-31-BFS.xz"
    assert_levels(graph(kind == "directed"), P2P_SOURCE, folder / name)


@pytest.mark.parametrize("weights", ["int32", "float64"])
@KINDS
def test_p2p_sssp(p2p, kind, weights):
    folder, graph = p2p
    name = "p2p-31-SSSP-directed.xz" if kind == "directed" else "p2p-31-SSSP.xz"
    assert_distances(graph(kind == "directed", weights), P2P_SOURCE, folder / name, 0)


@KINDS
def test_p2p_components(p2p, kind):
    folder, graph = p2p
    assert_components(graph(kind == "directed"), folder / "p2p-31-WCC.xz")


def test_p2p_pagerank(p2p):
    folder, graph = p2p
    assert_ranks(graph(False), 10, folder / "p2p-31-PR.xz", 1e-12)
