"""GAP serialized graphs: the exact bytes, what is sorted and what is not, and files that are wrong."""

import struct
from itertools import pairwise

import numpy as np
import pytest

from garaph_py import events
from garaph_py.errors import FormatError, GraphError
from garaph_py.graph.build import from_numbered_edges
from garaph_py.io.read import read
from garaph_py.io.write import write
from tests.support.graphs import edges_of, equal


def gap(directed, m, n, *lists):
    """A file of (offsets, neighbours or (neighbour, weight) pairs, flat)."""
    parts = [struct.pack("<?qq", directed, m, n)]
    for offsets, neighbours in lists:
        parts += [struct.pack(f"<{len(offsets)}q", *offsets), struct.pack(f"<{len(neighbours)}i", *neighbours)]
    return b"".join(parts)


# 0 -> 1, 0 -> 2, 2 -> 1
OUT, IN = ([0, 2, 2, 3], [1, 2, 1]), ([0, 0, 2, 3], [0, 2, 0])
WEIGHTED_OUT, WEIGHTED_IN = ([0, 2, 2, 3], [1, 7, 2, -8, 1, 9]), ([0, 0, 2, 3], [0, 7, 2, 9, 0, -8])
PATH = ([0, 1, 3, 4], [1, 0, 2, 1])  # 0 - 1 - 2
WEIGHTED_PATH = ([0, 1, 3, 4], [1, 5, 0, 5, 2, 6, 1, 6])
FILES = {
    "directed.sg": (gap(True, 3, 3, OUT, IN), from_numbered_edges([0, 0, 2], [1, 2, 1], 3)),
    "directed.wsg": (
        gap(True, 3, 3, WEIGHTED_OUT, WEIGHTED_IN),
        from_numbered_edges([0, 0, 2], [1, 2, 1], 3, np.array([7, -8, 9], np.int32)),
    ),
    "undirected.sg": (gap(False, 4, 3, PATH), from_numbered_edges([0, 1], [1, 2], 3, directed=False)),
    "undirected.wsg": (
        gap(False, 4, 3, WEIGHTED_PATH),
        from_numbered_edges([0, 1], [1, 2], 3, np.array([5, 6], np.int32), directed=False),
    ),
    "none.sg": (gap(False, 0, 0, ([0], [])), from_numbered_edges([], [], 0, directed=False)),
    "alone.sg": (gap(True, 0, 2, ([0, 0, 0], []), ([0, 0, 0], [])), from_numbered_edges([], [], 2)),
}


@pytest.mark.parametrize("name", FILES)
def test_bytes_are_those_of_gapbs(tmp_path, name):
    contents, graph = FILES[name]
    path = tmp_path / name
    path.write_bytes(contents)
    assert equal(read(path), graph)
    path.unlink()
    write(graph, path)
    assert path.read_bytes() == contents


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("threads", [1, 3])
def test_lists_that_are_not_sorted(tmp_path, directed, weighted, threads):
    rng = np.random.default_rng(7)
    sources, targets = rng.integers(0, 400, (2, 90_000))
    weights = (sources ^ targets).astype(np.int32) if weighted else None  # parallel edges alike: any order is right
    graph = from_numbered_edges(sources, targets, 401, weights, directed=directed)
    path = tmp_path / ("g.wsg" if weighted else "g.sg")
    write(graph, path)
    assert equal(read(path, threads=threads), graph)
    data = bytearray(path.read_bytes())
    width = 8 if weighted else 4
    for half in range(1 + directed):
        start = 17 + half * (len(data) - 17) // 2
        offsets = np.frombuffer(data, "<i8", 402, start)
        neighbours = np.frombuffer(data, f"V{width}", graph.m, start + offsets.nbytes)
        for first, last in pairwise(offsets):
            neighbours[first:last] = neighbours[first:last][::-1].copy()
    path.write_bytes(data)
    assert equal(read(path, threads=threads), graph)
    assert read(path, weights=False).edge_dtype is None


def test_the_caller_chooses_the_direction(tmp_path):
    path = tmp_path / "g.sg"
    path.write_bytes(FILES["undirected.sg"][0])
    graph = read(path, directed=True)
    assert graph.directed
    assert edges_of(graph) == edges_of(read(path)) == [(0, 1, None), (1, 0, None), (1, 2, None), (2, 1, None)]
    path.write_bytes(gap(True, 4, 3, PATH, PATH))
    assert equal(read(path, directed=False), FILES["undirected.sg"][1])
    path.write_bytes(FILES["directed.sg"][0])
    with pytest.raises(FormatError, match="both directions"):
        read(path, directed=False)
    path.write_bytes(gap(False, 3, 3, OUT))
    with pytest.raises(FormatError, match="both directions"):
        read(path)
    assert equal(read(path, directed=True), FILES["directed.sg"][1])


def test_edges_are_dropped_and_vertices_ordered_as_asked(tmp_path):
    graph = from_numbered_edges([0, 0, 1, 1], [1, 1, 1, 2], 4, np.array([5, 6, 7, 8], np.int32))
    write(graph, tmp_path / "g.wsg")
    assert edges_of(read(tmp_path / "g.wsg", drop_parallel=True)) == [(0, 1, 5), (1, 1, 7), (1, 2, 8)]
    assert edges_of(read(tmp_path / "g.wsg", drop_self_loops=True)) == [(0, 1, 5), (0, 1, 6), (1, 2, 8)]
    ordered = read(tmp_path / "g.wsg", order="degree")
    assert (ordered.n, edges_of(ordered)) == (4, edges_of(graph))
    undirected = from_numbered_edges([0, 0, 1], [1, 1, 1], 2, directed=False)
    write(undirected, tmp_path / "g.sg")
    assert edges_of(read(tmp_path / "g.sg", drop_parallel=True)) == [(0, 1, None), (1, 0, None), (1, 1, None)]


GOOD = gap(True, 3, 3, OUT, IN)


def patched(place, number, contents=GOOD):
    return (
        contents[:place]
        + struct.pack("<q", number)[: 8 if place < 49 else 4]
        + contents[place:][8 if place < 49 else 4 :]
    )


@pytest.mark.parametrize(
    ("contents", "offset", "message"),
    [
        (b"", None, "0 bytes long, but its header has 17"),
        (GOOD[:16], None, "16 bytes long"),
        (b"\x02" + GOOD[1:], 0, "directed, is 2"),
        (patched(1, -1), 1, "-1 edges"),
        (patched(1, 2**48 + 1), 1, "edges; 0 to"),
        (patched(9, -1), 9, "-1 vertices"),
        (patched(9, 2**31 + 1), 9, "2147483649 vertices"),
        (patched(1, 2**40), None, "bytes long, but 3 vertices and 1,099,511,627,776 edges take"),
        (patched(9, 2**31), None, "bytes long, but 2,147,483,648 vertices"),
        (GOOD + b"\0", None, "106 bytes long"),
        (GOOD[:-1], None, "104 bytes long"),
        (patched(17, 1), 17, "starts at edge 1"),
        (patched(41, 4), 41, "ends with edge 4, but there are 3"),
        (patched(25, 2**62), 33, "list of vertex 1 ends before it starts"),
        (patched(25, -1), 25, "list of vertex 0 ends before it starts"),
        (patched(53, 3), 53, "edge 1 leads to vertex 3, but there are 3"),
        (patched(57, -1), 57, "edge 2 leads to vertex 4294967295"),
        (patched(97, 3), 97, "edge 1 leads to vertex 3"),
        (patched(97, 1), 61, "in-lists do not hold the edges of its out-lists"),
        (b"\x1f\x8b\x08" + GOOD, None, "compressed with gzip; decompress"),
    ],
)
def test_malformed_files(tmp_path, contents, offset, message):
    path = tmp_path / "g.sg"
    path.write_bytes(contents)
    with pytest.raises(FormatError, match=message) as caught:
        read(path)
    assert caught.value.offset == offset


def test_weights_must_agree_in_both_lists(tmp_path):
    path = tmp_path / "g.wsg"
    contents = FILES["directed.wsg"][0]
    path.write_bytes(contents[:-4] + struct.pack("<i", 8))
    with pytest.raises(FormatError, match="in-lists"):
        read(path)
    path.write_bytes(FILES["undirected.wsg"][0][:-4] + struct.pack("<i", 8))
    with pytest.raises(FormatError, match="equal values"):
        read(path)
    path.write_bytes(GOOD)  # of an .sg
    with pytest.raises(FormatError, match="not what its name says"):
        read(path)


def test_what_the_formats_cannot_hold(tmp_path):
    floats = from_numbered_edges([0], [1], 2, [0.5])
    for graph, message in [
        (floats, "float64"),
        (from_numbered_edges([0], [1], 2), "no weights"),
        (from_numbered_edges([0], [1], 2, np.array([2**31], np.int64)), "from 2147483648"),
    ]:
        with pytest.raises(GraphError, match=message):
            write(graph, tmp_path / "g.wsg")
        assert not list(tmp_path.iterdir())
    write(floats, tmp_path / "g.sg")
    assert edges_of(read(tmp_path / "g.sg")) == [(0, 1, None)]
    with pytest.raises(FormatError, match="no weights"):
        read(tmp_path / "g.sg", weights=True)


def test_progress_grows_and_ends_at_its_total(tmp_path):
    seen: list = []
    write(FILES["directed.sg"][1], tmp_path / "g.sg", on_event=seen.append)
    read(tmp_path / "g.sg", on_event=seen.append)
    for name in ("writing", "reading"):
        steps = [event for event in seen if isinstance(event, events.Step) and event.name == name]
        assert [step.done for step in steps] == sorted(step.done for step in steps)
        assert steps[-1].done == steps[-1].total == len(GOOD)
