"""Reading a few packed edges from disk: which runs are read, and what they are checked against."""

import itertools

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.codec.format import RUN
from garaph_py.errors import DamagedGraphError, GraphError
from garaph_py.pages import memory
from garaph_py.pages.layout import layout
from garaph_py.pages.provider import SourceFactory
from garaph_py.storage import directory as store
from garaph_py.storage.sectors import SECTOR
from tests.support.disk_reads import check_that_runs_are_read_alone, decoded, read
from tests.support.stored_graphs import alone, flipped, hub, opened, with_memory

from ..support.runs import run_with

PACKED = pytest.mark.parametrize("saved", [(False, "packed"), (True, "packed")], indirect=True, ids=str)


@pytest.fixture
def pages(source):
    """A source that has read all pages, and kept what it takes to read parts."""
    made = source(150_000, page_edges=10_000)
    made._arrays[0].keep_parts(True)
    made.stays = [False] * len(made.pages)
    made.prefetch(made.pages)
    for page in made.pages:
        made.edges(page)
        made.release(page)
    return made


@PACKED
def test_of_blocks_that_have_been_checked_runs_are_read(saved, pages):
    graph, _, _ = saved
    into = graph._arrays.in_edges
    elements = [0, 5, RUN - 1, 7 * RUN, 8 * RUN + 3, graph.m // 2, graph.m - 1]
    found, nbytes = read(pages, into.offsets, elements)
    assert found == {e: int(into.neighbours[e]) for e in elements}
    assert nbytes <= 3 * SECTOR * len(elements)  # a run has up to 4 KiB, in any place
    pages._arrays[0].keep_parts(False)
    again, blocks = read(pages, into.offsets, elements)
    assert again == found
    assert blocks >= nbytes


@pytest.mark.full
@PACKED
def test_every_run_can_be_read_alone(saved, pages):
    check_that_runs_are_read_alone(saved[0], pages)


@PACKED
def test_damage_in_a_run_is_found_where_it_is_read(saved, pages):
    graph, _, _ = saved
    offsets = graph._arrays.in_edges.offsets
    stored = pages._arrays[0]
    held = min(frame.holds.first_edge for frame in pages._frames if frame.holds is not None)
    block = held // stored.block_elements // 2  # of a page that is read again
    data, start = stored.reader.paths[stored._disks[block]], int(stored._words[block])
    with flipped(data, start):
        read(pages, offsets, [0, graph.m - 1])
        with pytest.raises(DamagedGraphError, match=rf"{data.name}: block {block}, at byte .*checksum"):
            read(pages, offsets, [block * stored.block_elements])


@PACKED
def test_a_read_under_way_keeps_what_it_needs(saved, pages):
    """Another run of the graph may decide to keep nothing."""
    graph, _, _ = saved
    into = graph._arrays.in_edges
    pages.prefetch(pages.pages, alone(3 * RUN))
    pages._arrays[0].keep_parts(False)
    assert decoded(pages.edges(pages.pages[0]), into.offsets, 3 * RUN) == into.neighbours[3 * RUN]


@pytest.mark.full
@PACKED
def test_parts_are_kept_where_they_leave_room(saved):
    """Not where memory is so short that a page would have none, nor where all edges fit."""
    _, path, _ = saved
    graph, seen = opened(path, 0), []
    for room in range(10_000, 700_000, 2000):
        try:
            divided = memory.EdgeMemory(with_memory(graph, room)._arrays, False, memory.MemoryNeeds(0, searches=True))
        except GraphError:
            assert not seen
            continue
        seen.append(len(divided.parts) > 0)
        assert divided.taken + divided.into + divided.out <= room
        assert not divided.parts or divided.taken >= divided.parts_nbytes > 0
    changes = [b for a, b in itertools.pairwise(seen) if a != b]
    assert changes == [True, False]


@pytest.mark.slow
@PACKED
def test_parts_are_given_up_for_pages_that_need_their_memory(saved):
    """A run that can start with some memory can start with any larger amount, also with pages of its own."""
    _, path, _ = saved
    graph, started = opened(path, 0), []
    needs = memory.MemoryNeeds(0, searches=True)
    for room in range(40_000, 300_000, 2000):
        given = with_memory(graph, room)
        pages = layout(given._arrays.in_edges.offsets, 20_000)
        with SourceFactory(given, False) as sources:
            try:
                sources.divide(needs)
                sources.into(pages=pages, elsewhere=1)
            except GraphError:
                started.append(False)
                continue
            started.append(True)
            assert sources.room <= room
    assert started == sorted(started)
    assert any(started)


@pytest.mark.slow
@pytest.mark.parametrize("saved", [(True, "packed")], indirect=True, ids=str)
def test_nothing_is_kept_of_arrays_that_the_next_run_does_not_read(saved):
    graph, path, _ = saved
    stored = opened(path, 150_000)
    own, kept = stored._arrays, []
    for program in gp.apps.SSSP(hub(graph)), gp.apps.BFS(hub(graph)):
        gp.run(program, stored, device="cpu")
        every = (*own.in_edges.arrays(), *own.out_edges.arrays())
        kept.append([array._known is not None for array in every])
    assert kept[0] == [True, True, True, True]
    assert kept[1] == [False, False, True, False]  # the in-edges fit


def test_a_run_takes_from_no_other_what_it_reads_parts_with(tmp_path):
    store.save(gp.rmat(15, 16, directed=False), tmp_path / "graph", encoding="packed", block_bytes=1 << 16)
    graph = opened(tmp_path / "graph", 500_000)
    (array,) = memory.arrays_on_disk(graph._arrays.in_edges)
    searching, passing = memory.MemoryNeeds(0, searches=True), memory.MemoryNeeds(0)
    with SourceFactory(graph, False) as one:
        one.divide(searching)
        with SourceFactory(graph, False) as other:
            other.divide(passing)
            other.into()
            assert array.reads_compactly
        assert array.reads_compactly
        with SourceFactory(graph, False):  # one that has not been divided reads nothing
            one.divide(passing)
            assert not array.reads_compactly


@pytest.mark.slow
@pytest.mark.parametrize(("enough", "kept"), [(10**9, False), (0, True)])
def test_what_parts_take_may_leave_just_enough_for_pages(tmp_path, monkeypatch, enough, kept):
    monkeypatch.setattr(memory, "ENOUGH_BYTES", enough)
    store.save(gp.uniform(15, 32, directed=False), tmp_path / "graph", encoding="packed", block_bytes=1 << 13)
    arrays = opened(tmp_path / "graph", 500_000)._arrays
    parts = sum(array.parts_nbytes for array in memory.arrays_on_disk(arrays.in_edges))
    other = memory.EdgeMemory(arrays, False, memory.MemoryNeeds(0)).taken  # beside vertices and edges
    needs = memory.MemoryNeeds(arrays.memory - other - 5 * parts // 3, searches=True)
    assert bool(memory.EdgeMemory(arrays, False, needs).parts) == kept


@pytest.mark.full
@pytest.mark.parametrize("directed", [False, True])
def test_few_vertices_read_few_sectors(tmp_path, monkeypatch, directed):
    graph = gp.rmat(15, 16, directed=directed, weights=(1, 255))
    store.save(graph, tmp_path / "graph", encoding="packed", block_bytes=1 << 16)
    stored, how = opened(tmp_path / "graph", 500_000), {"device": "cpu", "mode": "notify-pull", "sync": True}
    expected = run_with(gp.apps.SSSP(hub(graph)), graph, device="cpu", sync=True)
    read = []
    monkeypatch.setattr(memory, "ENOUGH_BYTES", 10**9)
    for share in memory.PARTS_SHARE, 10**9:
        monkeypatch.setattr(memory, "PARTS_SHARE", share)
        found = run_with(gp.apps.SSSP(hub(graph)), stored, **how)
        np.testing.assert_array_equal(found.values, expected.values)
        read.append(found.stats.iterations[-1].from_disk)
    assert 0 < read[0] < read[1] / 2
