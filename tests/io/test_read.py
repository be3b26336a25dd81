"""Readers of graph files: what they understand, and what they say about files that are wrong."""

import errno
import gzip
import io
import lzma
import os
from pathlib import Path

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py import events
from garaph_py.errors import FormatError, GaraphError, ParameterError
from garaph_py.io import read as read_module
from garaph_py.io.collect import BuildOptions
from garaph_py.io.formats import FORMATS, ReadOptions, format_of, streams
from garaph_py.io.load import load
from garaph_py.io.read import read, read_graph
from tests.support.contents import COO, STRINGS, TABLE, TABLE_WRITERS, npz, sparse_npz, zstd
from tests.support.graphs import edges_of

DATA = Path(__file__).parents[2] / "data"


# Tables


# Archives


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


@pytest.mark.full
@pytest.mark.parametrize("name", ["g.txt", "g.csv", "g.txt.gz", "g.parquet", "g.arrow", "g.npz"])
@HOSTILE
@given(contents=st.one_of(st.binary(max_size=300), st.text('0123456789 ,;\t\n\r#%"-.ex\0é', max_size=60)))
@example(contents="")
def test_random_bytes(tmp_path, name, contents):
    contents = contents.encode() if isinstance(contents, str) else contents
    magic = {"g.parquet": b"PAR1", "g.arrow": b"ARROW1\0\0", "g.npz": b"PK\x03\x04", "g.txt.gz": b"\x1f\x8b\x08"}
    read_or_typed_error(tmp_path / name, magic.get(name, b"") * (len(contents) % 2) + contents)


@pytest.mark.full
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
    with pytest.raises(FormatError, match=r"'\.xyz' belongs to no known format"):
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


@pytest.mark.parametrize("call", ["peek", "close"])
def test_a_fault_of_the_disk_is_typed_or_harmless(tmp_path, monkeypatch, call):
    class Faulty(io.BufferedReader):
        def peek(self, size=0):
            if call == "peek":
                raise OSError(errno.EIO, "Input/output error")
            return super().peek(size)

        def close(self):
            if not self.closed:
                super().close()
                raise OSError(errno.EIO, "Input/output error")

    path = tmp_path / "g.txt"
    path.write_bytes(b"1 2\n2 3\n")
    opened = streams.text_blocks(path, 100, events.ignore)
    monkeypatch.setattr(streams, "open", lambda path, mode: Faulty(io.FileIO(path)), raising=False)
    if call == "close":
        assert list(opened) == [path.read_bytes()]
        return
    with pytest.raises(FormatError, match=r"g\.txt: Input/output error"):
        list(opened)


def test_an_error_of_the_listener_is_not_replaced(tmp_path):
    def fail(event):
        raise ValueError("mine")

    for name, contents in SAMPLES.items():
        (tmp_path / name).write_bytes(contents)
        with pytest.raises(ValueError, match=r"^mine$"):
            read(tmp_path / name, on_event=fail)


def test_a_name_that_no_file_can_have():
    with pytest.raises(FormatError, match="File name too long; check the name"):
        read("x" * 300)


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
    assert {"libc6", "debianutils", "base-files"} <= set(graph.neighbors("bash"))
    assert read(DATA / "debian-sid-deps.tsv.xz", drop_self_loops=True).m == 412_598
    assert read(DATA / "debian-sid-deps.tsv.xz", drop_parallel=True).m == 412_601


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        (None, {}, "the path of a file is a string or a pathlib.Path, not NoneType"),
        (5, {}, "not int"),
        (pandas.DataFrame(), {}, r"not pandas\..*DataFrame; make a graph of it with gp\.from_pandas$"),
        (b"edges.txt", {}, "not bytes"),
        (["edges.txt"], {}, "not list"),
        ({}, {}, "not dict"),
        ("edges.txt", {"directed": "no"}, "directed='no': give True or False"),
        ("edges.txt", {"weights": "w"}, "weights='w': give True or False"),
        ("edges.txt", {"format": []}, r"format=\[\] is not known"),
    ],
)
def test_arguments_of_wrong_types(tmp_path, monkeypatch, path, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.txt").write_text("1 2\n")
    with pytest.raises(ParameterError, match=message):
        read(path, **options)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing.txt", "no such file"),
        (
            "https://example.org/edges.txt",
            "^https://example.org/edges.txt: files of edges cannot be read from URLs; download the file first$",
        ),
        (".", "is a directory and not a graph directory; name a file in it$"),
        ("graph", r"is a graph directory; open it with garaph_py\.open$"),
    ],
)
def test_what_is_no_file(tmp_path, monkeypatch, path, message):
    monkeypatch.chdir(tmp_path)
    gp.save(gp.from_edges([0], [1]), "graph")
    with pytest.raises(FormatError, match=message):
        read(path)
    if path != "graph":
        with pytest.raises(FormatError, match=message):
            load(Path(path))


@pytest.mark.parametrize("always", [0, 1 << 20])
@pytest.mark.parametrize(("name", "least"), [("graph.tsv", "144.0 MiB"), ("graph.npy", "48.0 MiB")])
def test_a_file_for_which_memory_is_too_small_is_refused_with_what_an_import_takes(
    tmp_path, monkeypatch, name, least, always
):
    monkeypatch.setattr(read_module, "LEAST_READING", always)
    path, edges = tmp_path / name, np.arange(2 << 17).reshape(-1, 2)
    np.save(path, edges) if name.endswith("npy") else np.savetxt(path, edges, "%d", "\t")
    said = r" \(reading may take so much in any case\)" * bool(always)
    advice = rf"1.0 MiB may be used{said}; allow more .*, or .* garaph import, which needs {least} or more, but not all"
    with pytest.raises(FormatError, match=advice):
        read_graph(path, format_of(path, None), ReadOptions(None, None, 2, 1 << 20), BuildOptions(), events.ignore)


@pytest.mark.parametrize("name", ["edges.tsv", "edges", "edges.npz"])
def test_a_pipe_is_refused(tmp_path, name):
    """It would be read twice: to recognise the format, and for the edges."""
    os.mkfifo(tmp_path / name)
    with pytest.raises(FormatError, match=r"is a pipe or a device, .*; write it to a file"):
        gp.read(tmp_path / name)
