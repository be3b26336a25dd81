"""Ctrl-C, once or again and again, at any point of a run: it ends, and nothing stays behind."""

import os
import signal
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.rates import Rates
from garaph_py.executor.gpu import device_graph, pinned_pool
from garaph_py.executor.gpu import executor as kernel
from garaph_py.system import interrupts
from tests.support.numpy_gpu import GRAPH, HUB, FakePinned, Hops, held_after, memory_for
from tests.support.threads import at_work

from ..support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs")

EVERY = int(os.environ.get("GARAPH_INTERRUPTS", "120"))
"""Of the lines that a run executes, so many-th are interrupted: 1 for all of them."""


OURS = (*map(str, Path(gp.__file__).parent.rglob("*.py")), "threading.py", "contextlib.py", "thread.py")


def press():
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def heard(monkeypatch):
    """What reaches a handler that does not raise."""
    numbers = []
    before = signal.signal(signal.SIGINT, lambda number, frame: numbers.append(number))
    yield numbers
    signal.signal(signal.SIGINT, before)


def test_interrupts_wait_for_a_check():
    handler, passed = signal.getsignal(signal.SIGINT), []
    with interrupts.Deferred():
        press()
        press()
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
        interrupts.check()
        passed.append(1)
    assert passed
    assert signal.getsignal(signal.SIGINT) is handler


def test_interrupts_wait_for_the_end():
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interrupts.Deferred(), interrupts.Deferred():  # noqa: PT012
        press()
        press()
    assert signal.getsignal(signal.SIGINT) is handler
    interrupts.check()


def test_a_check_in_an_inner_block_calls_the_outer_handler(heard):
    with interrupts.Deferred(), interrupts.Deferred(termination=True):
        press()
        interrupts.check()
        assert len(heard) == 1


def test_an_inner_block_defers_a_handler_that_was_set_in_the_outer_one(heard):
    """What the outer block has deferred waits for its end, and its other signals stay deferred."""
    ended, inside = [], []
    before = signal.signal(signal.SIGTERM, lambda number, frame: ended.append(number))
    try:
        with interrupts.Deferred(termination=True):
            press()
            signal.signal(signal.SIGINT, lambda number, frame: inside.append(number))
            with interrupts.Deferred():
                press()
                signal.raise_signal(signal.SIGTERM)
                assert not inside
            assert len(inside) == 1
            assert not heard + ended
            interrupts.check()
            assert not inside[1:]
        assert len(heard + ended) == 1
    finally:
        signal.signal(signal.SIGTERM, before)
    with interrupts.Deferred():
        assert not interrupts.pending()


def test_an_interrupt_that_propagates_replaces_a_deferred_one(heard):
    with pytest.raises(KeyboardInterrupt, match="first"), interrupts.Deferred():  # noqa: PT012
        press()
        raise KeyboardInterrupt("first")
    assert heard == []
    press()
    interrupts.check()
    assert len(heard) == 1


def test_a_handler_that_does_not_raise_is_asked_once(heard):
    with interrupts.Deferred():
        press()
        press()
        interrupts.check()
        assert len(heard) == 1
        press()
    assert len(heard) == 2


def test_other_threads_are_not_interrupted():
    passed = []

    def work():
        with interrupts.Deferred():
            interrupts.check()
            passed.append(1)

    with pytest.raises(KeyboardInterrupt), interrupts.Deferred():  # noqa: PT012
        press()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert passed


@pytest.fixture
def pinned(monkeypatch):
    """A function that makes a list of what is pinned from then on."""
    arrays = []

    class Counted(FakePinned):
        def pin(self, array):
            arrays.append(array)

        def empty(self, shape, dtype):
            arrays.append(np.zeros(shape, dtype))
            return arrays[-1]

        def close(self):
            arrays.clear()

    def count():
        for module in kernel, device_graph, pinned_pool:
            monkeypatch.setattr(module, "Pinned", Counted)
        return arrays

    return count


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("device", ["cpu", "gpu", "hybrid"])
def test_interrupted_anywhere_nothing_stays(device_for, graph_of, monkeypatch, pinned, device, again):
    """An interrupt comes at one line that the calling thread executes, or at that line and every later one."""
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", True)
    graph, program = graph_of(GRAPH), Hops(HUB)
    driver = device_for(program, graph)
    memory, arrays = memory_for(program, graph, 0.3), pinned()
    handler, tracer = signal.getsignal(signal.SIGINT), sys.gettrace()

    def run(see):
        def trace(frame, event, _):
            if event == "line" and frame.f_code.co_filename.endswith(OURS):
                see(frame.f_code.co_filename, frame.f_lineno)
            return trace

        sys.settrace(trace)
        try:
            run_with(
                program, graph, device=device, gather="segmented", page_edges=8000, streams=3, gpu_memory=memory,
                threads=2, iterations=2,
            )  # fmt: skip
        finally:
            sys.settrace(tracer)

    lines = {}
    run(lambda *line: lines.setdefault(line))
    for target in list(lines)[EVERY // 2 :: EVERY]:
        reached, interrupted, driver.next = [], False, 256

        def see(*line, target=target, reached=reached):
            if (again and reached) or (line == target and not reached):
                reached.append(line)
                press()

        try:
            run(see)
        except KeyboardInterrupt:
            interrupted = True
        assert interrupted == bool(reached), target  # none is lost
        assert not at_work(), target
        assert held_after(driver, graph) == 0, target
        assert arrays == [], target
        assert signal.getsignal(signal.SIGINT) is handler, target
