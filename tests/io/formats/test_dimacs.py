"""DIMACS files: what their reader understands, what it says about files that are wrong, and what is written."""

import gzip
import lzma

import numpy as np
import pytest

from garaph_py.errors import FormatError, GraphError
from garaph_py.graph.build import from_edges
from garaph_py.io.read import read
from garaph_py.io.write import write
from tests.support.contents import COMPRESSORS, DIMACS
from tests.support.graphs import DIRECTED, UNDIRECTED, edges_of

DIMACS_EDGES = [(1, 2, 7), (1, 3, 5), (3, 1, -2)]


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
    assert not graph.directed
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
        (b"c\np tw 3 4\n", 2, r"\('p tw 3 4'\): not a line 'p sp VERTICES ARCS'"),
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
        (b"p sp 2 1\nc\na 1 2\n", 3, r"\('a 1 2'\): not an arc"),
        (b"p sp 2 1\na 1 2 3 4\n", 2, "not an arc"),
        (b"p sp 2 1\na 1 x 3\n", 2, r"\('a 1 x 3'\): not an arc"),
        (b"p sp 2 1\na 1 2 x\n", 2, "not an arc"),
        (b"p sp 2 1\nab 1 2 3\n", 2, r"\('ab 1 2 3'\): begins with neither 'a' nor 'c'$"),
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


@pytest.mark.slow
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
