"""Choices of a GPU that the next calls repeat: while calls go well, and not for long."""

from dataclasses import replace

import pytest

import garaph_py as gp
from garaph_py.program import bind
from garaph_py.runtime import carry_out as carry_out_
from garaph_py.runtime import learned, settled
from garaph_py.runtime import plan as plan_
from garaph_py.runtime.lessons import Measured
from garaph_py.runtime.machine import Machine
from garaph_py.runtime.options import RunOptions
from garaph_py.runtime.plan import Chosen, plan
from garaph_py.runtime.reckoning import Call, OnDevice, Rates, Verdict, cpu_seconds
from garaph_py.runtime.settled import CHOOSING, MARGIN, MOST_REPEATS, SHARE, Settled
from tests.support.numpy_gpu import GRAPH, HUB, Hops

SMALL = gp.from_edges([0, 1, 1], [1, 2, 0])
ASKED, FREE = bind(Hops(0), SMALL), RunOptions()
VERDICT = Verdict(True, "why", Call("frontier", 1 << 15, 1 << 19), OnDevice(), Rates())
SLOW_CPU = Rates(cpu_all=1.0, start=0.0)
ON_CPU = cpu_seconds(VERDICT.call, VERDICT.rates)
SHORT = Measured(True, CHOOSING / SHARE / MOST_REPEATS, 0.0, 5, needed=100, found=100)


def plan_of(executor="gpu", verdict=VERDICT, left=None):
    chosen = Chosen(executor, verdict, "alone", ((0,), None), left)
    return plan(ASKED, SMALL, FREE, Machine(4, lambda: True), chosen)


def kept(measured=SHORT, options=FREE, **how):
    """What a call leaves to the next one."""
    choices = Settled(learned.History())
    choices.keep(ASKED, options, plan_of(**how), measured)
    return choices.take(ASKED, options)


def test_a_choice_is_repeated_so_often():
    choices, left = Settled(learned.History()), None
    for _ in range(MOST_REPEATS):
        choices.keep(ASKED, FREE, plan_of(left=left), SHORT)
        *again, left = choices.take(ASKED, FREE)
        assert again == ["gpu", VERDICT, "alone", ((0,), None)]
    choices.keep(ASKED, FREE, plan_of(left=left), SHORT)
    assert choices.take(ASKED, FREE) is None


def test_a_choice_is_kept_after_calls_that_went_well():
    assert kept() is not None
    assert kept(options=RunOptions(device="hybrid"), verdict=None) is not None
    assert kept(executor="cpu") is None
    assert kept(executor="hybrid") is None
    assert kept(replace(SHORT, seconds=ON_CPU / MARGIN * 0.99)) is not None
    assert kept(replace(SHORT, seconds=ON_CPU / MARGIN * 1.01)) is None
    assert kept(replace(SHORT, found=0)) is not None


def test_long_calls_repeat_a_choice_less_often():
    """Choosing then takes no more than `SHARE` of the time."""
    for calls in 1, 3, MOST_REPEATS, 2 * MOST_REPEATS:
        seconds = CHOOSING / SHARE / calls * 0.99
        repeats = min(calls, MOST_REPEATS)
        assert kept(replace(SHORT, seconds=seconds), verdict=None, left=MOST_REPEATS + 1).left == repeats, calls
        assert kept(replace(SHORT, seconds=seconds), verdict=None).left == repeats
    assert kept(replace(SHORT, seconds=0.0)).left == MOST_REPEATS
    assert kept(replace(SHORT, seconds=CHOOSING / SHARE * 1.01), verdict=None) is None
    assert kept(replace(SHORT, seconds=CHOOSING / SHARE * 1.01), verdict=None, left=9) is None


def test_a_call_that_does_not_end_well_leaves_no_choice():
    choices = Settled(learned.History())
    choices.keep(ASKED, FREE, plan_of(), SHORT)
    assert choices.take(ASKED, FREE) is not None
    assert choices.take(ASKED, FREE) is None


def test_a_choice_ends_when_the_time_of_another_way_becomes_known():
    """Two GPUs may then turn out to be faster than the one that was chosen, or the other way round."""
    history = learned.History()
    choices = Settled(history)
    choices.keep(ASKED, FREE, plan_of(), SHORT)
    for calls, ends in (1, True), (2, True), (3, False), (4, False):  # the first says what is beyond iterations
        history.add("kind", ("gpu", 2), None, SHORT, 3)
        assert (choices.take(ASKED, FREE) is None) is ends, calls
        choices.keep(ASKED, FREE, plan_of(), SHORT)
    history.add("kind", ("gpu", 1), None, SHORT, 3)
    assert choices.take(ASKED, FREE) is None


@pytest.mark.parametrize(
    "other",
    [
        {"gpu_memory": "1GiB"}, {"mode": "pull"}, {"iterations": 3}, {"gpus": 1}, {"check": "finite"},
        {"deterministic": True},
    ],
)  # fmt: skip
def test_calls_with_other_options_choose_anew(other):
    choices = Settled(learned.History())
    choices.keep(ASKED, FREE, plan_of(), SHORT)
    assert choices.take(ASKED, RunOptions(**other)) is None
    assert choices.take(ASKED, FREE) is not None


@pytest.mark.parametrize("device", ["auto", "hybrid"])
def test_runs_repeat_a_choice_and_learn_nothing_from_it(monkeypatch, device_for, graph_of, device):
    graph, program, asked = graph_of(GRAPH), Hops(HUB), []
    device_for(program, graph)
    monkeypatch.setattr("garaph_py.executor.gpu.device.has_driver", lambda: True)
    for module in plan_, carry_out_:
        monkeypatch.setattr(module, "LEAST_GPU_EDGES", 1)
    monkeypatch.setattr(learned, "rates", lambda: asked.append("rates") or SLOW_CPU)
    monkeypatch.setattr(learned, "teach", lambda *_: asked.append("lesson"))
    monkeypatch.setattr(settled, "MOST_REPEATS", 2)
    monkeypatch.setattr(settled, "CHOOSING", 10.0)
    for _ in range(8):
        asked.append("call")
        result = gp.run(program, graph, device=device)
        assert result.stats.device == "NumPy"
    calls = [set(text.split()) for text in " ".join(asked).split("call")[1:]]
    chosen = {"rates", "lesson"} if device == "auto" else {"rates"}
    assert calls[2:] == [chosen, set(), set(), chosen, set(), set()]
    assert ("rates" in calls[0], calls[1]) == (True, set())  # after the second, it is known how long they take
