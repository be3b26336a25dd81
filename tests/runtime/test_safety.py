"""A GPU that is lost after so many iterations: the CPU goes on from the newest whole copy, or begins again."""

import math

import numpy as np
import pytest

from garaph_py.executor.gpu.device_state import DeviceState
from garaph_py.executor.state import State
from garaph_py.graph.vertex_set import VertexSet
from garaph_py.runtime import runner, safety
from tests.support import twins
from tests.support.numpy_gpu import FakeFunction, Hops, Quiet

from ..support.runs import run_with

LENGTH = 40
PATH = twins.Edges(LENGTH, np.arange(LENGTH - 1), np.arange(1, LENGTH))


@pytest.fixture
def lost_after(device_for, monkeypatch):
    """A function that says after how many launches of apply the GPU is lost; then every call of its driver fails."""

    def begin(program, graph, launches):
        driver, left = device_for(program, graph), [launches]
        update = FakeFunction.update

        def fails(*how):
            raise driver.Error("the device is lost")

        def counted(self, context, page):
            left[0] -= self.name == "apply_vertices"
            if left[0] < 0:
                for call in ("memcpy_dtoh", "memcpy_dtoh_async", "memcpy_dtod", "mem_alloc"):
                    setattr(driver, call, fails)
                fails()
            update(self, context, page)

        monkeypatch.setattr(FakeFunction, "update", counted)
        return driver

    return begin


@pytest.fixture
def copied_every(monkeypatch):
    """A function that sets the interval of copies."""

    def sets(seconds):
        monkeypatch.setattr(runner, "INTERVAL", seconds)
        monkeypatch.setattr(runner, "SHARE", math.inf)

    return sets


@pytest.mark.spread
@pytest.mark.parametrize("device", ["gpu", "hybrid"])
@pytest.mark.parametrize("program", [Hops(0), Quiet(0)], ids=["total", "quiet"])
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("launches", [0, 1, 7, 30])
def test_the_answer_is_the_same(lost_after, copied_every, graph_of, monkeypatch, device, program, sync, launches):
    monkeypatch.setattr("garaph_py.dispatch.rates.Rates.ratio", property(lambda self: 1e9))
    monkeypatch.setattr("garaph_py.dispatch.rates.Rates.cpu_helps", False)
    graph = graph_of(PATH)
    expected = run_with(program, graph, device="cpu", sync=True)
    copied_every(0.0)
    lost_after(program, graph, launches)
    result = run_with(program, graph, device=device, sync=sync, mode="pull")
    np.testing.assert_array_equal(result.values, expected.values)
    rows = result.stats.iterations
    assert [row.number for row in rows] == list(range(len(rows)))
    # A copy begins at the end of an iteration, and is seen to be whole at the end of the next one.
    kept = max(launches - 1, 0)
    assert [row.device for row in rows] == ["gpu"] * kept + ["cpu"] * (len(rows) - kept)
    assert len(rows) == LENGTH or not sync  # an asynchronous iteration of the CPU may go further
    goes_on = f"goes on from iteration {kept}" if kept else "begins again"
    assert f"failed after {launches} iterations, the CPU {goes_on}: " in result.stats.note


def test_without_a_copy_the_cpu_begins_again(lost_after, copied_every, graph_of):
    program, graph = Hops(0), graph_of(PATH)
    copied_every(1e9)
    lost_after(program, graph, 20)
    result = run_with(program, graph, device="gpu", sync=True)
    np.testing.assert_array_equal(result.values, np.arange(LENGTH))
    assert "the CPU begins again" in result.stats.note
    assert [row.number for row in result.stats.iterations] == list(range(LENGTH))


def test_a_copy_that_finds_no_room_is_made_at_once(lost_after, copied_every, graph_of, monkeypatch):
    program, graph = Hops(0), graph_of(PATH)
    copied_every(0.0)
    driver = lost_after(program, graph, 20)
    start = DeviceState.start_copy

    def start_when_full(self):
        driver.refuses, before = 0, driver.refuses
        try:
            return start(self)
        finally:
            driver.refuses = before

    monkeypatch.setattr(DeviceState, "start_copy", start_when_full)
    result = run_with(program, graph, device="gpu", sync=True, mode="pull")
    np.testing.assert_array_equal(result.values, np.arange(LENGTH))
    assert "goes on from iteration 19" in result.stats.note


class Whole:
    """A copy that is complete at once."""

    is_complete = True


@pytest.mark.parametrize(
    ("starts_in", "nbytes", "expected"),
    [
        (0.0, 0, [3, 6, 9, 12, 15, 18]),  # every 0.25 s, if it costs nothing
        (0.018, 0, [3, 7, 11, 15, 19]),  # 0.018 s of 0.36
        (0.018, int(0.048 * safety.PINNING), [10, 14, 18]),  # the first one is reckoned to take 0.048 s of 0.96
    ],
)
def test_copies_take_a_small_part_of_the_time(monkeypatch, starts_in, nbytes, expected):
    now = 0.0
    monkeypatch.setattr(safety, "work_clock", lambda: now)
    state = State.empty(0, np.empty(0), np.empty(0), True, VertexSet.empty(0))
    monkeypatch.setattr(State, "is_on_host", lambda self, *parts: False)

    class Copier:
        def start_copy(self):
            nonlocal now
            now += starts_in
            started.append(iteration)
            return Whole()

    started = []
    copies = safety.SafetyCopies(nbytes, interval=0.25, share=0.05)
    for iteration in range(1, 21):
        now += 0.1
        copies.after(Copier(), state, iteration)
    assert started == expected
