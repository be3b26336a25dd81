"""METIS and Ligra files: what their readers understand, and what they say about files that are wrong."""

import gzip

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from garaph_py.errors import FormatError
from garaph_py.io.formats import tokens
from garaph_py.io.read import read
from tests.io.test_read import edges_of, zstd
from tests.support.hostile import HOSTILE, NOISE, changed, cut_everywhere, read_or_typed_error

METIS = b"% five\n5 4 001\n2 7 3 -1\n1 7\n4 9 1 -1\n3 9 5 2\n4 2\n"
METIS_EDGES = sorted(
    (u, v, w) for a, b, w in [(0, 1, 7), (0, 2, -1), (2, 3, 9), (3, 4, 2)] for u, v in [(a, b), (b, a)]
)
LIGRA = b"AdjacencyGraph\n4\n5\n0\n2\n2\n5\n3\n1\n0\n0\n1\n"  # not ascending
LIGRA_EDGES = [(0, 1, None), (0, 3, None), (2, 0, None), (2, 0, None), (2, 1, None)]
WEIGHTED = b"WeightedAdjacencyGraph\n3\n3\n0\n2\n3\n1\n2\n0\n10\n-20\n30\n"
WEIGHTED_EDGES = [(0, 1, 10), (0, 2, -20), (1, 0, 30)]
SAMPLES = {"g.graph": METIS, "g.adj": LIGRA, "w.adj": WEIGHTED}


# Accepted


@pytest.mark.parametrize(
    ("contents", "edges"),
    [
        (METIS, METIS_EDGES),
        (METIS.replace(b"\n", b"\r\n"), METIS_EDGES),
        (METIS.replace(b" ", b" \t ").replace(b"\n", b" \n% c\n"), METIS_EDGES),
        (METIS[:-1], METIS_EDGES),
        (METIS + b"\n\n% the end\n", METIS_EDGES),
        (b"3 1\n\n3\n2\n", [(1, 2, None), (2, 1, None)]),
        (b"3 1 0\n\n3\n2\n", [(1, 2, None), (2, 1, None)]),
        (b"2 1 011 2\n8 8 2 5\n9 9 1 5\n", [(0, 1, 5), (1, 0, 5)]),
        (b"2 1 110 2\n6 8 8 2\n6 9 9 1\n", [(0, 1, None), (1, 0, None)]),
        (b"2 1 100\n6 2\n6 1\n", [(0, 1, None), (1, 0, None)]),
        (b"2 2\n1 2\n1\n", [(0, 0, None), (0, 1, None), (1, 0, None)]),
        (b"2 2 1\n2 5 2 6\n1 5 1 6\n", [(0, 1, 5), (0, 1, 6), (1, 0, 5), (1, 0, 6)]),
        (b"0 0\n", []),
        (b"2 0\n\n\n", []),
    ],
)
def test_metis(tmp_path, contents, edges):
    path = tmp_path / "g.graph"
    for compress in (bytes, gzip.compress, zstd):
        path.write_bytes(compress(contents))
        graph = read(path)
        assert edges_of(graph) == edges
        assert not graph.directed
        assert graph.out_edges is graph.in_edges
    both = read(path, directed=True)
    assert (both.directed, edges_of(both)) == (True, edges)
    assert read(path, weights=False).edge_dtype is None


@pytest.mark.parametrize(
    ("contents", "edges"),
    [
        (LIGRA, LIGRA_EDGES),
        (LIGRA.replace(b"\n", b"\r\n"), LIGRA_EDGES),
        (LIGRA.replace(b"\n", b" \n\n"), LIGRA_EDGES),
        (b"AdjacencyGraph\n" + LIGRA[15:].replace(b"\n", b" "), LIGRA_EDGES),
        (WEIGHTED, WEIGHTED_EDGES),
        (b"AdjacencyGraph\n0\n0\n", []),
        (b"AdjacencyGraph\n2\n0\n0\n0\n", []),
    ],
)
def test_ligra(tmp_path, contents, edges):
    path = tmp_path / "g.adj"
    for compress in (bytes, gzip.compress, zstd):
        path.write_bytes(compress(contents))
        graph = read(path)
        assert (graph.directed, edges_of(graph)) == (True, edges)
        assert (np.diff(graph.out_edges.offsets) == np.bincount([u for u, *_ in edges], minlength=graph.n)).all()
    assert read(path, weights=False).edge_dtype is None


def test_a_symmetric_ligra_file_is_an_undirected_graph(tmp_path):
    path = tmp_path / "g.adj"
    path.write_bytes(b"AdjacencyGraph\n3\n4\n0\n2\n3\n2\n1\n0\n0\n")
    graph = read(path, directed=False)
    assert graph.out_edges is graph.in_edges
    assert edges_of(graph) == [(0, 1, None), (0, 2, None), (1, 0, None), (2, 0, None)]
    path.write_bytes(LIGRA)
    with pytest.raises(FormatError, match="both directions"):
        read(path, directed=False)


@pytest.mark.parametrize(("contents", "kind"), [(LIGRA, 5), (WEIGHTED, 3)])
def test_ligra_is_told_by_its_beginning(tmp_path, contents, kind):
    (tmp_path / "graph").write_bytes(contents)
    assert read(tmp_path / "graph").m == kind


# Refused


@pytest.mark.parametrize(
    ("contents", "line", "message"),
    [
        (b"", None, "no first line"),
        (b"% c\n", None, "no first line"),
        (b"\n", 1, "0 numbers"),
        (b"5\n", 1, "1 numbers"),
        (b"1 2 3 4 5\n", 1, "5 numbers"),
        (b"-1 0\n", 1, "-1 vertices"),
        (b"4294967297 0\n", 1, "4294967297 vertices"),
        (b"1 281474976710657\n", 1, "281474976710657 edges"),
        (b"% c\n1000 1\n2\n1\n", 2, "the file has 15 bytes"),
        (b"2 1000\n2\n1\n", 1, "the file has 11 bytes"),
        (b"2 1 2\n2\n1\n", 1, "format 002"),
        (b"2 1 1111\n2\n1\n", 1, "format 1111"),
        (b"2 1 010 -1\n2\n1\n", 1, "-1 vertex weights"),
        (b"2 1 010 5000\n2\n1\n", 1, "5000 vertex weights"),
        (b"2 x\n", 1, "'x' is no 64-bit integer"),
        (b"2 1\n2\n1.0\n", 3, "'1.0' is no 64-bit integer"),
        (b"2 1\n%\n2 99999999999999999999\n1\n", 3, "'99999999999999999999' is no 64-bit integer"),
        (b"2 1\n2\n%\n3\n", 4, "neighbour 3; there are 1 to 2"),
        (b"2 1\n\n0\n", 3, "neighbour 0"),
        (b"2 1\n2 1\n2 2\n", None, "more than the 1 edges"),
        (b"2 1\n2\n", None, "the lines of 1 vertices, but 2"),
        (b"2 1\n2\n1\n\n1\n", 5, "after those of all 2"),
        (b"2 1 001\n2 5 1\n1 5\n", 2, "3 numbers; by the first line it has pairs"),
        (b"2 1 011\n4\n4 1 5\n", None, "1 neighbours, but 1 edges have 2"),
        (b"2 1 100\n4 2\n\n", 3, "0 numbers; by the first line it has 1 of the vertex and then neighbours"),
        (b"3 2\n2\n1\n\n", None, "2 neighbours, but 2 edges have 4"),
        (b"2 1\n1\n\n2\n", 4, "after those of all 2"),
        (b"3 2\n2 3\n1\n2\n", None, "vertex 1 has neighbour 3, but 3 has not 1"),
        (b"3 2\n2\n1 3\n1\n", None, "vertex 2 has neighbour 3|vertex 3 has neighbour 1"),
        (b"2 1 1\n2 5\n1 6\n", None, "vertex 1 has neighbour 2, but 2 has not 1 as often, with equal weight"),
    ],
)
def test_malformed_metis(tmp_path, contents, line, message):
    path = tmp_path / "g.graph"
    path.write_bytes(contents)
    with pytest.raises(FormatError, match=message) as caught:
        read(path)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("contents", "line", "message"),
    [
        (b"", 1, "neither AdjacencyGraph nor"),
        (b"AdjacencyGraphs\n0\n0\n", 1, "AdjacencyGraphs$"),
        (b"AdjacencyGraph", None, "no numbers of vertices and edges"),
        (b"AdjacencyGraph\n3\n", None, "no numbers of vertices and edges"),
        (b"AdjacencyGraph\n-3\n0\n", 2, "-3 vertices"),
        (b"AdjacencyGraph\n1\n281474976710657\n", 3, "281474976710657 edges"),
        (b"AdjacencyGraph\n1000\n1\n0\n", 2, "the file has 24 bytes"),
        (b"AdjacencyGraph\n1\n1000\n0\n", 2, "the file has 24 bytes"),
        (LIGRA + b"7\n", 13, "more numbers than the 9 of 4 vertices and 5 edges"),
        (LIGRA[:-2], None, "8 numbers, but 4 vertices and 5 edges have 9"),
        (LIGRA.replace(b"\n5\n3", b"\n6\n3"), 7, "the list of vertex 3 starts at edge 6 and ends at 5"),
        (LIGRA.replace(b"\n2\n2\n", b"\n2\n-2\n"), 5, "the list of vertex 1 starts at edge 2 and ends at -2"),
        (LIGRA.replace(b"5\n0\n", b"5\n1\n"), 4, "the first list starts at edge 1"),
        (LIGRA.replace(b"\n3\n", b"\n4\n"), 8, "edge 0 leads to vertex 4; there are 0 to 3"),
        (LIGRA.replace(b"\n3\n", b"\n\n-1\n"), 9, "edge 0 leads to vertex -1"),
        (WEIGHTED.replace(b"-20", b"-2.5"), 11, "'-2.5' is no 64-bit integer"),
        (b"AdjacencyGraph\n0\n1\n0\n", 4, "the first list starts at edge 1"),
    ],
)
def test_malformed_ligra(tmp_path, contents, line, message):
    path = tmp_path / "g.adj"
    path.write_bytes(contents)
    with pytest.raises(FormatError, match=message) as caught:
        read(path)
    assert caught.value.line == line


def test_weights_as_asked(tmp_path):
    for name, contents in (("g.graph", b"2 1\n2\n1\n"), ("g.adj", LIGRA)):
        (tmp_path / name).write_bytes(contents)
        with pytest.raises(FormatError, match="no edge weights"):
            read(tmp_path / name, weights=True)


@pytest.mark.parametrize("compress", [gzip.compress, zstd])
def test_counts_of_compressed_files_are_held_against_memory(tmp_path, monkeypatch, compress):
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"available": 2**30})())
    for name, contents in (("g.graph", b"9 9999999999\n"), ("g.adj", b"AdjacencyGraph\n9\n9999999999\n")):
        (tmp_path / name).write_bytes(compress(contents))
        with pytest.raises(FormatError, match=r"1\.0 GiB of memory are free"):
            read(tmp_path / name)


@pytest.mark.parametrize("name", SAMPLES)
def test_cut_off_files(tmp_path, name):
    whole = read_or_typed_error(tmp_path / name, SAMPLES[name])
    cut_everywhere(tmp_path / name, SAMPLES[name], lambda graph: edges_of(graph) == edges_of(whole), b"30")


@pytest.mark.parametrize("name", SAMPLES)
@HOSTILE
@given(contents=NOISE)
def test_random_files(tmp_path, name, contents):
    beginning = b"AdjacencyGraph\n" if name == "g.adj" else b"WeightedAdjacencyGraph\n" if name == "w.adj" else b""
    read_or_typed_error(tmp_path / name, beginning * (len(contents) % 3 > 0) + contents)


@pytest.mark.parametrize("name", SAMPLES)
@HOSTILE
@given(st.data())
def test_changed_files(tmp_path, name, data):
    read_or_typed_error(
        tmp_path / name, data.draw(changed(SAMPLES[name])), directed=data.draw(st.sampled_from([None, False]))
    )


# Numbers in text


EDGES_OF_RANGE = [b"-9223372036854775808", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809"]
PIECES = [
    *EDGES_OF_RANGE,
    b"0",
    b"-0",
    b"007",
    b"92233720368547758070",
    *[b" ", b"\n"] * 4,
    b"\t",
    b"-",
    b"%",
    b"x",
    b"\0",
]


@HOSTILE
@given(st.lists(st.sampled_from(PIECES)).map(b"".join))
@example(b"")
def test_numbers_as_python_reads_them(block):
    lines = (block if block.endswith(b"\n") else block + b"\n").split(b"\n")[:-1]
    values, counts = [], []
    for number, line in enumerate(lines):
        found = [] if line.startswith(b"%") else [token for token in line.replace(b"\t", b" ").split(b" ") if token]
        if not all(token.lstrip(b"-").isdigit() and -(2**63) <= int(token) < 2**63 for token in found):
            with pytest.raises(tokens.BadLine) as caught:
                tokens.parse(block)
            assert caught.value.line == number
            return
        values += map(int, found)
        counts.append(-1 if line.startswith(b"%") else len(found))
    numbers = tokens.parse(block)
    assert (numbers.values.tolist(), numbers.counts.tolist()) == (values, counts)
    text = np.frombuffer(block + b"\n" * (not block.endswith(b"\n")), np.uint8)
    slow = np.empty(len(text), np.int64), np.empty(len(text), np.int64)
    assert tokens.SCAN.function(text, len(text), *slow) == -1
    assert (slow[0][: len(values)].tolist(), slow[1][: len(counts)].tolist()) == (values, counts)


def test_blocks_are_put_together_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(tokens, "BLOCK", 64)
    n = 500
    ring = b"".join(b"%d %d\n" % ((v - 1) % n + 1, (v + 1) % n + 1) for v in range(n))
    path = tmp_path / "g.graph"
    path.write_bytes(b"%c\n" * 100 + b"%d %d\n" % (n, n) + ring)
    for threads in (1, 3):
        graph = read(path, threads=threads)
        assert edges_of(graph) == sorted((v, u, None) for v in range(n) for u in ((v - 1) % n, (v + 1) % n))
    path.write_bytes(path.read_bytes().replace(b"299 301", b"299 3O1"))
    with pytest.raises(FormatError, match="3O1") as caught:
        read(path)
    assert caught.value.line == 100 + 1 + 300
