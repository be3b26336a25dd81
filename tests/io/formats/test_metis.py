"""METIS files: what their reader understands, and what it says about files that are wrong."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.errors import FormatError
from garaph_py.io.read import read
from tests.support.contents import METIS, zstd
from tests.support.graphs import edges_of
from tests.support.hostile import HOSTILE, NOISE, changed, cut_everywhere, read_or_typed_error

METIS_EDGES = sorted(
    (u, v, w) for a, b, w in [(0, 1, 7), (0, 2, -1), (2, 3, 9), (3, 4, 2)] for u, v in [(a, b), (b, a)]
)


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
    both = read(path, directed=True)
    assert (both.directed, edges_of(both)) == (True, edges)
    assert read(path, weights=False).edge_dtype is None


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
        (b"3 2\n2 3\n1\n2\n", None, "vertex 1 has neighbour 3, but 3 does not have 1"),
        (b"3 2\n2\n1 3\n1\n", None, "vertex 2 has neighbour 3|vertex 3 has neighbour 1"),
        (b"2 1 1\n2 5\n1 6\n", None, "vertex 1 has neighbour 2, but 2 does not have 1 as often, with equal weight"),
    ],
)
def test_malformed_metis(tmp_path, contents, line, message):
    path = tmp_path / "g.graph"
    path.write_bytes(contents)
    with pytest.raises(FormatError, match=message) as caught:
        read(path)
    assert caught.value.line == line


def test_cut_off_files(tmp_path):
    whole = read_or_typed_error(tmp_path / "g.graph", METIS)
    cut_everywhere(tmp_path / "g.graph", METIS, lambda graph: edges_of(graph) == edges_of(whole), b"30")


@pytest.mark.full
@HOSTILE
@given(contents=NOISE)
def test_random_files(tmp_path, contents):
    read_or_typed_error(tmp_path / "g.graph", contents)


@pytest.mark.full
@HOSTILE
@given(st.data())
def test_changed_files(tmp_path, data):
    read_or_typed_error(
        tmp_path / "g.graph", data.draw(changed(METIS)), directed=data.draw(st.sampled_from([None, False]))
    )
