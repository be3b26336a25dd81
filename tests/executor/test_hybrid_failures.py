"""A GPU that fails in the middle of an iteration: runs continue from complete values, also asynchronous ones.

`HalfDone` stands in for one GPU: it has no memory to which another GPU could send.
"""

import threading
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.rates import Rates
from garaph_py.errors import DeviceError
from garaph_py.executor.cpu import CpuExecutor
from garaph_py.executor.gpu.device_graph import KeptBytes
from garaph_py.executor.modes import PULL
from garaph_py.executor.protocol import Capabilities
from garaph_py.graph.vertex_set import WORD
from garaph_py.native.threads import ThreadPool
from garaph_py.pages.layout import cut, layout
from garaph_py.pages.memory_source import MemoryPageSource
from garaph_py.pages.queue import PageQueue
from garaph_py.runtime import runner
from garaph_py.system.watchdog import Heartbeat
from tests.support import twins
from tests.support.numpy_gpu import GRAPH, HUB, Hops, Quiet, held_after, memory_for, when_iterations_begin
from tests.support.programs import DataDriven
from tests.support.threads import at_work

from ..support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs")

counts = pytest.mark.parametrize("count", [1, 2, 5])


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Both processors work in every iteration."""
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", True)


class Paired(gp.VertexProgram):
    """Hops in a value of 16 bytes, whose two fields disagree if a value is half copied."""

    source: int = 0
    value = {"hops": np.int64, "check": np.int32}  # noqa: RUF012
    accumulator = np.int64
    sum = gp.min
    monotone = True

    def init(self, id):
        return (0, 0) if id == self.source else (1 << 20, 1 << 20)

    def frontier(self, id):
        return id == self.source

    def gather(self, src):
        return src.hops + 1 if src.hops == src.check else -1

    def apply(self, acc, old):
        hops = min(acc, old.hops)
        return (hops, hops)


class HalfDone:
    """A fake GPU that works on the CPU, with its own memory. It copies less than half of the page number `at` that it
    processes to the host, and fails.

    The last value is half copied, unless values are copied in place: then each is one word of a relaxation, and is
    complete (`HostExecutor.is_relaxation`). Otherwise values are copied to a second array, which is read only when a
    page is complete.
    """

    name, modes, shares_pages = "gpu", (PULL,), True
    capabilities = Capabilities("gpu", (PULL,))
    at = 0
    kept_bytes = KeptBytes()
    placing: dict = {}  # noqa: RUF012 - never written

    def __init__(self, bound, graph, found, settings, host, listener):
        self._pool, self._processed = ThreadPool(1), 0
        self._cpu = CpuExecutor(bound, graph, self._pool, listener)
        pages = layout(graph._arrays.in_edges.offsets, settings.page_edges, WORD)
        self.residency, self.load_of = SimpleNamespace(pages=pages, is_short=False, streams=2), (graph.m, graph.m, 4.0)
        self.source, self.streams = (
            MemoryPageSource(graph._arrays.in_edges, pages=pages),
            SimpleNamespace(heartbeats=[Heartbeat("GPU's thread")]),
        )
        self._offsets = graph._arrays.in_edges.offsets

    def initialize(self, synchronous, sources):
        state = self._cpu.initialize(synchronous)
        state.next_values = np.empty_like(state.values)
        self._values = state.values.copy()
        return state

    def offer(self, pages, state, mode, shared):
        return PageQueue.of(pages, {}, {}, partial(cut, self._offsets, multiple=WORD))

    def refresh(self, state, values):
        if values:
            self._values[:] = state.values

    def ready(self, state):
        pass

    def receive(self, pages, state):
        for page in pages:
            run = slice(page.first_vertex, page.last_vertex)
            self._values[run] = state.values[run]

    def swap(self, state):
        pass

    def work(self, waiting, source, state, on_complete):
        while (page := waiting.pop_streamed()) is not None:
            activated = type(state.next_frontier)(state.next_frontier.bits.copy(), state.next_frontier.blocks.copy())
            active = type(state.frontier)(state.frontier.bits.copy(), state.frontier.blocks.copy())
            own = replace(
                state, values=self._values, next_values=self._values, next_frontier=activated, frontier=active
            )
            result = self._cpu.process([page], source, own, PULL)[0]
            run = slice(page.first_vertex, page.last_vertex)
            new, into = self._values[run].view(np.uint8), state.next_values[run].view(np.uint8)
            self._processed += 1
            state.next_frontier.bits[page.words] = activated.bits[page.words]
            if self._processed > self.at:
                part = len(new) // 2 // self._values.itemsize * self._values.itemsize
                if state.next_values is not state.values:
                    part += 3
                    into[part : part + 3] = 0xA5
                into[:part] = new[:part]
                raise DeviceError("the fake GPU is gone; look for it")
            into[:] = new
            on_complete(page, result)

    def close(self):
        self._pool.close()


def run(program, graph, **how):
    return run_with(program, graph, device="hybrid", sync=False, page_edges=3000, **how)


@pytest.fixture
def half_done(monkeypatch):
    """A function that says after how many pages the GPU fails."""
    monkeypatch.setattr("garaph_py.executor.gpu.device.find", lambda number=0: SimpleNamespace(name="Fake GPU"))
    return lambda at: monkeypatch.setattr(runner, "GpuExecutor", type("Half", (HalfDone,), {"at": at}))


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("at", [0, 1, 9, 40])
@pytest.mark.parametrize(
    "program", [Paired(HUB), gp.apps.SSSP(HUB), gp.apps.ConnectedComponents()],
    ids=lambda program: type(program).__name__,
)  # fmt: skip
def test_the_same_answer(half_done, graph_of, program, at):
    graph = graph_of(
        twins.skewed(3, 9000, 60000, "int32"), directed=not isinstance(program, gp.apps.ConnectedComponents)
    )
    expected = run_with(program, graph, device="cpu", sync=True)
    half_done(at)
    result = run(program, graph, threads=1)  # two that work at once may read each other's values half new
    np.testing.assert_array_equal(result.values, expected.values)
    assert result.stats.converged


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("at", [0, 5, 30])
@pytest.mark.parametrize("program", [gp.apps.PageRank(tolerance=1e-9), gp.apps.DeltaPageRank(tolerance=1e-9)])
def test_floats_converge_to_the_same(half_done, graph_of, program, at):
    graph = graph_of(GRAPH)
    expected = run_with(program, graph, device="cpu", sync=True)
    half_done(at)
    result = run(program, graph)
    values, wanted = (given.values if given.values.dtype.names is None else given.values["rank"] for given in
                      (result, expected))  # fmt: skip
    np.testing.assert_allclose(values, wanted, rtol=1e-4)
    assert "goes on alone" in result.stats.note


@pytest.mark.slow
def test_values_are_prepared_once(half_done, graph_of, monkeypatch):
    """The GPU fails after the CPU has prepared its values."""
    rng = np.random.default_rng(41)
    graph = graph_of(twins.Edges(600, np.arange(600), (600 * rng.random(600) ** 2).astype(int)))
    expected = run_with(DataDriven(), graph, device="cpu", sync=True)
    half_done(0)

    def fails(self, state):
        raise DeviceError("the fake GPU is gone; look for it")

    monkeypatch.setattr(HalfDone, "ready", fails)
    result = run_with(DataDriven(), graph, device="hybrid", sync=True, page_edges=3000)
    np.testing.assert_allclose(result.values, expected.values, rtol=1e-12)


class TornCopies:
    """Counts the copies of a run's iterations, in either direction. Number `fails_at`, from 0, and later ones of the
    same GPU, fail after half of their bytes."""

    def __init__(self, drivers, monkeypatch):
        self.count, self.fails_at, self._lost = 0, None, None
        self._drivers, self._begun, self._lock = drivers, threading.Event(), threading.Lock()
        when_iterations_begin(monkeypatch, self._begun.set)
        for driver in drivers:
            to, back = driver.memcpy_htod_async, driver.memcpy_dtoh_async
            driver.memcpy_htod_async = partial(self._copy, driver, to, partial(half_to, to))
            driver.memcpy_dtoh_async = partial(self._copy, driver, back, partial(half_back, driver))
            driver.memcpy_dtoh = driver.memcpy_dtoh_async

    def begin(self, fails_at=None):
        """Count from 0 again, in the next run."""
        self.count, self.fails_at, self._lost = 0, fails_at, None
        self._begun.clear()
        for driver in self._drivers:
            driver.next = 256

    def _copy(self, driver, copy, half, one, other, stream=None):  # wide
        with self._lock:
            if self._begun.is_set():
                self._lost = driver if self.count == self.fails_at else self._lost
                self.count += 1
        if driver is self._lost:
            half(one, other)
            raise driver.Error("cuMemcpyAsync failed: unspecified launch failure")
        copy(one, other, stream)


def half_to(to, place, array):
    to(place, array[: len(array) // 2])


def half_back(driver, array, place):
    array[: len(array) // 2 + 3] = driver.bytes[place : place + len(array) // 2 + 3]


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize(("device", "alone"), [("gpu", True), ("hybrid", True), ("hybrid", False)])
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("program", [Hops(HUB), Quiet(HUB)], ids=["total", "quiet"])
@counts
@pytest.mark.usefixtures("all_gpus")
def test_any_copy_may_fail(devices_for, graph_of, monkeypatch, count, program, sync, device, alone):  # wide
    """Each copy of an iteration, in either direction, fails once after half of its bytes."""
    monkeypatch.setattr(Rates, "cpu_helps", not alone)
    graph = graph_of(GRAPH)
    drivers = devices_for(program, graph, count)
    memory, expected = memory_for(program, graph, 0.3), run_with(program, graph, device="cpu", sync=True)
    copies = TornCopies(drivers, monkeypatch)

    def result_of(*fails_at):
        copies.begin(*fails_at)
        return run_with(
            program, graph, device=device, gpus=count, sync=sync, gpu_memory=memory, gather="segmented",
            page_edges=8000, streams=3,
        )  # fmt: skip

    result_of()
    graph.release()  # the next run allocates the GPUs' memories anew
    for number in range(0, copies.count, 9 * count):
        result = result_of(number)
        np.testing.assert_array_equal(result.values, expected.values)
        assert [held_after(driver, graph) for driver in drivers] == [0] * count
        if copies.count > number:
            assert "launch failure" in result.stats.note


@pytest.mark.spread
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, RuntimeError])
@counts
@pytest.mark.usefixtures("all_gpus")
def test_other_errors_than_the_gpus_end_the_run(devices_for, graph_of, monkeypatch, count, sync, alone, kind):  # wide
    monkeypatch.setattr(Rates, "cpu_helps", not alone)
    graph, program = graph_of(GRAPH), Hops(HUB)
    drivers, left = devices_for(program, graph, count), iter(range(4 if alone else 20))
    name, memory = "memcpy_dtoh" if alone else "memcpy_dtoh_async", memory_for(program, graph, 0.3)

    def fails(back, *how):
        if next(left, None) is None:
            raise kind("of somebody else")
        back(*how)

    for driver in drivers:
        setattr(driver, name, partial(fails, getattr(driver, name)))
    with pytest.raises(kind):
        run_with(
            program, graph, device="hybrid", gpus=count, sync=sync, gpu_memory=memory, gather="segmented",
            page_edges=8000, streams=3,
        )  # fmt: skip
    assert [held_after(driver, graph) for driver in drivers] == [0] * count
    assert not at_work()
