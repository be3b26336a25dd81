"""Edges on disk for a simulated GPU, with and without the CPU: how memory is divided, also after the GPU has failed."""

import itertools
import threading

import numpy as np
import pytest

from garaph_py.dispatch.rates import Rates
from garaph_py.errors import DeviceError, GraphError
from garaph_py.executor.gpu import device as gpu_device
from garaph_py.executor.memory import vertex_bytes
from garaph_py.program import bind
from garaph_py.storage import directory as store
from garaph_py.storage.disks import Disk
from tests.support.numpy_gpu import GRAPH, HUB, Hops, held_after, memory_for
from tests.support.stored_graphs import opened, with_memory
from tests.support.verdicts import auto_takes

from ..support.runs import run_with


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("share", [0.1, 0.5, 2.0])
def test_a_gpu_has_its_pages_from_disk(device_for, graph_of, monkeypatch, tmp_path, device, sync, share):
    """The GPU works alone, or with a CPU that takes parts of pages; some pages stay on the device, some on the host."""
    graph = graph_of(GRAPH, weighted=False)
    store.save(graph, tmp_path / "g", encoding="raw", block_bytes=8192)
    program, rng = Hops(HUB), np.random.default_rng(1)
    driver = device_for(program, graph)
    monkeypatch.setattr(Rates, "share", lambda self, waiting: rng.integers(waiting + 1))
    monkeypatch.setattr(Rates, "cpu_helps", True)
    expected = run_with(program, graph, device="cpu", sync=True)
    for room in (900_000, 3_000_000):
        stored = opened(tmp_path / "g", room)
        how = {"gather": "segmented", "streams": 3, "gpu_memory": memory_for(program, graph, share), "sync": sync}
        for mode in ("pull", "auto"):
            for ratio in (1e9, 1e-9):
                monkeypatch.setattr(Rates, "ratio", property(lambda self, ratio=ratio: ratio))
                result = run_with(program, stored, device=device, page_edges=3000, mode=mode, **how)
                np.testing.assert_array_equal(result.values, expected.values)
                assert held_after(driver, stored) == 0
    assert sum(step.from_disk for step in result.stats.iterations) > 0


@pytest.fixture
def worthwhile(monkeypatch):
    """``device="auto"`` uses a GPU for graphs of any size."""
    auto_takes(monkeypatch)


def stored_hops(graph_of, tmp_path, directed):
    """A graph on disk, its program, and what its edges take there."""
    graph = graph_of(GRAPH, weighted=False, directed=directed)
    store.save(graph, tmp_path / "g", encoding="raw", block_bytes=8192)
    return graph, Hops(HUB), store.info(tmp_path / "g").arrays["in_sources"].stored_bytes


def later(result):
    """Bytes read in the iterations after the first two."""
    return [step.from_disk for step in result.stats.iterations[2:]]


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_both_processors_share_the_pages_in_memory(device_for, graph_of, monkeypatch, tmp_path, share):
    """A page that one processor has read, and that stays, is not read again by the other."""
    graph, program, edges = stored_hops(graph_of, tmp_path, False)
    device_for(program, graph)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", True)
    monkeypatch.setattr(Rates, "share", lambda self, waiting: int(share * waiting))
    how = {"gather": "segmented", "streams": 2, "gpu_memory": memory_for(program, graph, 0.2), "sync": True}
    result = run_with(
        program, opened(tmp_path / "g", 2 * edges), device="hybrid", page_edges=10_000, mode="pull", **how
    )
    assert {step.device for step in result.stats.iterations} == {"both"}
    assert later(result)
    assert set(later(result)) == {0}


@pytest.mark.parametrize("fails", ["start", "later"])
def test_the_cpu_has_all_the_memory_when_the_gpu_is_gone(
    device_for, graph_of, monkeypatch, tmp_path, worthwhile, fails
):
    graph, program, edges = stored_hops(graph_of, tmp_path, False)
    driver = device_for(program, graph)
    how = {"sync": True, "mode": "pull", "page_edges": 40_000}

    def fail(*_):
        raise driver.Error("unspecified launch failure")

    if fails == "start":
        driver.mem_alloc = fail
    else:
        driver.memcpy_htod_async = fail
    device = "auto" if fails == "start" else "gpu"
    room = edges + (1 << 16)
    result = run_with(program, opened(tmp_path / "g", room), device=device, gather="segmented", **how)
    assert "launch failure" in result.stats.note
    alone = run_with(program, opened(tmp_path / "g", room), device="cpu", **how)
    np.testing.assert_array_equal(result.values, alone.values)
    assert later(result) == later(alone)
    assert set(later(result)) == {0}


@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, 5, 12])
def test_the_cpu_reads_on_when_the_gpu_pins_no_more(device_for, graph_of, monkeypatch, tmp_path, copies):
    graph, program, edges = stored_hops(graph_of, tmp_path, False)
    driver = device_for(program, graph)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", True)
    how = {"sync": True, "mode": "pull", "page_edges": 3000, "gpu_memory": memory_for(program, graph, 0.2)}
    copy, context, done = driver.memcpy_htod_async, gpu_device.find().context, []

    def fail(*_):
        raise driver.Error("unspecified launch failure")

    def copied(*given):
        done.append(copy(*given))
        if len(done) == copies:
            context.push = fail
            fail()

    driver.memcpy_htod_async = copied
    stored = opened(tmp_path / "g", 2 * edges)
    result = run_with(program, stored, device="hybrid", gather="segmented", streams=2, **how)
    assert result.stats.note.startswith("the GPU failed, the CPU goes on alone")
    assert result.stats.iterations[-1].device == "cpu"
    np.testing.assert_array_equal(result.values, run_with(program, graph, device="cpu", sync=True).values)


def test_memory_for_the_cpu_alone(device_for, graph_of, tmp_path, worthwhile):
    """If the memory is too small for a page of the GPU, which has 64 vertices or more, the run uses the CPU alone."""
    graph, program, edges = stored_hops(graph_of, tmp_path, False)
    device_for(program, graph)
    stored = opened(tmp_path / "g", edges)
    stored = with_memory(stored, vertex_bytes(bind(program, stored), stored, 1) + 5 * 8192)
    result = run_with(program, stored, sync=False, mode="pull", page_edges=1000)
    assert result.stats.note.startswith("no GPU used: the run takes")
    with pytest.raises(GraphError, match="of memory for the vertices and"):
        run_with(program, stored, device="gpu", page_edges=1000)


@pytest.mark.parametrize("nth", [1, 2, 5])
def test_a_page_whose_requests_fail_has_not_been_read(device_for, graph_of, monkeypatch, tmp_path, nth):
    """The GPU's thread once fails to start a disk's thread: the CPU must not treat its pages as read."""
    graph, program = graph_of(GRAPH, weighted=False), Hops(HUB)
    store.save(graph, tmp_path / "g", encoding="raw", block_bytes=8192)
    edges = store.info(tmp_path / "g").arrays["in_sources"].stored_bytes
    device_for(program, graph)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", True)
    monkeypatch.setattr(Rates, "share", lambda self, waiting: 0)
    put, calls = Disk.put, itertools.count(1)

    def fails(self, requests):
        if threading.current_thread().name == "garaph-gpu" and next(calls) == nth:
            raise DeviceError("garaph-disk: can't start new thread; allow more threads")
        put(self, requests)

    monkeypatch.setattr(Disk, "put", fails)
    how = {"gather": "segmented", "page_edges": 10_000, "mode": "pull", "streams": 2, "sync": True}
    memory = memory_for(program, graph, 0.2)
    result = run_with(program, opened(tmp_path / "g", 3 * edges), device="hybrid", gpu_memory=memory, **how)
    np.testing.assert_array_equal(result.values, run_with(program, graph, device="cpu", sync=True).values)
    assert "can't start new thread" in result.stats.note


def test_pages_that_were_being_read_when_memory_was_given_back(source):
    """They are asked for again, also where the layout is the same as before."""
    pages = source(200_000, lent=1000)
    before = list(pages.pages)
    pages.prefetch(pages.pages)
    pages.give_back()
    assert list(pages.pages) == before
    pages.prefetch(pages.pages)
    for page in pages.pages:
        pages.edges(page)
        pages.release(page)
