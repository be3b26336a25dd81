"""Parts of blocks of which nobody has read the rest: they can be trusted, or what is wrong with them is named."""

import errno
import os

import numpy as np
import pytest
import xxhash

import garaph_py as gp
from garaph_py.codec.blocks import UNIT, begin_masks
from garaph_py.codec.format import LISTS, RECORD, RUN, decode
from garaph_py.errors import DamagedGraphError, ParameterError
from garaph_py.storage import directory as store
from garaph_py.storage import packed_reader, write
from garaph_py.storage.blocks import INDEX_DTYPE
from garaph_py.storage.manifest import VERSION
from garaph_py.storage.packed_reader import begin_masks_of
from garaph_py.storage.parts import in_order
from garaph_py.storage.restripe import restripe
from garaph_py.storage.sectors import SECTOR
from garaph_py.storage.sums import sums
from garaph_py.storage.upgrade import upgrade
from tests.support.crashes import Crash, calls_of
from tests.support.graphs import equal
from tests.support.stored_graphs import as_version_1, as_version_2, hub, opened, rewrite, rewrite_array

from ..support.runs import run_with

GRAPH = gp.rmat(12, 16, directed=False, weights=(1, 255))
PLACES = (5, 3 * RUN + 17, 40 * RUN, GRAPH.m - 1)


@pytest.fixture(params=["raw", "packed"])
def path(request, tmp_path):
    store.save(GRAPH, tmp_path / "g", encoding=request.param, block_bytes=4 * UNIT)
    return tmp_path / "g"


def opened_parts(path):
    """The array of sources of a graph on disk, of which parts may be read."""
    edges = opened(path, 300_000)._arrays.in_edges
    edges.neighbour_array.keep_parts(True)
    return edges.neighbour_array, edges.offsets


def read(array, offsets, element):
    """An element that is read alone, and the bytes that are read for it."""
    first = element // RUN * RUN
    last, span = min(first + RUN, len(array)), array.span(first, element + 1)
    data, records, plan, nbytes = read_in_two_steps(array, span, np.array([[element, element + 1]]))
    found = array.elements(first, last, data, records, plan)
    if array.codec == "raw":
        return int(found.data[element - first]), nbytes
    return decode(found, np.isin(np.arange(first, last), offsets), LISTS)[element - first], nbytes


def read_in_two_steps(array, span, ranges):
    """What is read for some ranges, after their records if these are not in memory, and the bytes of all."""
    plan, records = array.plan(span, ranges=ranges), np.zeros(array.records_bytes(span) // RECORD.itemsize, RECORD)
    data, nbytes = read_parts(array, plan, records)
    if plan.rest is not None:
        plan = plan.rest(records)
        data, more = read_parts(array, plan, records)
        nbytes += more
    return data, records, plan, nbytes


def read_parts(array, plan, records):
    """The buffer with the parts of a plan, and the bytes that are read for them."""
    assert not plan.reads, "a whole block"
    data = np.zeros(plan.nbytes + SECTOR, np.uint8)
    for part in plan.parts:
        whole = np.append(np.fromfile(array.reader.paths[part.disk], np.uint8), np.zeros(SECTOR, np.uint8))
        for offset, size, place in zip(part.offsets, part.nbytes, part.places, strict=True):
            data[place : place + size] = whole[offset : offset + size]
        array.take_parts(part, data, plan, records)
    return data, sum(int(part.nbytes.sum()) for part in plan.parts)


def test_an_element_is_read_from_a_sector_or_two(path):
    array, offsets = opened_parts(path)
    for element in PLACES:
        value, nbytes = read(array, offsets, element)
        assert value == GRAPH._arrays.in_edges.neighbours[element]
        assert nbytes <= 2 * SECTOR


def test_without_records_their_sectors_are_read_too(path):
    array, offsets = opened_parts(path)
    array.keep_parts(True, records=False)
    for element in PLACES:
        value, nbytes = read(array, offsets, element)
        assert value == GRAPH._arrays.in_edges.neighbours[element]
        assert nbytes <= (4 if array.codec == "packed" else 2) * SECTOR


def test_records_of_runs_that_are_not_read_are_0(path):
    array, _ = opened_parts(path)
    if array.codec == "raw":
        pytest.skip("raw arrays have no records")
    array.keep_parts(True, records=False)
    _, records, plan, _ = read_in_two_steps(array, array.span(0, 8 * RUN), np.array([[0, 1], [7 * RUN, 7 * RUN + 1]]))
    assert len(plan.parts[0].runs) == 2
    assert np.flatnonzero(records["widths"].sum(axis=1)).tolist() == [0, 7]
    assert np.flatnonzero(records["first_word"][1:7]).tolist() == []


def test_the_first_search_reads_lists_and_not_blocks(path, read_like_large_graphs):
    leaf = int(np.flatnonzero(GRAPH.in_degrees == 1)[0])
    how = {"device": "cpu", "mode": "push", "sync": True, "iterations": 1}
    found = {}
    for version in (VERSION, 1):
        row = run_with(gp.apps.BFS(leaf), opened(path, 100_000), **how).stats.iterations[0]
        found[version] = row.from_disk
        as_version_1(path)
    assert found[VERSION] <= 3 * SECTOR
    assert found[VERSION] < found[1]


@pytest.mark.slow
def test_versions_have_the_same_answers(path, read_like_large_graphs):
    program, answers = gp.apps.SSSP(hub(GRAPH)), []
    for version, older in ((3, as_version_2), (2, as_version_1), (1, as_version_1)):
        assert store.info(path).version == version
        assert store.verify(path) == []
        assert equal(GRAPH, store.open(path))
        answers.append(run_with(program, opened(path, 300_000), device="cpu").values)
        older(path)
    for found in answers:
        np.testing.assert_array_equal(found, run_with(program, GRAPH, device="cpu").values)


@pytest.mark.parametrize("older", [as_version_1, as_version_2])
def test_an_upgraded_graph_is_as_if_it_had_been_saved_so(path, older):
    before = {file.name: file.read_bytes() for file in path.iterdir()}
    info, events = store.info(path), []
    older(path)
    assert upgrade(path, on_event=events.append) == info == store.info(path)
    assert {file.name: file.read_bytes() for file in path.iterdir()} == before
    assert events[-1].done == events[-1].total
    assert upgrade(path) == info
    assert store.verify(path) == []


@pytest.mark.slow
def test_an_upgrade_that_dies_leaves_the_graph(tmp_path, monkeypatch):
    graph = gp.from_edges([0, 1], [1, 2], directed=False)

    def saved(name):
        store.save(graph, tmp_path / name, encoding="raw", block_bytes=512)
        return as_version_1(tmp_path / name)

    path = saved("whole")
    points, _ = calls_of(monkeypatch, lambda: upgrade(path))
    whole, found = {file.name for file in path.iterdir()}, set()
    for point in points:
        path = saved(str(point))
        _, raised = calls_of(monkeypatch, lambda path=path: upgrade(path), die_at=point)
        assert isinstance(raised, Crash)
        assert equal(graph, store.open(path)), point
        found.add(store.info(path).version)
        left = {file.name for file in path.iterdir()}
        assert left == (whole if store.info(path).version == VERSION else whole - set(beside(whole))), point
        upgrade(path)
        assert {file.name for file in path.iterdir()} == whole
        assert store.verify(path) == []
    assert found == {1, VERSION}


def beside(names):
    return [name for name in names if name.endswith((".sums", ".records"))]


def test_an_upgrade_checks_every_block(path):
    as_version_1(path)
    data = path / "in_sources.data"
    changed = bytearray(data.read_bytes())
    changed[-1] ^= 1
    data.write_bytes(changed)
    with pytest.raises(DamagedGraphError, match=r"in_sources\.data: block \d+, .* does not match its checksum"):
        upgrade(path)
    assert store.info(path).version == 1
    assert not beside(file.name for file in path.iterdir())


def test_a_restripe_writes_the_current_version(path, tmp_path):
    as_version_1(path)
    (tmp_path / "disk").mkdir()
    assert restripe(path, [tmp_path / "disk"]).version == VERSION
    array, offsets = opened_parts(path)
    assert read(array, offsets, PLACES[2])[0] == GRAPH._arrays.in_edges.neighbours[PLACES[2]]
    assert store.verify(path) == []


# Damage


@pytest.mark.spread
@pytest.mark.parametrize("file", ["in_sources.sums", "in_sources.records"])
@pytest.mark.parametrize("change", ["flipped", "cut", "missing"])
def test_damage_is_named_before_edges_are_read(path, file, change, read_like_large_graphs):
    file = path / file
    if not file.exists():
        pytest.skip("raw arrays have no records")
    data = file.read_bytes()
    file.unlink() if change == "missing" else file.write_bytes(
        data[:-1] if change == "cut" else bytes([data[0] ^ 1]) + data[1:]
    )
    with pytest.raises(DamagedGraphError, match=file.name):
        run_with(gp.apps.BFS(0), opened(path, 100_000), device="cpu", mode="push")
    (problem,) = store.verify(path)
    assert file.name in str(problem)
    assert equal(GRAPH, store.open(path))  # in memory, nobody needs it


def reseal(path, file, change, array="in_sources"):
    """Change one of the files about parts of blocks, and the manifest with it."""
    name = getattr(store.info(path).arrays[array], file).name
    found = np.fromfile(path / name, RECORD if file == "records" else np.uint32)
    change(found)
    (path / name).write_bytes(found.tobytes())
    digest = xxhash.xxh3_64_hexdigest(found.tobytes())
    rewrite(path, lambda document: document["arrays"][array].update({f"{file}_checksum": digest}))


def test_wrong_sums_are_found(path):
    def change(sums):
        sums[:] ^= 1

    reseal(path, "sums", change)
    problem = str(store.verify(path)[0])
    assert "in_sources.sums" in problem
    assert "do not match; restore the file, or have garaph restripe write it anew" in problem
    array, offsets = opened_parts(path)
    with pytest.raises(DamagedGraphError, match=r"in_sources\.data: block 0"):
        read(array, offsets, 0)


@pytest.mark.parametrize(
    ("field", "value"), [("widths", 33), ("widths", 0), ("first_word", -1), ("first_word", 1 << 40)]
)
def test_forged_records_are_refused(path, field, value):
    if store.info(path).arrays["in_sources"].records is None:
        pytest.skip("raw arrays have no records")

    def change(records):
        records[field][2] = value

    reseal(path, "records", change)
    with pytest.raises(DamagedGraphError, match=r"in_sources\.records.*: does not fit the blocks' index"):
        opened_parts(path)


def forge_block(path, change):
    """Change the records at the head of the first packed block, and the sums of its sectors with them."""
    array = store.info(path).arrays["in_sources"]
    stored = np.fromfile(path / array.data, np.uint8)
    end = int(np.fromfile(path / array.index, INDEX_DTYPE)["length"][0])
    change(stored[: RECORD.itemsize * array.bounds(0)[1] // RUN].view(RECORD))
    stored.tofile(path / array.data)
    own = sums(stored[:end])
    reseal(path, "sums", lambda found: found.__setitem__(slice(len(own)), own))


FORGED = [("widths", 33, 2), ("widths", 31, 2), ("widths", 0, 2), ("first_word", -1, 2), ("first_word", 1 << 62, 3),
          ("first_word", 1, 2), ("first_word", 2**63 - 1, 3)]  # fmt: skip


@pytest.mark.parametrize(("field", "value", "run"), FORGED)
def test_forged_records_of_a_block_are_refused(path, field, value, run):
    if store.info(path).arrays["in_sources"].records is None:
        pytest.skip("raw arrays have no records")

    def change(records):
        records[field][run] = value

    forge_block(path, change)
    array, _ = opened_parts(path)
    array.keep_parts(True, records=False)
    alone = [[run * RUN, run * RUN + 1]]
    for ranges in ([[0, 4 * RUN]], [[0, 1], *alone], alone)[: 3 if value else 1]:  # a run alone may have no words
        with pytest.raises(DamagedGraphError, match=r"in_sources\.data: block 0"):
            read_in_two_steps(array, array.span(0, 4 * RUN), np.array(ranges))


@pytest.mark.parametrize("at_once", [1, 1 << 12])
def test_the_damaged_one_of_several_parts_is_named(path, at_once, monkeypatch):
    if store.info(path).arrays["in_sources"].records is None:
        pytest.skip("raw arrays have no records")
    monkeypatch.setattr(packed_reader, "RUNS_AT_ONCE", at_once)
    forge_block(path, lambda records: records["base"].__setitem__(slice(2, 3), 1 << 33))
    array, offsets = opened_parts(path)
    array.keep_parts(True, records=False)
    ranges = np.array([[k * RUN, k * RUN + 1] for k in (0, 9, 20, 40)])
    data, records, plan, _ = read_in_two_steps(array, array.span(0, 41 * RUN), ranges)
    for first, _ in ranges.tolist():
        found = array.elements(first, first + RUN, data, records, plan)
        starts = np.isin(np.arange(first, first + RUN), offsets)
        assert decode(found, starts, LISTS) == GRAPH._arrays.in_edges.neighbours[first : first + RUN].tolist()
    with pytest.raises(DamagedGraphError, match=r"in_sources\.data: block 0"):
        read_in_two_steps(array, array.span(0, 41 * RUN), np.insert(ranges, 1, [2 * RUN, 2 * RUN + 1], 0))


def test_masks_of_several_ranges():
    rng = np.random.default_rng(1)
    offsets = np.sort(rng.integers(0, 9 * RUN, 500))  # some lists are empty
    bounds = np.array([[0, RUN], [3 * RUN, 5 * RUN], [8 * RUN, 8 * RUN + 7]])
    masks, at = begin_masks_of(offsets, bounds)
    for begin, end, (first, last) in zip(at, [*at[1:], len(masks)], bounds, strict=True):
        np.testing.assert_array_equal(masks[begin:end], begin_masks(offsets, first, last))


def test_records_are_in_order_where_their_words_are():
    records = np.zeros(4, RECORD)
    records["widths"][:, 0] = 8
    records["first_word"] = 0, 8, 24, 0
    runs, blocks, words = np.array([0, 1, 3, 4]), np.array([0, 0, 0, 1]), np.array([32, 32, 32, 8])
    assert in_order(records, runs, blocks, words).tolist() == [True] * 4
    for k, first_word in ((1, 9), (1, 7), (2, 15), (2, 25), (3, 1), (0, -1)):
        changed = records.copy()
        changed["first_word"][k] = first_word
        assert not in_order(changed, runs, blocks, words).all()


def test_a_forged_base_leads_nowhere(path):
    if store.info(path).arrays["in_sources"].records is None:
        pytest.skip("raw arrays have no bases")
    offsets = GRAPH._arrays.in_edges.offsets
    run = next(run for run in range(1, GRAPH.m // RUN) if run * RUN not in offsets)

    def change(records):
        records["base"][run] = GRAPH.n + 5

    reseal(path, "records", change)
    array, offsets = opened_parts(path)
    with pytest.raises(DamagedGraphError, match=f"a vertex number is not below {GRAPH.n}"):
        read(array, offsets, run * RUN)


@pytest.mark.slow
def test_a_forged_base_of_a_block_that_has_been_read_is_found(path, read_like_large_graphs):
    """Whoever reads the block sees its own records; nobody may then trust those beside it."""
    if store.info(path).arrays["in_sources"].records is None:
        pytest.skip("raw arrays have no bases")

    def change(records):
        records["base"][1:] = GRAPH.n + 5

    reseal(path, "records", change)
    stored = opened(path, 100_000)
    run_with(gp.apps.PageRank(weighted=False), stored, device="cpu", iterations=1)  # keeps no records
    with pytest.raises(DamagedGraphError, match=f"not below {GRAPH.n}|records for block|base is not"):
        run_with(gp.apps.SSSP(hub(GRAPH)), stored, device="cpu", mode="push")


def test_a_file_that_a_killed_upgrade_has_left_is_replaced(path):
    as_version_1(path)
    (path / "in_sources.sums").write_bytes(b"left")
    assert upgrade(path).version == VERSION
    assert store.verify(path) == []


def test_a_file_that_cannot_be_replaced_is_a_typed_error(path, monkeypatch):
    as_version_1(path)
    unlink = os.unlink

    def fail(name, **options):
        if str(name).endswith(".sums"):
            raise OSError(errno.EIO, "Input/output error")
        unlink(name, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", fail)
        with pytest.raises(ParameterError, match=r"\.sums: cannot be written \(Input/output error\)"):
            upgrade(path)
    assert upgrade(path).version == VERSION


def test_forged_raw_elements_are_refused(tmp_path):
    store.save(GRAPH, tmp_path / "g", encoding="raw", block_bytes=4 * UNIT)

    def change(elements):
        elements[PLACES[1]] = GRAPH.n

    rewrite_array(tmp_path / "g", "in_sources", change)
    array, offsets = opened_parts(tmp_path / "g")
    read(array, offsets, PLACES[0])
    with pytest.raises(DamagedGraphError, match=f"a vertex number is not below {GRAPH.n}"):
        read(array, offsets, PLACES[1])
    with pytest.raises(DamagedGraphError, match=f"a vertex number is not below {GRAPH.n}"):
        read(array, offsets, PLACES[1])  # it does not pass as sound the second time


def test_a_full_disk_leaves_no_files(tmp_path, monkeypatch):
    def fails(self, *_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write.PartsWriter, "put", fails)
    with pytest.raises(OSError, match="No space"):
        store.save(GRAPH, tmp_path / "g")
    assert not list(tmp_path.iterdir())
