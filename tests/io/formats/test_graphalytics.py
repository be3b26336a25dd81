"""LDBC Graphalytics: three files that are one graph."""

import numpy as np
import pytest

from garaph_py import events
from garaph_py.errors import FormatError, GraphError, ParameterError
from garaph_py.graph.build import from_edges
from garaph_py.io.formats import ReadOptions, format_of
from garaph_py.io.formats.graphalytics import read_graphalytics
from garaph_py.io.read import read
from garaph_py.io.write import write
from tests.support.graphs import edges_of, equal

EDGES = "2 3 0.5\n5 2 1\n"
VERTICES = "2\n3\n5\n9\n"
PROPERTIES = """# Properties file describing the attributes of graph

graph.g.vertex-file = g.v
graph.g.edge-file = g.e
graph.g.meta.vertices = 4
graph.g.meta.edges = 2
graph.g.directed = false
graph.g.edge-properties.names = weight
graph.g.edge-properties.types = real
graph.g.bfs.source-vertex = 2
"""


@pytest.fixture
def files(tmp_path):
    """A function that writes those of the three files that are given."""

    def write_files(edges=EDGES, vertices=VERTICES, properties=PROPERTIES):
        for suffix, text in ((".e", edges), (".v", vertices), (".properties", properties)):
            if text is not None:
                (tmp_path / f"g{suffix}").write_text(text)
        return tmp_path / "g.properties"

    return write_files


@pytest.mark.parametrize("suffix", [".e", ".v", ".properties"])
def test_any_of_the_three_stands_for_all(files, suffix):
    path = files().with_suffix(suffix)
    assert format_of(path).name == "graphalytics"
    graph = read(path)
    assert edges_of(graph) == [(2, 3, 0.5), (2, 5, 1.0), (3, 2, 0.5), (5, 2, 1.0)]
    assert (graph.directed, graph.ids.array().tolist(), graph.edge_dtype) == (False, [2, 3, 5, 9], np.float64)
    assert read(path, weights=False).edge_dtype is None
    assert read(path, directed=True).m == 2


def test_edges_alone_are_a_text_edge_list(files):
    path = files(vertices=None, properties=None).with_suffix(".e")
    assert format_of(path).name == "text"
    assert read(path).n == 3
    files(properties=None)
    assert format_of(path).name == "graphalytics"
    assert read(path).n == 4
    assert read(path, format="text").n == 3
    assert format_of(path.with_suffix(".e.gz")).name == "text"


def test_vertices_or_properties_may_be_missing(files):
    path = files(properties=None).with_suffix(".v")
    assert edges_of(read(path)) == [(2, 3, 0.5), (5, 2, 1.0)]
    path.unlink()
    graph = read(files(vertices=None))
    assert (graph.n, graph.directed) == (3, False)


def test_a_graph_of_vertices_only(files):
    graph = read(files(edges="", properties=PROPERTIES.replace("edges = 2", "edges = 0")))
    assert (graph.n, graph.m, graph.edge_dtype) == (4, 0, np.float64)


@pytest.mark.parametrize(
    ("change", "edges", "dtype"),
    [
        (("types = real", "types = int"), "2 3 4\n5 2 1\n", np.int64),
        (("types = real", "types = real"), "2 3 4\n5 2 1\n", np.float64),
        (("types = real", "types = int,real"), "2 3 4 0.5\n5 2 1 0.5\n", np.int64),
        (("graph.g.edge-properties.types = real\n", ""), EDGES, np.float64),
        (("names = weight", "names ="), "2 3 4\n5 2 1\n", None),
        (("= false", ":false"), EDGES, np.float64),
        (("graph.g.", "graph.an-other.name."), EDGES, np.float64),
    ],
)
def test_properties(files, change, edges, dtype):
    graph = read(files(edges=edges, properties=PROPERTIES.replace(*change)))
    assert (graph.edge_dtype, graph.directed) == (dtype, False)


@pytest.mark.parametrize(
    ("name", "text", "line", "message"),
    [
        ("properties", "", None, "0 lines graph.NAME.directed"),
        ("properties", PROPERTIES + "graph.h.directed = true\n", None, "2 lines graph.NAME.directed"),
        ("properties", PROPERTIES + "graph.g.directed = true\n", 11, "directed is given twice"),
        ("properties", PROPERTIES.replace("false", "maybe"), 7, "directed is 'maybe'; true or false"),
        ("properties", PROPERTIES.replace("g.e\n", "../../secret.e\n"), 4, "edge-file is '../../secret.e'; g.e"),
        ("properties", PROPERTIES.replace("g.v\n", "h.v\n"), 3, "vertex-file is 'h.v'"),
        ("properties", PROPERTIES.replace("real", "text"), 9, "types is 'text'; int or real"),
        ("properties", PROPERTIES.replace("real", "int"), None, "weights are fractions"),
        ("properties", PROPERTIES.replace("= 4", "= 1099511627776"), 5, "1,099,511,627,776, but there are 4"),
        ("properties", PROPERTIES.replace("= 4", "= -1"), 5, "'-1', not a number"),
        ("properties", PROPERTIES.replace("s = 2", "s = 3"), 6, "meta.edges is 3, but there are 2"),
        ("properties", "#" * (2 << 20), None, "more than 1,048,576 bytes"),
        ("v", VERTICES + "x\n", 5, r"\('x'\): not a vertex id"),
        ("v", "2\n\n3 4\n", 3, r"\('3 4'\): not a vertex id"),
        ("v", "2,3\n", 1, "not a vertex id"),
        ("v", f"2\n{2**63}\n", 2, "not a vertex id"),
        ("v", "2\n3\n5\n3\n", None, "vertex 3 is listed twice"),
        ("v", "2\n3\n7\n9\n", None, "an edge has vertex 5, which the list of vertices lacks"),
        ("e", "2 3\n5 2\n", 1, "no column of weights"),
        ("e", "2 3 1\n5 x 1\n", 2, "'x' is not an integer"),
        ("e", "a b 1\nc d 1\n", None, "has names"),
    ],
)
def test_malformed_files(files, tmp_path, name, text, line, message):
    path = files()
    (tmp_path / f"g.{name}").write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        read(path)
    assert caught.value.line == line
    if line is not None:
        assert caught.value.path == str(tmp_path / f"g.{name}")


def test_missing_edges_and_weights(files):
    path = files()
    path.with_suffix(".e").unlink()
    with pytest.raises(FormatError, match=r"g\.e: no such file"):
        read(path)
    files(properties=PROPERTIES.replace("names = weight", "names ="))
    with pytest.raises(FormatError, match="no weights"):
        read(path, weights=True)
    compressed = path.with_suffix(".v.gz")
    compressed.write_bytes(b"")
    with pytest.raises(FormatError, match="decompress"):
        read(compressed)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", [None, [3, -4, 5, 6], [0.1, 1e-300, -2.0, 1 / 3]])
@pytest.mark.parametrize("suffix", [".v", ".properties"])
def test_round_trip(tmp_path, directed, weights, suffix):
    graph = from_edges([7, 7, -2, 7], [-2, 7, 2**40, -2], weights, vertices=[5], directed=directed)
    path = tmp_path / f"a.b{suffix}"
    write(graph, path)
    assert equal(read(path), graph)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.b.e", "a.b.properties", "a.b.v"]


def test_what_cannot_be_written(tmp_path):
    with pytest.raises(GraphError, match="names"):
        write(from_edges(["a"], ["b"]), tmp_path / "g.v")
    with pytest.raises(ParameterError, match="blanks"):
        write(from_edges([1], [2]), tmp_path / "my graph.v")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["directed", "undirected"])
def test_validation_graphs(reference_data, kind):
    path = reference_data / "graphalytics-validation" / "example" / f"example-{kind}.v"
    graph = read(path)
    assert graph.n == len(path.read_text().split())
    assert graph.edge_dtype is not None


def test_vertices_must_fit_the_memory(tmp_path):
    (tmp_path / "X.e").write_text("1 2\n")
    (tmp_path / "X.v").write_text("".join(f"{k}\n" for k in range(10_000)))
    with pytest.raises(FormatError, match=r"X\.v: its vertices take .* allow more"):
        read_graphalytics(tmp_path / "X.e", ReadOptions(memory=100_000), events.ignore)
