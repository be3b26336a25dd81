"""Reading a few edges from disk: which parts are read, and what they are checked against."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.codec.format import LISTS, RUN, decode
from garaph_py.errors import DamagedGraphError
from garaph_py.pages import disk_source
from garaph_py.storage import directory as store
from garaph_py.storage import sectors
from tests.support.disk_reads import found_in, read_pages, resident_in_the_middle
from tests.support.stored_graphs import alone, hub, opened

from ..support.runs import run_with

SECTOR = sectors.SECTOR
WIDTH = SECTOR // 4


@pytest.mark.parametrize("saved", [(False, "raw")], indirect=True, ids=str)
def test_of_blocks_that_have_been_checked_sectors_are_read(saved, source):
    graph, path, _ = saved
    pages = source(300_000, page_edges=30_000)
    pages.stays = [False] * len(pages.pages)
    (first, *_), all_of_it = pages.pages, store.info(path).arrays["in_sources"].stored_bytes
    places = 5, 5 * WIDTH, first.last_edge - 1
    nobody_knows_them = read_pages(pages, [first], alone(*places))[1]
    assert nobody_knows_them <= 3 * 8192 + SECTOR
    _, everything = read_pages(pages, pages.pages, None)
    assert everything < all_of_it + 2 * SECTOR
    ((begin, sources_),), some = read_pages(pages, [first], alone(*places))
    assert some == 3 * SECTOR
    np.testing.assert_array_equal(sources_[np.array(places) - begin], graph._arrays.in_edges.neighbours[list(places)])
    within = [e for page in pages.pages for e in range(page.first_edge, page.last_edge, WIDTH // 2)]
    _, dense = read_pages(pages, pages.pages, alone(*within))
    assert dense == everything  # a page at once, and a block that two share once
    assert read_pages(pages, [first], lambda page: np.empty((0, 2), np.int64))[1] == 0


@pytest.mark.parametrize("saved", [(False, "raw"), (False, "packed")], indirect=True, ids=str)
def test_a_page_that_stays_is_read_once_its_parts_have_cost_as_much(saved, source):
    graph, _, _ = saved
    pages = source(4_000_000, page_edges=30_000)
    assert all(pages.stays)
    array, page = pages._arrays[0], pages.pages[1]
    array.keep_parts(True)
    assert read_pages(pages, [page], lambda page: np.empty((0, 2), np.int64))[1] == 0
    whole, costs = sum(map(sum, [pages._room_of[1]])), []
    for element in range(page.first_edge, page.last_edge, RUN):
        ((begin, _),), cost = read_pages(pages, [page], alone(element))
        assert begin <= page.first_edge
        costs.append(cost)
        if cost > 2 * SECTOR:
            break
    assert len(costs) > 3
    assert sum(costs[:-1]) <= whole
    assert read_pages(pages, [page], alone(page.first_edge))[1] == read_pages(pages, [page], None)[1] == 0
    begin = page.first_edge // RUN * RUN
    if array.codec == "raw":
        ((_, found),), _ = read_pages(pages, [page], None)
        np.testing.assert_array_equal(found, graph._arrays.in_edges.neighbours[begin : page.last_edge])


@pytest.mark.parametrize("saved", [(False, "packed")], indirect=True, ids=str)
def test_pages_of_which_little_is_wanted_are_read_as_one(saved, source):
    graph, _, _ = saved
    pages = source(300_000, page_edges=5000)
    pages.stays = [k == 4 for k in range(len(pages.pages))]
    array, places = pages._arrays[0], [5, 9000, graph.m // 2, graph.m - 1]
    ranges = np.array([[place, place + 1] for place in places])
    array.keep_parts(True)
    merged = pages.pages_for(ranges)
    assert len(merged) < len(pages.pages) / 2
    assert pages.pages[4] in merged  # it is in memory, or will be
    assert [page.first_edge for page in merged] == [0, *(page.last_edge for page in merged[:-1])]
    wanted, found = alone(*places), {}
    pages.prefetch(merged, wanted)
    for page in merged:
        edges = pages.edges(page)
        for place in wanted(page)[:, 0].tolist():
            elements = np.arange(edges.first_edge, edges.first_edge + len(edges.sources))
            starts = np.isin(elements, graph._arrays.in_edges.offsets)
            found[place] = decode(edges.sources, starts, LISTS)[place - edges.first_edge]
        pages.release(page)
    assert found == {place: graph._arrays.in_edges.neighbours[place] for place in places}
    every = np.array([[page.first_edge, page.last_edge] for page in pages.pages])
    assert list(pages.pages_for(every)) == list(pages.pages)


@pytest.mark.parametrize("saved", [(False, "packed")], indirect=True, ids=str)
@pytest.mark.parametrize("count", [1, 2])
def test_a_merged_page_copies_what_is_in_memory(saved, source, count):
    """Also where two resident pages share a block."""
    graph, _, _ = saved
    pages, stay = resident_in_the_middle(source, count)
    joints = [page.first_edge for page in stay]
    places = [joints[-1], *([] if count > 1 else [stay[0].last_edge + RUN])]
    merged = pages.pages_for(np.array([[place, place + 1] for place in places]))
    (own,) = (page for page in merged if page.first_edge <= places[0] < page.last_edge)
    assert own.first_edge < joints[0]
    inside = [place for place in (*joints, *places) if place < min(stay[-1].last_edge, own.last_edge)]
    outside = [place for place in places if stay[-1].last_edge <= place < own.last_edge]
    assert read_pages(pages, [own], alone(*sorted(set(inside))))[1] == 0
    if outside:
        assert read_pages(pages, [own], alone(*outside))[1] > 0
    pages.prefetch([own], alone(*sorted({*inside, *outside})))
    both = [*inside, *outside]
    np.testing.assert_array_equal(found_in(pages.edges(own), graph, both), graph._arrays.in_edges.neighbours[both])


@pytest.mark.parametrize("saved", [(False, "packed")], indirect=True, ids=str)
def test_a_merged_page_is_never_read_whole(saved, source):
    """On a disk on which two reads cost more than all edges, too: its frame has no room for them."""
    pages = source(300_000, page_edges=30_000)
    pages.stays = [False] * len(pages.pages)
    pages._arrays[0].keep_parts(True)
    places = [5, pages.pages[-1].last_edge - 1]
    pages._access = places[1] * 2 // 3
    (own,) = pages.pages_for(np.array([[place, place + 1] for place in places]))
    assert 0 < read_pages(pages, [own], alone(*places))[1] <= 4 * SECTOR * len(places)


@pytest.mark.parametrize("saved", [(False, "packed")], indirect=True, ids=str)
def test_records_bound_how_many_pages_are_merged(saved, source):
    pages = source(300_000, page_edges=5000)
    pages.stays = [False] * len(pages.pages)
    pages._arrays[0].keep_parts(True)
    place = pages.pages[len(pages.pages) // 2].first_edge
    ranges = np.array([[place, place + 1]])
    few = len(pages.pages_for(ranges))
    pages._record_pages = 0
    assert few < len(pages.pages_for(ranges)) <= few + 2


@pytest.mark.parametrize("saved", [(False, "packed")], indirect=True, ids=str)
@pytest.mark.parametrize("nbytes", [96, 960])
def test_merged_pages_write_to_few_pages_of_records(saved, source, monkeypatch, nbytes):
    """Of so many bytes: those of a block's records; or of those of ten, which several ranges share."""
    monkeypatch.setattr(disk_source, "PAGESIZE", nbytes)
    pages, rng = source(300_000, page_edges=10_000), np.random.default_rng(1)
    pages.stays = [False] * len(pages.pages)
    pages._arrays[0].keep_parts(True)

    def touched_by(places):
        """How many pages of records each merged page writes to, and how many ranges it has."""
        merged, found = pages.pages_for(np.stack((places, places + 1), axis=1)), []
        pages.prefetch(merged, alone(*places))
        for page in merged:
            pages.edges(page)
            (buffer,) = pages._given[page.number].buffers
            ranges = np.count_nonzero((places >= page.first_edge) & (places < page.last_edge))
            if page.last_edge > pages.pages[page.number].last_edge:
                found.append((len(np.unique(np.flatnonzero(buffer.records.view(np.uint8)) // nbytes)), ranges))
            pages.release(page)
        return found

    places = [np.sort(rng.choice(saved[0].m, 1 + k % 6, replace=False)) for k in range(60)]
    pages._record_pages = 4
    bounded = [each for some in places for each in touched_by(some)]
    most = max(touched for touched, _ in bounded)
    assert most <= 4
    assert nbytes == 96 or any(ranges > touched for touched, ranges in bounded)
    pages._record_pages = 100
    assert nbytes == 960 or max(touched for some in places for touched, _ in touched_by(some)) > most


@pytest.mark.parametrize("saved", [(False, "packed")], indirect=True, ids=str)
def test_damage_in_what_a_merged_page_copies_is_found(saved, source):
    pages, (stay,) = resident_in_the_middle(source, 1)
    place = stay.first_edge
    (own,) = (p for p in pages.pages_for(np.array([[place, place + 1]])) if p.first_edge <= place < p.last_edge)
    for buffer in pages._staying[stay.number].buffers:
        buffer.data[: buffer.plan.nbytes] ^= 1
    pages.prefetch([own], alone(place))
    with pytest.raises(DamagedGraphError):
        pages.edges(own)


@pytest.mark.slow
@pytest.mark.parametrize("saved", [(False, "packed")], indirect=True, ids=str)
@pytest.mark.parametrize("page_edges", [3000, 20_000])
def test_what_is_wanted_of_merged_pages_fits_a_frame(saved, source, page_edges):
    """Also lists of hubs, and words of vertices that two pages share."""
    graph, _, _ = saved
    offsets, rng = graph._arrays.in_edges.offsets, np.random.default_rng(1)
    pages = source(300_000, page_edges=page_edges)
    pages.stays = [False] * len(pages.pages)
    pages._arrays[0].keep_parts(True)
    sizes = set()
    for count in (1, 2, 5, 10, 20, 40, 60) * 6:
        words = np.sort(rng.choice(graph.n // 64, count, replace=False)) * 64
        words[0] *= rng.random() < 0.5  # vertices of small numbers are hubs
        ranges = offsets[np.unique(words)[:, None] + (0, 64)]

        def wanted(page, ranges=ranges):
            own = np.clip(ranges, page.first_edge, page.last_edge)
            return own[own[:, 1] > own[:, 0]]

        merged = pages.pages_for(ranges)
        sizes.add(len(merged))
        pages.prefetch(merged, wanted)
        for page in merged:
            pages.edges(page)
            pages.release(page)
    assert len(sizes) > 2


@pytest.mark.parametrize("saved", [(False, "raw"), (False, "packed")], indirect=True, ids=str)
def test_pages_stay_apart_where_a_part_needs_the_room_of_its_page(saved, source):
    """Raw edges are read to their places; of packed ones, nobody knows the records."""
    pages = source(300_000, page_edges=5000)
    assert list(pages.pages_for(np.array([[5, 6]]))) == list(pages.pages)


@pytest.mark.parametrize("saved", [(False, "raw")], indirect=True, ids=str)
def test_damage_in_a_sector_is_found_where_it_is_read(saved, source):
    _, path, _ = saved
    pages = source(300_000, page_edges=30_000)
    pages.stays = [False] * len(pages.pages)
    read_pages(pages, pages.pages, None)
    data = path / store.info(path).disks[0] / "in_sources.data"
    whole, place = data.read_bytes(), 5 * SECTOR + 123
    try:
        with data.open("r+b") as file:
            file.seek(place)
            file.write(bytes([whole[place] ^ 1]))
        read_pages(pages, pages.pages[:1], alone(4 * WIDTH, 8 * WIDTH))  # on either side of it
        with pytest.raises(
            DamagedGraphError, match=rf"in_sources.data: block 2, at byte {5 * SECTOR} of the file: the block"
        ):
            read_pages(pages, pages.pages[:1], alone(5 * WIDTH))
    finally:
        data.write_bytes(whole)


@pytest.mark.slow
@pytest.mark.parametrize("saved", [(True, "raw"), (False, "raw")], indirect=True, ids=str)
def test_few_vertices_are_updated_from_few_sectors(saved):
    """A page is first read in blocks, later in sectors of lists and of values; notifying reads no values."""
    graph, path, _ = saved
    stored, ends = opened(path, 300_000), graph._arrays.in_edges.offsets
    leaf = int(np.flatnonzero((graph.out_degrees == 1) & (graph.in_degrees > 0))[0])
    target = int(graph._arrays.out_edges.neighbours[graph._arrays.out_edges.offsets[leaf]])
    how = {"device": "cpu", "mode": "notify-pull", "sync": True, "iterations": 1, "page_edges": 12_000}
    run_with(gp.apps.SSSP(leaf), stored, **how | {"mode": "pull"})
    step = run_with(gp.apps.SSSP(leaf), stored, **how).stats.iterations[0]
    lists = (1 + bool(graph.directed)) * 8192 + SECTOR  # in- and out-edges, of which nobody knew the latter
    around = ends[min((target // 64 + 1) * 64, graph.n)] - ends[target // 64 * 64]
    assert step.from_disk <= lists + 2 * (int(around) * 4 + 2 * SECTOR) + 2 * SECTOR


@pytest.mark.slow
def test_blocks_that_do_not_begin_where_sectors_do_are_read_whole(tmp_path):
    graph = gp.rmat(11, 8, weights=(1, 255))
    store.save(graph, tmp_path / "g", encoding="raw", block_bytes=4608)
    stored, how = opened(tmp_path / "g", 180_000), {"device": "cpu", "mode": "notify-pull", "sync": True}
    expected = run_with(gp.apps.SSSP(hub(graph)), graph, **how).values
    np.testing.assert_array_equal(run_with(gp.apps.SSSP(hub(graph)), stored, page_edges=1500, **how).values, expected)
