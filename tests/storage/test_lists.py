"""Lists of neighbours: where they begin, and the first that does not ascend."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from garaph_py.codec.blocks import begin_masks
from garaph_py.errors import DamagedGraphError
from garaph_py.graph.build import from_numbered_edges
from garaph_py.storage import directory as store
from garaph_py.storage.check import expectations, scan
from garaph_py.storage.files import GraphDirectory
from garaph_py.storage.lists import COUNT_FAULTS, Lists, StoredLists
from tests.support.stored_graphs import opened, rewrite_array

LENGTHS = st.lists(st.integers(0, 9), max_size=30).map(lambda lengths: [*lengths, 1])


def offsets_of(lengths):
    return np.append(0, np.cumsum(lengths)).astype(np.int64)


def fall_of(offsets, first, others):
    """The twin of `Lists.fall`."""
    begins = set(offsets.tolist())
    places = (k for k in range(1, len(others)) if first + k not in begins and others[k] < others[k - 1])
    return next(places, None)


@given(LENGTHS, st.integers(0, 2**32), st.data())
def test_the_first_fall_is_found(lengths, seed, data):
    offsets, rng = offsets_of(lengths), np.random.default_rng(seed)
    elements = np.concatenate([np.sort(rng.integers(0, 5, length)) for length in lengths]).astype(np.uint32)
    last = data.draw(st.integers(1, len(elements)))
    first = data.draw(st.integers(0, last - 1))
    for _ in range(data.draw(st.integers(0, 2))):
        elements[rng.integers(0, len(elements))] = rng.integers(0, 5)
    fall = fall_of(offsets, first, elements[first:last])
    assert Lists(offsets).fall(first, elements[first:last]) == fall
    below = data.draw(st.integers(1, 6))
    assert Lists(offsets).sound(first, elements[first:last], below) == (
        fall is None and elements[first:last].max() < below
    )
    low, high = np.searchsorted(offsets, first, "right"), np.searchsorted(offsets, last)
    arguments = offsets, int(low), int(high), first, elements[first:last], last - first, below - 1
    assert COUNT_FAULTS.function(*arguments) == COUNT_FAULTS(*arguments)


@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_lists_whose_offsets_stay_on_disk_are_the_same(tmp_path, encoding):
    """Many vertices without edges: their offsets fill whole blocks."""
    rng = np.random.default_rng(5)
    sources, targets = rng.integers(0, 9000, (2, 4000))
    targets[rng.random(4000) < 0.7] = 4567
    graph = from_numbered_edges(sources, targets, 9000)
    store.save(graph, tmp_path / "g", encoding=encoding, block_bytes=8192)
    offsets, others = graph._arrays.in_edges.offsets, graph._arrays.in_edges.neighbours
    with GraphDirectory(tmp_path / "g") as folder, store.ThreadPool(1) as pool:
        manifest = store.read_manifest(folder)
        reader = store.reader_of(folder, manifest, "in_offsets")
        ends = scan(reader, expectations(manifest)["in_offsets"], pool, store.refuse, lambda _: None)
        stored, here = StoredLists(reader, ends), Lists(offsets)
        for first, last in [
            (0, graph.m),
            (17, 900),
            (900, 901),
            (graph.m - 1, graph.m),
            *rng.integers(0, graph.m, (20, 2)),
        ]:
            first, last = sorted((int(first), int(last)))
            assert np.array_equal(stored.begins(first, last), begin_masks(offsets, first, last))
            assert np.array_equal(here.begins(first, last), begin_masks(offsets, first, last))
            piece = others[first:last]
            assert stored.hash(first, piece, None, True) == here.hash(first, piece, None, True)
            assert stored.fall(first, piece) is here.fall(first, piece) is None
            assert stored.sound(first, piece, 9000)
            assert all(begin < end for *_, begin, end in stored._pieces(first, last))  # none of a block without edges
            assert stored.continues(first) == here.continues(first) == (first not in offsets)


@pytest.mark.parametrize(
    ("place", "value", "where"),
    [
        (5, 3, "block 0, at byte 20 of the file"),
        (127, 299, "block 1, at byte 512 of the file"),
        (129, 127, "block 1, at byte 516 of the file"),
        (299, 0, "block 2, at byte 1196 of the file"),
    ],
)
def test_lists_in_disorder_are_found_in_memory_and_on_disk(tmp_path, place, value, where):
    """Vertex 0 has 300 in-edges, which fill two blocks and begin a third."""
    store.save(from_numbered_edges(range(300), [0] * 300, 300), tmp_path / "g", encoding="raw", block_bytes=512)
    graph = opened(tmp_path / "g", 1 << 20)
    assert graph._arrays.in_edges.neighbour_array.slice(0, 300).data.tolist() == list(range(300))
    rewrite_array(tmp_path / "g", "in_sources", lambda elements: elements.__setitem__(place, value))
    problem = rf"in_sources\.data: {where}: a vertex's neighbours are not in ascending order"
    with pytest.raises(DamagedGraphError, match=problem) as caught:
        store.open(tmp_path / "g")
    with pytest.raises(DamagedGraphError, match=problem):
        opened(tmp_path / "g", 1 << 20)._arrays.in_edges.neighbour_array.slice(0, 300)
    assert [str(found) for found in store.verify(tmp_path / "g")] == [str(caught.value)]


def test_parallel_edges_are_in_order(tmp_path):
    store.save(from_numbered_edges([1, 1, 1, 0], [0, 0, 0, 0], 2), tmp_path / "g", encoding="raw")
    assert store.verify(tmp_path / "g") == []
    assert store.open(tmp_path / "g")._arrays.in_edges.neighbours.tolist() == [0, 1, 1, 1]
