"""Runs over graphs whose edges stay on disk: the answers of memory, or a named error; what is read, and what is not."""

import errno
import gc
import json
import os
import threading
from dataclasses import replace

import command
import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from numpy_gpu import Hops
from test_gpu_kernel import GRAPH, HUB, memory_for

import garaph_py as gp
from garaph_py.dispatch.rates import Rates
from garaph_py.errors import DamagedGraphError, GraphError
from garaph_py.graph import Graph
from garaph_py.graph.unpacking import begins_where
from garaph_py.pages import disks, sectors, sources, store
from garaph_py.pages.blocks import INDEX_DTYPE
from garaph_py.pages.packed_blocks import begin_masks
from garaph_py.pages.stored import StoredSource, spread


@pytest.fixture(autouse=True)
def little(monkeypatch):
    monkeypatch.setattr(sources, "AT_HAND", 0)
    monkeypatch.setattr(sources, "BLOCKS_AT_HAND", 0)
    monkeypatch.setattr(disks, "PAUSE", 0)
    monkeypatch.setattr(sectors, "REQUEST_BYTES", 0)


@pytest.fixture(scope="module", params=[(True, "raw"), (True, "packed"), (False, "raw"), (False, "packed")], ids=str)
def saved(request, tmp_path_factory):
    """A graph, the directory it is in, and how it is stored."""
    directed, encoding = request.param
    graph = gp.rmat(13, 8, directed=directed, weights=(1, 255))
    folder = tmp_path_factory.mktemp("stored")
    disks = [folder / name for name in ("a", "b", "c")]
    for disk in disks:
        disk.mkdir()
    path = folder / "graph"
    striped = directed == (encoding == "raw")
    store.save(graph, path, encoding=encoding, block_bytes=8192, disks=disks if striped else ["."])
    return graph, path, encoding


def opened(path, room):
    """The graph in `path`, with `room` for edges beside what its vertices take."""
    offsets = store.info(path).arrays["in_offsets"].raw_bytes
    graph = store.read_graph(path, "auto", 3 * offsets, None, gp.events.ignore, on_disk=True)
    assert graph.on_disk
    into = replace(graph.in_edges, memory=graph.nbytes + 18 * graph.n + room)
    out = replace(graph.out_edges, memory=into.memory) if graph.directed else into
    return Graph(into, out, graph.directed, graph.ids)


def hub(graph):
    """A vertex from which most others are reached."""
    return int(graph.out_degrees.argmax())


def programs(graph):
    yield gp.apps.SSSP(hub(graph)), {}
    yield gp.apps.SSSP(hub(graph)), {"sync": True, "mode": "pull"}
    yield gp.apps.BFS(hub(graph)), {"mode": "notify-pull"}
    yield gp.apps.PageRank(tolerance=1e-9), {"deterministic": True}
    yield gp.apps.PageRank(tolerance=1e-4), {"engine": "garaph", "threads": 2}
    if not graph.directed:
        yield gp.apps.ConnectedComponents(), {}


@pytest.mark.parametrize("room", [150_000, 500_000])
def test_answers_are_those_of_memory(saved, room):
    graph, path, _ = saved
    stored = opened(path, room)
    for program, how in programs(graph):
        here = gp.run(program, graph, device="cpu", page_edges=5000, **how)
        there = gp.run(program, stored, device="cpu", page_edges=5000, **how)
        if here.values.dtype.kind == "f":
            np.testing.assert_allclose(there.values, here.values, rtol=1e-9 if "deterministic" in how else 1e-2)
        else:
            np.testing.assert_array_equal(there.values, here.values)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("garaph-disk")]


def test_what_is_read_is_what_is_needed(saved):
    graph, path, encoding = saved
    stored, needed = opened(path, 300_000), store.info(path).arrays["in_sources"].stored_bytes
    slack = 3 * needed if encoding == "packed" else disks.ALIGNMENT  # blocks are smaller here than what is aligned
    program = gp.apps.PageRank(stop="never")
    pulled = gp.run(program, stored, device="cpu", page_edges=5000, iterations=3, mode="pull").stats.iterations
    assert all(step.from_disk < needed + slack for step in pulled)
    assert pulled[1].from_disk < pulled[0].from_disk  # some stay
    assert encoding == "packed" or pulled[1].from_disk
    ample = gp.run(program, opened(path, 1 << 22), device="cpu", iterations=3, mode="pull").stats.iterations
    assert [step.from_disk for step in ample[1:]] == [0, 0]
    leaf = int(np.flatnonzero(graph.out_degrees == 1)[0])
    steps = gp.run(gp.apps.BFS(leaf), stored, device="cpu", page_edges=1000, mode="notify-pull", sync=True).stats
    assert 0 < steps.iterations[0].from_disk <= 6 * 8192 + 1000 * 4
    assert steps.iterations[0].pages_skipped > 0


@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("share", [0.1, 0.5, 2.0])
def test_a_gpu_has_its_pages_from_disk(device_for, graph_of, monkeypatch, tmp_path, device, sync, share):
    """Alone and with the CPU, who takes parts of pages; some pages stay on the device, some in the host's memory."""
    graph = graph_of(GRAPH, weighted=False)
    store.save(graph, tmp_path / "g", encoding="raw", block_bytes=8192)
    program, rng = Hops(HUB), np.random.default_rng(1)
    driver = device_for(program, graph)
    monkeypatch.setattr(Rates, "share", lambda self, waiting: rng.integers(waiting + 1))
    monkeypatch.setattr(Rates, "cpu_helps", True)
    expected = gp.run(program, graph, device="cpu", sync=True)
    for room in (900_000, 3_000_000):
        stored = opened(tmp_path / "g", room)
        how = {"gather": "segmented", "streams": 3, "gpu_memory": memory_for(program, graph, share), "sync": sync}
        for mode in ("pull", "auto"):
            for ratio in (1e9, 1e-9):
                monkeypatch.setattr(Rates, "ratio", property(lambda self, ratio=ratio: ratio))
                result = gp.run(program, stored, device=device, page_edges=3000, mode=mode, **how)
                np.testing.assert_array_equal(result.values, expected.values)
                assert driver.held == 0
    assert sum(step.from_disk for step in result.stats.iterations) > 0


@pytest.mark.parametrize("at", [0.0, 0.5, 0.99])
def test_damage_never_becomes_an_answer(saved, tmp_path, at):
    _, path, _ = saved
    stored = opened(path, 300_000)
    data = path / store.info(path).disks[-1] / "in_sources.data"
    whole = data.read_bytes()
    place = int(at * len(whole))
    try:
        data.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(
            DamagedGraphError, match=r"in_sources.data, byte \d+: block \d+: its checksum does not match"
        ):
            gp.run(gp.apps.PageRank(), stored, device="cpu", page_edges=5000)
        data.write_bytes(whole[:place])
        with pytest.raises(DamagedGraphError, match=r"in_sources\.data"):
            gp.run(gp.apps.PageRank(), stored, device="cpu", page_edges=5000)
    finally:
        data.write_bytes(whole)


@pytest.mark.parametrize("saved", [(True, "packed")], indirect=True, ids=str)
@pytest.mark.parametrize("failure", [errno.EIO, "short", "again"])
def test_every_read_may_fail(saved, monkeypatch, failure):
    """The k-th call, for every k: what fails once is tried again, and what goes on failing has a name."""
    graph, path, _ = saved
    gc.collect()  # graphs of other tests keep their files open
    stored, program, read = opened(path, 300_000), gp.apps.SSSP(hub(graph)), os.preadv
    expected, open_files = gp.run(program, graph, device="cpu").values, len(os.listdir("/proc/self/fd"))
    count, lock = [0, -1], threading.Lock()

    def preadv(handle, views, offset):
        with lock:
            count[0] += 1
            mine = count[0]
        if mine == count[1] or (failure == errno.EIO and mine > count[1] >= 0):
            if failure == "short":
                return read(handle, [views[0][: disks.ALIGNMENT]], offset)
            raise OSError(errno.EIO, "Input/output error")
        return read(handle, views, offset)

    monkeypatch.setattr(os, "preadv", preadv)
    gp.run(program, stored, device="cpu", page_edges=8000)  # also looks for a negative length, once
    count[0] = 0
    gp.run(program, stored, device="cpu", page_edges=8000)
    for k in range(1, count[0] + 1, 3):
        count[:] = 0, k
        if failure == errno.EIO:
            with pytest.raises(
                DamagedGraphError, match=r"data, byte \d+: cannot be read \(Input/output error\), tried"
            ):
                gp.run(program, stored, device="cpu", page_edges=8000)
        else:
            np.testing.assert_array_equal(gp.run(program, stored, device="cpu", page_edges=8000).values, expected)
    assert len(os.listdir("/proc/self/fd")) == open_files


@pytest.mark.parametrize("saved", [(True, "raw")], indirect=True, ids=str)
def test_a_stored_run_is_seen_and_resumed(saved, tmp_path):
    graph, path, _ = saved
    stored, program = opened(path, 300_000), gp.apps.SSSP(hub(graph))
    how = {"device": "cpu", "page_edges": 5000, "sync": True, "mode": "pull", "checkpoint": tmp_path / "c"}

    def stop(event):
        if isinstance(event, gp.events.Iteration) and event.number == 2:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        gp.run(program, stored, checkpoint_every=1, on_event=stop, **how)
    resumed = gp.run(program, opened(path, 150_000), resume=True, trace=tmp_path / "t.json", **how)
    tracks = {event["args"]["name"] for event in json.loads((tmp_path / "t.json").read_text())["traceEvents"]
              if event["name"] == "thread_name"}  # fmt: skip
    assert {str(path / disk) for disk in store.info(path).disks} == {
        track.removeprefix("disk ") for track in tracks if track.startswith("disk")
    }
    assert resumed.stats.iterations[0].from_disk > 0
    assert resumed.stats.resumed == 2
    np.testing.assert_array_equal(resumed.values, gp.run(program, graph, device="cpu").values)


def test_the_disks_k_decides_when_to_notify(saved):
    _, path, _ = saved
    stored = opened(path, 300_000)
    slow = replace(stored.in_edges, k=1e6)
    slow = Graph(slow, replace(stored.out_edges, k=1e6) if stored.directed else slow, stored.directed, stored.ids)
    for graph, expected in ((stored, "notify-pull"), (slow, "pull")):
        run = gp.run(gp.apps.BFS(hub(graph)), graph, device="cpu", engine="garaph", iterations=1)
        assert run.stats.iterations[0].mode == expected


def test_the_command_runs_within_a_memory(saved, monkeypatch, capsys):
    graph, path, _ = saved
    memory = 350_000 if graph.directed else 260_000
    assert command.garaph(monkeypatch, "run", "PageRank", path, "-p", "dtype=float32", "--memory", memory) == 0
    assert "from disk" in capsys.readouterr().out


@pytest.fixture
def source(saved):
    """A function that makes a source of the in-edges: `room` for them, who is told of buffers."""
    _, path, _ = saved
    edges = opened(path, 300_000).in_edges
    reading = [disks.Disk(str(data), None) for data in edges.lists.reader.paths]
    made = []

    def make(room, **how):
        made.append(StoredSource([edges.lists], edges.offsets, room, reading, edges.k, **how))
        return made[-1]

    yield make
    for one in (*made, *reading):
        one.close()


SECTOR = sectors.SECTOR
WIDTH = SECTOR // 4


def alone(*elements):
    """What is wanted of a page: these elements, each by itself."""
    return lambda page: np.array([[e, e + 1] for e in sorted(elements) if page.first_edge <= e < page.last_edge])


def read(source, pages, wanted):
    """The edges of pages of which some are wanted, a copy each, and how many bytes were read for them."""
    before = source.bytes_read
    source.expect(pages, wanted)
    found = []
    for page in pages:
        edges = source.edges(page)
        found.append((edges.first_edge, np.array(edges.sources)))
        source.release(page)
    return found, source.bytes_read - before


@pytest.mark.parametrize("saved", [(False, "raw")], indirect=True, ids=str)
def test_of_blocks_that_have_been_checked_sectors_are_read(saved, source):
    graph, path, _ = saved
    pages = source(300_000, page_edges=30_000)
    pages.stays = [False] * len(pages.pages)
    (first, *_), all_of_it = pages.pages, store.info(path).arrays["in_sources"].stored_bytes
    places = 5, 5 * WIDTH, first.last_edge - 1
    nobody_knows_them = read(pages, [first], alone(*places))[1]
    assert nobody_knows_them <= 3 * 8192 + SECTOR
    _, everything = read(pages, pages.pages, None)
    assert everything < all_of_it + 2 * SECTOR
    ((begin, sources_),), some = read(pages, [first], alone(*places))
    assert some == 3 * SECTOR
    np.testing.assert_array_equal(sources_[np.array(places) - begin], graph.in_edges.neighbours[list(places)])
    within = [e for page in pages.pages for e in range(page.first_edge, page.last_edge, WIDTH // 2)]
    _, dense = read(pages, pages.pages, alone(*within))
    assert dense == everything  # a page at once, and a block that two share once
    assert read(pages, [first], lambda page: np.empty((0, 2), np.int64))[1] == 0


@pytest.mark.parametrize("saved", [(False, "raw")], indirect=True, ids=str)
def test_damage_in_a_sector_is_found_where_it_is_read(saved, source):
    _, path, _ = saved
    pages = source(300_000, page_edges=30_000)
    pages.stays = [False] * len(pages.pages)
    read(pages, pages.pages, None)
    data = path / store.info(path).disks[0] / "in_sources.data"
    whole, place = data.read_bytes(), 5 * SECTOR + 123
    try:
        with data.open("r+b") as file:
            file.seek(place)
            file.write(bytes([whole[place] ^ 1]))
        read(pages, pages.pages[:1], alone(4 * WIDTH, 8 * WIDTH))  # on either side of it
        with pytest.raises(DamagedGraphError, match=rf"in_sources.data, byte {5 * SECTOR}: block 2: its checksum does"):
            read(pages, pages.pages[:1], alone(5 * WIDTH))
    finally:
        data.write_bytes(whole)


@pytest.mark.parametrize("saved", [(True, "raw"), (False, "raw")], indirect=True, ids=str)
def test_few_vertices_are_updated_from_few_sectors(saved):
    """Of a page that nobody has read before, blocks; then sectors, of lists and of values, and no values to notify."""
    graph, path, _ = saved
    stored, ends = opened(path, 300_000), graph.in_edges.offsets
    leaf = int(np.flatnonzero((graph.out_degrees == 1) & (graph.in_degrees > 0))[0])
    target = int(graph.out_edges.neighbours[graph.out_edges.offsets[leaf]])
    how = {"device": "cpu", "mode": "notify-pull", "sync": True, "iterations": 1, "page_edges": 12_000}
    gp.run(gp.apps.SSSP(leaf), stored, **how | {"mode": "pull"})
    step = gp.run(gp.apps.SSSP(leaf), stored, **how).stats.iterations[0]
    lists = (1 + bool(graph.directed)) * 8192 + SECTOR  # in- and out-edges, of which nobody knew the latter
    around = ends[min((target // 64 + 1) * 64, graph.n)] - ends[target // 64 * 64]
    assert step.from_disk <= lists + 2 * (int(around) * 4 + 2 * SECTOR) + 2 * SECTOR


def test_blocks_that_do_not_begin_where_sectors_do_are_read_whole(tmp_path):
    graph = gp.rmat(11, 8, weights=(1, 255))
    store.save(graph, tmp_path / "g", encoding="raw", block_bytes=4608)
    stored, how = opened(tmp_path / "g", 180_000), {"device": "cpu", "mode": "notify-pull", "sync": True}
    expected = gp.run(gp.apps.SSSP(hub(graph)), graph, **how).values
    np.testing.assert_array_equal(gp.run(gp.apps.SSSP(hub(graph)), stored, page_edges=1500, **how).values, expected)


def test_what_somebody_else_took_is_kept_for_the_next_time(source):
    """The GPU's source begins to read pages that the CPU then takes."""
    buffers = []
    pages = source(4_000_000, page_edges=5000, made=buffers.append)
    for _ in range(5):
        pages.expect(pages.pages)
        for page in pages.pages[:4]:
            pages.edges(page)
            pages.release(page)
    assert all(pages.stays)
    assert len(buffers) == len(pages.pages)


def test_a_request_that_cannot_be_made_ends_the_run_and_not_the_process(source, monkeypatch):
    pages, calls = source(300_000, page_edges=5000), []

    def refuse(*given):
        calls.append(given)
        if len(calls) == 3:
            raise MemoryError

    monkeypatch.setattr(disks.Disk, "put", lambda self, requests: refuse(requests))
    with pytest.raises(MemoryError):
        pages.expect(pages.pages)
    for _, (request,) in ((None, *call) for call in calls[:2]):
        request.batch.end(None)
    pages.close()


def test_a_disk_has_as_many_threads_as_it_should_whoever_asks_first(tmp_path):
    for _ in range(20):
        disk = disks.Disk(str(tmp_path), None)
        askers = [threading.Thread(target=disk.put, args=([],)) for _ in range(4)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
        mine = [thread for thread in threading.enumerate() if thread.name.startswith(f"garaph-disk {tmp_path}-")]
        assert len(mine) == disks.threads_of_disk()
        disk.close()
        assert not any(thread.is_alive() for thread in mine)


def test_small_blocks_apart_from_each_other(tmp_path):
    """Every other list is wanted: read block by block they take more room than all together."""
    n = 1025
    there = np.ones((n, n), bool)
    there[:, n - 1], there[n - 1, 1::2] = False, False
    graph = gp.from_edges(*np.nonzero(there))
    store.save(graph, tmp_path / "g", encoding="packed", block_bytes=8192)
    how = {"device": "cpu", "mode": "notify-pull", "sync": True}
    expected = gp.run(gp.apps.BFS(n - 1), graph, **how).values
    stored = opened(tmp_path / "g", 4_000_000)
    np.testing.assert_array_equal(gp.run(gp.apps.BFS(n - 1), stored, **how).values, expected)


def test_packed_blocks_begin_where_their_words_can(tmp_path):
    store.save(gp.rmat(8), tmp_path / "g", encoding="packed", block_bytes=8192)
    data, index, manifest = (tmp_path / "g" / f for f in ("in_sources.data", "in_sources.index", "manifest.json"))
    data.write_bytes(b"\0" + data.read_bytes())
    entries = np.fromfile(index, INDEX_DTYPE)
    before = f"{xxhash.xxh3_64_intdigest(entries.tobytes()):016x}".encode()
    entries["offset"] += 1
    entries.tofile(index)
    text = manifest.read_bytes().replace(before, f"{xxhash.xxh3_64_intdigest(entries.tobytes()):016x}".encode())
    head = text[: text.rindex(b'"checksum": "') + 13]
    manifest.write_bytes(head + f"{xxhash.xxh3_64_intdigest(head):016x}".encode() + text[len(head) + 16 :])
    with pytest.raises(DamagedGraphError, match="block 0: does not begin at a multiple of 4 bytes"):
        gp.open(tmp_path / "g")


@given(st.lists(st.integers(0, 3), min_size=1, max_size=200), st.integers(0, 99), st.integers(1, 100), st.data())
def test_masks_say_where_lists_begin(lengths, first, count, data):
    offsets = np.cumsum([0, *lengths])
    first = min(first, int(offsets[-1]))
    last = min(first + count, int(offsets[-1]))
    if first == last:
        return
    masks = begin_masks(offsets, first, last)
    assert begins_where(offsets, first, last, masks)
    bit = data.draw(st.integers(0, last - first - 1))
    masks[bit // 32] ^= np.uint32(1 << bit % 32)
    assert not begins_where(offsets, first, last, masks)


def test_too_little_memory_says_how_much_is_needed(saved):
    _, path, _ = saved
    with pytest.raises(GraphError, match=r"of memory for the vertices alone.*allow more when the graph is opened"):
        gp.run(gp.apps.PageRank(), opened(path, -(1 << 16)), device="cpu")
    with pytest.raises(GraphError, match=r"a page takes .* allow .* more \(memory"):
        gp.run(gp.apps.PageRank(), opened(path, 30_000), device="cpu", page_edges=1 << 20)


def test_what_was_asked_for_in_memory_does_not_stay_on_disk(saved):
    _, path, _ = saved
    for encoding in ("raw", "packed"):
        with pytest.raises(GraphError, match=f"{encoding} its arrays take .* allow more"):
            gp.open(path, memory=200_000, encoding=encoding)
    assert gp.open(path, memory=200_000).on_disk


def test_what_needs_all_edges_in_memory_says_so(saved):
    _, path, _ = saved
    stored = opened(path, 300_000)
    for use in (lambda: stored.in_edges.neighbours, lambda: stored.in_edges.values, stored.packed):
        if stored.encoding == "raw" or use != stored.packed:
            with pytest.raises(GraphError, match=r"stay on disk.*open it with more memory"):
                use()
    with pytest.raises(GraphError, match="stay on disk"):
        gp.run(gp.apps.PageRank(), stored, device="cpu", verify=True)


@given(st.lists(st.integers(0, 100), max_size=50), st.integers(0, 2000))
def test_what_stays_fits_and_is_spread(sizes, room):
    stays = spread(sizes, room)
    used = [size * stay for size, stay in zip(sizes, stays, strict=True)]
    assert sum(used) <= room
    if sum(sizes) <= room:
        assert all(stays)
    share = room / max(sum(sizes), 1)
    assert all(sum(used[:k]) <= sum(sizes[:k]) * share for k in range(len(sizes)))
