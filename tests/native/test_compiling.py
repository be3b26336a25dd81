"""Compiling is timed apart from the work, and told to whoever waits for it."""

import threading
import time
from dataclasses import dataclass

import pytest

import garaph_py as gp
from garaph_py import events
from garaph_py.native import compiling
from garaph_py.native.compiling import Notice, compile_seconds, work_clock
from garaph_py.native.kernel import Kernel, prepare
from garaph_py.program.define import define
from garaph_py.runtime import runner

LINE = "compiling, once; later runs load it from disk"


class Clock:
    """Time that passes as a test says, or a microsecond each time that somebody asks; timers follow it."""

    def __init__(self):
        self.now, self.timers = 0.0, []

    def read(self):
        self.now += 1e-6
        return self.now

    def wait(self, seconds):
        self.now += seconds
        due = [timer for timer in self.timers if timer.ends <= self.now]
        for timer in due:
            timer.cancel()
            timer.function()

    def timer(self, seconds, function):
        return Timer(self, self.now + seconds, function)


@dataclass(eq=False)
class Timer:
    """A `threading.Timer` of a `Clock`, without a thread."""

    clock: Clock
    ends: float
    function: object

    def start(self):
        self.clock.timers.append(self)

    def cancel(self):
        self.clock.timers.remove(self)


@pytest.fixture
def clock(monkeypatch):
    """On a busy machine, any work takes so long that it could not be told from compiling."""
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock.read)
    monkeypatch.setattr(threading, "Timer", clock.timer)
    return clock


@pytest.fixture
def slow(monkeypatch, folder, clock):
    """Compiling anything takes 0.1 s, and nothing has been compiled yet."""
    from garaph_py.native import compiler

    compile_object = compiler.compile_object

    def slower(function, signature, joins):
        clock.wait(0.1)
        return compile_object(function, signature, joins)

    monkeypatch.setattr(compiler, "compile_object", slower)


def test_the_clock_of_work_stands_still_while_something_is_compiled(slow):
    kernel = Kernel("i64", define("def f(x): return x + 300"))
    wall, work, spent = time.perf_counter(), work_clock(), compile_seconds()
    prepare([kernel])
    compiled = compile_seconds() - spent
    assert compiled >= 0.1
    assert work_clock() - work < 0.001
    assert compiled <= time.perf_counter() - wall


def test_a_step_in_another_counts_once(clock):
    spent = compile_seconds()
    with compiling.compiling("outer", 1, print), compiling.compiling("inner", 1, print):
        clock.wait(0.05)
    assert 0.05 <= compile_seconds() - spent < 0.051


class Unseen(gp.apps.BFS):
    """No other test compiles this program."""

    def gather(self, src):
        return src + 4712 if src != self.identity else src


@pytest.mark.full
def test_a_run_tells_compiling_from_iterations(slow, monkeypatch, caplog):
    graph, heard = gp.from_edges([0, 1, 2], [1, 2, 0]), []
    stats = gp.run(Unseen(0), graph, device="cpu", on_event=heard.append).stats
    assert stats.compile_seconds >= 0.2  # at least two kernels
    assert stats.seconds < 0.1
    assert sum(row.seconds for row in stats.iterations) <= stats.seconds
    assert 0.1 <= stats.iterations[0].compile_seconds < stats.compile_seconds  # the rest was before it
    names = [event.name for event in heard if isinstance(event, events.Step) and event.unit == "functions"]
    assert names[0] == "checking the program's types"
    assert str(stats).splitlines()[-1].startswith("compiling took ")
    again = gp.run(Unseen(0), graph, device="cpu").stats
    assert again.compile_seconds == 0
    assert "compiling" not in str(again)
    monkeypatch.setattr(runner, "notice", Notice(0.05))
    gp.run(Unseen(0), graph, device="cpu", options=gp.Options(mode="push"), on_event=heard.append)
    assert caplog.messages == []
    gp.run(Unseen(0), graph, device="cpu", options=gp.Options(mode="notify-pull"))
    assert caplog.messages == [LINE]


def steps(listener, *numbers):
    for number in numbers:
        listener(events.Step("compiling", number, 2, "functions"))


def test_the_notice_comes_once_and_not_before_its_time(caplog, clock):
    listener = Notice(0.2)
    steps(listener, 0, 1, 2)
    clock.wait(0.25)
    assert caplog.messages == []
    steps(listener, 0, 1)
    clock.wait(0.3)
    assert caplog.messages == [LINE]
    steps(listener, 2, 0, 1)
    clock.wait(0.25)
    assert caplog.messages == [LINE]


def test_the_notice_counts_all_compiling(caplog, clock):
    listener = Notice(0.2)
    for _ in range(4):
        steps(listener, 0)
        clock.wait(0.1)
        steps(listener, 2)
    assert caplog.messages == [LINE]


def test_after_an_error_nobody_compiles_any_more():
    heard = []
    with pytest.raises(ZeroDivisionError), compiling.compiling("compiling", 3, heard.append):
        raise ZeroDivisionError
    assert [event.done for event in heard] == [0, 3]


@pytest.mark.parametrize(("listener", "said"), [(events.ignore, [LINE]), (lambda event: None, [])])
def test_it_is_said_to_those_who_have_no_listener(listener, said, slow, monkeypatch, caplog):
    monkeypatch.setattr(compiling, "notice", Notice(0.05))
    prepare([Kernel("i64", define(f"def f(x): return x + {400 + len(said)}"))], listener)
    assert caplog.messages == said
