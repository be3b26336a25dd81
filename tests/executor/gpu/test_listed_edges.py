"""Pushes along lists on disk, on a GPU simulated with NumPy: the answers of memory, and no more read than on a CPU."""

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.errors import DamagedGraphError
from garaph_py.executor import edge_list
from garaph_py.executor.costs import EXPECTED
from garaph_py.executor.gpu.memory_plan import array_sizes
from garaph_py.executor.modes import COMPACTED, PULL, PUSH, RESIDENT
from garaph_py.pages import disk_layout
from garaph_py.program import bind
from garaph_py.storage import directory as store
from tests.support import twins
from tests.support.numpy_deltas import Peeled, Weighed
from tests.support.numpy_gpu import Lengths, Quiet, failing_once, held_after
from tests.support.stored_graphs import STORED, hub, opened

from ...support.runs import run_with, ways_of

PATH = 60
"""Vertices of a path beside the other edges."""
EDGES = twins.beside_path(PATH, twins.skewed(4, 20000, 120000))
EDGES = EDGES.weighted(np.random.default_rng(5).integers(1, 50, len(EDGES.sources), np.int32))
BLOCK = 1 << 14


@pytest.fixture(autouse=True)
def like_a_large_graph(monkeypatch, read_like_large_graphs, cut_small_graphs):
    """Blocks, pages and buffers are as small as the graph is, and so is the graph with few active edges."""
    monkeypatch.setattr(disk_layout, "LEAST_PAGE_BYTES", BLOCK)
    monkeypatch.setattr(disk_layout, "MOST_PAGE_BYTES", 4 * BLOCK)
    monkeypatch.setattr(edge_list, "MOST_EDGES", 1 << 8)
    monkeypatch.setattr(edge_list, "LEAST_EDGES", 1 << 8)
    monkeypatch.setattr("garaph_py.dispatch.policy.DEVICE_FEW_EDGES", 1 << 8)


@pytest.fixture(scope="module", params=STORED)
def stored(request, tmp_path_factory, graph_of):
    """A graph in memory, and the same with room for a part of its edges."""
    directed, encoding = request.param
    graph = graph_of(EDGES, directed=directed)
    path = tmp_path_factory.mktemp("stored") / "graph"
    store.save(graph, path, encoding=encoding, block_bytes=BLOCK)
    return graph, opened(path, 1 << 18)


def few_edges_fit(graph):
    """Bytes of the GPU's memory with which a part of the edges stays there."""
    return (64 if graph.directed else 76) * graph.n


def rows_of(program, graph, device, **how):
    """The values of a run, and its iterations."""
    graph.release()
    found = run_with(program, graph, device=device, **how)
    assert found.stats.note is None or "short" in found.stats.note
    return found.values, found.stats.iterations


def simulated(kind, graph):
    """A program of this kind; the simulated GPU reads no packed values, so edges have the length 1 there."""
    return {Lengths: Quiet, Weighed: Peeled}.get(kind, kind) if graph.encoding == "packed" else kind


@pytest.mark.spread
@pytest.mark.parametrize("kind", [Quiet, Lengths])
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
def test_the_answer_is_that_of_memory(device_for, gpu_is_faster, stored, kind, sync, device):
    graph, on_disk = stored
    kind = simulated(kind, on_disk)
    program = kind(hub(graph))
    expected = run_with(program, graph, device="cpu", mode=PULL, sync=True)
    driver = device_for(program, on_disk)
    values, rows = rows_of(program, on_disk, device, sync=sync, gpu_memory=few_edges_fit(graph))
    np.testing.assert_array_equal(values, expected.values)
    pushes = [row for row in rows if row.mode == PUSH]
    assert {PULL, PUSH} == {row.mode for row in rows}
    assert {row.device for row in rows} == {"gpu"}
    assert COMPACTED in ways_of(pushes)
    assert [row.edges for row in pushes] == [round(row.f * graph.m) for row in pushes]
    assert all(row.f <= 1 / EXPECTED.push_from_disk or row.edges <= 1 << 8 for row in pushes)
    if sync:
        assert [(row.active, row.f) for row in rows] == [(row.active, row.f) for row in expected.stats.iterations]
    assert held_after(driver, on_disk) == 0


@pytest.mark.full
def test_a_gpu_reads_no_more_than_the_cpu(device_for, stored):
    graph, on_disk = stored
    program = simulated(Lengths, on_disk)(hub(graph))
    device_for(program, on_disk)
    _, alone = rows_of(program, on_disk, "cpu", sync=True)
    _, rows = rows_of(program, on_disk, "gpu", sync=True, gpu_memory=few_edges_fit(graph))
    assert [row.mode for row in rows] == [row.mode for row in alone]
    assert sum(row.from_disk for row in rows) <= sum(row.from_disk for row in alone)
    # What a pull leaves in the buffers differs, so a push along other edges may read more on one of them: here 3 %.
    own, others = (sum(row.from_disk for row in each if row.mode == PUSH) for each in (rows, alone))
    assert 0 < own <= (1.05 if graph.directed else 1) * others


@pytest.mark.full
def test_what_goes_over_the_link(device_for, stored):
    """Eight bytes for each edge that is read, and four for its value."""
    graph, on_disk = stored
    for kind, width in ({simulated(Lengths, on_disk): 12} | {Quiet: 8}).items():
        program = kind(hub(graph))
        device_for(program, on_disk)
        _, rows = rows_of(program, on_disk, "gpu", sync=True, gpu_memory=few_edges_fit(graph))
        assert rows[0].mode == PUSH
        assert rows[0].to_device == width * graph.out_degrees.max()


def test_lists_in_the_gpus_memory_are_not_read(device_for, stored):
    graph, on_disk = stored
    program = Quiet(hub(graph))
    driver = device_for(program, on_disk)
    _, rows = rows_of(program, on_disk, "gpu", sync=True)
    first = next(k for k, row in enumerate(rows) if row.mode == PULL)
    assert all(row.f <= 1 / EXPECTED.push_from_disk or row.edges <= 1 << 8 for row in rows[:first])
    later = [row for row in rows[2:] if row.mode == PUSH]  # a pull has copied all edges
    assert later
    if graph.directed:  # the GPU has in-edges only
        assert ways_of(later) == {COMPACTED}
        return
    assert ways_of(later) == {RESIDENT}
    assert all(row.from_disk == row.to_device == 0 for row in later)
    assert {"push_queue", "push_queue_packed", "push_few"} & {name for name, _ in driver.launched}


def test_a_list_longer_than_a_buffer(device_for, stored):
    graph, on_disk = stored
    program = Quiet(hub(graph))
    driver = device_for(program, on_disk)
    _, rows = rows_of(program, on_disk, "gpu", iterations=1)
    launched = [name for name, _ in driver.launched]
    assert launched.count("push_edge_list") == -(-rows[0].edges // edge_list.edges_of_buffer(graph.m, True)) > 2


@pytest.mark.spread
@pytest.mark.parametrize("kind", [Peeled, Weighed])
def test_deltas(device_for, stored, kind):
    graph, on_disk = stored
    program = simulated(kind, on_disk)(k=1 if graph.directed else 2)
    expected = run_with(program, graph, device="cpu", mode=PULL)
    driver = device_for(program, on_disk)
    arrays = array_sizes(bind(program, graph), graph, graph.n, True, deltas=True)
    memory = 72 * graph.n + sum(arrays[name] for name in ("next_queues", "supersteps", "least"))
    values, rows = rows_of(program, on_disk, "gpu", gpu_memory=memory)
    np.testing.assert_array_equal(values, expected.values)
    assert [(row.active, row.f) for row in rows] == [(row.active, row.f) for row in expected.stats.iterations]
    assert COMPACTED in ways_of(row for row in rows if row.mode == PUSH)
    assert held_after(driver, on_disk) == 0


def test_a_gpu_that_fails_while_it_pushes(device_for, stored):
    """The CPU goes on."""
    graph, on_disk = stored
    program = Quiet(hub(graph))
    expected = run_with(program, graph, device="cpu", mode=PULL, sync=True)
    driver = device_for(program, on_disk)
    on_disk.release()
    left = failing_once(driver, "memcpy_htod_async")
    left[0] = 3
    found = run_with(program, on_disk, device="gpu", gpu_memory=few_edges_fit(graph))
    assert "unspecified launch failure" in found.stats.note
    np.testing.assert_array_equal(found.values, expected.values)


def test_damaged_lists_end_the_run(device_for, tmp_path, graph_of):
    graph = graph_of(EDGES, directed=False)
    store.save(graph, tmp_path / "graph", encoding="raw", block_bytes=BLOCK)
    file = tmp_path / "graph" / store.info(tmp_path / "graph").arrays["in_sources"].data
    data = np.fromfile(file, np.uint8)
    data ^= 0x55
    data.tofile(file)
    on_disk, program = opened(tmp_path / "graph", 1 << 18), Quiet(hub(graph))
    device_for(program, on_disk)
    with pytest.raises(DamagedGraphError, match="in_sources"):
        gp.run(program, on_disk, device="gpu")
