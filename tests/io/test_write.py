"""A written file reads back equal, as far as the format promises; other libraries read it too."""

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from garaph_py import events
from garaph_py.errors import GraphError, ParameterError
from garaph_py.graph.build import from_edges, from_numbered_edges
from garaph_py.graph.ids import IntegerIds, StringIds
from garaph_py.io.formats import FORMATS, batches
from garaph_py.io.read import read
from garaph_py.io.write import write

BY_NAME = {format.name: format for format in FORMATS}
FLOATS = np.array([1.0, -2.0, 0.1, 1e300, 5e-324, np.inf, -np.inf, 1 / 3])
IDS = {
    "range": lambda n: None,
    "integer": lambda n: IntegerIds(np.arange(n, dtype=np.int64) * 7 + 5),
    "string": lambda n: StringIds([f"vertex {v}" for v in range(n)]),
}
WEIGHTS = {
    None: lambda m: None,
    "int": lambda m: np.arange(1, m + 1),
    "float": lambda m: np.resize(FLOATS, m),
    "float32": lambda m: np.resize(np.array([0.1, 2.0], np.float32), m),
}


def graph_of(directed, weights, ids, simple, n=40, m=90):
    """With self-loops, parallel edges (unless `simple`) and vertices without edges."""
    sources, targets = np.random.default_rng(5).integers(0, n - 6, (2, m))
    options = {"drop_self_loops": simple, "drop_parallel": simple, "directed": directed}
    graph = from_numbered_edges(sources, targets, n, WEIGHTS[weights](m), **options)
    return graph._replace(ids=IDS[ids](n) or graph.ids)


def edges_of(graph, ids=None):
    """Sorted edges: source and target in the user's ids, else by number; parallel ones by value."""
    names = ids.array() if ids is not None else np.arange(graph.n)
    targets = np.repeat(np.arange(graph.n), np.diff(graph._arrays.in_edges.offsets))
    values = graph._arrays.in_edges.values
    values = [None] * graph.m if values is None else values.tolist()
    return sorted(
        zip(names[graph._arrays.in_edges.neighbours].tolist(), names[targets].tolist(), values, strict=True), key=str
    )


def refusal(keeps, directed, weights, ids):
    """Why the format does not hold such a graph, if it does not."""
    if keeps.direction == "undirected" and directed:
        return "directed"
    if keeps.ids == "integers" and ids == "string":
        return "names"
    if weights in ("float", "float32") and keeps.weights in ("integers", "required"):
        return "integers"
    return "weights" if weights is None and keeps.weights == "required" else None


@pytest.mark.slow
@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_written_reads_back(tmp_path, name, directed, weights, ids):
    format, keeps = BY_NAME[name], BY_NAME[name].keeps
    graph = graph_of(directed, weights, ids, simple=name == "metis")
    path = tmp_path / f"g{format.suffixes[0]}"
    reason = refusal(keeps, directed, weights, ids)
    if reason:
        with pytest.raises(GraphError, match=reason):
            write(graph, path, format=name)
        assert not list(tmp_path.iterdir())
        return
    write(graph, path, format=name)
    back = read(path, format=name, directed=directed if keeps.direction == "one" else None)
    assert back.directed == directed
    assert back.directed == directed
    if keeps.isolated:
        assert back.n == graph.n
    named = keeps.ids != "none"
    found, expected = edges_of(back, back.ids if named else None), edges_of(graph, graph.ids if named else None)
    assert found == ([(*edge[:2], None) for edge in expected] if keeps.weights == "none" else expected)
    if keeps.weights == "any" and weights is not None:
        assert back.edge_dtype.kind == graph.edge_dtype.kind
    if keeps.isolated and not named:  # the very same arrays: parallel edges in their order
        assert np.array_equal(back._arrays.in_edges.neighbours, graph._arrays.in_edges.neighbours)
        assert back.edge_dtype is None or np.array_equal(back._arrays.in_edges.values, graph._arrays.in_edges.values)


@pytest.mark.spread
@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("name", BY_NAME)
def test_compressed_files(tmp_path, name, suffix):
    graph = graph_of(False, "int", "range", simple=True)
    path = tmp_path / f"g{BY_NAME[name].suffixes[0]}{suffix}"
    if not BY_NAME[name].compresses:
        with pytest.raises(ParameterError, match="not compressed"):
            write(graph, path, format=name)
        return
    write(graph, path, format=name)
    plain = path.with_suffix("")
    write(graph, plain, format=name)
    assert path.read_bytes()[:2] != plain.read_bytes()[:2]
    assert edges_of(read(path, directed=False)) == edges_of(read(plain, directed=False))


@pytest.mark.parametrize("name", BY_NAME)
def test_batches_of_any_size_make_the_same_file(tmp_path, monkeypatch, name):
    graph = graph_of(False, "int", "range", simple=True)
    paths = [tmp_path / f"{number}{BY_NAME[name].suffixes[0]}" for number in (1, 2)]
    write(graph, paths[0], format=name)
    monkeypatch.setattr(batches, "ROWS", 7)
    monkeypatch.setattr(batches.edge_batches, "__defaults__", (events.ignore, 7))
    for module in ("metis", "ligra"):
        monkeypatch.setattr(f"garaph_py.io.formats.{module}.ROWS", 7)
    write(graph, paths[1], format=name)
    one, other = (read(path, directed=False) for path in paths)
    assert edges_of(one, one.ids) == edges_of(other, other.ids)
    if name in ("text", "metis", "ligra", "matrix-market", "npy", "npz"):
        assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("name", BY_NAME)
def test_writing_tells_how_far_it_is_and_replaces_in_one_step(tmp_path, name):
    graph = graph_of(False, "int", "range", simple=True)
    path = tmp_path / f"g{BY_NAME[name].suffixes[0]}"
    seen = []
    write(graph, path, format=name, on_event=seen.append)
    done = [event.done for event in seen]
    assert done == sorted(done)
    assert seen[-1].done == seen[-1].total > 0
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}

    def fail(event):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        write(graph, path, format=name, on_event=fail)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["text", "parquet", "arrow", "npy"])
def test_a_list_of_edges_cannot_hold_a_graph_without(tmp_path, name):
    graph = from_numbered_edges([], [], 3)
    with pytest.raises(GraphError, match="no edges"):
        write(graph, tmp_path / f"g{BY_NAME[name].suffixes[0]}")


@pytest.mark.parametrize("name", ["npz", "matrix-market", "metis", "ligra"])
@pytest.mark.parametrize("n", [0, 3])
def test_no_edges_at_all(tmp_path, name, n):
    path = tmp_path / f"g{BY_NAME[name].suffixes[0]}"
    write(from_numbered_edges([], [], n, directed=False), path)
    assert (read(path).n, read(path).m) == (n, 0)


GRAPHS = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(*[st.integers(0, n - 1)] * 2, st.integers(1, 2**31 - 1)), min_size=1, max_size=30),
    )
)


@pytest.mark.full
@pytest.mark.parametrize("name", BY_NAME)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=GRAPHS, directed=st.booleans())
def test_any_graph(tmp_path, name, content, directed):
    keeps, (n, edges) = BY_NAME[name].keeps, content
    sources, targets, weights = np.array(edges).T
    directed = directed and keeps.direction != "undirected"
    simple = name == "metis"
    graph = from_numbered_edges(
        sources, targets, n, weights, directed=directed, drop_self_loops=simple, drop_parallel=simple
    )
    path = tmp_path / f"g{BY_NAME[name].suffixes[0]}"
    write(graph, path, format=name)
    back = read(path, format=name, directed=directed if keeps.direction == "one" else None, threads=1)
    named = keeps.ids != "none"
    found, expected = edges_of(back, back.ids if named else None), edges_of(graph, graph.ids if named else None)
    assert found == ([(*edge[:2], None) for edge in expected] if keeps.weights == "none" else expected)


# Names in text


NAMES = ["007", "5", "-1", "a b", 'say "hi"', "é", "source", "target", "x" * 1000, "1e3", "+5", "nan"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=1, max_size=12), st.booleans())
def test_names_stay_names(tmp_path, pairs, weighted):
    weights = np.arange(len(pairs)) if weighted else None
    sources, targets = zip(*pairs, strict=True)
    graph = from_edges(sources, targets, weights)
    digits = all(name.lstrip("-").isdigit() for pair in pairs for name in pair)
    path = tmp_path / "g.tsv"
    if digits and "007" in sources + targets:
        with pytest.raises(GraphError, match="'007' would not come back"):
            write(graph, path)
        return
    write(graph, path)
    back = read(path)
    expected = edges_of(graph, graph.ids)
    if digits:
        expected = sorted([(int(u), int(v), w) for u, v, w in expected], key=str)
    assert edges_of(back, back.ids) == expected


@pytest.mark.parametrize("name", ["", "#x", "%x", "a\tb", "a\nb", "a\rb", " a", "a ", "a\0b", "x" * (1 << 19)])
def test_names_that_text_cannot_hold(tmp_path, name):
    graph = from_edges(["a", name], ["b", "c"])
    for file in ("g.txt", "g.csv"):
        with pytest.raises(GraphError, match="write Parquet or Arrow"):
            write(graph, tmp_path / file)
    write(graph, tmp_path / "g.parquet")
    back = read(tmp_path / "g.parquet")
    assert edges_of(back, back.ids) == edges_of(graph, graph.ids)


@pytest.mark.parametrize("name", ["a,b", 'a"b'])
def test_csv_is_not_quoted(tmp_path, name):
    graph = from_edges(["a", name], ["b", "c"])
    with pytest.raises(GraphError, match="commas or quotes"):
        write(graph, tmp_path / "g.csv")
    write(graph, tmp_path / "g.tsv")
    assert set(read(tmp_path / "g.tsv").ids.array()) == {"a", "b", "c", name}


# Others read it


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def graph(request):
    return graph_of(request.param, "int", "integer", simple=True)


def once(graph):
    """Edges by the user's ids, an undirected one from the smaller to the larger."""
    return {(u, v): w for u, v, w in edges_of(graph, graph.ids) if graph.directed or u <= v}


def test_networkx_reads_edge_lists(tmp_path, graph):
    write(graph, tmp_path / "g.txt")
    kind = nx.DiGraph if graph.directed else nx.Graph
    theirs = nx.read_weighted_edgelist(tmp_path / "g.txt", nodetype=int, create_using=kind)
    found = {(u, v) if graph.directed else (min(u, v), max(u, v)): w for u, v, w in theirs.edges(data="weight")}
    assert found == once(graph)


def test_pandas_reads_csv(tmp_path, graph):
    write(graph, tmp_path / "g.csv.gz")
    theirs = pd.read_csv(tmp_path / "g.csv.gz")
    assert list(theirs) == ["source", "target", "weight"]
    assert {(u, v): w for u, v, w in theirs.itertuples(index=False)} == once(graph)


def test_arrow_reads_tables(tmp_path, graph):
    for suffix, load in ((".parquet", pyarrow.parquet.read_table), (".arrow", pyarrow.feather.read_table)):
        write(graph, tmp_path / f"g{suffix}")
        columns = load(tmp_path / f"g{suffix}").to_pydict()
        assert {(u, v): w for u, v, w in zip(*columns.values(), strict=True)} == once(graph)


def test_scipy_reads_matrix_market(tmp_path, graph):
    write(graph, tmp_path / "g.mtx.gz")
    info = scipy.io.mminfo(tmp_path / "g.mtx.gz")
    assert info[3:] == ("coordinate", "integer", "general" if graph.directed else "symmetric")
    matrix = scipy.io.mmread(tmp_path / "g.mtx.gz", spmatrix=False)
    entries = zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True)
    assert sorted(entries, key=str) == edges_of(graph)


def test_numpy_reads_arrays(tmp_path, graph):
    write(graph, tmp_path / "g.npz")
    with np.load(tmp_path / "g.npz", allow_pickle=False) as arrays:
        assert (int(arrays["n"]), bool(arrays["directed"])) == (graph.n, graph.directed)
        triples = zip(*(arrays[name].tolist() for name in ("src", "dst", "weight")), strict=True)
    ids = graph.ids.array()
    assert {(ids[u], ids[v]): w for u, v, w in triples} == once(graph)
    write(graph, tmp_path / "g.npy")
    rows = np.load(tmp_path / "g.npy", allow_pickle=False, mmap_mode="r")
    assert {(u, v): w for u, v, w in rows.tolist()} == once(graph)
    plain = from_edges([1, 9], [9, 4])
    write(plain, tmp_path / "g.npy")
    assert sorted(np.load(tmp_path / "g.npy", allow_pickle=False).tolist()) == [[1, 9], [9, 4]]
