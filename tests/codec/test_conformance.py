"""What every array of edges does, of each codec and at each location: same elements, slices, bytes, answers, errors.

A new codec or location is one more entry in `WAYS`.
"""

from itertools import pairwise

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.codec.arrays import PACKED, RAW, RawArray
from garaph_py.codec.codecs import CODECS, PIECE, decoded, decoded_slice, encoded, limits_of
from garaph_py.codec.format import LISTS, NUMBERS
from garaph_py.errors import DamagedGraphError, GraphError
from garaph_py.graph import Adjacency
from garaph_py.native.threads import ThreadPool
from garaph_py.pages.passes import listed
from garaph_py.storage import directory as store
from tests.support import twins

from ..support.runs import run_with

MEMORY, DISK = "memory", "disk"
WAYS = [(codec, location) for codec in CODECS for location in (MEMORY, DISK)]
BLOCK_BYTES = 1 << 13
LENGTH = 50_000


@pytest.fixture(scope="module")
def pool():
    with ThreadPool(2) as pool:
        yield pool


@pytest.fixture(scope="module")
def plain():
    """The graph raw and in memory, which all others are compared with."""
    edges = twins.skewed(9, 2000, LENGTH, "int32")
    return gp.from_edges(edges.sources, edges.targets, edges.weights - 50, vertices=np.arange(2000))


@pytest.fixture(scope="module", params=WAYS, ids="-".join)
def graph(request, plain, tmp_path_factory):
    """The same graph, in one codec at one location."""
    codec, location = request.param
    if location == MEMORY:
        return plain.packed(2) if codec == PACKED else plain
    path = tmp_path_factory.mktemp("arrays") / "graph"
    store.save(plain, path, encoding=codec, block_bytes=BLOCK_BYTES)
    graph = store.read_graph(path, "auto", 1 << 24, None, gp.events.ignore, on_disk=True)
    assert (graph.encoding, graph.on_disk) == (codec, True)
    return graph


@pytest.fixture(params=[LISTS, NUMBERS])
def case(request, graph, plain):
    """An array; what its elements are; where its lists begin; and its elements."""
    edges, expected = graph._arrays.in_edges, plain._arrays.in_edges
    if request.param == LISTS:
        return edges.neighbour_array, LISTS, edges.offsets, expected.neighbours
    return edges.value_array, NUMBERS, None, expected.values


def test_it_says_what_it_is(graph, case):
    array, _, _, elements = case
    assert (array.codec, array.on_disk, array.dtype, len(array)) == (
        graph.encoding, graph.on_disk, elements.dtype, len(elements),
    )  # fmt: skip
    assert array.k == 1.0
    assert array.unit in (1, 1024)


def test_nbytes_is_what_it_takes_in_memory(case):
    array, _, _, elements = case
    if array.on_disk:
        assert array.buffers == ()
        assert array.nbytes < elements.nbytes / 100
        assert len(elements) / 2 < array.stored_bytes < 1.3 * elements.nbytes
    else:
        assert array.nbytes == sum(buffer.nbytes for buffer in array.buffers)


def test_the_whole_array(case, pool):
    array, kind, offsets, elements = case
    if array.on_disk:
        with pytest.raises(GraphError, match=r"stay on disk.*open the graph with more memory"):
            decoded(array, kind, pool, offsets)
    else:
        for threads in (pool, None):
            np.testing.assert_array_equal(decoded(array, kind, threads, offsets), elements, strict=True)


def test_slices(case, pool):
    array, kind, offsets, elements = case
    rng = np.random.default_rng(3)
    ends = [(0, 0), (0, 1), (0, LENGTH), (LENGTH - 1, LENGTH), *np.sort(rng.integers(0, LENGTH, (20, 2))).tolist()]
    for first, last in ends:
        first -= first % array.unit
        part = array.slice(first, last)
        assert (part.codec, part.on_disk, part.dtype) == (array.codec, False, array.dtype)
        assert last - first <= len(part) < last - first + array.unit
        found = decoded_slice(array, kind, first, last, pool, offsets)
        assert len(found) == len(part)
        np.testing.assert_array_equal(found, elements[first : first + len(part)], strict=True)


def test_slices_in_memory_are_no_copies(case):
    array, *_ = case
    if not array.on_disk:
        part = array.slice(2048, 9000)
        assert all(map(np.shares_memory, part.buffers, array.buffers))


def test_limits(case, pool):
    array, kind, _, elements = case
    if kind == NUMBERS:
        least, most = limits_of(array, pool)
        assert least == elements.min() < 0
        assert least.dtype == elements.dtype
        assert most == elements.max() if array.codec == RAW else most > elements.max()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_limits_are_not_finite_if_an_element_is_not(pool, value):
    array = np.zeros(3 * PIECE // 2)
    array[-1] = value
    assert not np.isfinite(limits_of(RawArray(array), pool)).all()


def test_room_holds_what_is_read(case):
    array, *_ = case
    if array.on_disk:
        for first, last in ((0, 1), (4096, 12_345), (0, LENGTH)):
            assert array.room(first, last) >= sum(map(len, map(np.atleast_1d, array.slice(first, last).buffers)))
        assert array.room(0, LENGTH) >= array.stored_bytes


def test_damage_is_found_in_slices(graph, plain, tmp_path):
    if not graph.on_disk:
        return
    store.save(plain, tmp_path / "graph", encoding=graph.encoding, block_bytes=BLOCK_BYTES)
    array = store.read_graph(
        tmp_path / "graph", "auto", 1 << 24, None, gp.events.ignore, on_disk=True
    )._arrays.in_edges.neighbour_array
    (path,) = array.reader.paths
    data = bytearray(path.read_bytes())
    data[int(array.reader.index["offset"][2]) + 5] ^= 1
    path.write_bytes(data)
    begin, end = array.array.bounds(2)
    with pytest.raises(DamagedGraphError, match="does not match its checksum"):
        array.slice(begin, end)
    assert len(array.slice(end, end + 10)) >= 10


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("kind", [LISTS, NUMBERS])
def test_what_is_encoded_comes_back(plain, pool, codec, kind):
    edges = plain._arrays.in_edges
    elements = edges.neighbours if kind == LISTS else edges.values
    offsets = edges.offsets if kind == LISTS else None
    array = encoded(elements, codec, kind, pool, offsets)
    assert array.codec == codec
    np.testing.assert_array_equal(decoded(array, kind, pool, offsets), elements, strict=True)


@pytest.mark.parametrize("codec", CODECS)
def test_what_a_codec_cannot_hold_stays_raw(pool, codec):
    assert encoded(np.array([0.5, 2.0]), codec, NUMBERS, pool).codec == RAW
    assert encoded(np.array([0, 1 << 40]), codec, NUMBERS, pool).codec == RAW


def test_an_adjacency_gives_plain_arrays(graph, plain):
    edges = graph._arrays.in_edges
    if graph.on_disk:
        for use in (lambda: edges.neighbours, lambda: edges.values, lambda: edges.without_values().values):
            with pytest.raises(GraphError, match=r"stay on disk.*open the graph with more memory"):
                use()
    else:
        np.testing.assert_array_equal(edges.neighbours, plain._arrays.in_edges.neighbours)
        np.testing.assert_array_equal(edges.values, plain._arrays.in_edges.values)
        assert edges.without_values().values is None


@pytest.mark.parametrize("codec", CODECS)
def test_an_adjacency_in_another_codec(graph, plain, pool, codec):
    edges = graph._arrays.in_edges
    if edges.encoding == codec:
        assert edges.encoded(codec, pool) is edges
    elif edges.on_disk:
        with pytest.raises(GraphError, match="stay on disk"):
            edges.encoded(codec, pool)
    else:
        other = edges.encoded(codec, pool)
        assert [array.codec for array in other.arrays()] == [codec, codec]
        np.testing.assert_array_equal(other.neighbours, plain._arrays.in_edges.neighbours)
        np.testing.assert_array_equal(other.values, plain._arrays.in_edges.values)


def test_an_adjacency_with_other_values(graph, pool):
    if graph.on_disk:
        return
    values = np.arange(graph.m, dtype=np.int32)
    other = graph._arrays.in_edges.with_values(values, pool)
    assert [array.codec for array in other.arrays()] == [graph.encoding] * 2
    np.testing.assert_array_equal(other.values, values)
    assert other.neighbour_array is graph._arrays.in_edges.neighbour_array


def test_an_adjacency_adds_its_bytes_up(graph):
    edges = graph._arrays.in_edges
    assert edges.edge_bytes == edges.neighbour_array.nbytes + edges.value_array.nbytes
    assert edges.nbytes == edges.offsets.nbytes + edges.edge_bytes
    assert edges.arrays(values=False) == [edges.neighbour_array]


def test_pages_hold_the_edges(graph, plain):
    expected, at = plain._arrays.in_edges, 0
    for chunk in listed(graph):
        end = at + len(chunk.sources)
        np.testing.assert_array_equal(chunk.sources, expected.neighbours[at:end])
        np.testing.assert_array_equal(chunk.values, expected.values[at:end])
        at = end
    assert at == plain.m


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize(("program", "options"), [
    (gp.apps.BFS(3), {}), (gp.apps.PageRank(weighted=False), {"iterations": 4, "sync": True, "mode": "pull"}),
    (gp.apps.HeatSimulation(), {"iterations": 3, "sync": True, "mode": "pull"}),
], ids=["BFS", "PageRank", "HeatSimulation"])  # fmt: skip
def test_answers_are_the_same(graph, plain, program, options):
    found, expected = (run_with(program, each, threads=2, page_edges=4000, **options) for each in (graph, plain))
    assert found.values.tobytes() == expected.values.tobytes()


def test_numpy_arrays_are_raw():
    edges = Adjacency(np.array([0, 1]), np.array([0], np.uint32), np.array([3], np.int32))
    assert [array.codec for array in edges.arrays()] == [RAW, RAW]
    assert all(first is second for first, second in pairwise([edges.neighbours] * 2))


def test_a_whole_raw_array_is_its_own_slice():
    array = RawArray(np.arange(5))
    assert array.slice(0, 5) is array
    assert array.slice(0, 4).data.tolist() == [0, 1, 2, 3]
