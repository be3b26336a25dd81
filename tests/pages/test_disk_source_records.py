"""Reading a few packed edges where records have no room in memory: records are read by sectors, then runs."""

import threading

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.codec.format import RECORD_BYTES, RUN
from garaph_py.dispatch.rates import Rates
from garaph_py.errors import DamagedGraphError, GraphError
from garaph_py.pages import memory
from garaph_py.pages.provider import SourceFactory
from garaph_py.storage import directory as store
from garaph_py.storage.sectors import SECTOR
from tests.support.disk_reads import check_that_runs_are_read_alone, found_in, read, resident_in_the_middle
from tests.support.numpy_gpu import GRAPH, HUB, Quiet, memory_for
from tests.support.stored_graphs import alone, as_version_1, flipped, hub, opened, with_memory

from ..support.runs import run_with

PACKED = pytest.mark.parametrize("saved", [(False, "packed"), (True, "packed")], indirect=True, ids=str)
SEARCHING = memory.MemoryNeeds(0, searches=True)


@pytest.fixture
def pages(source):
    """A source of pages that do not stay, which keeps sums, and no records."""
    made = source(150_000, page_edges=10_000)
    made._arrays[0].keep_parts(True, records=False)
    made.stays = [False] * len(made.pages)
    return made


def sectors_of(bounds):
    """Bytes of the sectors that hold some ranges of bytes, each counted once."""
    numbers = [np.arange(begin // SECTOR, -(-end // SECTOR)) for begin, end in bounds.tolist() if end > begin]
    return SECTOR * len(np.unique(np.concatenate([*numbers, np.empty(0, np.int64)])))


def needed(array, elements):
    """Bytes of the sectors of the runs with these elements, and of their records; disks are not told apart."""
    runs = np.unique(elements // RUN)
    blocks = runs // array._runs
    at = array._starts[blocks] + RECORD_BYTES * (runs - blocks * array._runs)
    array.keep_parts(True)
    records = array._known.records[runs]
    begins = array._words[blocks] + 4 * records["first_word"]
    ends = begins + 4 * records["widths"].sum(axis=1, dtype=np.int64)
    return sectors_of(np.stack((begins, ends), 1)) + sectors_of(np.stack((at, at + RECORD_BYTES), 1))


def elements_of(offsets, vertices):
    return np.concatenate([np.arange(offsets[v], offsets[v + 1]) for v in vertices])


@pytest.mark.full
@PACKED
def test_every_run_can_be_read_alone(saved, pages):
    check_that_runs_are_read_alone(saved[0], pages)


@PACKED
def test_merged_pages_read_records_and_runs(saved, pages):
    graph, _, _ = saved
    places = [5, graph.m // 3, graph.m - 1]
    merged = pages.pages_for(np.array([[place, place + 1] for place in places]))
    assert len(merged) < len(pages.pages)
    wanted, before, found = alone(*places), pages.bytes_read, []
    pages.prefetch(merged, wanted)
    for page in merged:
        found += found_in(pages.edges(page), graph, wanted(page)[:, 0]).tolist()
        pages.release(page)
    assert found == graph._arrays.in_edges.neighbours[places].tolist()
    assert pages.bytes_read - before <= 4 * SECTOR * len(places)


@pytest.mark.parametrize("saved", [(False, "packed")], indirect=True, ids=str)
def test_records_of_pages_in_memory_are_copied(saved, source):
    graph, _, _ = saved
    pages, (stay,) = resident_in_the_middle(source, 1)
    pages._arrays[0].keep_parts(True, records=False)
    place = stay.first_edge
    (own,) = (p for p in pages.pages_for(np.array([[place, place + 1]])) if p.first_edge <= place < p.last_edge)
    before = pages.bytes_read
    pages.prefetch([own], alone(place))
    assert found_in(pages.edges(own), graph, [place]) == graph._arrays.in_edges.neighbours[place]
    assert pages.bytes_read == before


@PACKED
@pytest.mark.parametrize("part", ["records", "words"])
def test_damage_is_found_where_it_is_read(saved, pages, part):
    graph, _, _ = saved
    offsets, stored = graph._arrays.in_edges.offsets, pages._arrays[0]
    block = stored.array.blocks // 2
    start = int({"records": stored._starts, "words": stored._words}[part][block])
    data = stored.reader.paths[stored._disks[block]]
    with flipped(data, start):
        read(pages, offsets, [0, graph.m - 1])
        for _ in range(2):
            with pytest.raises(DamagedGraphError, match=rf"{data.name}: block {block}, at byte .*checksum"):
                read(pages, offsets, [block * stored.block_elements])


@PACKED
def test_a_read_under_way_goes_on(saved, pages):
    """Another run may decide to keep nothing, or records, between the reads of records and of runs."""
    graph, _, _ = saved
    into = graph._arrays.in_edges
    for wanted in (False, True):
        pages.prefetch(pages.pages, alone(3 * RUN))
        pages._arrays[0].keep_parts(wanted)
        assert found_in(pages.edges(pages.pages[0]), graph, [3 * RUN]) == into.neighbours[3 * RUN]
        pages._arrays[0].keep_parts(True, records=False)


@PACKED
def test_a_prefetch_that_is_given_up_leaves_nothing(saved, pages):
    graph, _, _ = saved
    into = graph._arrays.in_edges
    for element in (0, graph.m - 1, graph.m // 2):
        pages.prefetch(pages.pages, alone(*range(0, graph.m, 5 * RUN)))
        found, _ = read(pages, into.offsets, [element])
        assert found == {element: int(into.neighbours[element])}


def test_of_version_1_blocks_are_read_once(tmp_path):
    graph = gp.rmat(14, 16, directed=False)
    store.save(graph, tmp_path / "g", encoding="packed", block_bytes=1 << 17)
    as_version_1(tmp_path / "g")
    stored = opened(tmp_path / "g", 150_000)
    (array,) = memory.arrays_on_disk(stored._arrays.in_edges)
    array.keep_parts(True, records=False)
    into, each = graph._arrays.in_edges, []
    with SourceFactory(stored, False) as sources:
        sources.divide(SEARCHING)
        own = sources.into()
        for element in (5, graph.m // 2) * 2:
            found, nbytes = read(own, into.offsets, [element])
            assert found == {element: int(into.neighbours[element])}
            each.append(nbytes)
    assert max(each[2:]) <= 4 * SECTOR < min(each[:2])


# Memory


@pytest.mark.slow
@PACKED
def test_sums_are_kept_where_records_have_no_room(saved, monkeypatch):
    _, path, _ = saved
    graph, kinds = opened(path, 0), []
    monkeypatch.setattr(memory, "PARTS_SHARE", 10)
    for room in range(20_000, 700_000, 4000):
        try:
            found = memory.EdgeMemory(with_memory(graph, room)._arrays, False, SEARCHING)
        except GraphError:
            continue
        kinds.append("records" if found.parts else "sums" if found.summed else "nothing")
        assert not (found.parts and found.summed)
        arrays = found.parts or found.summed
        assert found.parts_nbytes == sum(a.parts_nbytes if found.parts else a.sums_nbytes for a in arrays)
        assert found.taken + found.into + found.out <= room
    changes = [kind for kind, before in zip(kinds, [None, *kinds], strict=False) if kind != before]
    assert changes == ["nothing", "sums", "records", "nothing"]


def test_two_runs_share_what_the_first_keeps(tmp_path, monkeypatch):
    graph = gp.rmat(15, 16, directed=False)
    store.save(graph, tmp_path / "g", encoding="packed", block_bytes=1 << 16)
    stored = with_memory(opened(tmp_path / "g", 0), 500_000)
    (array,) = memory.arrays_on_disk(stored._arrays.in_edges)
    monkeypatch.setattr(memory, "PARTS_SHARE", 20)
    monkeypatch.setattr(memory, "ENOUGH_BYTES", 400_000)
    short = with_memory(stored, 300_000)
    with SourceFactory(short, False) as one, SourceFactory(stored, False) as other:
        one.divide(SEARCHING)
        assert array._known.records is None
        other.divide(SEARCHING)
        assert array._known.records is None
    with SourceFactory(stored, False) as other:
        other.divide(SEARCHING)
        assert array._known.records is not None
        with SourceFactory(short, False) as one:
            one.divide(SEARCHING)
            assert array._known.records is not None
    with SourceFactory(short, False) as one:
        one.divide(SEARCHING)
        assert array._known.records is None


# Runs


@pytest.fixture(scope="module", params=[False, True], ids=["undirected", "directed"])
def large(request, tmp_path_factory):
    """A graph whose records take 2 % of its edges' bytes, and its directory."""
    graph = gp.rmat(16, 32, directed=request.param, weights=(1, 255))
    path = tmp_path_factory.mktemp("large") / "graph"
    store.save(graph, path, encoding="packed", block_bytes=1 << 14)
    return graph, path


def in_little(path, program, **how):
    """A run in memory for a fortieth of the edges that it may read, in which records have no room."""
    arrays = [array for array in store.info(path).arrays.values() if array.sums is not None]
    is_sssp = isinstance(program, gp.apps.SSSP)
    read = [array for array in arrays if is_sssp or "values" not in array.name]
    # Distances that stay 64 bits wide, as in runs that only pull, take 4 bytes a vertex less than narrow ones.
    spared = 4 * store.info(path).vertices if is_sssp and how["mode"] == "notify-pull" else 0
    stored = opened(path, sum(array.stored_bytes for array in read) // 40 - spared)
    found = run_with(program, stored, device="cpu", **how)
    (array, *_) = memory.arrays_on_disk(stored._arrays.out_edges)
    assert array._known.records is None
    return found


@pytest.mark.full
@pytest.mark.parametrize("mode", ["push", "notify-pull"])
def test_few_vertices_read_little_more_than_their_lists(large, mode):
    graph, path = large
    into, out = graph._arrays.in_edges, graph._arrays.out_edges
    leaf = int(np.flatnonzero((graph.out_degrees == 1) & (graph.in_degrees < 3))[0])
    targets = out.neighbours[out.offsets[leaf] : out.offsets[leaf + 1]]
    found = in_little(path, gp.apps.BFS(leaf), mode=mode, sync=True, iterations=1)
    sides = opened(path, 0)._arrays
    need = needed(sides.out_edges.neighbour_array, elements_of(out.offsets, [leaf]))
    if mode == "notify-pull":
        need += needed(sides.in_edges.neighbour_array, elements_of(into.offsets, targets))
    assert 0 < found.stats.iterations[0].from_disk <= 1.02 * need


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["push", "notify-pull"])
def test_of_raw_edges_the_sectors_of_the_lists_are_read(tmp_path, read_like_large_graphs, mode):
    graph = gp.rmat(15, 32, directed=False)
    store.save(graph, tmp_path / "g", encoding="raw", block_bytes=1 << 14)
    edges, few = graph._arrays.in_edges, np.flatnonzero(graph.in_degrees == 1)[:3]
    stored = opened(tmp_path / "g", 150_000)
    for leaf in few.tolist():
        (target,) = edges.neighbours[edges.offsets[leaf] : edges.offsets[leaf + 1]].tolist()
        found = run_with(gp.apps.BFS(leaf), stored, device="cpu", mode=mode, sync=True, iterations=1)
        lists = [leaf, target] if mode == "notify-pull" else [leaf]
        need = sum(sectors_of(4 * edges.offsets[v : v + 2][None]) for v in lists)
        assert 0 < found.stats.iterations[0].from_disk <= 1.02 * need


@pytest.mark.full
@pytest.mark.parametrize("mode", ["push", "notify-pull", "auto"])
def test_answers_are_those_of_a_run_in_memory(large, mode):
    graph, path = large
    for program in (gp.apps.BFS(hub(graph)), gp.apps.SSSP(hub(graph))):
        expected = run_with(program, graph, device="cpu").values
        np.testing.assert_array_equal(in_little(path, program, mode=mode).values, expected)


@pytest.mark.full
def test_two_runs_at_once_have_the_right_answers(large):
    graph, path = large
    expected, stored, found = run_with(gp.apps.SSSP(hub(graph)), graph, device="cpu").values, opened(path, 300_000), []

    def search(memory):
        own = stored._replace(memory=memory)
        for _ in range(3):
            found.append(run_with(gp.apps.SSSP(hub(graph)), own, device="cpu", mode="push", threads=2).values)
            own.release()

    threads = [threading.Thread(target=search, args=(stored.memory + more,)) for more in (0, 10**6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    for values in found:
        np.testing.assert_array_equal(values, expected)


@pytest.mark.full
@pytest.mark.parametrize("directed", [False, True])
def test_a_gpu_and_the_cpu_read_records_by_sectors(device_for, graph_of, monkeypatch, tmp_path, directed):
    graph, program = graph_of(GRAPH, weighted=False, directed=directed), Quiet(HUB)
    store.save(graph, tmp_path / "g", encoding="packed", block_bytes=8192)
    device_for(program, graph)
    monkeypatch.setattr(memory, "PARTS_SHARE", 60)
    monkeypatch.setattr(memory, "ENOUGH_BYTES", 10**9)
    expected = run_with(program, graph, device="cpu").values
    for ratio in (1e9, 1e-9):
        monkeypatch.setattr(Rates, "ratio", property(lambda self, ratio=ratio: ratio))
        stored = opened(tmp_path / "g", 130_000)
        how = {"streams": 2, "gpu_memory": memory_for(program, graph, 0.2)}
        found = run_with(program, stored, device="hybrid", page_edges=3000, **how)
        np.testing.assert_array_equal(found.values, expected)
        (array,) = memory.arrays_on_disk(stored._arrays.out_edges)
        assert array._known is not None
        assert array._known.records is None
