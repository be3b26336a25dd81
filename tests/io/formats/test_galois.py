"""Galois binary graphs: the exact bytes, what is sorted and what is not, and files that are wrong."""

import gzip
import struct

import numpy as np
import pytest

from garaph_py.errors import FormatError, GraphError
from garaph_py.graph.build import from_edges, from_numbered_edges
from garaph_py.io.read import read
from garaph_py.io.write import write
from tests.support.contents import PLAIN, galois
from tests.support.graphs import DIRECTED, UNDIRECTED, edges_of, equal

WEIGHTED = galois(1, 4, [2, 2, 3, 3], [1, 2, 0], [7, 5, -2])


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
