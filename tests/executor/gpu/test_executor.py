"""The GPU executor on a device simulated with NumPy: what it allocates, copies, skips, commits and frees."""

import gc
import tracemalloc

import numpy as np
import pytest

import garaph_py as gp
from garaph_py import events
from garaph_py.dispatch.policy import GaraphPolicy
from garaph_py.errors import DeviceError, DeviceMemoryError
from garaph_py.executor.gpu import device
from garaph_py.executor.gpu import executor as kernel
from garaph_py.executor.gpu import gather as gathering
from garaph_py.executor.gpu.settings import Settings
from garaph_py.executor.memory import vertex_bytes
from garaph_py.program import bind
from garaph_py.storage.directory import read_graph
from tests.support import twins
from tests.support.numpy_gpu import GRAPH, HUB, Blend, Hops, Quiet, held_after, memory_for

from ...support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs")


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("share", [None, 0.2, 0.7])
@pytest.mark.parametrize("program", [Hops(HUB), Quiet(HUB)], ids=["total", "quiet"])
def test_the_answer_is_the_cpus(device_for, graph_of, program, share, sync):
    graph = graph_of(GRAPH)
    driver = device_for(program, graph)
    memory = None if share is None else memory_for(program, graph, share)
    expected = run_with(program, graph, device="cpu", sync=True)
    result = run_with(
        program, graph, device="gpu", sync=sync, gather="segmented", gpu_memory=memory, page_edges=3000, streams=3
    )
    assert result.stats.device == "NumPy"
    np.testing.assert_array_equal(result.values, expected.values)
    rows = result.stats.iterations
    if sync:
        assert [row.active for row in rows] == [row.active for row in expected.stats.iterations]
    copied = [row.to_device for row in rows]
    if share is None:
        assert max(copied) == sum(copied) == 4 * graph.m  # once: in-edges for pulls, or out-edges for pushes
    else:
        assert copied[0] == 4 * graph.m
        assert min(copied[1:3]) > 0
    assert held_after(driver, graph) == 0


@pytest.mark.slow
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("share", [None, 0.4])
def test_every_iteration_copies_all_pages_if_none_may_stay(device_for, graph_of, share, sync):
    """As many edges as fit a stream's part of the memory are a page, also where all would fit (section 2.1)."""
    graph, program = graph_of(GRAPH), Quiet(HUB)
    driver = device_for(program, graph)
    memory = None if share is None else memory_for(program, graph, share)
    expected = run_with(program, graph, device="cpu", sync=True)
    how = {"gather": "segmented", "gpu_memory": memory, "streams": 3, "sync": sync}
    for before in range(2):
        result = run_with(program, graph, device="gpu", engine=GaraphPolicy(), **how)
        assert result.stats.note is None
        np.testing.assert_array_equal(result.values, expected.values)
        rows = result.stats.iterations
        assert [row.to_device for row in rows] == [4 * graph.m] * len(rows)
        assert {row.pages for row in rows} == {1} if share is None else min(row.pages for row in rows) > 3
        assert before or result.stats.device_bytes < 4 * graph.m
        run_with(program, graph, device="gpu", page_edges=3000, **how)  # leaves edges on the device
    assert held_after(driver, graph) == 0


@pytest.mark.parametrize("divides", [True, False])
def test_a_block_has_a_whole_shard_if_shards_are_not_divided(device_for, graph_of, monkeypatch, divides):
    monkeypatch.setattr(gathering, "ITEM_EDGES", 500)
    graph, program = graph_of(GRAPH), Quiet(HUB)
    driver = device_for(program, graph)
    expected = run_with(program, graph, device="cpu", sync=True)
    result = run_with(program, graph, device="gpu", engine=GaraphPolicy(work_items=divides), sync=True)
    np.testing.assert_array_equal(result.values, expected.values)
    launched = {name for name, _ in driver.launched}
    assert "gather_replicated" in launched
    assert ("initialize_sums" in launched) == divides  # where blocks add up in global memory


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["garaph", "garaph:two_threads=yes"])
def test_edges_on_disk_of_which_none_may_stay_on_the_gpu(device_for, graph_of, tmp_path, engine):
    graph, program = graph_of(GRAPH), Quiet(HUB)
    driver = device_for(program, graph)
    gp.save(graph, tmp_path / "graph", block_bytes=1 << 14)
    stored = read_graph(tmp_path / "graph", "auto", 8 << 20, None, events.ignore, on_disk=True)
    expected = run_with(program, graph, device="cpu", sync=True)
    for processors in "gpu", "hybrid":
        how = {"device": processors, "gather": "segmented", "page_edges": 3000, "mode": "pull"}
        result = run_with(program, stored, engine=engine, **how)
        assert result.stats.note is None
        np.testing.assert_array_equal(result.values, expected.values)
        copied = {row.to_device for row in result.stats.iterations}
        assert processors == "hybrid" or (len(copied) == 1 and min(copied) >= 4 * graph.m)  # with whole runs of edges
    assert held_after(driver, stored) == 0


@pytest.mark.parametrize("sync", [True, False])
def test_what_it_takes_of_the_hosts_memory_is_known_before(device_for, graph_of, sync):
    n = 100000
    small, graph = (graph_of(twins.Edges(k, np.arange(k - 1), np.arange(1, k))) for k in (10, n))
    program, settings = Hops(0), Settings(gather="segmented")
    device_for(program, graph)
    with kernel.GpuExecutor(bind(program, small), small, device.find(), settings) as made:  # imports modules
        made.report(made.initialize(sync))
    bound = bind(program, graph)
    counted = vertex_bytes(bound, graph, arrays=1) - graph.nbytes - graph.ids.nbytes
    gc.collect()
    tracemalloc.start()
    try:
        with kernel.GpuExecutor(bound, graph, device.find(), settings) as made:
            state = made.initialize(sync)
            _ = state.values, state.frontier, state.next_frontier
            gc.collect()  # what compiling has left
            taken = tracemalloc.get_traced_memory()[0]
            assert 0.98 * counted <= taken <= counted + n
            before = tracemalloc.get_traced_memory()[0]
            assert made.report(state) is state.values  # no third array
            assert tracemalloc.get_traced_memory()[0] < before + n
    finally:
        tracemalloc.stop()


def path(n, first=0):
    return np.arange(first, first + n - 1), np.arange(first + 1, first + n)


def mainland(n=20000, island=700):
    """Random edges, and a path that no other edge reaches."""
    rng = np.random.default_rng(5)
    sources, targets = path(island, n)
    return twins.Edges(
        n + island, np.append(rng.integers(0, n, 4 * n), sources), np.append(rng.integers(0, n, 4 * n), targets)
    )


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("mode", ["pull", "notify-pull"])
@pytest.mark.parametrize("edges", [twins.Edges(20000, *path(20000)), mainland()], ids=["most", "few"])
def test_pages_nobody_notified_are_left_alone(device_for, graph_of, edges, mode):
    graph = graph_of(edges)
    program = Quiet()
    driver = device_for(program, graph)
    expected = run_with(program, graph, device="cpu", sync=True, iterations=30)
    result = run_with(
        program, graph, device="gpu", sync=True, iterations=30, mode=mode, page_edges=500, gather="segmented"
    )
    np.testing.assert_array_equal(result.values, expected.values)
    skipped = sum(row.pages_skipped for row in result.stats.iterations)
    assert (skipped > 0) == (mode == "notify-pull")
    assert held_after(driver, graph) == 0


@pytest.mark.slow
def test_less_memory_is_tried_if_an_allocation_fails(device_for, graph_of):
    """An allocation that was planned to fit fails; the run tries again once, with less."""
    graph = graph_of(GRAPH)
    driver = device_for(Quiet(HUB), graph)
    needed = memory_for(Quiet(HUB), graph, 1)
    driver.refuses = needed - 100_000
    memory = needed + 1000
    result = run_with(
        Quiet(HUB), graph, device="gpu", sync=True, gpu_memory=memory, gather="segmented", page_edges=3000
    )
    np.testing.assert_array_equal(result.values, run_with(Quiet(HUB), graph, device="cpu", sync=True).values)
    assert sum(row.to_device for row in result.stats.iterations[1:]) > 0
    assert held_after(driver, graph) == 0
    driver.refuses = 50_000
    with pytest.raises(DeviceMemoryError):
        run_with(Quiet(HUB), graph, device="gpu", gpu_memory=memory, page_edges=3000)
    assert held_after(driver, graph) == 0


def test_the_budget_is_kept(device_for, graph_of):
    graph = graph_of(GRAPH)
    driver = device_for(Hops(HUB), graph)
    memory = memory_for(Hops(HUB), graph, 0.4)
    driver.refuses = memory
    result = run_with(
        Hops(HUB), graph, device="gpu", sync=True, gpu_memory=memory, gather="segmented", page_edges=3000, streams=3
    )
    assert result.stats.note is None
    assert result.stats.device == "NumPy"


def test_parts_of_pages_may_be_taken_where_nothing_is_worth_measuring(device_for, graph_of):
    """Gathers are timed on large pages only. Small pages use the segmented gather, and so may be cut."""
    graph, program = graph_of(GRAPH), Quiet(HUB)
    device_for(program, graph)
    for gather, takes_parts in (("auto", True), ("segmented", True), ("replicated", False)):
        settings = Settings(gather=gather)
        with kernel.GpuExecutor(bind(program, graph), graph, device.find(), settings) as made:
            state = made.initialize(True)
            assert made.gather.takes_parts == takes_parts
            assert (made.offer(made.residency.pages, state, "pull", True).split is not None) == takes_parts


def test_a_gpu_that_fails_beside_a_copy_of_the_state_raises_a_device_error(device_for, graph_of):
    graph = graph_of(GRAPH)
    driver = device_for(Hops(HUB), graph)
    with kernel.GpuExecutor(bind(Hops(HUB), graph), graph, device.find(), Settings(gather="segmented")) as made:
        made.initialize(True)
        copy = made.start_copy()
        assert copy.is_complete

        def fails():
            raise driver.Error("unspecified launch failure")

        copy.written.query = fails
        with pytest.raises(DeviceError, match="unspecified launch failure"):
            _ = copy.is_complete


def test_the_answer_takes_the_room_of_the_copy_of_the_state(device_for, graph_of):
    graph = graph_of(GRAPH)
    device_for(Blend(), graph)
    with kernel.GpuExecutor(bind(Blend(), graph), graph, device.find(), Settings(gather="segmented")) as made:
        state = made.initialize(True)
        expected = made.report(state)
        made.state._kept.memory.free("reported")
        made.start_copy()
        made.state._kept.memory.trim(0)
        made.state._kept.memory.budget = made.state._kept.memory.used
        np.testing.assert_array_equal(made.report(state), expected)
