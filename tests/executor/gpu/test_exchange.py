"""Pushes on several GPUs: the same answers, values and counts as on one, whatever the timing, whichever fails."""

import itertools
import random
import threading
import types

import numpy as np
import pytest

from garaph_py.dispatch import policy
from garaph_py.executor.gpu import device, exchange, memory_plan, other_in_edges
from garaph_py.executor.gpu.device_graph import DeviceGraph
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.multi_gpu import MultiGpuExecutor
from garaph_py.executor.gpu.out_edges import OutEdges
from garaph_py.executor.gpu.placement import Placer
from garaph_py.executor.gpu.ranks import RUN
from garaph_py.executor.modes import PUSH, RESIDENT, ZERO_COPY
from garaph_py.native.threads import ThreadPool
from garaph_py.output.recording import read_recording
from tests.support import twins
from tests.support.cases import mostly_full
from tests.support.late_gpu import arm_when_initialized
from tests.support.numpy_gpu import HUB, Eager, FakeFunction, Lengths, Quiet, Trails, held_after, memory_for
from tests.support.several_gpus import commit_and_compare, each_failure, late, runs_with_a_failure

from ...support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs", "all_work")

ways = pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
processors = pytest.mark.parametrize("processor", ["gpu", "hybrid"])


@pytest.fixture(autouse=True)
def compared(monkeypatch):
    """After each iteration, all GPUs have the same values and the same frontier."""
    monkeypatch.setattr(MultiGpuExecutor, "commit", commit_and_compare)


@pytest.fixture(params=mostly_full(["undirected", "directed"], "undirected"))
def graph(graph_of, request):
    return graph_of(WEIGHTED, directed=request.param == "directed")


WEIGHTED = twins.skewed(3, 9000, 60000, "int32")
"""`GRAPH` with lengths."""
EVEN = twins.regular(3, 1200, 150).weighted(np.random.default_rng(3).integers(1, 50, 180_000).astype(np.int32))
"""A graph whose vertices have about as many edges each."""


def test_a_trace_has_what_gpus_send(devices_for, graph, tmp_path):
    program = Quiet(HUB)
    devices_for(program, graph, 2)
    run_with(program, graph, device="gpu", gpus=2, trace=tmp_path / "trace.json")
    spans = read_recording(tmp_path / "trace.json").spans
    for behind in "", " of GPU 1":
        assert {"changed values"} == {span.name for span in spans if span.track == f"copy to other GPUs{behind}"}
        assert {"push", "relax received"} <= {span.name for span in spans if span.track == f"stream 0{behind}"}


def modes(result):
    return {row.mode for row in result.stats.iterations}


def pushes_of(result):
    """How the edges of pushes reached the GPUs."""
    return {group.transfer for row in result.stats.iterations for group in row.groups if group.mode == PUSH}


@pytest.mark.spread
@pytest.mark.parametrize("kind", [Quiet, Lengths], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("count", [2, 5])
@pytest.mark.parametrize("most", [None, 97], ids=["at once", "97 at a time"])
@processors
@ways
def test_the_answer_is_the_same(devices_for, graph, monkeypatch, kind, count, most, processor, sync):
    program = kind(HUB)
    expected = run_with(program, graph, device="cpu", sync=True)
    devices_for(program, graph, count)
    if most is not None:
        monkeypatch.setattr(memory_plan, "MOST_EXCHANGED", most)
        monkeypatch.setattr(memory_plan, "LEAST_EXCHANGED", most)
    result = run_with(program, graph, device=processor, gpus=count, sync=sync, page_edges=3000, threads=2)
    np.testing.assert_array_equal(result.values, expected.values)
    assert "push" in modes(result)
    if sync:
        assert [row.active for row in result.stats.iterations] == [row.active for row in expected.stats.iterations]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Quiet, Lengths, Eager], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("count", [2, 5])
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
@processors
@ways
def test_pushes_and_pulls_alternate(devices_for, graph_of, monkeypatch, kind, directed, count, processor, sync):  # wide
    """A push replaces values in place: it exchanges no arrays, whatever the pull before it has processed."""
    even_f = policy.even_f
    monkeypatch.setattr(policy, "DEVICE_FEW_EDGES", 0)
    monkeypatch.setattr(policy, "even_f", lambda seen: even_f(seen) / 4)
    program, graph = kind(HUB), graph_of(WEIGHTED, directed=directed)
    expected = run_with(program, graph, device="cpu", sync=True)
    devices_for(program, graph, count)
    result = run_with(program, graph, device=processor, gpus=count, sync=sync, page_edges=3000, threads=2)
    np.testing.assert_array_equal(result.values, expected.values)
    taken = [row.mode for row in result.stats.iterations]
    assert ("pull", "push") in itertools.pairwise(taken)
    if sync:
        assert [row.active for row in result.stats.iterations] == [row.active for row in expected.stats.iterations]


@pytest.mark.spread
@ways
def test_gpus_have_different_room(devices_for, graph, monkeypatch, sync):
    """They exchange as many vertices at a time as the one with least room."""
    program, mosts, plan = Quiet(HUB), itertools.cycle((99, 97, 500)), memory_plan.plan_exchange
    expected = run_with(program, graph, device="cpu", sync=True)
    devices_for(program, graph, 3)
    different = "garaph_py.executor.gpu.placement.plan_exchange"
    monkeypatch.setattr(different, lambda *told: plan(*told)._replace(most=next(mosts)))
    result = run_with(program, graph, device="gpu", gpus=3, sync=sync, page_edges=3000)
    np.testing.assert_array_equal(result.values, expected.values)
    assert "push" in modes(result)


@pytest.mark.full
@pytest.mark.parametrize(("encoding", "count"), [("raw", 2), ("raw", 5), ("packed", 2)])
@pytest.mark.parametrize("maps", [False, True], ids=["not mapped", "mapped"])
@pytest.mark.parametrize("kind", [Quiet, Lengths], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
@ways
def test_gpus_that_stream_pages_push_from_host_memory(  # wide
    devices_for, map_for, graph_of, monkeypatch, kind, directed, count, maps, encoding, sync
):
    """If they cannot read it, they only pull."""
    program, graph = kind(0), graph_of(EVEN, directed=directed)
    graph = graph.packed() if encoding == "packed" else graph
    drivers = devices_for(program, graph, count)
    with ThreadPool(1) as pool:
        graph._arrays.valued_out_edges(pool)
        share = (0.7 if encoding == "packed" else 0.9) / count  # of the edges, less than a part
        few = memory_for(program, graph, share) + (0 if sync else 8 * graph.n)  # which releases them
        graph._arrays.valued_out_edges(pool)
    expected = run_with(program, graph, device="cpu", sync=True)
    if maps:
        map_for(drivers)
    monkeypatch.setattr(memory_plan, "LEAST_EXCHANGED", 7)
    result = run_with(
        program, graph, device="gpu", gpus=count, sync=sync, page_edges=1000, streams=2, threads=2,
        gpu_memory=few, gather="auto" if encoding == "packed" else "segmented",
    )  # fmt: skip
    np.testing.assert_array_equal(result.values, expected.values)
    assert result.stats.device == f"{count} x NumPy"
    assert pushes_of(result) == ({ZERO_COPY} if maps else set())
    rows = [row for row in result.stats.iterations if row.mode == PUSH]
    assert sum(row.to_device for row in rows) <= 12 * sum(row.edges for row in rows)
    assert sum(row.to_device for row in result.stats.iterations) > 0
    assert [held_after(driver, graph) for driver in drivers] == [0] * count


@pytest.mark.full
@pytest.mark.parametrize("more", [0, 2000, 4000, 12_000])
def test_parts_keep_few_pages(devices_for, map_for, graph_of, monkeypatch, more):
    """With up to 4000 bytes more, those of a part are within a run, which kernels then read in host memory."""
    program, graph = Trails(0), graph_of(WEIGHTED, directed=False)
    drivers = devices_for(program, graph, 5)
    memory = memory_for(program, graph, 0.1) + more
    expected = run_with(program, graph, device="cpu", sync=True)
    map_for(drivers)
    monkeypatch.setattr(memory_plan, "LEAST_EXCHANGED", 7)
    result = run_with(program, graph, device="gpu", gpus=5, sync=True, page_edges=1000, streams=1, gpu_memory=memory)
    np.testing.assert_array_equal(result.values, expected.values)
    assert pushes_of(result) == {ZERO_COPY}
    assert [held_after(driver, graph) for driver in drivers] == [0] * 5


@pytest.mark.full
@pytest.mark.parametrize("kind", [Quiet, Lengths], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("count", [2, 5])
def test_each_gpu_has_the_out_edges_of_its_part(devices_for, graph_of, monkeypatch, kind, count):
    """Later runs find them, also after one on a single GPU, and no run makes their values on the host."""
    monkeypatch.setattr(other_in_edges, "PAGE_EDGES", 3000)
    program, graph = kind(HUB), graph_of(WEIGHTED)
    expected = run_with(program, graph, device="cpu", mode="pull", sync=True)
    drivers, copied = devices_for(program, graph, count), []
    for gpus in (count, count, 1, count):
        result = run_with(program, graph, device="gpu", gpus=gpus, sync=True, page_edges=3000)
        np.testing.assert_array_equal(result.values, expected.values)
        assert pushes_of(result) == {RESIDENT}
        copied.append(sum(row.to_device for row in result.stats.iterations))
    others = 8 * count * graph.m * (kind is Lengths)  # in-edges with values, their own among them
    assert 0 <= copied[0] - 4 * graph.m - others < 4 * count * RUN  # parts begin at whole runs
    assert copied[1] == copied[3] == 0
    assert graph._arrays.bytes_to_reverse > 0 or kind is Quiet
    assert [held_after(driver, graph) for driver in drivers] == [0] * count


def test_all_gpus_order_the_values_of_out_edges_at_once(devices_for, graph_of, monkeypatch):
    graph, fill, together = graph_of(WEIGHTED), OutEdges.fill, threading.Barrier(3, timeout=60)
    program = Lengths(HUB)

    def meeting(self, on_each):
        if not self.is_filled:
            together.wait()
        return fill(self, on_each)

    monkeypatch.setattr(OutEdges, "fill", meeting)
    devices_for(program, graph, 3)
    expected = run_with(program, graph, device="cpu", sync=True)
    result = run_with(program, graph, device="gpu", gpus=3, page_edges=3000)
    np.testing.assert_array_equal(result.values, expected.values)
    assert pushes_of(result) == {RESIDENT}


def test_out_edges_leave_room_for_the_exchange(devices_for, map_for, graph_of, monkeypatch):
    """GPUs whose memory lacks a byte for both read the out-edges in the host's memory."""
    program, graph, placements, place = Lengths(HUB), graph_of(WEIGHTED), [], Placer.place
    map_for(devices_for(program, graph, 2))
    with ThreadPool(1) as pool:
        graph._arrays.valued_out_edges(pool)
    expected = run_with(program, graph, device="cpu", mode="pull", sync=True)
    monkeypatch.setattr(Placer, "place", lambda *given: placements.append(place(*given)) or placements[-1])
    for memory, way in (None, RESIDENT), ("less", ZERO_COPY):
        memory = memory and min(placed.residency.used for placed in placements) - 1
        result = run_with(program, graph, device="gpu", gpus=2, page_edges=3000, gpu_memory=memory)
        np.testing.assert_array_equal(result.values, expected.values)
        assert pushes_of(result) == {way}
        assert all(placed.is_resident for placed in placements)


@pytest.mark.parametrize("ways", [[RESIDENT, ZERO_COPY, RESIDENT], [RESIDENT] * 3], ids=["one is far", "all are near"])
def test_a_push_has_the_way_of_the_gpu_that_reads_host_memory(ways):
    gpus = [
        types.SimpleNamespace(
            push=lambda state, way=way: (way, 5), count=lambda: 0, most=1,
            result=lambda edges, way, moved: (edges, way, moved),
        )
        for way in ways
    ]  # fmt: skip
    state = types.SimpleNamespace(active_edges=7)
    found = exchange.push(gpus, state, lambda act: [act(k) for k in range(3)])
    assert found == (7, ZERO_COPY if ZERO_COPY in ways else RESIDENT, 15)


@pytest.mark.spread
@pytest.mark.parametrize(("share", "way"), [(1.5, RESIDENT), (0.9, ZERO_COPY)], ids=["both", "one direction"])
@pytest.mark.parametrize("deterministic", [False, True], ids=["fast", "deterministic"])
@pytest.mark.parametrize("kind", [Quiet, Lengths], ids=lambda kind: kind.__name__)
def test_in_edges_of_parts_have_the_room(  # wide
    devices_for, map_for, graph_of, monkeypatch, kind, share, way, deterministic
):
    """Each GPU has that for both directions of its part, or for one."""
    program, graph = kind(HUB), graph_of(WEIGHTED)
    map_for(devices_for(program, graph, 2))
    memory, placements, place = memory_for(program, graph, share), [], Placer.place
    with ThreadPool(1) as pool:
        graph._arrays.valued_out_edges(pool)
    expected = run_with(program, graph, device="cpu", mode="pull", sync=True)
    monkeypatch.setattr(Placer, "place", lambda *given: placements.append(place(*given)) or placements[-1])
    monkeypatch.setattr(memory_plan, "LEAST_EXCHANGED", 7)
    monkeypatch.setattr(other_in_edges, "PAGE_EDGES", 3000)
    result = run_with(
        program, graph, device="gpu", gpus=2, page_edges=3000, gpu_memory=memory, deterministic=deterministic
    )
    np.testing.assert_array_equal(result.values, expected.values)
    parts = placements[-2:]  # the first of a deterministic run is that of one GPU
    assert [placed.out_edges.way for placed in parts] == [way, way]
    assert all(placed.is_resident for placed in parts)
    assert pushes_of(result) == {way}
    kept = DeviceGraph.existing(graph._arrays, device.find(1))
    assert kept.far_runs == 0  # a run on this GPU alone would not read out-edges in host memory for that


@pytest.mark.parametrize("kind", [Quiet, Lengths], ids=lambda kind: kind.__name__)
def test_gpus_without_room_for_out_edges_only_pull(devices_for, graph_of, kind):
    program, graph = kind(HUB), graph_of(WEIGHTED)
    expected = run_with(program, graph, device="cpu", mode="pull", sync=True)
    drivers = devices_for(program, graph, 2)
    memory = memory_for(program, graph, 0.6)
    for driver in drivers:
        driver.refuses = memory
    result = run_with(program, graph, device="gpu", gpus=2, page_edges=3000, gpu_memory=memory)
    np.testing.assert_array_equal(result.values, expected.values)
    assert result.stats.device == "2 x NumPy"
    assert PUSH not in modes(result)


@pytest.mark.slow
def test_what_is_received_counts_once(devices_for, graph, monkeypatch):
    """A vertex that several GPUs have changed is in the frontier once, and its edges are counted once."""
    program, results = Quiet(HUB), []
    devices_for(program, graph, 5)
    result = exchange.Exchange.result

    def noted(self, *how):
        results.append(result(self, *how))
        return results[-1]

    monkeypatch.setattr(exchange.Exchange, "result", noted)
    run_with(program, graph, device="gpu", gpus=5, page_edges=3000)
    assert results
    for k in range(0, len(results), 5):
        assert len({(each.active, each.active_edges) for each in results[k : k + 5]}) == 1


def test_gpus_without_room_only_pull(devices_for, graph, monkeypatch):
    monkeypatch.setattr(memory_plan, "plan_exchange", lambda *_: None)
    monkeypatch.setattr("garaph_py.executor.gpu.placement.plan_exchange", lambda *_: None)
    program = Quiet(HUB)
    devices_for(program, graph, 2)
    assert "push" not in modes(run_with(program, graph, device="gpu", gpus=2))


@pytest.mark.parametrize(
    ("n", "synchronous", "left", "most"),
    [
        (100, True, 1 << 20, 100), (100, True, 12 * 100, None), (100, False, 1 << 20, 100), (0, True, 1 << 20, None),
        (1 << 25, True, 1 << 40, 1 << 20), (1 << 25, True, 12 * (1 << 14) + (1 << 10), 1 << 14),
        (1 << 25, True, 12 * (1 << 14), None), (1 << 25, False, 8 << 25, None),
    ],
)  # fmt: skip
def test_the_plan_fits_what_is_left(n, synchronous, left, most):
    plan = memory_plan.plan_exchange(n, 8, 1, synchronous, left)
    assert (None if plan is None else plan.most) == most
    if plan is not None:
        assert plan.nbytes <= left
        assert plan.listed == (0 if synchronous else 8 * n)


@pytest.mark.parametrize("kernel", ["push_queue", "relax_received"], ids=["push", "exchange"])
@processors
def test_the_parts_of_a_lost_gpu_go_to_the_others(devices_for, graph, monkeypatch, kernel, processor):
    """The driver of one of three GPUs fails whenever this kernel is launched."""
    program, opened = Quiet(HUB), []
    expected = run_with(program, graph, device="cpu", sync=True)
    drivers = devices_for(program, graph, 3)
    launch, initialize = FakeFunction.prepared_async_call, GpuExecutor.initialize

    def launched(function, *told, **how):
        if function.driver is drivers[1] and function.name == kernel:
            raise function.driver.Error("unspecified launch failure")
        launch(function, *told, **how)

    monkeypatch.setattr(FakeFunction, "prepared_async_call", launched)
    monkeypatch.setattr(GpuExecutor, "initialize", lambda self, *how: opened.append(self) or initialize(self, *how))
    result = run_with(program, graph, device=processor, gpus=3, page_edges=3000, threads=2)
    np.testing.assert_array_equal(result.values, expected.values)
    assert "3 x NumPy failed" in result.stats.note
    assert "GPU 0, 2 " in result.stats.note
    assert result.stats.device == "2 x NumPy"
    assert "push" in modes(result)
    left = opened[3:]
    assert sorted(gpu.device.number for gpu in left) == [0, 2]
    assert sum(page.edges for gpu in left for page in gpu.residency.pages) == graph.m


@pytest.fixture
def run_late(devices_for, graph, monkeypatch):
    """A function that pushes on late GPUs, of which one may fail at a call, and checks the answer; their drivers."""
    monkeypatch.setattr(memory_plan, "MOST_EXCHANGED", 500)
    monkeypatch.setattr(memory_plan, "LEAST_EXCHANGED", 500)

    def begin(rng, count, processor, sync, failing=None, fails_at=None):  # wide
        program = rng.choice((Quiet, Lengths))(HUB)
        expected = run_with(program, graph, device="cpu", sync=True)

        drivers = devices_for(program, graph, count, late(rng, failing, fails_at))
        with pytest.MonkeyPatch.context() as armed:
            arm_when_initialized(armed, MultiGpuExecutor)
            result = run_with(program, graph, device=processor, gpus=count, sync=sync, page_edges=3000, threads=2)
        np.testing.assert_array_equal(result.values, expected.values)
        return drivers, result

    return begin


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("count", [2, 5])
@processors
@ways
def test_answers_do_not_depend_on_timing(run_late, count, processor, sync):
    rng = random.Random(f"{count} {processor} {sync}")
    assert "push" in set.union(*(modes(run_late(rng, count, processor, sync)[1]) for _ in range(2)))


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("count", [2, 5])
@processors
@ways
def test_the_others_go_on_when_one_fails(run_late, count, processor, sync):
    for result in runs_with_a_failure(run_late, count, processor, sync):
        assert "failed" in result.stats.note


@pytest.mark.full
@processors
@ways
def test_the_other_goes_on_wherever_one_of_two_fails(run_late, processor, sync):
    """In every seventh call."""
    for result in each_failure(run_late, 7, processor, sync):
        assert "failed" in result.stats.note
        assert result.stats.device == "NumPy"
