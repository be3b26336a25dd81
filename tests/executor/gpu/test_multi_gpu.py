"""Several GPUs that share a graph: the same answers as one GPU's, whatever the timing, whichever fails and when."""

import random
import threading

import numpy as np
import pytest

from garaph_py.executor.cpu import CpuExecutor
from garaph_py.executor.gpu import device_state, peers
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.launches import Launches
from garaph_py.executor.gpu.multi_gpu import MultiGpuExecutor
from garaph_py.executor.gpu.ranks import RUN
from garaph_py.executor.gpu.streams import Streams
from garaph_py.graph.vertex_set import WORD
from garaph_py.output.recording import read_recording
from tests.support import twins
from tests.support.late_gpu import arm_when_initialized
from tests.support.numpy_gpu import GRAPH, HUB, Blend, Eager, Hops, Lengths, Quiet, Trails, held_after, memory_for
from tests.support.several_gpus import commit_and_compare, each_failure, late, runs_with_a_failure

from ...support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs", "all_work")

PAGE_EDGES = 3000
counts = pytest.mark.parametrize("count", [1, 2, 5])
ways = pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
processors = pytest.mark.parametrize("processor", ["gpu", "hybrid"])


def memory(program, graph, pages):
    """Bytes in which so many pages stay on a GPU, beside the buffers of two streams."""
    return memory_for(program, graph, 0) + 4 * (2 + pages) * (PAGE_EDGES + 2 * RUN)


@pytest.mark.slow
@pytest.mark.spread
@counts
@processors
@ways
@pytest.mark.parametrize("pages", [0, 3, None], ids=["streamed", "some stay", "resident"])
@pytest.mark.parametrize("kind", [Hops, Quiet, Eager], ids=lambda kind: kind.__name__)
def test_the_answer_is_the_same(devices_for, graph_of, kind, pages, sync, processor, count):
    program, graph = kind(HUB), graph_of(GRAPH, weighted=False, directed=kind is not Eager)
    expected = run_with(program, graph, device="cpu", sync=True)
    drivers = devices_for(program, graph, count)
    result = run_with(
        program, graph, device=processor, gpus=count, sync=sync, gather="segmented", page_edges=PAGE_EDGES, streams=2,
        gpu_memory=None if pages is None else memory(program, graph, pages), threads=2,
    )  # fmt: skip
    np.testing.assert_array_equal(result.values, expected.values)
    assert result.stats.note is None or "short" in result.stats.note
    assert result.stats.device == ("NumPy" if count == 1 else f"{count} x NumPy")
    if sync:
        assert [row.active for row in result.stats.iterations] == [row.active for row in expected.stats.iterations]
    assert [held_after(driver, graph) for driver in drivers] == [0] * count


@counts
def test_every_gpu_has_its_own_edges(devices_for, graph_of, monkeypatch, count):
    """Together they have every edge once, and about as many each; values are never copied to the host on the way."""
    program, graph = Blend(3), graph_of(GRAPH)
    expected = run_with(program, graph, device="cpu", iterations=5)
    drivers, opened, read = devices_for(program, graph, count), [], []
    initialize = GpuExecutor.initialize
    monkeypatch.setattr(GpuExecutor, "initialize", lambda self, *how: opened.append(self) or initialize(self, *how))
    for driver in drivers:
        to_host = driver.memcpy_dtoh
        driver.memcpy_dtoh = lambda array, *how, to_host=to_host: (read.append(array.nbytes), to_host(array, *how))
    result = run_with(program, graph, device="gpu", gpus=count, gather="segmented", iterations=5)
    np.testing.assert_array_equal(result.values, expected.values)
    own = [sum(page.edges for page in gpu.residency.pages) for gpu in opened]
    assert sum(own) == graph.m
    blocks = np.add.reduceat(np.diff(graph._arrays.in_edges.offsets), range(0, graph.n, WORD))
    assert max(own) <= graph.m / count + blocks.max()
    assert max(read) < graph.n  # counts only


@pytest.mark.spread
@processors
@pytest.mark.parametrize("pages", [0, 3, None], ids=["streamed", "some stay", "resident"])
def test_one_thread_launches_everything(devices_for, graph_of, monkeypatch, pages, processor):
    program, graph = Hops(HUB), graph_of(GRAPH, weighted=False)
    devices_for(program, graph, 2)
    launch, threads = Streams._launch, {0: [], 1: []}

    def launched(streams, *how):
        threads[streams.device.number].append(threading.current_thread())
        launch(streams, *how)

    monkeypatch.setattr(Streams, "_launch", launched)
    result = run_with(
        program, graph, device=processor, gpus=2, gather="segmented", iterations=4, page_edges=PAGE_EDGES, streams=2,
        gpu_memory=None if pages is None else memory(program, graph, pages), threads=2,
    )  # fmt: skip
    assert len(result.stats.iterations) == 4
    for mine in threads.values():
        assert len(mine) >= 4
    assert set(threads[0]) == set(threads[1])


@processors
@ways
def test_streamed_pages_are_sent_at_once_unless_others_may_read_them_before(
    devices_for, graph_of, monkeypatch, sync, processor
):
    """An iteration that is synchronous sends the values of all its pages in few copies; another one page by page."""
    program, graph, sent = Hops(HUB), graph_of(GRAPH, weighted=False), []
    devices_for(program, graph, 2)
    send = peers.Peers._send

    def noted(self, name, begin, nbytes, stream):
        sent.append(name)
        send(self, name, begin, nbytes, stream)

    monkeypatch.setattr(peers.Peers, "_send", noted)
    result = run_with(
        program, graph, device=processor, gpus=2, gather="segmented", iterations=4, page_edges=PAGE_EDGES, streams=2,
        gpu_memory=memory(program, graph, 3), threads=2, sync=sync, mode="pull",
    )  # fmt: skip
    rows = result.stats.iterations
    assert sent.count("next_frontier") == 2 * len(rows) == 8
    pages = sum(group.pages for row in rows for group in row.groups if group.device == "gpu")
    if processor == "gpu":
        assert sent.count("next_values") == (8 if sync else pages)
    assert pages > 40


@pytest.mark.full
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("encoding", ["raw", "packed"])
def test_a_gpu_with_all_edges_keeps_them(devices_for, graph_of, encoding, weighted):
    """When it has a part of the graph next, it copies nothing; and then, when it has all of it again."""
    program, graph = (Lengths if weighted else Hops)(HUB), graph_of(GRAPH, weighted=weighted, directed=not weighted)
    graph = graph.packed() if encoding == "packed" else graph
    expected = run_with(program, graph, device="cpu", sync=True)
    drivers = devices_for(program, graph, 2)
    copied = []
    for count in (1, 2, 1, 2):
        result = run_with(program, graph, device="gpu", gpus=count, sync=True, page_edges=PAGE_EDGES, encoding=encoding)
        np.testing.assert_array_equal(result.values, expected.values)
        copied.append(sum(row.to_device for row in result.stats.iterations))
    half = copied[1] / copied[0]
    assert 0.3 < half < 0.7  # the second GPU's part
    assert copied[2:] == [0, 0]
    assert len(drivers) == 2


@pytest.mark.spread
@pytest.mark.parametrize("program", [Hops(HUB), Lengths(HUB)], ids=["hops", "lengths"])
@pytest.mark.parametrize("vertices", [1, 63, 65, 200])
def test_gpus_may_have_nothing_to_do(devices_for, graph_of, program, vertices):
    graph = graph_of(twins.skewed(3, vertices, 5 * vertices, "int32"))
    program = type(program)(0)
    expected = run_with(program, graph, device="cpu", sync=True)
    devices_for(program, graph, 5)
    result = run_with(program, graph, device="gpu", gpus="all", gather="segmented")
    np.testing.assert_array_equal(result.values, expected.values)


@pytest.mark.slow
@pytest.mark.parametrize("pages", [1, None], ids=["one stays", "resident"])
@counts
@ways
def test_each_gpu_finds_the_parents_of_its_part(devices_for, graph_of, monkeypatch, sync, count, pages):
    """If all edges are on the GPUs; otherwise the host finds all."""
    monkeypatch.setattr(device_state, "REPORT_VERTICES", 2 * WORD)
    program, graph = Trails(HUB), graph_of(GRAPH, weighted=False, directed=False)
    expected, host = run_with(program, graph, device="cpu", sync=True), CpuExecutor.report
    drivers, on_host = devices_for(program, graph, count), []
    monkeypatch.setattr(CpuExecutor, "report", lambda *how: on_host.append(1) or host(*how))
    result = run_with(
        program, graph, device="gpu", gpus=count, sync=sync, gather="segmented", page_edges=PAGE_EDGES, streams=2,
        gpu_memory=None if pages is None else memory(program, graph, pages), threads=2,
    )  # fmt: skip
    np.testing.assert_array_equal(result.values, expected.values)
    assert (result.values["before"] >= 0).any()
    assert bool(on_host) == (count > 1 and pages is not None)
    assert all(any(name == "find_parents" for name, _ in driver.launched) for driver in drivers) != bool(on_host)


@counts
def test_each_gpu_reports_as_many_vertices_as_another(devices_for, graph_of, monkeypatch, count):
    """If each has the values of all, and there is something to compute; so all links carry the answer."""
    program, graph, reported = Blend(3), graph_of(GRAPH), {k: [] for k in range(count)}
    in_parts = device_state.DeviceState.in_parts

    def noted(self, *how, vertices):
        reported[self._device.number].append(vertices)
        in_parts(self, *how, vertices=vertices)

    monkeypatch.setattr(device_state.DeviceState, "in_parts", noted)
    expected = run_with(program, graph, device="cpu", iterations=3)
    devices_for(program, graph, count)
    result = run_with(program, graph, device="gpu", gpus=count, gather="segmented", iterations=3)
    np.testing.assert_array_equal(result.values, expected.values)
    parts = [part for (part,) in reported.values()]
    assert parts[0][0] == 0
    assert parts[-1][1] == graph.n
    assert [last for _, last in parts[:-1]] == [first for first, _ in parts[1:]]
    assert max(last - first for first, last in parts) <= graph.n / count + WORD


@pytest.mark.slow
@ways
def test_notified_vertices_only(devices_for, graph_of, sync):
    program, graph = Quiet(HUB), graph_of(GRAPH, weighted=False)
    expected = run_with(program, graph, device="cpu", sync=True)
    devices_for(program, graph, 2)
    result = run_with(
        program, graph, device="gpu", gpus=2, mode="notify-pull", gather="segmented", page_edges=500, sync=sync
    )
    np.testing.assert_array_equal(result.values, expected.values)
    assert any(row.pages_skipped for row in result.stats.iterations)


@processors
@ways
def test_gpus_that_do_not_reach_each_other(devices_for, graph_of, processor, sync):
    """Copies between them go through the host, and there are as many."""
    program, graph, copied = Hops(HUB), graph_of(GRAPH, weighted=False), []
    expected = run_with(program, graph, device="cpu", sync=True)
    for linked in (True, False):
        for driver in devices_for(program, graph, 5, linked=linked):
            driver.send = lambda *how, send=driver.send, linked=linked: (copied.append(linked), send(*how))
        result = run_with(program, graph, device=processor, gpus=5, sync=sync, page_edges=PAGE_EDGES, threads=2)
        np.testing.assert_array_equal(result.values, expected.values)
        assert result.stats.device == "5 x NumPy"
    assert False in copied
    assert processor == "hybrid" or not sync or copied.count(True) == copied.count(False)


@ways
def test_every_gpu_has_its_own_tracks(devices_for, graph_of, tmp_path, sync):
    """Of its streams, of copies from host memory, and of copies to the other GPUs."""
    program, graph = Hops(HUB), graph_of(GRAPH, weighted=False)
    devices_for(program, graph, 2)
    result = run_with(
        program, graph, device="gpu", gpus=2, gather="segmented", page_edges=PAGE_EDGES, streams=2, threads=2,
        gpu_memory=memory(program, graph, 3), sync=sync, trace=tmp_path / "trace.json",
    )  # fmt: skip
    spans = read_recording(tmp_path / "trace.json").spans
    names = ["copy to device", "copy to other GPUs", "stream 0"]
    assert {*names, *(f"{name} of GPU 1" for name in names)} <= {span.track for span in spans}
    assert "copy to host" not in {span.track for span in spans}
    sent = [span.name for span in spans if span.track.startswith("copy to other GPUs")]
    iterations = len(result.stats.iterations)
    if sync:
        assert sent == ["values and frontier"] * 2 * iterations
    else:
        assert sent.count("frontier") == 2 * iterations < sent.count("copy")


@pytest.fixture
def run_late(devices_for, graph_of):
    """A function that runs on late GPUs, of which one may fail at a call, and checks the answer; their drivers."""

    def begin(rng, count, processor, sync, failing=None, fails_at=None, kinds=(Hops, Quiet, Eager), pages=None):  # wide
        program = rng.choice(kinds)(HUB)
        graph = graph_of(GRAPH, weighted=False, directed=not isinstance(program, Eager))
        expected = run_with(program, graph, device="cpu", sync=True)
        devices_for(program, graph, 1)
        nbytes = memory(program, graph, rng.randrange(8) if pages is None else pages)

        drivers = devices_for(program, graph, count, late(rng, failing, fails_at))
        with pytest.MonkeyPatch.context() as armed:
            arm_when_initialized(armed, MultiGpuExecutor)
            armed.setattr(MultiGpuExecutor, "commit", commit_and_compare)
            result = run_with(
                program, graph, device=processor, gpus=count, sync=sync, gather="auto", page_edges=PAGE_EDGES,
                streams=2, gpu_memory=nbytes, threads=2,
            )  # fmt: skip
        np.testing.assert_array_equal(result.values, expected.values)
        if sync:
            assert [row.active for row in result.stats.iterations] == [row.active for row in expected.stats.iterations]
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("garaph-gpu")]
        return drivers, result

    return begin


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_search_sends_its_frontier_when_it_is_complete(run_late, seed):
    """Such a pull is a single launch, if all edges are on the GPUs."""
    run_late(random.Random(seed), 2, "gpu", True, kinds=[Eager], pages=99)


def test_a_gpu_whose_edges_are_there_first_sends_its_frontier(devices_for, graph_of, monkeypatch):
    """While those of another are still arriving, it cannot be launched together with that one."""
    monkeypatch.setattr(Launches, "pieces", lambda *_: None)
    monkeypatch.setattr(MultiGpuExecutor, "commit", commit_and_compare)
    program, graph = Eager(HUB), graph_of(GRAPH, weighted=False, directed=False)
    expected = run_with(program, graph, device="cpu", sync=True)
    devices_for(program, graph, 2)
    result = run_with(program, graph, device="gpu", gpus=2, sync=True, page_edges=PAGE_EDGES)
    np.testing.assert_array_equal(result.values, expected.values)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_gpus_find_parents_whatever_the_timing(run_late, monkeypatch, seed):
    monkeypatch.setattr(device_state, "REPORT_VERTICES", 2 * WORD)
    run_late(random.Random(seed), 2, "gpu", True, kinds=[Trails], pages=99)


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("count", [2, 5])
@processors
@ways
def test_answers_do_not_depend_on_timing(run_late, count, processor, sync):
    rng = random.Random(f"{count} {processor} {sync}")
    for _ in range(2):
        run_late(rng, count, processor, sync)


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("count", [2, 5])
@processors
@ways
def test_the_others_go_on_when_one_fails(run_late, count, processor, sync):
    for result in runs_with_a_failure(run_late, count, processor, sync):
        assert "failed" in result.stats.note
        assert result.stats.device in ("NumPy", f"{count - 1} x NumPy")


@pytest.mark.full
@processors
@ways
@pytest.mark.parametrize("kind", [Hops, Eager], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("pages", [3, 99], ids=["some stay", "resident"])
def test_the_other_goes_on_wherever_one_of_two_fails(run_late, kind, pages, processor, sync):
    """In every 31st call, of which there are about a thousand; they are not always the same calls of a page."""
    for result in each_failure(run_late, 31, processor, sync, kinds=[kind], pages=pages):
        assert "failed" in result.stats.note
        assert result.stats.device == "NumPy"


@pytest.mark.parametrize("call", ["report", "start_copy"])
@ways
def test_the_others_go_on_when_the_first_fails_in_a_copy_to_the_host(devices_for, graph_of, monkeypatch, call, sync):
    """Of the answer, or of what the run keeps in case that a GPU fails: the host copies both from the first GPU."""
    program, graph, works = Quiet(HUB), graph_of(GRAPH, weighted=False), getattr(GpuExecutor, call)
    expected = run_with(program, graph, device="cpu", sync=True)
    drivers = devices_for(program, graph, 2, late(random.Random(7)))

    def fails(gpu, *how):
        if gpu.device.number == 0:
            gpu.device.driver.armed, gpu.device.driver.fails_at = True, 0
        return works(gpu, *how)

    monkeypatch.setattr(GpuExecutor, call, fails)
    monkeypatch.setattr("garaph_py.runtime.runner.INTERVAL", 0)
    monkeypatch.setattr("garaph_py.runtime.runner.SHARE", 1e9)
    result = run_with(program, graph, device="gpu", gpus=2, sync=sync, page_edges=PAGE_EDGES)
    np.testing.assert_array_equal(result.values, expected.values)
    assert [driver.failed for driver in drivers] == [True, False]
    assert "GPU 1 " in result.stats.note
    assert result.stats.device == "NumPy"
