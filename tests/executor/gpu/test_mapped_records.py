"""Packed lists in host memory, whose records the GPU has, on a device simulated with NumPy; and edge lists instead."""

from dataclasses import replace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch import far_pushes
from garaph_py.executor import edge_list
from garaph_py.executor.costs import EXPECTED
from garaph_py.executor.gpu import mapped_records
from garaph_py.executor.gpu.ranks import RUN
from garaph_py.executor.modes import COMPACTED, COPIED, PULL, PUSH, RESIDENT, ZERO_COPY
from garaph_py.native.threads import ThreadPool
from tests.support import twins
from tests.support.numpy_deltas import Weighed
from tests.support.numpy_gpu import FakePinned, Lengths, Quiet, held_after, memory_for
from tests.support.real_gpu import bytes_of_sums

from ...support.runs import run_with

pytestmark = [pytest.mark.usefixtures("cut_small_graphs", "gpu_is_faster"), pytest.mark.spread]

EDGES = twins.skewed(4, 9000, 60000, "int32")
PROGRAMS = {"hops": Quiet(0), "lengths": Lengths(0), "core": Weighed(k=3)}


def made(encoding, directed):
    """Of raw edges, the CPU has packed a copy, which is streamed; in a directed graph, it has ordered their values."""
    graph = gp.from_edges(EDGES.sources, EDGES.targets, EDGES.weights, vertices=range(EDGES.n), directed=directed)
    graph = graph if encoding == "raw" else graph.packed()
    with ThreadPool(1) as pool:
        graph._arrays.packed_in_edges(pool)
    order_values(graph)
    return graph


def order_values(graph):
    """Have the host order the values of a directed graph's out-edges."""
    with ThreadPool(1) as pool:
        graph._arrays.valued_out_edges(pool)


@pytest.fixture(params=["raw", "packed"])
def encoding(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["undirected", "directed"])
def graph(request, encoding):
    return made(encoding, request.param)


@pytest.fixture
def undirected(encoding):
    return made(encoding, False)


@pytest.fixture
def run(device_for, monkeypatch):
    """A function that runs a program with GPU memory for a share of the packed edges; it returns the driver and the
    result."""

    def run(program, graph, share, times=1):
        driver = device_for(program, graph)
        monkeypatch.setattr(FakePinned, "driver", driver)
        packed = graph.packed()
        order_values(packed)
        sums = bytes_of_sums(program, graph) if program.sum is gp.add else 0
        memory = memory_for(program, packed, share, gather="packed") + sums
        options = {"device": "gpu", "gather": "packed", "page_edges": 3000, "gpu_memory": memory}
        order_values(graph)
        expected = run_with(program, graph, device="cpu", mode=PULL)
        for _ in range(times):
            driver.launched.clear()
            found = run_with(program, graph, **options)
            np.testing.assert_array_equal(found.values, expected.values)
        return driver, found

    return run


def groups_of(found):
    return {(group.mode, group.transfer) for row in found.stats.iterations for group in row.groups}


def wanted(graph):
    """What iterations do at least: over the directed graph, few edges leave active vertices, so that some only push."""
    return {(PUSH, ZERO_COPY)} | ({(PULL, COPIED)} if not graph.directed else set())


def pushes_of(driver):
    return {name for name, _ in driver.launched if name.startswith("push")}


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("name", PROGRAMS)
def test_pages_are_copied_and_lists_are_read_packed(run, graph, name, share):
    driver, found = run(PROGRAMS[name], graph, share)
    assert groups_of(found) >= wanted(graph)
    assert pushes_of(driver)
    assert all(kernel.endswith("_packed") for kernel in pushes_of(driver))
    with ThreadPool(1) as pool:
        packed = graph._arrays.packed_out_edges(name != "hops", pool)
    width = sum(array.nbytes for array in packed.arrays(name != "hops")) / graph.m
    pushes = [row for row in found.stats.iterations if row.mode == PUSH]
    assert 0 < sum(row.to_device for row in pushes) < width * sum(row.edges for row in pushes)
    assert held_after(driver, graph) == 0


@pytest.mark.full
def test_lists_of_pages_that_stay_are_read_there(run, undirected):
    """The larger the share, the less a push reads in host memory."""
    read, graph = [], undirected
    for share in (0.2, 0.7, 1.2):
        _, found = run(PROGRAMS["lengths"], graph, share)
        rows = [row for row in found.stats.iterations if row.mode == PUSH]
        read.append(sum(row.to_device for row in rows) / sum(row.edges for row in rows))
        graph.release()
    assert read[0] > 1.3 * read[1] > 1.6 * read[2] > 0


@pytest.mark.full
def test_the_records_are_copied_once(run, graph, monkeypatch):
    copied = []
    copy = mapped_records.staging.copy
    monkeypatch.setattr(
        mapped_records.staging, "copy", lambda array, *rest, **more: copied.append(array) or copy(array, *rest, **more)
    )
    run(PROGRAMS["lengths"], graph, 0.5, times=3)
    records = [array for array in copied if array.dtype.names and "widths" in array.dtype.names]
    assert [len(array) for array in records] == [-(-graph.m // RUN)] * 2


def test_without_room_for_records_the_graphs_own_lists_are_read(run, graph, monkeypatch):
    begin = mapped_records.MappedRecords.__init__

    def large(self, *given):
        begin(self, *given)
        self.nbytes = 1 << 40

    monkeypatch.setattr(mapped_records.MappedRecords, "__init__", large)
    driver, found = run(PROGRAMS["lengths"], graph, 0.5)
    assert groups_of(found) >= wanted(graph)
    form = "_packed" if graph.encoding == "packed" else ""
    assert pushes_of(driver) <= {"push_few" + form, "push_queue" + form}


@pytest.mark.slow
def test_pages_that_all_stay_need_no_other_lists(run, graph):
    _, found = run(PROGRAMS["lengths"], graph, 3)
    assert {transfer for _, transfer in groups_of(found)} <= {RESIDENT, COPIED}


@pytest.fixture
def slow_sectors(monkeypatch):
    """A link over which kernels read lists slowly; buffers for edge lists are as small as the graph is."""
    monkeypatch.setattr(far_pushes, "EXPECTED", replace(EXPECTED, sectors=1e5))
    monkeypatch.setattr(edge_list, "MOST_EDGES", 1 << 6)
    monkeypatch.setattr(edge_list, "LEAST_EDGES", 1 << 5)


def ways_of_pushes(found):
    return {transfer for mode, transfer in groups_of(found) if mode == PUSH}


def with_edge_lists(run, program, graph):
    """The first run, of some with more and more memory, that has room for edge lists beside its pages."""
    for share in np.arange(0.3, 0.9, 0.03):
        driver, found = run(program, graph, share)
        if COMPACTED in ways_of_pushes(found):
            return driver, found
    raise AssertionError("none has room")


@pytest.mark.full
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_host_lists_edges_where_that_is_cheaper(run, graph, slow_sectors, name):
    driver, found = with_edge_lists(run, PROGRAMS[name], graph)
    edge_bytes = 8 if name == "hops" else 12
    listed = [row for row in found.stats.iterations if row.mode == PUSH and row.groups[0].transfer == COMPACTED]
    assert all("lists the edges" in row.why for row in listed)
    assert all(0 < row.to_device <= row.edges * edge_bytes for row in listed[1:])  # the first also waits for pages
    read = [row.edges for row in found.stats.iterations if row.mode == PUSH and row.groups[0].transfer == ZERO_COPY]
    assert max(read, default=0) < min(row.edges for row in listed)  # for few edges, the host would take longer to begin
    assert "push_edge_list" in {name for name, _ in driver.launched}
    assert held_after(driver, graph) == 0


@pytest.mark.slow
def test_without_room_for_buffers_lists_are_read(run, graph, slow_sectors, monkeypatch):
    monkeypatch.setattr(edge_list, "LEAST_EDGES", 1 << 20)
    _, found = run(PROGRAMS["lengths"], graph, 0.5)
    assert ways_of_pushes(found) == {ZERO_COPY}


@pytest.mark.full
def test_at_the_expected_rates_lists_are_read(run, graph, monkeypatch):
    monkeypatch.setattr(edge_list, "LEAST_EDGES", 1 << 5)
    for share in np.arange(0.3, 0.9, 0.2):
        _, found = run(PROGRAMS["lengths"], graph, share)
        assert ways_of_pushes(found) == {ZERO_COPY}
