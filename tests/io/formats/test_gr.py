"""Two formats with the suffix .gr: DIMACS text and Galois binary, told apart by what is in the file."""

import gzip
import lzma
import struct

import numpy as np
import pytest

from garaph_py import events
from garaph_py.errors import FormatError, GraphError, ParameterError
from garaph_py.graph.build import from_edges, from_numbered_edges
from garaph_py.io.formats import format_of
from garaph_py.io.read import read
from garaph_py.io.write import write
from tests.io.test_read import COMPRESSORS, edges_of
from tests.support.graphs import equal

DIMACS = b"c roads\nc\n\np sp 4 3\nc now the arcs\na 1 2 7\nc between\na 3 1 -2\na 1 3 5"
DIMACS_EDGES = [(1, 2, 7), (1, 3, 5), (3, 1, -2)]
DIRECTED = from_numbered_edges([0, 2, 0], [1, 0, 2], 4, np.array([7, -2, 5], np.int32))
UNDIRECTED = from_numbered_edges([0, 2, 3], [1, 0, 3], 5, np.array([7, 5, 6], np.int32), directed=False)


def galois(version, data_bytes, ends, targets, data=(), padding=None):
    letter = {1: "I", 2: "Q"}[version]
    if padding is None:
        padding = len(targets) % 2
    head = struct.pack("<4Q", version, data_bytes, len(ends), len(targets)) + struct.pack(f"<{len(ends)}Q", *ends)
    return (
        head
        + struct.pack(f"<{len(targets)}{letter}", *targets)
        + b"\0" * padding * struct.calcsize(letter)
        + bytes(struct.pack(f"<{len(data)}i", *data))
    )


WEIGHTED = galois(1, 4, [2, 2, 3, 3], [1, 2, 0], [7, 5, -2])
PLAIN = galois(1, 0, [2, 2, 3, 3], [1, 2, 0])


# Which of the two


@pytest.mark.parametrize(
    ("contents", "name"),
    [
        (DIMACS, "dimacs"),
        (b"p sp 1 0\n", "dimacs"),
        (b"\r\n\nc\r\np sp 1 0\r\n", "dimacs"),
        (gzip.compress(DIMACS, mtime=0), "dimacs"),
        (PLAIN, "galois"),
        (galois(2, 0, [1], [0]), "galois"),
        (gzip.compress(PLAIN, mtime=0), "galois"),
    ],
)
def test_the_contents_tell(tmp_path, contents, name):
    path = tmp_path / "g.gr"
    path.write_bytes(contents)
    assert format_of(path).name == name


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"\n",
        b"1 2\n",
        b"a 1 2 3\n",
        b"cat\n",
        b"problem\n",
        b"c \0",
        struct.pack("<Q", 3),
        PLAIN[:7],
        b"\xff" * 40,
    ],
)
def test_neither(tmp_path, contents):
    path = tmp_path / "g.gr"
    path.write_bytes(contents)
    with pytest.raises(FormatError, match=r"neither dimacs .* nor galois"):
        read(path)
    for name in ("dimacs", "galois"):
        with pytest.raises(FormatError):
            read(path, format=name)


def test_what_is_written_must_be_said(tmp_path):
    path = tmp_path / "g.gr"
    with pytest.raises(ParameterError, match="dimacs and galois"):
        write(DIRECTED, path)
    for name in ("dimacs", "galois"):
        write(DIRECTED, path, format=name)
        assert format_of(path).name == name
        assert read(path).m == 3


def test_a_galois_file_without_suffix_is_told(tmp_path):
    for version in (1, 2):
        (tmp_path / "graph").write_bytes(galois(version, 0, [1], [0]))
        assert format_of(tmp_path / "graph").name == "galois"


# DIMACS


@pytest.mark.parametrize("suffix", COMPRESSORS)
@pytest.mark.parametrize("crlf", [False, True])
def test_dimacs(tmp_path, suffix, crlf):
    path = tmp_path / f"g.gr{suffix}"
    path.write_bytes(COMPRESSORS[suffix](DIMACS.replace(b"\n", b"\r\n") if crlf else DIMACS))
    graph = read(path)
    assert edges_of(graph) == DIMACS_EDGES
    assert (graph.directed, graph.ids.array().tolist(), graph.edge_dtype) == (True, [1, 2, 3, 4], np.int64)
    assert read(path, weights=False).edge_dtype is None
    assert edges_of(read(path, drop_parallel=True, order="degree")) == DIMACS_EDGES


def test_dimacs_fractions_and_blanks(tmp_path):
    path = tmp_path / "g.gr"
    path.write_bytes(b"p  sp\t2   2 \na\t1  2   0.5 \na 2 1 1\n")
    assert edges_of(read(path)) == [(1, 2, 0.5), (2, 1, 1.0)]


def test_undirected_dimacs_has_every_edge_as_two_arcs(tmp_path):
    path = tmp_path / "g.gr"
    path.write_bytes(b"p sp 3 5\na 1 2 7\na 2 1 7\na 3 3 1\na 2 3 4\na 3 2 4\n")
    graph = read(path, directed=False)
    assert graph.out_edges is graph.in_edges
    assert edges_of(graph) == [(1, 2, 7), (2, 1, 7), (2, 3, 4), (3, 2, 4), (3, 3, 1)]
    path.write_bytes(b"p sp 3 2\na 1 2 7\na 2 1 8\n")
    with pytest.raises(FormatError, match="both directions"):
        read(path, directed=False)


def test_dimacs_without_arcs(tmp_path):
    path = tmp_path / "g.gr"
    path.write_bytes(b"p sp 3 0\n")
    graph = read(path)
    assert (graph.n, graph.m) == (3, 0)
    assert read(path, directed=False).n == 3
    path.write_bytes(b"p sp 0 0\n")
    assert read(path).n == 0


@pytest.mark.parametrize(
    ("contents", "line", "message"),
    [
        (b"c\nc\n", 3, "no line 'p sp"),
        (b"c\np tw 3 4\n", 2, "not a line 'p sp VERTICES ARCS'.*: p tw 3 4$"),
        (b"c\n\na 1 2 3\np sp 2 1\n", 3, "must come first"),
        (b"p sp 3\n", 1, "not a line"),
        (b"p sp -3 1\n", 1, "not a line"),
        (b"p sp 99999999999999999999 1\n", 1, "not a line"),
        (b"p sp 4294967297 0\n", 1, "4294967297 vertices"),
        (b"p sp 4294967296 0\n", None, "4,294,967,296 vertices, but 0 edges"),
        (b"c\np sp 2 1099511627776\na 1 2 3\n", 2, "1,099,511,627,776 arcs, but the file has 31 bytes"),
        (gzip.compress(b"p sp 2 1099511627776\n", mtime=0), None, "2 vertices and 1,099,511,627,776 arcs take"),
        (gzip.compress(b"p sp 2 3\na 1 2 3\n", mtime=0), None, "1 arcs, but its line 'p sp' says 3"),
        (b"p sp 2 0\na 1 2 3\n", None, "more than the 0 arcs"),
        (b"p sp 2 1\nc\na 1 2\n", 3, "not an arc.*: a 1 2$"),
        (b"p sp 2 1\na 1 2 3 4\n", 2, "not an arc"),
        (b"p sp 2 1\na 1 x 3\n", 2, "not an arc.*: a 1 x 3$"),
        (b"p sp 2 1\na 1 2 x\n", 2, "not an arc"),
        (b"p sp 2 1\nab 1 2 3\n", 2, "neither 'a' nor 'c'.*: ab 1 2 3$"),
        (b"p sp 2 1\nc\n\ne 1 2 3\n", 4, "neither 'a' nor 'c'"),
        (b"p sp 2 1\n a 1 2 3\n", 2, "neither 'a' nor 'c'"),
        (b"p sp 2 1\na 1 2 3\np sp 2 1\n", 3, "neither 'a' nor 'c'"),
        (b"p sp 2 2\na 1 2 3\nc\na 0 2 3\n", 4, "vertex 0, but they are 1 to 2"),
        (b"p sp 2 2\na 1 2 3\nc\na 1 3 3\n", 4, "vertex 3, but they are 1 to 2"),
        (b"p sp 2 1\na 1 \xff 3\n", 2, "not an arc"),
        (b"p sp 2 1\na 1 2 \0\n", 2, "not an arc"),
    ],
)
def test_malformed_dimacs(tmp_path, contents, line, message):
    path = tmp_path / "g.gr"
    path.write_bytes(contents)
    with pytest.raises(FormatError, match=message) as caught:
        read(path, format="dimacs")
    assert caught.value.line == line


@pytest.mark.parametrize("compress", [bytes, lzma.compress])
def test_dimacs_lines_are_counted_through_blocks(tmp_path, monkeypatch, compress):
    monkeypatch.setattr("garaph_py.io.formats.dimacs.BLOCK", 100)
    lines = ["c"] * 70 + ["p sp 1000 900"] + [f"a {number + 1} {number + 2} 1" for number in range(900)]
    lines[200:200] = ["c comment"] * 30
    path = tmp_path / "g.gr"
    path.write_bytes(compress("\n".join(lines).encode()))
    assert read(path).m == 900
    for bad, place in [("a 1 2 x", 150), ("x 1 2 3", 240), ("a 1 1001 1", 900)]:
        path.write_bytes(compress("\n".join([*lines[:place], bad, *lines[place + 1 :]]).encode()))
        for threads in (1, 3):
            with pytest.raises(FormatError) as caught:
                read(path, threads=threads)
            assert caught.value.line == place + 1


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_dimacs_as_written(tmp_path, suffix):
    path = tmp_path / f"g.gr{suffix}"
    write(DIRECTED, path, format="dimacs")
    assert edges_of(read(path)) == DIMACS_EDGES
    assert read(path).n == 4
    write(UNDIRECTED, path, format="dimacs")
    back = read(path, directed=False)
    assert edges_of(back) == [(u + 1, v + 1, w) for u, v, w in edges_of(UNDIRECTED)]
    assert (back.n, back.directed) == (5, False)
    for graph, message in [(from_edges([1], [2]), "no weights"), (from_edges([1], [2], [0.5]), "float64")]:
        with pytest.raises(GraphError, match=message):
            write(graph, path, format="dimacs")


# Galois


@pytest.mark.parametrize(
    ("contents", "edges"),
    [
        (PLAIN, [(0, 1, None), (0, 2, None), (2, 0, None)]),
        (galois(1, 0, [2, 2, 3, 3], [1, 2, 0], padding=0), [(0, 1, None), (0, 2, None), (2, 0, None)]),
        (WEIGHTED, [(0, 1, 7), (0, 2, 5), (2, 0, -2)]),
        (galois(1, 4, [2, 2, 3, 3], [2, 1, 0], [5, 7, -2]), [(0, 1, 7), (0, 2, 5), (2, 0, -2)]),
        (galois(2, 4, [2, 2, 3, 3], [1, 2, 0], [7, 5, -2]), [(0, 1, 7), (0, 2, 5), (2, 0, -2)]),
        (galois(2, 4, [2, 2, 3, 3], [1, 2, 0], [7, 5, -2], padding=0), [(0, 1, 7), (0, 2, 5), (2, 0, -2)]),
        (galois(2, 0, [1, 2], [1, 0]), [(0, 1, None), (1, 0, None)]),
        (galois(1, 0, [0, 0], []), []),
        (galois(1, 4, [], []), []),
    ],
)
def test_galois(tmp_path, contents, edges):
    path = tmp_path / "g.gr"
    path.write_bytes(contents)
    graph = read(path)
    assert edges_of(graph) == edges
    assert graph.n == struct.unpack_from("<Q", contents, 16)[0]
    assert graph.directed
    back = from_numbered_edges([u for u, _, _ in edges], [v for _, v, _ in edges], graph.n)
    assert equal(read(path, weights=False), back)


@pytest.mark.parametrize("graph", [DIRECTED, UNDIRECTED])
@pytest.mark.parametrize("weighted", [True, False])
def test_galois_as_written(tmp_path, graph, weighted):
    path = tmp_path / "g.gr"
    if not weighted:
        write(graph, path, format="galois")
        graph = read(path, directed=graph.directed, weights=False)
    write(graph, path, format="galois")
    assert equal(read(path, directed=graph.directed), graph)
    assert path.stat().st_size % 4 == 0


def test_galois_is_written_as_galois_does(tmp_path):
    write(DIRECTED, tmp_path / "g.gr", format="galois")
    assert (tmp_path / "g.gr").read_bytes() == WEIGHTED
    with pytest.raises(GraphError, match="float64"):
        write(from_edges([1], [2], [0.5]), tmp_path / "f.gr", format="galois")


def test_galois_directions(tmp_path):
    path = tmp_path / "g.gr"
    path.write_bytes(WEIGHTED)
    with pytest.raises(FormatError, match="both directions"):
        read(path, directed=False)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("threads", [1, 3])
def test_galois_lists_that_are_not_sorted(tmp_path, version, threads):
    rng = np.random.default_rng(5)
    sources, targets = np.sort(rng.integers(0, 300, 80_001)), rng.integers(0, 300, 80_001)
    weights = rng.integers(-9, 9, 80_001, dtype=np.int32)
    path = tmp_path / "g.gr"
    path.write_bytes(galois(version, 4, np.cumsum(np.bincount(sources, minlength=301)), targets, weights))
    assert equal(read(path, threads=threads), from_numbered_edges(sources, targets, 301, weights))


def patched(contents, place, number, width=8):
    return contents[:place] + number.to_bytes(width, "little") + contents[place + width :]


VERSION2 = galois(2, 0, [2, 2, 3, 3], [1, 2, 0])


@pytest.mark.parametrize(
    ("contents", "offset", "message"),
    [
        (PLAIN[:31], None, "31 bytes long, but its header has 32"),
        (patched(PLAIN, 0, 3), 0, "version 3"),
        (patched(PLAIN, 8, 8), 8, "8 bytes of data an edge"),
        (patched(PLAIN, 8, 2**63), 8, "bytes of data an edge"),
        (patched(PLAIN, 8, 4), None, "bytes long, but 4 vertices and 3 edges take 92"),
        (patched(PLAIN, 16, 2**32), None, "bytes long, but 4,294,967,296 vertices"),
        (patched(PLAIN, 16, 2**32 + 1), 16, "4294967297 vertices"),
        (patched(PLAIN, 24, 2**40), None, "bytes long"),
        (patched(PLAIN, 24, 2**64 - 1), 24, "18446744073709551615 edges"),
        (PLAIN + b"\0" * 4, None, "84 bytes long"),
        (WEIGHTED[:-4], None, "bytes long"),
        (patched(PLAIN, 56, 2), 56, "ends with edge 2, but there are 3"),
        (patched(PLAIN, 40, 1), 40, "list of vertex 1 ends before"),
        (patched(PLAIN, 32, 2**63), 32, "list of vertex 0 ends before"),
        (patched(PLAIN, 68, 4, 4), 68, "edge 1 leads to vertex 4, but there are 4"),
        (patched(VERSION2, 72, 2**32), 72, "edge 1 leads to vertex 4294967296"),
        (gzip.compress(PLAIN, mtime=0), None, "compressed with gzip"),
    ],
)
def test_malformed_galois(tmp_path, contents, offset, message):
    path = tmp_path / "g.gr"
    path.write_bytes(contents)
    with pytest.raises(FormatError, match=message) as caught:
        read(path, format="galois")
    assert caught.value.offset == offset


def test_galois_data_of_another_width_may_be_left(tmp_path):
    path = tmp_path / "g.gr"
    path.write_bytes(patched(PLAIN, 8, 8) + bytes(24))
    assert edges_of(read(path, weights=False)) == [(0, 1, None), (0, 2, None), (2, 0, None)]
    path.write_bytes(PLAIN)
    with pytest.raises(FormatError, match="no edge data"):
        read(path, weights=True)


def test_progress_grows_and_ends_at_its_total(tmp_path, monkeypatch):
    monkeypatch.setattr("garaph_py.io.formats.dimacs.BLOCK", 16)
    for name in ("dimacs", "galois"):
        seen: list = []
        write(DIRECTED, tmp_path / name, format=name, on_event=seen.append)
        read(tmp_path / name, format=name, on_event=seen.append)
        for kind in ("writing", "reading"):
            steps = [event for event in seen if isinstance(event, events.Step) and event.name == kind]
            assert [step.done for step in steps] == sorted(step.done for step in steps)
            assert steps[-1].done == steps[-1].total > 0
