"""Readers of graph files: what they understand, and what they say about files that are wrong."""

import gzip
import io
import lzma
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from garaph_py import events
from garaph_py.errors import FormatError, GaraphError, ParameterError
from garaph_py.io.formats import FORMATS, ReadOptions, format_of
from garaph_py.io.read import read

DATA = Path(__file__).parents[2] / "data"


def edges_of(graph):
    """Sorted (source, target, value) in the user's ids."""
    ids = graph.ids.array().tolist()
    edges = graph.in_edges
    targets = np.repeat(np.arange(graph.n), np.diff(edges.offsets))
    values = [None] * graph.m if edges.values is None else edges.values.tolist()
    places = zip(edges.neighbours.tolist(), targets.tolist(), values, strict=True)
    return sorted((ids[source], ids[target], value) for source, target, value in places)


def zstd(data):
    return pa.Codec("zstd", 3).compress(data, asbytes=True)


COMPRESSORS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstd}


# Tables


TABLE = pa.table({"source": pa.array([1, 2, 2], pa.int64()), "target": [2, 3, 2], "weight": [0.5, 1.5, 2.5]})
TABLE_EDGES = [(1, 2, 0.5), (2, 2, 2.5), (2, 3, 1.5)]


def write_arrow_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


TABLE_WRITERS = {
    "g.parquet": pa.parquet.write_table,
    "g.feather": pa.feather.write_feather,
    "plain.arrow": lambda table, path: pa.feather.write_feather(table, path, compression="uncompressed"),
    "stream.arrow": write_arrow_stream,
}


@pytest.fixture(params=TABLE_WRITERS)
def write_table(request, tmp_path):
    def write(table):
        path = str(tmp_path / request.param)
        TABLE_WRITERS[request.param](table, path)
        return path

    return write


STRINGS = pa.table({"from": ["a", "b"], "to": ["b", "é"]})


@pytest.mark.parametrize(
    ("table", "edges"),
    [
        (TABLE, TABLE_EDGES),
        (TABLE.select(["weight", "target", "source"]), TABLE_EDGES),
        (TABLE.rename_columns(["a", "b", "c"]), TABLE_EDGES),
        (TABLE.rename_columns(["dst", "src", "other"]), [(2, 1, 0.5), (2, 2, 2.5), (3, 2, 1.5)]),
        (TABLE.append_column("w", pa.array([7, 8, 9])).drop_columns("weight"), [(1, 2, 7), (2, 2, 9), (2, 3, 8)]),
        (TABLE.set_column(2, "kind", pa.array(["x", "y", "z"])), [(1, 2, None), (2, 2, None), (2, 3, None)]),
        (STRINGS, [("a", "b", None), ("b", "é", None)]),
        (pa.table([STRINGS[0].dictionary_encode(), STRINGS[1]], ["x", "y"]), [("a", "b", None), ("b", "é", None)]),
        (pa.table({"x": pa.array([2**64 - 1], pa.uint64()), "y": pa.array([5], pa.int8())}), [(2**64 - 1, 5, None)]),
    ],
)
def test_tables(write_table, table, edges):
    assert edges_of(read(write_table(table))) == sorted(edges)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (TABLE.slice(0, 0), "no edges"),
        (TABLE.select(["source"]), "1 columns"),
        (pa.table({"source": [1, None], "target": [1, 2]}), "'source' has missing values"),
        (pa.table({"source": ["a", None], "target": ["b", "c"]}), "'source' has missing values"),
        (pa.table({"source": [1.5], "target": [1]}), "'source' holds fractions"),
        (pa.table({"source": [1], "target": ["x"]}), "differ in kind"),
        (pa.table({"source": [[1]], "target": [1]}), "'source' has type list"),
        (pa.table([[1], [2], [3]], ["source", "target", "source"]), "several columns are called 'source'"),
        (pa.table({"a": pa.array([-1]), "b": pa.array([2**64 - 1], pa.uint64())}), "no 64-bit integer type"),
    ],
)
def test_tables_that_are_no_edges(write_table, table, message):
    path = write_table(table)
    with pytest.raises(FormatError, match=message):
        read(path)


# Archives


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def sparse_npz(matrix):
    file = io.BytesIO()
    sp.save_npz(file, matrix)
    return file.getvalue()


COO = sp.coo_array((np.array([5, 6, 7]), ([0, 1, 1], [1, 0, 1])), (4, 4))


@pytest.mark.parametrize("form", ["coo", "csr", "csc", "bsr", "dia"])
def test_sparse_matrices(tmp_path, form):
    path = tmp_path / "a.npz"
    path.write_bytes(sparse_npz(COO.asformat(form)))
    graph = read(path)
    assert graph.n == 4
    assert [edge for edge in edges_of(graph) if edge[2]] == [(0, 1, 5), (1, 0, 6), (1, 1, 7)]
    assert read(path, weights=False).edge_dtype is None


def test_a_symmetric_matrix_is_an_undirected_graph(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(sparse_npz(COO + COO.T))
    graph = read(path, directed=False)
    assert edges_of(graph) == [(0, 1, 11), (1, 0, 11), (1, 1, 14)]
    assert graph.out_edges is graph.in_edges
    path.write_bytes(sparse_npz(COO))
    with pytest.raises(FormatError, match="not symmetric"):
        read(path, directed=False)


def test_arrays(tmp_path):
    path = tmp_path / "a.npz"
    arrays = {"src": np.array([0, 1], np.uint32), "dst": np.array([1, 2], np.uint32), "n": 5}
    path.write_bytes(npz(**arrays, directed=True))
    graph = read(path)
    assert (graph.n, edges_of(graph), graph.directed) == (5, [(0, 1, None), (1, 2, None)], True)
    path.write_bytes(npz(**arrays, directed=False, weight=np.array([3, 4], np.int8)))
    graph = read(path)
    assert (graph.directed, edges_of(graph)[0]) == (False, (0, 1, 3))
    assert read(path, directed=True).directed
    path.write_bytes(npz(src=[-7], dst=[2**40]))
    assert edges_of(read(path)) == [(-7, 2**40, None)]


def zip_of(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return file.getvalue()


def npy(header, data=b""):
    text = header.encode() + b" " * (117 - len(header)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


HUGE = npy("{'descr': '<u4', 'fortran_order': False, 'shape': (1099511627776,), }", bytes(64))
CSR_PARTS = {"format": np.array(b"csr"), "shape": np.array([2, 2]), "data": np.array([1.0])}


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (npz(), "arrays none"),
        (npz(src=[1], row=[2]), "arrays row, src"),
        (npz(src=[0], dst=[0, 1], n=2), "1 entries of 'src', but 2"),
        (npz(src=[0.5], dst=[0.5], n=2), "'src' is a 1-d array of float64"),
        (npz(src=[[0]], dst=[[0]], n=2), "'src' is a 2-d array"),
        (npz(src=[0], dst=[2], n=2), "vertices 2 to 2, but n is 2"),
        (npz(src=[-1], dst=[0], n=2), "vertices -1 to -1"),
        (npz(src=[0], dst=[0], n=-1), "-1 vertices"),
        (npz(src=[0], dst=[0], n=2**32 + 1), "4294967297 vertices"),
        (npz(src=[0], dst=[0], n=2**32), "4,294,967,296 vertices, but 1 edges"),
        (sparse_npz(sp.coo_array((2**30, 2**30))), "1,073,741,824 vertices, but 0 edges"),
        (npz(src=[0], dst=[0], n=[2]), "'n' is int64 of shape"),
        (npz(src=[0], dst=[0], n=1, directed=3), "'directed' is int64"),
        (npz(src=[0], dst=[0], n=1, weight=[1, 2]), "'weight' is int64 of shape"),
        (npz(src=[0], dst=[0], n=1, weight=["x"]), "'weight' is <U1"),
        (npz(src=np.array([None]), dst=[0]), "Python objects"),
        (zip_of(src=HUGE, dst=HUGE), "declares 4,398,046,511,104 bytes of data, but has 64"),
        (zip_of(src=npy("{'descr': '<u4', 'fortran_order': False, 'shape': (-1,), }")), "declares -4 bytes"),
        (zip_of(src=b"no header"), "not a readable .npz file"),
        (sparse_npz(COO.tocsr()[:3]), "adjacency matrix is square"),
        (sparse_npz(COO.astype(complex)), "complex128"),
        (npz(**CSR_PARTS, indices=np.array([7]), indptr=np.array([0, 0, 1])), "not a readable .npz file"),
        (npz(**CSR_PARTS, indices=np.array([1]), indptr=np.array([0, 9, 1])), "not a readable .npz file"),
        (npz(**CSR_PARTS | {"format": np.array(b"xyz")}), "not a readable .npz file"),
        (npz(**CSR_PARTS | {"shape": np.array([2**40, 2**40])}), "1099511627776 vertices"),
    ],
)
def test_malformed_archives(tmp_path, contents, message):
    path = tmp_path / "a.npz"
    path.write_bytes(contents)
    with pytest.raises(FormatError, match=message):
        read(path)


def test_more_vertices_than_memory_holds_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    path.write_bytes(npz(src=[0], dst=[0], n=2**20))
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"available": 2**20})())
    with pytest.raises(FormatError, match="the offsets of 1,048,576 vertices take"):
        read(path)


# All formats


SAMPLES = {
    "g.txt": b"# c\n1 2 3\n2 3 4\n\n7 8 9\n",
    "g.csv": b'source,target,weight\n"a",b,0.5\nb,c,1\n',
    "g.txt.gz": gzip.compress(b"1 2\n3 4\n", mtime=0),
    "g.txt.xz": lzma.compress(b"1 2\n3 4\n"),
    "g.txt.zst": zstd(b"1 2\n3 4\n"),
    "g.npz": npz(src=[0, 1], dst=[1, 2], n=4, weight=[1.0, 2.0]),
    "csr.npz": sparse_npz(COO.tocsr()),
    "dia.npz": sparse_npz(COO.todia()),
}


def table_samples():
    for name in ("g.parquet", "g.feather", "plain.arrow", "stream.arrow"):
        sink = pa.BufferOutputStream()
        TABLE_WRITERS[name](TABLE, sink)
        SAMPLES[name] = sink.getvalue().to_pybytes()


table_samples()


def read_or_typed_error(path, contents):
    path.write_bytes(contents)
    try:
        said = repr(read(path, threads=1))
    except GaraphError as error:
        said = str(error)
    assert said.startswith(("<Graph: ", str(path)))


HOSTILE = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.parametrize("name", ["g.txt", "g.csv", "g.txt.gz", "g.parquet", "g.arrow", "g.npz"])
@HOSTILE
@given(contents=st.one_of(st.binary(max_size=300), st.text('0123456789 ,;\t\n\r#%"-.ex\0é', max_size=60)))
@example(contents="")
def test_random_bytes(tmp_path, name, contents):
    contents = contents.encode() if isinstance(contents, str) else contents
    magic = {"g.parquet": b"PAR1", "g.arrow": b"ARROW1\0\0", "g.npz": b"PK\x03\x04", "g.txt.gz": b"\x1f\x8b\x08"}
    read_or_typed_error(tmp_path / name, magic.get(name, b"") * (len(contents) % 2) + contents)


@pytest.mark.parametrize("name", SAMPLES)
@HOSTILE
@given(st.data())
def test_mutated_files(tmp_path, name, data):
    contents = bytearray(SAMPLES[name])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(contents) - 1))
        contents[place] = data.draw(st.one_of(st.integers(0, 255), st.sampled_from([0, 127, 128, 255])))
    read_or_typed_error(tmp_path / name, bytes(contents))


@pytest.mark.parametrize("name", ["g.txt.gz", "g.txt.xz", "g.txt.zst", "g.npz", "csr.npz", "g.parquet", "g.feather"])
def test_truncated_files_are_errors(tmp_path, name):
    path = tmp_path / name
    whole = SAMPLES[name]
    for length in {*range(0, len(whole), max(1, len(whole) // 40)), len(whole) - 1}:
        path.write_bytes(whole[:length])
        with pytest.raises(FormatError):
            read(path)


@pytest.mark.parametrize(
    ("name", "kind"), [("g.txt", "text"), ("g.parquet", "parquet"), ("g.feather", "arrow"), ("g.npz", "npz")]
)
def test_a_file_without_suffix_is_told_by_its_beginning(tmp_path, name, kind):
    path = tmp_path / "graph"
    path.write_bytes(SAMPLES[name])
    assert format_of(path).name == kind
    assert read(path).m == read(path, format=kind).m > 0


def test_formats_are_told_by_suffix():
    told = {"a.csv.gz": "text", "a.TSV": "text", "b.c.el.zst": "text", "x.parquet": "parquet", "x.npz": "npz"}
    assert {name: format_of(Path(name)).name for name in told} == told
    for format in FORMATS:
        if format.claims is None:  # else it shares a suffix, and the file decides
            assert {format_of(Path(f"a{suffix}")) for suffix in format.suffixes} == {format}
    with pytest.raises(FormatError, match=r"'\.xyz' says no known format"):
        format_of(Path("a.xyz"))
    with pytest.raises(ParameterError, match="one of text, parquet, arrow, npz"):
        format_of(Path("a.txt"), "foo")


@pytest.mark.parametrize("name", SAMPLES)
def test_weights_as_asked(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(SAMPLES[name])
    weighted = read(path).edge_dtype is not None
    assert read(path, weights=False).edge_dtype is None
    if weighted:
        assert read(path, weights=True).edge_dtype is not None
    else:
        with pytest.raises(FormatError, match="weight"):
            read(path, weights=True)


def test_no_weights_where_they_are_demanded(tmp_path):
    pa.parquet.write_table(STRINGS, tmp_path / "g.parquet")
    (tmp_path / "g.npz").write_bytes(npz(src=[0], dst=[0]))
    for name in ("g.parquet", "g.npz"):
        with pytest.raises(FormatError, match="weight"):
            read(tmp_path / name, weights=True)


@pytest.mark.parametrize("name", SAMPLES)
def test_progress_grows_and_ends_at_its_total(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(SAMPLES[name])
    seen: list = []
    read(path, on_event=seen.append)
    steps = [event for event in seen if isinstance(event, events.Step) and event.name == "reading"]
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert all(step.done < step.total for step in steps[:-1])
    assert steps[-1].done == steps[-1].total > 0


def test_a_listeners_error_is_its_own(tmp_path):
    def fail(event):
        raise ValueError("mine")

    for name, contents in SAMPLES.items():
        (tmp_path / name).write_bytes(contents)
        with pytest.raises(ValueError, match=r"^mine$"):
            read(tmp_path / name, on_event=fail)


def test_what_is_no_file(tmp_path):
    with pytest.raises(FormatError, match=r"garaph_py\.open"):
        read(tmp_path)
    with pytest.raises(FormatError, match="no such file"):
        read(tmp_path / "missing.txt")


def test_edges_are_dropped_or_doubled_as_asked(tmp_path):
    path = tmp_path / "g.txt"
    path.write_text("1 1\n1 2\n1 2\n")
    assert read(path, drop_self_loops=True).m == 2
    assert read(path, drop_parallel=True).m == 2
    assert edges_of(read(path, directed=False, drop_parallel=True)) == [(1, 1, None), (1, 2, None), (2, 1, None)]


@pytest.mark.parametrize("threads", [1, 2])
def test_readers_give_columns_of_the_narrowest_type(tmp_path, threads):
    path = tmp_path / "g.txt"
    path.write_text("1 2\n4294967295 5000000000\n")
    edges = format_of(path).read(path, ReadOptions(threads=threads), events.ignore)
    assert (edges.sources.dtype, edges.targets.dtype) == (np.uint32, np.int64)
    assert (edges.n, edges.directed, edges.weights) == (None, None, None)


# The shipped graph


def test_the_shipped_graph():
    graph = read(DATA / "debian-sid-deps.tsv.xz")
    assert (graph.n, graph.m) == (73_937, 412_601)
    most_needed = int(np.argmax(graph.in_degrees))
    assert graph.ids.take([most_needed]).tolist() == ["libc6"]
    assert graph.in_degrees[most_needed] == 24_882
    bash = graph.ids.index("bash")
    needs = graph.out_edges.neighbours[graph.out_edges.offsets[bash] : graph.out_edges.offsets[bash + 1]]
    assert {"libc6", "debianutils", "base-files"} <= set(graph.ids.take(needs))
    assert read(DATA / "debian-sid-deps.tsv.xz", drop_self_loops=True).m == 412_598
    assert read(DATA / "debian-sid-deps.tsv.xz", drop_parallel=True).m == 412_601
