"""One thread transmits pages and another computes: what each does, and that neither is left over after a fault."""

import itertools
import os
import random
import signal
import threading
import time
from functools import partial

import numpy as np
import pytest

import garaph_py as gp
from garaph_py import events
from garaph_py.errors import DamagedGraphError, DeviceError
from garaph_py.executor.gpu import device
from garaph_py.executor.gpu.device import failing
from garaph_py.executor.gpu.settings import Settings
from garaph_py.executor.gpu.streams import Streams
from garaph_py.executor.gpu.timeline import TO_DEVICE, TO_HOST
from garaph_py.executor.gpu.two_threads import TRANSMISSION, Transmission, TwoThreadStreams, streams_for
from garaph_py.pages.disk_source import DiskPageSource
from garaph_py.pages.layout import cut
from garaph_py.storage.directory import read_graph
from garaph_py.system import interrupts
from tests.support.late_gpu import LateDriver, arm_when_initialized
from tests.support.numpy_gpu import GRAPH, HUB, Quiet, held_after, memory_for
from tests.support.page_streams import SKEWED, Work, found_in, streams_over

from ...support.runs import run_with

ENGINE = "garaph:two_threads=yes"


@pytest.fixture
def setting(graph_of):
    """`streams_over` a graph, for two threads; none is left after a test."""
    yield partial(streams_over, graph_of(SKEWED), kind=TwoThreadStreams)
    assert not left_over()


def left_over():
    """The transmission threads that run."""
    return [thread for thread in threading.enumerate() if thread.name == TRANSMISSION]


def name_of_thread():
    return threading.current_thread().name


class WatchedSource:
    """A source that notes how many pages are held at once, and who asks; call `fails_at` for edges fails."""

    def __init__(self, source, max_in_flight, fails_at=None, before=lambda: None):
        self._source, self.max_in_flight, self._fails_at, self._before = source, max_in_flight, fails_at, before
        self.held, self.most, self.calls, self.askers = set(), 0, 0, set()

    def __getattr__(self, name):
        return getattr(self._source, name)

    def edges(self, page):
        self.calls += 1
        self._before()
        if self.calls == self._fails_at:
            raise DamagedGraphError("graph", "a block does not match its checksum")
        self.held.add(page)
        self.most = max(self.most, len(self.held))
        self.askers.add(name_of_thread())
        return self._source.edges(page)

    def release(self, page):
        self.held.remove(page)
        self.askers.add(name_of_thread())


@pytest.mark.parametrize(("two", "kind"), [(False, Streams), (True, TwoThreadStreams)])
def test_the_settings_choose(two, kind):
    assert streams_for(Settings(two_threads=two)) is kind


@pytest.mark.parametrize("share", [0, 0.5, 2])
def test_every_page_finds_its_edges(setting, share):
    """Its copy has ended when it is launched, and it goes through the stream of its buffer."""
    gpu, streams, source = setting(share)
    buffers, left = len(streams.buffers.free), {}  # by buffer: the page that it held last
    for _ in range(3):
        seen, before = [], set(left.values())

        def see(page, buffer, seen=seen):
            assert buffer.copied.query()
            left[buffer.addresses[0]] = page
            for found, edges in zip(found_in(gpu, streams, page, buffer), source.edges(page)[1:3], strict=True):
                np.testing.assert_array_equal(found, edges.data)
            seen.append((page, name_of_thread()))

        work = Work(see)
        streams.process(streams.order(source.pages), source, work)
        assert sorted(page.number for page, _ in seen) == list(range(len(source.pages)))
        assert {name for _, name in seen} == {name_of_thread()}
        assert work.copied == {page: 8 * page.edges * (page not in before) for page in source.pages}
        assert len(streams.buffers.free) == buffers
        assert not left_over()
    for part in streams.heartbeats:
        assert part.wall > part.waited >= 0
        assert str(part).endswith(": idle")
    assert [part.name for part in streams.heartbeats] == ["GPU's thread", "GPU's transmission thread"]


@pytest.mark.parametrize(("most", "bound"), [(1, 1), (2, 2), (9, 3)])
def test_one_thread_uses_the_source_and_holds_few_pages(setting, most, bound):
    _, streams, source = setting(0)
    watched = WatchedSource(source, most)
    streams.process(streams.order(source.pages), watched, Work())
    assert watched.calls == len(source.pages)
    assert watched.askers == {TRANSMISSION}
    assert watched.most <= bound
    assert not watched.held


def test_pages_that_are_prefetched_are_waited_for(setting):
    _, streams, source = setting(0.5)
    streams.prefetch(source)
    there = [page for page in source.pages if streams.buffers.has(page)]
    waited = {}
    work = Work(lambda page, buffer: waited.update({page: getattr(buffer.copied, "waited", False)}))
    streams.process(streams.order(source.pages), source, work)
    assert there
    assert waited == {page: page in there for page in source.pages}
    assert work.copied == {page: 8 * page.edges for page in source.pages}


def test_stolen_pages_are_not_processed(setting, graph_of):
    """Ends of pages are stolen while others are copied: every edge is processed once."""
    gpu, streams, source = setting(0.3)
    split = partial(cut, graph_of(SKEWED)._arrays.in_edges.offsets, multiple=64)
    rng, buffers = np.random.default_rng(1), len(streams.buffers.free)
    for turn in range(4):
        waiting, stolen = streams.order(source.pages, True, split), []

        def see(page, buffer, waiting=waiting, stolen=stolen, turn=turn):
            np.testing.assert_array_equal(found_in(gpu, streams, page, buffer)[0], source.edges(page).sources.data)
            if turn and (part := waiting.steal(None if rng.random() < 0.1 else int(rng.integers(8000)))) is not None:
                stolen.append(part)

        work = Work(see)
        streams.process(waiting, source, work)
        parts = sorted([*stolen, *work.copied], key=lambda page: page.first_vertex)
        assert [part.last_edge for part in parts[:-1]] == [part.first_edge for part in parts[1:]]
        assert (parts[0].first_edge, parts[-1].last_edge) == (0, 90000)
        assert waiting.copying == 0
        kept = sum(buffer.page is not None for buffer in streams.buffers.free)
        assert kept <= len(streams.buffers.free) == buffers


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("at", [0, 3, 11])
@pytest.mark.parametrize("share", [0, 0.5])
def test_an_error_of_the_computation_ends_the_transmission(setting, share, at, error):
    _, streams, source = setting(share)
    calls = []

    def see(page, buffer):
        calls.append(page)
        if len(calls) > at:
            raise error

    waiting = streams.order(source.pages)
    with pytest.raises(error):
        streams.process(waiting, source, Work(see))
    assert waiting.is_empty
    assert [str(part).split(": ")[1] for part in streams.heartbeats] == ["idle", "idle"]


@pytest.mark.parametrize("at", [1, 2, 9])
def test_an_error_of_the_source_is_raised_by_the_caller(setting, at):
    _, streams, source = setting(0)
    waiting, work = streams.order(source.pages), Work()
    with pytest.raises(DamagedGraphError, match="does not match its checksum"):
        streams.process(waiting, WatchedSource(source, 3, fails_at=at), work)
    assert waiting.is_empty
    assert len(work.copied) < at


@pytest.mark.parametrize("at", [1, 2, 15])
def test_driver_errors_become_device_errors(setting, at):
    gpu, streams, source = setting(0.5, fails_at=at)
    with pytest.raises(DeviceError, match="launch failure"), failing(gpu.driver):
        streams.process(streams.order(source.pages), source, Work())


def test_a_thread_that_cannot_be_started(setting, monkeypatch):
    _, streams, source = setting(0)
    waiting = streams.order(source.pages)

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(DeviceError, match=r"garaph-transmission: can't start new thread; allow more threads"):
        streams.process(waiting, source, Work())
    assert waiting.is_empty


@pytest.mark.parametrize("at", [0, 5])
def test_ctrl_c_ends_both_threads(setting, monkeypatch, at):
    """Also while the transmission waits for a disk: the read ends before the caller goes on."""
    _, streams, source = setting(0)
    calls, ended, ends, end = [], [], threading.Event(), Transmission.end

    def interrupt():
        calls.append(1)
        if len(calls) == at + 1:
            os.kill(os.getpid(), signal.SIGINT)
            assert ends.wait(30)
            ended.append(name_of_thread())

    def ended_by_the_other(transmission):
        transmission._ends.set()
        ends.set()
        end(transmission)

    monkeypatch.setattr(Transmission, "end", ended_by_the_other)

    waiting = streams.order(source.pages)
    with pytest.raises(KeyboardInterrupt), interrupts.Deferred():
        streams.process(waiting, WatchedSource(source, 3, before=interrupt), Work())
    assert ended == [TRANSMISSION]
    assert len(calls) == at + 1  # it has begun no other read
    assert waiting.is_empty


def test_a_trace_has_the_spans_of_both_threads(setting):
    spans = []
    _, streams, source = setting(0.5, spans=spans)
    copies = 0
    for _ in range(2):
        work = Work()
        streams.process(streams.order(source.pages), source, work)
        copies += sum(nbytes > 0 for nbytes in work.copied.values())
        time.sleep(3e-4)  # until the driver says that the last has ended
        streams.write_spans()
    tracks = [span.track for span in spans]
    assert tracks.count(TO_DEVICE) == copies
    assert tracks.count(TO_HOST) == 2 * len(source.pages)
    assert len(tracks) == copies + 4 * len(source.pages)


@pytest.fixture
def stored(graph_of, tmp_path):
    """A graph whose edges stay on disk."""
    gp.save(graph_of(GRAPH), tmp_path / "graph", block_bytes=1 << 14)
    return read_graph(tmp_path / "graph", "auto", 8 << 20, None, events.ignore, on_disk=True)


@pytest.mark.spread
@pytest.mark.parametrize("processors", ["gpu", "hybrid"])
@pytest.mark.parametrize("kind", [DamagedGraphError, KeyboardInterrupt])
def test_a_run_ends_with_what_went_wrong_in_the_transmission_thread(
    device_for, stored, monkeypatch, gpu_is_faster, processors, kind
):
    """A block that is damaged, or Ctrl-C while the thread waits for a disk. The CPU waits for it at its first page."""
    program, edges, calls, failed = Quiet(HUB), DiskPageSource.edges, itertools.count(), threading.Event()
    device_for(program, stored)

    def fails(source, page):
        if threading.current_thread().name != TRANSMISSION:
            assert failed.wait(30)
        elif next(calls) == 7:
            failed.set()
            if kind is DamagedGraphError:
                raise DamagedGraphError("graph", "a block does not match its checksum")
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)
        return edges(source, page)

    monkeypatch.setattr(DiskPageSource, "edges", fails)
    with pytest.raises(kind):
        run_with(program, stored, device=processors, engine=ENGINE, gather="segmented", page_edges=3000, mode="pull")
    assert next(calls) > 7
    assert not left_over()
    assert not [thread for thread in threading.enumerate() if thread.name == "garaph-gpu"]


@pytest.fixture
def late_run(device_for, graph_of, monkeypatch, pending_is_poisoned):
    """A function that runs a program on a `LateDriver`, of whose calls one may fail, and checks the answer."""
    graph, program = graph_of(GRAPH), Quiet(HUB)
    device_for(program, graph)
    memory = memory_for(program, graph, 0.4)
    expected = run_with(program, graph, device="cpu", sync=True)
    arm_when_initialized(monkeypatch)
    monkeypatch.setattr(device, "_broken", {})

    def run(processors, sync, seed, fails_at=None):
        driver = device_for(program, graph, partial(LateDriver, rng=random.Random(seed), fails_at=fails_at))
        how = {"gather": "segmented", "gpu_memory": memory, "streams": 3, "sync": sync, "mode": "pull"}
        result = run_with(program, graph, device=processors, engine=ENGINE, **how)
        np.testing.assert_array_equal(result.values, expected.values)
        assert ("launch failure" in (result.stats.note or "")) == driver.failed
        assert held_after(driver, graph) == 0
        assert not left_over()
        device._broken.clear()
        return driver.calls

    return run


@pytest.mark.slow
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("processors", ["gpu", "hybrid"])
def test_answers_depend_neither_on_timing_nor_on_when_the_gpu_fails(late_run, processors, sync):
    calls = late_run(processors, sync, 1)
    rng = np.random.default_rng([sync, processors == "gpu"])
    for seed, fails_at in enumerate([0, *rng.integers(calls, size=4)]):
        late_run(processors, sync, seed, int(fails_at))


@pytest.mark.slow
@pytest.mark.parametrize("sync", [pytest.param(True, marks=pytest.mark.full), False])
@pytest.mark.parametrize("processors", [pytest.param("gpu", marks=pytest.mark.full), "hybrid"])
def test_the_gpu_may_fail_at_any_call(late_run, processors, sync):
    """Of all calls some thirty, evenly spread over a run, and each in another order of events."""
    calls = late_run(processors, sync, 0)
    for seed, fails_at in enumerate(range(0, calls, max(calls // 30, 1))):
        late_run(processors, sync, seed, fails_at)
