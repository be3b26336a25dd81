"""The reader of text edge lists: every way to write one, and the line that is wrong."""

import lzma
import re
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from garaph_py.errors import FormatError
from garaph_py.io.formats import text
from garaph_py.io.formats.pairs import pairs
from garaph_py.io.read import read
from tests.support.contents import COMPRESSORS
from tests.support.graphs import edges_of


@pytest.mark.spread
@pytest.mark.parametrize(
    ("contents", "edges"),
    [
        ("1 2\n3 4\n", [(1, 2, None), (3, 4, None)]),
        ("1\t2\n3\t4", [(1, 2, None), (3, 4, None)]),
        ("1,2\r\n3,4\r\n", [(1, 2, None), (3, 4, None)]),
        ("1;2\r3;4\r", [(1, 2, None), (3, 4, None)]),
        ("# SNAP\n#\n% Konect\n1 2\n", [(1, 2, None)]),
        ("1 2\n# between\n\n%\n3 4\n\n", [(1, 2, None), (3, 4, None)]),
        ("  1   2 \n \t \n3 \t 4\t\n   # c\n5 6", [(1, 2, None), (3, 4, None), (5, 6, None)]),
        ("1, 2\n 3 ,4\n", [(1, 2, None), (3, 4, None)]),
        ("\ufeff1 2\n", [(1, 2, None)]),
        ("-1 9223372036854775807\n-9223372036854775808 3\n", [(-(2**63), 3, None), (-1, 2**63 - 1, None)]),
        ("1 18446744073709551615\n2 3\n", [(1, 2**64 - 1, None), (2, 3, None)]),
        ("01 18446744073709551616\n1 3\n", [("01", str(2**64), None), ("1", "3", None)]),
        ("1 2 7\n3 4 -8\n", [(1, 2, 7), (3, 4, -8)]),
        ("1 2 7\n3 4 0.5\n", [(1, 2, 7.0), (3, 4, 0.5)]),
        ("1 2 1e3\n3 4 5\n", [(1, 2, 1000.0), (3, 4, 5.0)]),
        ("1 2 7 1999\n3 4 8 2001\n", [(1, 2, 7), (3, 4, 8)]),
        ("source,target\n1,2\n", [(1, 2, None)]),
        ("Weight,FROM,To\n5,1,2\n", [(1, 2, 5)]),
        ("dst\tsrc\n1\t2\n", [(2, 1, None)]),
        ("node_a node_b\n1 2\n3 4\n", [(1, 2, None), (3, 4, None)]),
        ("U V Wgt\nann bob 3\n", [("ann", "bob", 3)]),
        ("u v\nv w\n", [("u", "v", None), ("v", "w", None)]),
        ("source,label,target\n1,x,2\n", [(1, 2, None)]),
        ("ann bob\nbob carl\n", [("ann", "bob", None), ("bob", "carl", None)]),
        ("ann bob\n# c\n  bob   carl \n", [("ann", "bob", None), ("bob", "carl", None)]),
        ("Ann Lee\tBob\n Bob \tCarl\n", [("Ann Lee", "Bob", None), ("Bob", "Carl", None)]),
        ("x 1\n2 3\n", [("2", "3", None), ("x", "1", None)]),
        ("é,ü\n", [("é", "ü", None)]),
        ('"Lee, Ann","B ""the"" C"\n"d",e\n', [("Lee, Ann", 'B "the" C', None), ("d", "e", None)]),
        ('5" disk\tb\n', [('5" disk', "b", None)]),
        ("3 3\n1 2\n1 2\n", [(1, 2, None), (1, 2, None), (3, 3, None)]),
    ],
)
@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_text(tmp_path, contents, edges, suffix):
    path = tmp_path / f"graph.txt{suffix}"
    path.write_bytes(COMPRESSORS[suffix](contents.encode()))
    graph = read(path)
    assert edges_of(graph) == sorted(edges)
    assert graph.directed


@pytest.mark.parametrize(
    ("contents", "line", "message"),
    [
        (b"", None, "no edges"),
        (b"\n \n", None, "no edges"),
        (b"# nothing\n", None, "no edges"),
        (b"source,target\n", None, "no edges"),
        (b"one\ntwo\n", 1, r"line 1 \('one'\): one column; give every line a source and a target"),
        (b"# c\n1 2\n3\n", 3, r"line 3 \('3'\): 1 column, but line 2 has 2; give every line the same columns$"),
        (b"1 2\n\n3 4 5\n", 3, "3 columns, but line 1 has 2"),
        (b"source target weight\n\n1 2\n", 3, "2 columns, but line 1 has 3"),
        (b"1 2 3\n4  5\n", 2, "2 columns"),
        (b"1,2\n,3\n", 2, "id is missing"),
        (b"a,b\nc,\n", 2, "id is missing"),
        (b'a,b\n"",d\n', 2, "id is missing"),
        (b"a\tb\n\tc\n", 2, "1 column"),
        (b"1 2\n# c\n3 4\n5 x6\n7 8\n", 4, r"line 4 \('5 x6'\): id 'x6' is not an integer as on line 1"),
        (b"1 2\n3 4.5\n", 2, "'4.5' is not an integer"),
        (b"1 2\n3 18446744073709551616\n", 2, "64 bits"),
        (b"1 18446744073709551615\n-1 2\n", None, "no integer type holds both"),
        (b"1 2 3\n4 5 six\n", 2, "weight 'six' is not a number"),
        (b"1 2 3\n4 5 1e400\n", 2, "weight 1e400 does not fit a float64"),
        (b"1,2,-1e999\n4,5,inf\n", 1, "weight -1e999 does not fit a float64"),
        (b"1,2,3\n4,5,\n", 2, "weight '' is not a number"),
        (b"a b\nc\0 d\n", 2, "NUL"),
        (b"a b\nc \xff\n", 2, "UTF-8"),
        (b"1 2\n3 \xff\n", 2, "UTF-8"),
        ("a b\n".encode("utf-16"), 1, "NUL"),
        (b'a,b\n"c,d\ne,f\n', 2, "1 column"),
        (b'a,b\nc,"d\n', 2, "not an edge"),
        (b'a,b\n"c\nd",e\n', 2, "1 column"),
        (b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1\n", None, "Matrix Market"),
        (b"1 2\n" + b"x" * (6 << 20), None, "a line of more than"),
        (b"a" * 1000, 1, r"line 1 \('a{76} \.\.\.'\): one column"),
    ],
)
@pytest.mark.parametrize("crlf", [False, True])
def test_malformed_text(tmp_path, contents, line, message, crlf):
    path = tmp_path / "graph.txt"
    path.write_bytes(contents.replace(b"\n", b"\r\n") if crlf and b"\0\n" not in contents else contents)
    with pytest.raises(FormatError, match=message) as caught:
        read(path)
    assert caught.value.line == line
    assert str(caught.value).startswith(str(path))


def test_lines_are_counted_through_blocks_and_threads(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "BLOCK", 1000)
    lines = [f"{number} {number + 1}" for number in range(5000)]
    lines[10:10] = ["# comment"] * 500
    path = tmp_path / "graph.txt"
    for bad in (600, 2345, 5499):
        path.write_text("\n".join([*lines[:bad], "12 oops", *lines[bad + 1 :]]))
        for threads in (1, 3):
            with pytest.raises(FormatError, match="12 oops") as caught:
                read(path, threads=threads)
            assert caught.value.line == bad + 1


LINE_NOISE = st.sampled_from(["", "# 1 2 3 4", "%", " ", "\t"])
SEPARATORS = st.sampled_from(["\t", " ", ",", ";", "   ", " \t"])
TEXT_IDS = st.sampled_from(
    [st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1), st.text("abcé-.'0", min_size=1, max_size=4)]
)


@pytest.mark.full
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
@given(st.data(), SEPARATORS, st.sampled_from(["\n", "\r\n"]), st.sampled_from([None, "int", "float"]))
def test_text_written_in_any_way_reads_back(tmp_path, data, separator, ending, weight):
    kind = data.draw(TEXT_IDS)
    pairs = data.draw(st.lists(st.tuples(kind, kind), min_size=1, max_size=30))
    if isinstance(pairs[0][0], str):  # the first line decides on the type
        pairs.insert(0, ("name", "other"))
    values = {"int": range(len(pairs)), "float": [number + 0.25 for number in range(len(pairs))]}.get(weight or "")
    edges = [(*pair, None if values is None else values[number]) for number, pair in enumerate(pairs)]
    lines = ["source,target,weight".replace(",", separator) if values else f"source{separator}target"]
    for edge in edges:
        lines += data.draw(st.lists(LINE_NOISE, max_size=2))
        line = separator.join(str(item) for item in edge if item is not None)
        lines.append(data.draw(st.sampled_from(["", " "])) + line + data.draw(st.sampled_from(["", " ", "\t"])))
    path = tmp_path / "graph.edges"
    path.write_text(ending.join(lines) + data.draw(st.sampled_from(["", ending])), newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK", data.draw(st.sampled_from([16, 64, 4096])))
        assert edges_of(read(path, threads=2)) == sorted(edges)


@pytest.mark.parametrize("text", ["1 2 x\n2 3 5\n", "1 2 weight\n2 3 5\n4 5 6\n", "1 2 1_000\n", "ann bob {}\n"])
def test_a_third_column_without_header_is_weights_or_left_out_on_request(tmp_path, text):
    path = tmp_path / "edges.txt"
    path.write_text(text)
    with pytest.raises(FormatError, match=r"line 1 \('.*'\): weight '.*' is not a number; .* --no-weights"):
        read(path)
    graph = read(path, weights=False)
    assert (graph.m, graph.edge_dtype) == (text.count("\n"), None)


def test_a_first_edge_that_looks_like_a_header_is_not_dropped(tmp_path):
    path = tmp_path / "edges.txt"
    path.write_text("ann bob 1_000\ncarl dora 5\n")
    advice = "if this line is an edge and no header, its third column '1_000' must be a number"
    with pytest.raises(FormatError, match=rf"line 1: .* \(the columns are 'ann', 'bob', '1_000'\); .*; {advice}"):
        read(path)


@pytest.mark.parametrize("names", [{"weight_column": "w"}, {"source_column": "source"}])
@pytest.mark.parametrize("lines", ["1 2 7\n2 3 5\n", "ann bob 7\nbob carl 5\n"])
def test_names_of_columns_for_a_file_without_header(tmp_path, lines, names):
    path = tmp_path / "edges.txt"
    path.write_text(lines)
    with pytest.raises(FormatError, match=r"line 1 \('.* 7'\): .* it is no header, .* leave out .*--weight-column\)"):
        read(path, **names)


@pytest.mark.parametrize(
    ("lines", "warns"),
    [
        ("package\tdependency\nfirefox\tlibc6\nfirefox\tperl\n", True),
        ("package\tdependency\nfirefox\tlibc6\nperl\tpackage\n", False),
        ("package\tdependency\nfirefox\tlibc6\nfirefox\tdependency\n", False),
        ("source\ttarget\nfirefox\tlibc6\nfirefox\tperl\n", False),
        ("01\tx\nfirefox\tlibc6\n", False),
        ("firefox\tlibc6\n", False),
    ],
)
@pytest.mark.parametrize("block", [8, 4096])
def test_a_first_edge_whose_names_do_not_occur_again_is_pointed_out(tmp_path, caplog, monkeypatch, lines, warns, block):
    monkeypatch.setattr(text, "BLOCK", block)
    path = tmp_path / "edges.tsv"
    path.write_text(lines)
    read(path)
    said = f"{path}: line 1 ('package', 'dependency') was read as an edge; if it is a header, name its columns"
    assert (said in caplog.text) == warns == bool(caplog.text)


@pytest.mark.parametrize(("blocks", "warns"), [(1, True), (10_000, False)])
def test_names_of_the_first_edge_are_looked_for_in_some_blocks_only(tmp_path, caplog, monkeypatch, blocks, warns):
    monkeypatch.setattr(text, "BLOCK", 8)
    monkeypatch.setattr(text, "WATCHED", blocks)
    path = tmp_path / "edges.tsv"
    path.write_text("package\tdependency\n" + "firefox\tlibc6\n" * 2000 + "package\tlibc6\n")
    assert read(path).m == 2002
    assert ("was read as an edge" in caplog.text) == warns


@pytest.mark.full
def test_lines_without_edges_take_little_time(tmp_path):
    path = tmp_path / "edges.txt"
    path.write_bytes(b"1 2\n" + b"\n" * (16 << 20) + b"2 3\n")
    began = time.process_time()
    assert read(path, threads=1).m == 2
    assert time.process_time() - began < 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "most"), [(b"1 2\n", 32 << 20), pytest.param(b"# nothing\n1 2\n", 64 << 20, marks=pytest.mark.full)]
)
def test_a_bad_line_is_found_in_little_memory(tmp_path, line, most):
    path = tmp_path / "edges.txt"
    path.write_bytes(line * ((8 << 20) // len(line)) + b"x\n")
    bad = path.read_bytes().count(b"\n")
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=rf"line {bad} \('x'\):"):
            read(path, threads=1)
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


ZSTD_WINDOW_OF_1_GIB = b"\x28\xb5\x2f\xfd" + bytes([0, (30 - 10) << 3]) + b"\x21\0\0" + b"1 2\n"


@pytest.mark.parametrize(("suffix", "contents"), [
    (".xz", lzma.compress(b"1 2\n", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 128 << 20}])),
    (".zst", ZSTD_WINDOW_OF_1_GIB),
])  # fmt: skip
def test_a_compression_that_takes_much_memory_is_refused(tmp_path, suffix, contents):
    for name in (f"edges.txt{suffix}", f"graph.metis{suffix}"):
        (tmp_path / name).write_bytes(contents)
        with pytest.raises(FormatError, match=r"takes too much memory .*; compress it again, at most with xz -9"):
            read(tmp_path / name)


def test_xz_of_several_streams(tmp_path):
    path, streams = tmp_path / "edges.txt.xz", [lzma.compress(b"1 2\n" * 90_000, preset=9), lzma.compress(b"2 3\n")]
    path.write_bytes(streams[0] + bytes(8) + streams[1] + bytes(4))
    assert read(path).m == 90_001
    for damaged in (streams[0][:-9], streams[0] + streams[1][:-9], streams[0] + b"12"):
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match="the compressed data end early or are damaged"):
            read(path)


@pytest.mark.slow
@pytest.mark.parametrize("contents", ["1 2 5\n", "a b 5\n"])
def test_reading_does_not_import_pandas(tmp_path, contents):
    path = tmp_path / "edges.txt"
    path.write_text(contents)
    code = f"import garaph_py, sys; garaph_py.read({str(path)!r}); sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == 0


@given(st.binary(max_size=60) | st.text("0123456789 \t,\n-#", max_size=60).map(str.encode))
def test_pairs_are_what_a_slow_reader_reads(text):
    *lines, rest = text.split(b"\n")
    found = pairs(text, " ", len(lines))
    plain = not rest and lines != [] and all(re.fullmatch(rb"[0-9]{1,18} [0-9]{1,18}", line) for line in lines)
    assert (found is not None) == plain
    if found is not None:
        assert np.stack(found, 1).tolist() == [[int(number) for number in line.split()] for line in lines]


def test_columns_that_are_left_out_are_reported(tmp_path, caplog):
    (tmp_path / "edges.tsv").write_text("1 2 3 4 5\n")
    assert read(tmp_path / "edges.tsv").edge_dtype == np.int64
    assert "the third of 5 columns was read as weights, and the later ones were ignored" in caplog.text
    caplog.clear()
    read(tmp_path / "edges.tsv", weights=False)
    assert not caplog.text


def test_weights_may_be_infinite_if_they_are_written_so(tmp_path):
    (tmp_path / "edges.tsv").write_text("1 2 inf\n2 3 -Infinity\n3 4 1.5\n")
    assert read(tmp_path / "edges.tsv")._arrays.in_edges.values.tolist() == [np.inf, -np.inf, 1.5]
