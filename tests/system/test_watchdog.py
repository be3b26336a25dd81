"""A run without progress says what each part is doing, and goes on; a thread that is gone is not waited for."""

import logging
import queue
import re
import threading
import time

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.rates import Rates
from garaph_py.native import Kernel, atomic_load, atomic_store, compiler
from garaph_py.native.threads import ThreadPool
from garaph_py.runtime import carry_out as runtime
from garaph_py.system.watchdog import Heartbeat, Watchdog
from tests.support.compiled import python
from tests.support.numpy_gpu import GRAPH, HUB, Hops, held_after, memory_for, when_iterations_begin
from tests.support.threads import at_work, end_idle

from ..support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs")


def test_reports_come_at_growing_intervals():
    dog, part = Watchdog(30), Heartbeat("worker")
    dog.parts = [part, Heartbeat("other")]
    reports = {now: dog.look(float(now)) for now in range(0, 300, 10)}
    assert [now for now, report in reports.items() if report] == [30, 60, 120, 240]
    assert reports[60] == "no progress for 60 s; worker: idle; other: idle"
    part.doing = "copying page", 3
    assert not dog.look(300.0)
    assert not dog.look(329.0)
    assert dog.look(330.0) == "no progress for 30 s; worker: copying page 3; other: idle"


def watching():
    return [thread for thread in threading.enumerate() if thread.name == "garaph-watchdog"]


def test_runs_share_a_thread_which_ends_with_the_last():
    end_idle()
    with pytest.raises(ValueError), Watchdog(0.03):  # noqa: PT011, PT012
        (thread,) = watching()
        with Watchdog(0.03), Watchdog():
            assert watching() == [thread]
        raise ValueError
    thread.join(10)
    assert not watching()
    with Watchdog():
        assert len(watching()) == 1


def test_a_thread_that_waits_long_looks_soon_for_a_hasty_run(reports):
    end_idle()
    part = Heartbeat("worker")
    with Watchdog():
        time.sleep(0.05)
        hasty = Watchdog(0.03)
        hasty.parts = [part]
        with hasty:
            assert reports.lines.get(timeout=10).endswith("worker: idle")
        assert at_work("garaph-watchdog")
    while not reports.lines.empty():
        reports.lines.get()
    time.sleep(0.1)
    assert reports.lines.empty()


def test_a_child_has_no_thread_of_its_parent():
    prints = "import os, threading, sys; from garaph_py.system.watchdog import Watchdog\n" \
             "def names(): return sorted(thread.name for thread in threading.enumerate())\n" \
             "with Watchdog(): pass\n" \
             "before = names()\n" \
             "if os.fork() == 0:\n" \
             "    alone = names()\n" \
             "    with Watchdog(): print(before, alone, names())\n" \
             "    sys.exit()\n" \
             "os.wait()"  # fmt: skip
    assert python(prints) == "['MainThread', 'garaph-watchdog'] ['MainThread'] ['MainThread', 'garaph-watchdog']\n"


def wait(state, k):
    atomic_store(state, k, 1)
    while k == 0 and atomic_load(state, 2) == 0:
        pass
    return 0


def test_a_team_says_who_works():
    state = np.zeros(3, np.int64)
    with ThreadPool(2) as pool:
        assert str(pool) == "cpu: idle"
        pool.about = {"page": 7}
        rows = Kernel("i64* i64", wait).rows(2, state, np.arange(2))
        caller = threading.Thread(target=pool.launch, args=(rows,))
        caller.start()
        told = ""
        while "1 of 2 calls done" not in told:
            told = str(pool)
        state[2] = 1
        caller.join()
        assert told == "cpu: wait of page 7, 1 of 2 calls done, 1 of 2 threads at work"
        assert str(pool) == "cpu: idle"


class Reports(logging.Handler):
    """Waits for a report of the watchdog."""

    def __init__(self):
        super().__init__()
        self.lines = queue.SimpleQueue()

    def emit(self, record):
        if "no progress" in record.getMessage():
            self.lines.put(record.getMessage())


@pytest.fixture
def reports():
    handler = Reports()
    logging.getLogger("garaph_py").addHandler(handler)
    yield handler
    logging.getLogger("garaph_py").removeHandler(handler)


class Compiled(Exception):
    pass


class Unseen(Hops):
    """No other test compiles this program, so that its kernels are not loaded yet."""

    def gather(self, src):
        return src + 4711 if src != self.identity else src


def test_a_function_that_takes_long_to_compile(graph_of, monkeypatch, tmp_path):
    """The compilation ends only after the watchdog has reported it."""
    graph = graph_of(GRAPH)
    monkeypatch.setenv("GARAPH_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(runtime, "Watchdog", lambda: Watchdog(0.05))
    handler, told = Reports(), []

    def slow(function, signature, joins):
        while not told:
            said = handler.lines.get(timeout=60)
            told.extend(re.findall(r"dispatcher: .*; cpu: idle; compiler: compiling .* 0 of \d+ functions", said))
        raise Compiled

    monkeypatch.setattr(compiler, "compile_object", slow)
    logging.getLogger("garaph_py").addHandler(handler)
    try:
        with pytest.raises(Compiled):
            gp.run(Unseen(HUB), graph, device="cpu")
    finally:
        logging.getLogger("garaph_py").removeHandler(handler)


@pytest.mark.parametrize("device", ["gpu", "hybrid"])
def test_a_copy_that_takes_its_time(device_for, graph_of, monkeypatch, device):
    """The copy ends only after the watchdog has reported it."""
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", True)
    monkeypatch.setattr(Rates, "share", lambda self, waiting: 0)
    monkeypatch.setattr(runtime, "Watchdog", lambda: Watchdog(0.05))
    graph, program, handler, told = graph_of(GRAPH), Hops(HUB), Reports(), []
    driver = device_for(program, graph)
    memory, copy = memory_for(program, graph, 0.3), driver.memcpy_htod_async
    caller = "CPU and GPU: waiting for the GPU's thread" if device == "hybrid" else ""
    when_iterations_begin(monkeypatch, lambda: setattr(driver, "memcpy_htod_async", slow))

    def slow(place, array, stream=None):
        while not told or "copying page" not in told[-1] or caller not in told[-1]:
            told.append(handler.lines.get(timeout=60))
        copy(place, array, stream)

    logging.getLogger("garaph_py").addHandler(handler)
    try:
        result = run_with(
            program, graph, device=device, gather="segmented", gpu_memory=memory, page_edges=3000, streams=3
        )
    finally:
        logging.getLogger("garaph_py").removeHandler(handler)
    np.testing.assert_array_equal(result.values, gp.run(program, graph, device="cpu").values)
    said = told[-1]
    assert re.search(r"no progress for \d+ s; dispatcher: iteration 0 pull; cpu: ", said)
    assert re.search(r"GPU's thread: copying page \d+", said)
    assert caller in said
    assert not at_work()


@pytest.fixture
def no_more_threads(monkeypatch):
    """A function after which threads with such a name cannot be started."""

    def refuse(name):
        begin = threading.Thread.start

        def fails(self):
            if self.name.startswith(name):
                raise RuntimeError("can't start new thread")
            begin(self)

        end_idle()
        monkeypatch.setattr(threading.Thread, "start", fails)

    return refuse


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cpu", "gpu", "hybrid"])
@pytest.mark.parametrize("name", ["garaph-cpu", "garaph-gpu", "garaph-watchdog", "garaph"])
def test_threads_that_cannot_be_had(device_for, graph_of, monkeypatch, no_more_threads, device, name):
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", True)
    graph, program = graph_of(GRAPH), Hops(HUB)
    driver = device_for(program, graph)
    memory, expected = memory_for(program, graph, 0.3), gp.run(program, graph, device="cpu").values
    no_more_threads(name)
    result = run_with(
        program, graph, device=device, gather="segmented", gpu_memory=memory, page_edges=3000, streams=3, threads=3
    )
    np.testing.assert_array_equal(result.values, expected)
    lost = name in ("garaph", "garaph-gpu") and device == "hybrid"
    assert (result.stats.note is not None and "can't start new thread" in result.stats.note) == lost
    assert held_after(driver, graph) == 0
    assert not at_work()


@pytest.mark.parametrize("call", ["memset_d8", "memcpy_htod"])
def test_a_gpu_that_fails_before_its_pages(device_for, graph_of, monkeypatch, call):
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    graph, program = graph_of(GRAPH), Hops(HUB)
    driver = device_for(program, graph)
    memory, expected = memory_for(program, graph, 0.3), gp.run(program, graph, device="cpu").values
    begun, real = [], getattr(driver, call)

    def fails(*arguments):
        if begun:
            raise driver.Error(f"{call} failed: unspecified launch failure")
        real(*arguments)

    monkeypatch.setattr(driver, call, fails, raising=False)
    result = run_with(
        program, graph, device="hybrid", gather="segmented", gpu_memory=memory, page_edges=3000, streams=3,
        on_event=begun.append,
    )  # fmt: skip
    np.testing.assert_array_equal(result.values, expected)
    assert "launch failure" in result.stats.note
    assert result.stats.converged
