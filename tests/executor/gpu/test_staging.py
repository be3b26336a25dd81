"""Arrays that are copied by way of pinned buffers: every byte arrives, and no buffer is written while it is read."""

import random
from functools import partial

import numpy as np
import pytest

from garaph_py.executor.gpu import device as devices
from garaph_py.executor.gpu import device_state, pinned_pool, staging
from garaph_py.executor.gpu.device_graph import DeviceGraph
from garaph_py.executor.gpu.edges import host_arrays
from garaph_py.executor.gpu.pinned import Pinned
from garaph_py.executor.gpu.pinned_pool import pool_of
from garaph_py.executor.gpu.staging import StagedReturn, StagedTransfer
from garaph_py.pages.layout import layout
from garaph_py.pages.memory_source import MemoryPageSource
from tests.support import twins
from tests.support.late_gpu import LateDriver
from tests.support.numpy_gpu import GRAPH, HUB, Blend, Hops, Trails, failing_once, held_after

from ...support.runs import run_with


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(staging, "PIECE", 1000)
    monkeypatch.setattr(staging, "LEAST_BYTES", 1)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_byte_arrives(device_for, graph_of, threads):
    graph = graph_of(twins.skewed(3, 900, 9000, "int32"))
    driver = device_for(Hops(0), graph)
    driver.context.push()
    found = devices.find()
    kept, edges = DeviceGraph(found), graph._arrays.in_edges
    (page, *_) = pages = layout(edges.offsets, None, 64)
    source = MemoryPageSource(edges, pages=pages)
    addresses = [4096, 1 << 18]
    driver.bytes[: 1 << 19] = 0
    with StagedTransfer(kept, pool_of(found), threads) as transfer:
        assert (
            transfer.send(host_arrays(source.edges(page)), [None, addresses[1]], kept.handles.stream()) == 4 * graph.m
        )
        assert not driver.bytes[: 1 << 18].any()
        assert transfer.send(host_arrays(source.edges(page)), addresses, kept.handles.stream()) == 8 * graph.m
    for address, array in zip(addresses, (edges.neighbours, edges.values), strict=True):
        np.testing.assert_array_equal(driver.array(address, array.dtype, graph.m), array)


@pytest.mark.parametrize("nbytes", [0, 8, 4999, 12345])
@pytest.mark.parametrize("pools", [True, False])
def test_an_array_on_its_own(device_for, graph_of, monkeypatch, nbytes, pools):
    graph = graph_of(GRAPH)
    driver = device_for(Hops(0), graph)
    driver.context.push()
    found, staged, copies = devices.find(), [], StagedTransfer.copy
    monkeypatch.setattr(staging, "LEAST_BYTES", 5000)
    monkeypatch.setattr(StagedTransfer, "copy", lambda self, *how: (staged.append(how[0].nbytes), copies(self, *how)))
    array = np.random.default_rng(nbytes).integers(0, 256, nbytes, np.uint8)
    driver.bytes[4096 : 1 << 16] = 0
    staging.copy(array, 4096, DeviceGraph(found), pool_of(found) if pools else Pinned(), 2)
    np.testing.assert_array_equal(driver.bytes[4096 : 4096 + nbytes], array)
    assert staged == [nbytes] * (pools and nbytes >= 5000)


def test_a_run_copies_so_what_it_copies_once(device_for, graph_of, monkeypatch):
    graph = graph_of(GRAPH)
    driver = device_for(Hops(HUB), graph)
    sent, send = [], StagedTransfer.send
    monkeypatch.setattr(
        StagedTransfer, "send", lambda self, *how: (sent.append(send(self, *how)), sent[-1])[1]
    )  # fmt: skip
    expected = run_with(Hops(HUB), graph, device="cpu", sync=True)
    for copied in 4 * graph.m, 0:
        result = run_with(Hops(HUB), graph, device="gpu", sync=True, page_edges=3000)
        np.testing.assert_array_equal(result.values, expected.values)
        assert sum(row.to_device for row in result.stats.iterations) == copied
    assert sent == [4 * graph.m]  # all pages at once
    assert held_after(driver, graph) == 0


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("nbytes", [0, 8, 4999, 40_000])
def test_every_byte_comes_back(device_for, graph_of, threads, nbytes):
    """There are more pieces than buffers, so the caller has to wait for buffers."""
    driver = device_for(Hops(0), graph_of(GRAPH), partial(LateDriver, rng=random.Random(nbytes + threads)))
    found = devices.find()
    kept, given = DeviceGraph(found), np.random.default_rng(nbytes).integers(0, 256, nbytes, np.uint8)
    driver.bytes[4096 : 4096 + nbytes], array, stream = given, np.zeros(nbytes, np.uint8), kept.handles.stream()
    way = StagedReturn(kept, pool_of(found), threads)
    way.run(lambda copy: copy(array, 4096, stream))
    np.testing.assert_array_equal(array, given)


def test_an_error_ends_all_threads(device_for, graph_of):
    device_for(Hops(0), graph_of(GRAPH)).context.push()
    found = devices.find()

    def act(copy):
        copy(np.zeros(5000, np.uint8), 4096, None)
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        StagedReturn(DeviceGraph(found), pool_of(found), 3).run(act)


ANSWERS = {"values": (Hops(HUB), "given"), "report": (Trails(HUB), "given"), "renumbered": (Blend(3), "hub")}


@pytest.mark.full
@pytest.mark.parametrize("case", ANSWERS)
def test_new_memory_of_answers_is_not_pinned(device_for, graph_of, monkeypatch, case):
    """It is when it is used again, so there are no more such copies then."""
    (program, order), returned, run = ANSWERS[case], [], StagedReturn.run
    graph = graph_of(GRAPH, weighted=False)
    how = {"gpu_order": order, "sync": True, "iterations": 6, "threads": 2, "page_edges": 3000}
    expected = run_with(program, graph, device="cpu", iterations=6, sync=True)
    driver = device_for(program, graph)
    monkeypatch.setattr(pinned_pool, "LEAST_UNPINNED", 1)
    monkeypatch.setattr(device_state, "REPORT_VERTICES", 1000)
    monkeypatch.setattr(StagedReturn, "run", lambda self, act: returned.append(1) or run(self, act))
    kept = []
    for count in 1, 2, 3:
        kept.append(run_with(program, graph, device="gpu", **how))
        np.testing.assert_array_equal(kept[-1].values, expected.values)
        assert len(returned) == count
    kept.clear()
    for _ in range(3):
        np.testing.assert_array_equal(run_with(program, graph, device="gpu", **how).values, expected.values)
    assert len(returned) == 3
    assert held_after(driver, graph) == 0


def test_the_cpu_goes_on_if_an_answer_does_not_come_back(device_for, graph_of, monkeypatch):
    program, graph = Trails(HUB), graph_of(GRAPH, weighted=False)
    expected = run_with(program, graph, device="cpu", sync=True)
    driver = device_for(program, graph)
    monkeypatch.setattr(pinned_pool, "LEAST_UNPINNED", 1)
    failing_once(driver, "memcpy_dtoh_async")[0] = 3
    result = run_with(program, graph, device="gpu", sync=True, page_edges=3000)
    assert "failed" in result.stats.note
    np.testing.assert_array_equal(result.values, expected.values)
