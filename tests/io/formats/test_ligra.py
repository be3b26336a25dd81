"""Ligra files: what their reader understands, and what it says about files that are wrong."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.errors import FormatError
from garaph_py.io.read import read
from tests.support.contents import LIGRA, zstd
from tests.support.graphs import edges_of
from tests.support.hostile import HOSTILE, NOISE, changed, cut_everywhere, read_or_typed_error

LIGRA_EDGES = [(0, 1, None), (0, 3, None), (2, 0, None), (2, 0, None), (2, 1, None)]
WEIGHTED = b"WeightedAdjacencyGraph\n3\n3\n0\n2\n3\n1\n2\n0\n10\n-20\n30\n"
WEIGHTED_EDGES = [(0, 1, 10), (0, 2, -20), (1, 0, 30)]
SAMPLES = {"g.adj": LIGRA, "w.adj": WEIGHTED}


# Accepted


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
        assert (
            np.diff(graph._arrays.out_edges.offsets) == np.bincount([u for u, *_ in edges], minlength=graph.n)
        ).all()
    assert read(path, weights=False).edge_dtype is None


def test_a_symmetric_ligra_file_is_an_undirected_graph(tmp_path):
    path = tmp_path / "g.adj"
    path.write_bytes(b"AdjacencyGraph\n3\n4\n0\n2\n3\n2\n1\n0\n0\n")
    graph = read(path, directed=False)
    assert not graph.directed
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


@pytest.mark.parametrize("name", SAMPLES)
def test_cut_off_files(tmp_path, name):
    whole = read_or_typed_error(tmp_path / name, SAMPLES[name])
    cut_everywhere(tmp_path / name, SAMPLES[name], lambda graph: edges_of(graph) == edges_of(whole), b"30")


@pytest.mark.full
@pytest.mark.parametrize("name", SAMPLES)
@HOSTILE
@given(contents=NOISE)
def test_random_files(tmp_path, name, contents):
    beginning = b"AdjacencyGraph\n" if name == "g.adj" else b"WeightedAdjacencyGraph\n"
    read_or_typed_error(tmp_path / name, beginning * (len(contents) % 3 > 0) + contents)


@pytest.mark.full
@pytest.mark.parametrize("name", SAMPLES)
@HOSTILE
@given(st.data())
def test_changed_files(tmp_path, name, data):
    read_or_typed_error(
        tmp_path / name, data.draw(changed(SAMPLES[name])), directed=data.draw(st.sampled_from([None, False]))
    )


# Numbers in text
