"""Runs over edges on disk: they give the same answers as in memory, or a typed error; which parts are read."""

import errno
import gc
import json
import os
import re
import threading

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.codec.blocks import begin_masks
from garaph_py.codec.checked import begins_where
from garaph_py.errors import DamagedGraphError, GraphError, VerificationError
from garaph_py.pages import disk_layout, memory
from garaph_py.pages.disk_layout import BUFFERS, spread
from garaph_py.storage import directory as store
from garaph_py.storage import disks
from garaph_py.storage.blocks import INDEX_DTYPE
from garaph_py.system.sizes import parse_bytes
from tests.support import command
from tests.support.reads import failing
from tests.support.stored_graphs import hub, opened, with_memory

from ..support.runs import run_with


def programs(graph):
    yield gp.apps.SSSP(hub(graph)), {}
    yield gp.apps.SSSP(hub(graph)), {"sync": True, "mode": "pull"}
    yield gp.apps.BFS(hub(graph)), {"mode": "notify-pull"}
    yield gp.apps.PageRank(tolerance=1e-9, weighted=False), {"deterministic": True}
    yield gp.apps.PageRank(tolerance=1e-4, weighted=False), {"engine": "garaph", "threads": 2}
    if not graph.directed:
        yield gp.apps.ConnectedComponents(), {}


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("room", [150_000, 500_000])
def test_answers_are_those_of_memory(saved, room):
    graph, path, _ = saved
    stored = opened(path, room)
    for program, how in programs(graph):
        here = run_with(program, graph, device="cpu", page_edges=5000, **how)
        there = run_with(program, stored, device="cpu", page_edges=5000, **how)
        if here.values.dtype.kind == "f":
            np.testing.assert_allclose(there.values, here.values, rtol=1e-9 if "deterministic" in how else 1e-2)
        else:
            np.testing.assert_array_equal(there.values, here.values)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("garaph-disk")]


@pytest.mark.full
def test_what_is_read_is_what_is_needed(saved):
    graph, path, encoding = saved
    stored, needed = opened(path, 300_000), store.info(path).arrays["in_sources"].stored_bytes
    slack = 3 * needed if encoding == "packed" else disks.ALIGNMENT  # blocks are smaller here than what is aligned
    program = gp.apps.PageRank(stop="never", weighted=False)
    pulled = run_with(program, stored, device="cpu", page_edges=5000, iterations=3, mode="pull").stats.iterations
    assert all(step.from_disk < needed + slack for step in pulled)
    assert pulled[1].from_disk < pulled[0].from_disk  # some stay
    assert encoding == "packed" or pulled[1].from_disk
    ample = run_with(program, opened(path, 1 << 22), device="cpu", iterations=3, mode="pull").stats.iterations
    assert [step.from_disk for step in ample[1:]] == [0, 0]
    leaf = int(np.flatnonzero(graph.out_degrees == 1)[0])
    steps = run_with(gp.apps.BFS(leaf), stored, device="cpu", page_edges=1000, mode="notify-pull", sync=True).stats
    assert 0 < steps.iterations[0].from_disk <= 6 * 8192 + 1000 * 4
    assert steps.iterations[0].pages_skipped > 0


@pytest.mark.spread
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
            DamagedGraphError, match=r"in_sources.data: block \d+, at byte \d+ of the file: the block that begins there"
        ):
            run_with(gp.apps.PageRank(weighted=False), stored, device="cpu", page_edges=5000)
        data.write_bytes(whole[:place])
        with pytest.raises(DamagedGraphError, match=r"in_sources\.data"):
            run_with(gp.apps.PageRank(weighted=False), stored, device="cpu", page_edges=5000)
    finally:
        data.write_bytes(whole)


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("saved", [(True, "packed")], indirect=True, ids=str)
@pytest.mark.parametrize("failure", [errno.EIO, "short", "again"])
def test_every_read_may_fail(saved, monkeypatch, kernel_reads, failure):
    """For every k, the k-th read fails: it is tried again, and if it fails each time, the error names the file."""
    graph, path, _ = saved
    gc.collect()  # graphs of other tests keep their files open
    stored, program, chosen = opened(path, 300_000), gp.apps.SSSP(hub(graph)), [0]
    how = {"device": "cpu", "page_edges": 8000, "threads": 1}  # with two, an asynchronous run has 86 to 92 reads
    expected, open_files = gp.run(program, graph, device="cpu").values, len(os.listdir("/proc/self/fd"))

    def fails(number):
        mine = number == chosen[0] or (failure == errno.EIO and number > chosen[0] > 0)
        return errno.EIO * mine if failure != "short" else 0

    numbers = failing(monkeypatch, fails, lambda number: failure == "short" and number == chosen[0])
    run_with(program, stored, **how)  # also looks for a negative length, once
    numbers.clear()
    run_with(program, stored, **how)
    for k in range(1, len(numbers) + 1, 3):
        chosen[0] = k
        numbers.clear()
        if failure == errno.EIO:
            with pytest.raises(
                DamagedGraphError, match=r"data, byte \d+: cannot be read \(Input/output error\), tried"
            ):
                run_with(program, stored, **how)
        else:
            np.testing.assert_array_equal(run_with(program, stored, **how).values, expected)
    assert len(os.listdir("/proc/self/fd")) == open_files


@pytest.mark.slow
@pytest.mark.parametrize("saved", [(True, "raw")], indirect=True, ids=str)
def test_a_stored_run_is_seen_and_resumed(saved, tmp_path):
    graph, path, _ = saved
    stored, program = opened(path, 300_000), gp.apps.SSSP(hub(graph))
    how = {"device": "cpu", "page_edges": 5000, "sync": True, "mode": "pull", "checkpoint": tmp_path / "c"}

    def stop(event):
        if isinstance(event, gp.events.Iteration) and event.number == 2:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        run_with(program, stored, checkpoint_every=1, on_event=stop, **how)
    resumed = run_with(program, opened(path, 150_000), resume=True, trace=tmp_path / "t.json", **how)
    tracks = {event["args"]["name"] for event in json.loads((tmp_path / "t.json").read_text())["traceEvents"]
              if event["name"] == "thread_name"}  # fmt: skip
    assert {str(path / disk) for disk in store.info(path).disks} == {
        track.removeprefix("disk ") for track in tracks if track.startswith("disk")
    }
    assert resumed.stats.iterations[0].from_disk > 0
    assert resumed.stats.resumed == 2
    np.testing.assert_array_equal(resumed.values, gp.run(program, graph, device="cpu").values)


@pytest.mark.slow
def test_the_disks_k_decides_when_to_notify(saved):
    _, path, _ = saved
    stored, slow = opened(path, 300_000), opened(path, 300_000)
    for array in (*slow._arrays.in_edges.arrays(), *slow._arrays.out_edges.arrays()):
        array.k = 1e6
    for graph, expected in ((stored, "notify-pull"), (slow, "pull")):
        run = run_with(gp.apps.BFS(hub(graph)), graph, device="cpu", engine="garaph", iterations=1)
        assert run.stats.iterations[0].mode == expected


@pytest.mark.slow
def test_the_command_runs_within_a_memory(saved, monkeypatch, capsys):
    graph, path, _ = saved
    memory = 350_000 if graph.directed else 260_000
    assert (
        command.garaph(
            monkeypatch, "run", "PageRank", path, "-p", "dtype=float32", "-p", "weighted=false", "--memory", memory
        )
        == 0
    )
    assert "from disk" in capsys.readouterr().out


def shape_of(edges):
    """What tells a page's edges from others', packed or not."""
    return edges.sources.data if edges.sources.codec == "raw" else edges.sources.records[["base", "widths"]]


@pytest.mark.full
def test_two_threads_share_the_pages_that_stay(source):
    """Each thread has its own order and buffers, and gets the pages that it asked for."""
    whole, buffers = [], []
    alone = source(4_000_000, page_edges=3000, on_allocate=lambda buffer: whole.append(buffer.nbytes))
    alone.prefetch(alone.pages)
    expected = [shape_of(alone.edges(page)).copy() for page in alone.pages]
    room = BUFFERS * max(whole) + sum(whole) // 2
    one, wrong = source(room, page_edges=3000, on_allocate=buffers.append), []
    assert 0.3 * len(one.pages) < sum(one.stays) < 0.6 * len(one.pages)

    def work(mine, seed):
        try:
            rng = np.random.default_rng(seed)
            for _ in range(40):
                pages = [page for page in mine.pages if rng.random() < 0.7]
                mine.prefetch(pages)
                for page in pages[: rng.integers(len(pages))]:
                    np.testing.assert_array_equal(shape_of(mine.edges(page)), expected[page.number])
                    mine.release(page)
        except BaseException as error:
            wrong.append(error)

    for turn in range(3):
        work(one, turn)
        with one.shared() as other:
            assert len(one._frames) == len(other._frames) == BUFFERS // 2
            threads = [threading.Thread(target=work, args=given) for given in ((one, 1), (other, 2))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert not wrong
    assert len(buffers) == len(one._frames) + sum(one.stays)
    assert sum(buffer.nbytes for buffer in buffers) <= room


def test_what_two_threads_have_left_is_read_again(source):
    """Each has stopped before it had used all pages that it had asked for."""
    one = source(200_000, page_edges=3000)
    with one.shared() as other:
        for mine in one, other:
            mine.prefetch(one.pages)
            mine.edges(one.pages[0])
    one.prefetch(one.pages)
    for page in one.pages:
        assert one.edges(page) is not None
        one.release(page)


def test_lent_memory_is_given_back(source, monkeypatch):
    """The pages that stay then need not be read again, in whatever part of a pass that is."""
    monkeypatch.setattr(disk_layout, "LEAST_PAGE_BYTES", 8192)
    allocated, freed = [], []
    alone = source(100_000)
    lent = source(100_000, lent=60_000, on_allocate=allocated.append, on_free=freed.append)

    def cost(pages):
        before = pages.bytes_read
        pages.prefetch(pages.pages)
        for page in pages.pages:
            pages.edges(page)
            pages.release(page)
        return pages.bytes_read - before

    first = [cost(alone) for _ in range(2)]
    assert cost(lent) <= 1.02 * first[0]
    assert cost(lent) < first[1] - 16_000
    assert sum(each.nbytes for each in allocated) <= 160_000
    lent.prefetch(lent.pages)
    lent.edges(lent.pages[0])
    lent.give_back()
    assert freed
    assert sum(each.nbytes for each in allocated) - sum(each.nbytes for each in freed) <= 100_000
    assert [(page.first_edge, page.last_edge) for page in lent.pages] == [
        (page.first_edge, page.last_edge) for page in alone.pages
    ]
    assert cost(lent) <= first[1]  # frames may still hold pages
    assert cost(lent) == cost(alone) == first[1]
    count = len(freed)
    lent.give_back()
    assert len(freed) == count


def test_pages_that_are_being_read_are_not_read_again(source):
    """The run begins to read before it compiles; its first iteration asks for the same pages."""
    costs = []
    for times in (1, 3):
        pages = source(300_000, page_edges=5000)
        before = pages.bytes_read
        for _ in range(times):
            pages.prefetch(pages.pages)
        for page in pages.pages:
            pages.edges(page)
            pages.release(page)
        costs.append(pages.bytes_read - before)
        pages.close()
    assert costs[0] == costs[1] > 0


def test_records_are_in_the_memory_that_is_counted(source):
    buffers = []
    pages = source(300_000, page_edges=5000, on_allocate=buffers.append)
    pages.prefetch(pages.pages)
    for page in pages.pages:
        edges = pages.edges(page)
        if edges.sources.codec == "packed":
            assert edges.sources.records.flags.aligned
            assert any(np.shares_memory(edges.sources.records, buffer) for buffer in buffers)
        pages.release(page)
    assert sum(buffer.nbytes for buffer in buffers) <= 300_000


def test_what_somebody_else_took_is_kept_for_the_next_time(source):
    """The GPU's source has begun to read pages that the CPU then takes."""
    buffers = []
    pages = source(4_000_000, page_edges=5000, on_allocate=buffers.append)
    for _ in range(5):
        pages.prefetch(pages.pages)
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
        pages.prefetch(pages.pages)
    for _, (request,) in ((None, *call) for call in calls[:2]):
        request.batch.end(None)
    pages.close()


@pytest.mark.full
def test_small_blocks_apart_from_each_other(tmp_path):
    """Every other list is needed: read block by block, they take more room than all lists together."""
    n = 1025
    there = np.ones((n, n), bool)
    there[:, n - 1], there[n - 1, 1::2] = False, False
    graph = gp.from_edges(*np.nonzero(there))
    store.save(graph, tmp_path / "g", encoding="packed", block_bytes=8192)
    how = {"device": "cpu", "mode": "notify-pull", "sync": True}
    expected = run_with(gp.apps.BFS(n - 1), graph, **how).values
    stored = opened(tmp_path / "g", 4_000_000)
    np.testing.assert_array_equal(run_with(gp.apps.BFS(n - 1), stored, **how).values, expected)


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
    with pytest.raises(
        DamagedGraphError, match=r"block 0, at byte \d+ of the file: does not begin at a multiple of 4 bytes"
    ):
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "how"),
    [
        (gp.apps.PageRank(weighted=False), {}),
        pytest.param(gp.apps.SSSP(0), {"mode": "push"}, marks=pytest.mark.full),
        pytest.param(gp.apps.SSSP(0), {"verify": True, "page_edges": 1 << 20}, marks=pytest.mark.full),
        pytest.param(gp.apps.SSSP(0), {"mode": "pull-tiled"}, marks=pytest.mark.full),
    ],
)
def test_too_little_memory_says_how_much_is_needed(saved, program, how):
    _, path, _ = saved
    refused = 0
    for room in (-(1 << 17), -1):
        graph = opened(path, room)
        try:
            run_with(program, graph, device="cpu", **how)
        except GraphError as refusal:
            refused += 1
            what = "to verify the answer" if "verify" in how else "the run"
            said = rf"^{what} takes .* for the vertices and .* allow (.*) when the graph is opened"
            advised = re.search(said, str(refusal))[1]
            run_with(program, with_memory(graph, parse_bytes(advised, "memory")), device="cpu", **how)
    assert refused


@pytest.mark.full
def test_large_pages_are_divided_where_there_is_little_memory(saved):
    _, path, _ = saved
    run_with(gp.apps.PageRank(weighted=False), opened(path, 160_000), device="cpu", page_edges=1 << 20)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_verifying_in_memory_says_how_much_is_needed(saved, encoding):
    graph, path, _ = saved
    held = gp.open(path, encoding=encoding)
    least = held.nbytes + held.ids.nbytes
    program = gp.apps.SSSP(0)
    tight = gp.open(path, encoding=encoding, memory=least + 64 * graph.n - 1)
    gp.run(program, tight, device="cpu")
    with pytest.raises(GraphError, match=r"to verify the answer takes .* leave the answer unverified") as refusal:
        gp.run(program, tight, device="cpu", verify=True)
    advised = parse_bytes(re.search(r"allow (.*) when the graph is opened", str(refusal.value))[1], "memory")
    gp.run(program, gp.open(path, memory=advised), device="cpu", verify=True)


def test_what_was_asked_for_in_memory_does_not_stay_on_disk(saved):
    _, path, _ = saved
    for encoding in ("raw", "packed"):
        with pytest.raises(GraphError, match=f"its {encoding} arrays take .* allow more"):
            gp.open(path, memory=200_000, encoding=encoding)
    assert gp.open(path, memory=200_000).on_disk


def test_what_needs_all_edges_in_memory_says_so(saved):
    _, path, _ = saved
    stored = opened(path, 300_000)
    for use in (lambda: stored._arrays.in_edges.neighbours, lambda: stored._arrays.in_edges.values, stored.packed):
        if stored.encoding == "raw" or use != stored.packed:
            with pytest.raises(GraphError, match=r"stay on disk.*open the graph with more memory"):
                use()


@pytest.mark.full
@pytest.mark.slow
def test_verifiers_pass_over_edges_on_disk(saved):
    graph, path, _ = saved
    stored = opened(path, 64 * graph.n + 300_000)
    programs = [
        gp.apps.BFS(hub(graph)),
        gp.apps.SSSP(hub(graph)),
        gp.apps.SSWP(hub(graph)),
        gp.apps.PageRank(weighted=False),
    ]
    for program in [*programs, gp.apps.DeltaPageRank(weighted=False)] + [gp.apps.ConnectedComponents()] * (
        not graph.directed
    ):
        result = gp.run(program, stored, device="cpu", verify=True)
        values = result.values["parent"] if result.values.dtype.names else result.values
        values[hub(graph)] = 1 if values[hub(graph)] != 1 else 2
        for edges in (graph, stored):
            with pytest.raises(VerificationError):
                program.verify(edges, result)
    gc.collect()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("garaph-disk")]


@pytest.mark.full
@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_what_supports_itself_in_a_circle_is_found_on_disk(tmp_path, monkeypatch, encoding):
    """All lengths are 0: the verifier follows paths one page at a time, against the order of the pages."""
    n = 3000
    u = np.append(np.arange(n - 2, 1, -1), [0, 1])
    v = np.append(np.arange(n - 3, 0, -1), [1, 0])
    graph = gp.from_edges([*u, n - 2], [*v, n - 1], weights=np.zeros(len(u) + 1, np.int32))
    store.save(graph, tmp_path / "g", encoding=encoding, block_bytes=8192)
    monkeypatch.setattr(memory, "PASS_EDGES", 700)
    stored, program = opened(tmp_path / "g", 64 * n + 100_000), gp.apps.SSSP(n - 2)
    result = gp.run(program, stored, device="cpu", verify=True)
    assert (result.values == 0).all()
    split = gp.from_edges([*u[:-3], 0, 1, n - 2], [*v[:-3], 1, 0, n - 1], weights=np.zeros(len(u), np.int32))
    for name, edges in (("memory", split), ("disk", None)):
        if edges is None:
            store.save(split, tmp_path / name, encoding=encoding, block_bytes=8192)
            edges = opened(tmp_path / name, 64 * n + 100_000)
        assert edges.n == n
        with pytest.raises(VerificationError, match="no path from the source"):
            program.verify(edges, result)


def test_what_a_verifier_takes_of_memory_is_known_before_the_run(saved):
    _, path, _ = saved
    with pytest.raises(GraphError, match="of memory for the vertices and"):
        gp.run(gp.apps.PageRank(weighted=False), opened(path, 150_000), device="cpu", verify=True)


def test_a_negative_length_on_disk_is_named(tmp_path):
    graph = gp.from_edges([0, 1, 2, 3], [1, 2, 3, 0], weights=np.array([1, 2, -3, 4], np.int32))
    store.save(graph, tmp_path / "g", encoding="raw", block_bytes=8192)
    with pytest.raises(GraphError, match="the edge 2 -> 3 has -3"):
        gp.run(gp.apps.SSSP(0), opened(tmp_path / "g", 100_000), device="cpu")


@given(st.lists(st.integers(0, 100), max_size=50), st.integers(0, 2000))
def test_what_stays_fits_and_is_spread(sizes, room):
    stays = spread(sizes, room)
    used = [size * stay for size, stay in zip(sizes, stays, strict=True)]
    assert sum(used) <= room
    if sum(sizes) <= room:
        assert all(stays)
    share = room / max(sum(sizes), 1)
    assert all(sum(used[:k]) <= sum(sizes[:k]) * share for k in range(len(sizes)))
