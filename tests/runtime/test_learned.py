"""What calls have taught: the file of rates, which may be damaged, and the history of a graph."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from datetime import date, timedelta

import pytest

import garaph_py as gp
from garaph_py.program import bind
from garaph_py.runtime import carry_out as carry_out_
from garaph_py.runtime import learned
from garaph_py.runtime.learned import DAYS, MOST_KINDS, History, Learned, kind, teach
from garaph_py.runtime.lessons import Measured
from garaph_py.runtime.options import RunOptions
from garaph_py.runtime.past import ON_CPU, Past, Took
from garaph_py.runtime.reckoning import ALL, Call, OnDevice, Rates, choose, cpu_seconds
from tests.support.numpy_gpu import GRAPH, HUB, Hops

TODAY = date(2026, 11, 23)
GOOD = {"rates": {"call": 0.01}, "doubts": {"start": 1.0}, "dates": {"call": "2026-11-20"}, "architecture": "sm_90"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GARAPH_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def read_anew():
    """What another process knows. It has not written anything."""
    for what in learned._known, learned._synced, learned._written:
        what.clear()
    return learned.known()


@pytest.fixture
def another_process():
    """Calls a function in another process, so to speak."""

    def call(function, *arguments):
        state = learned._known, learned._synced, learned._written
        mine = [dict(what) for what in state]
        read_anew()
        function(*arguments)
        for what, before in zip(state, mine, strict=True):
            what.clear()
            what.update(before)

    return call


def wait(monkeypatch):
    """Let the time pass after which a process writes again."""
    later = time.monotonic() + learned.PAUSE
    monkeypatch.setattr(learned.time, "monotonic", lambda: later)


# The file.


def test_lessons_outlive_the_process(folder):
    assert learned.rates() == Rates()
    teach({"call": 0.01}, "sm_90")
    assert learned.rates() == Rates()
    teach({"call": 0.01}, "sm_90")
    learned.write_rest()
    assert learned.rates() == read_anew_rates() == Rates(call=pytest.approx(0.01))
    assert learned.known().dates == {"call": date.today().isoformat()}
    assert learned.known().architecture == "sm_90"
    (entry,) = folder.iterdir()
    assert entry.stat().st_mode & 0o777 == 0o600


def read_anew_rates():
    read_anew()
    return learned.rates()


def test_nothing_is_written_if_nothing_was_wrong(folder):
    teach({"call": Rates.call, "link": Rates.link}, None)
    assert not folder.exists()


def test_doubts_are_written_when_the_process_ends(folder, monkeypatch):
    teach({"call": 0.01}, None)
    assert not folder.exists()
    learned.write_rest()
    assert read_anew().doubts == {"call": 0.01}
    written = []
    monkeypatch.setattr(learned.cache, "overwrite", lambda *how: written.append(how))
    learned.write_rest()
    assert written == []


def test_a_process_writes_once_a_second_and_the_rest_at_its_end(folder, monkeypatch):
    texts, overwrite = [], learned.cache.overwrite
    monkeypatch.setattr(learned.cache, "overwrite", lambda key, text: (texts.append(text), overwrite(key, text)))
    for seconds in (0.01, 0.02, 0.04):
        for _ in range(2):
            teach({"call": seconds}, None)
    assert len(texts) == 1
    wait(monkeypatch)
    teach({}, None)
    assert len(texts) == 2  # although the last lesson has changed nothing
    for _ in range(2):
        teach({"start": 2.0}, None)
    learned.write_rest()
    assert len(texts) == 3
    assert read_anew_rates() == Rates(call=pytest.approx(0.04), start=pytest.approx(2.0))


@pytest.mark.slow
def test_the_end_of_a_process_writes_them(folder):
    script = "from garaph_py.runtime.learned import teach\nteach({'call': 0.01}, None)"
    for _ in range(2):
        subprocess.run([sys.executable, "-c", script], check=True)
    assert read_anew_rates() == Rates(call=pytest.approx(0.01))


def twice(lesson):
    for _ in range(2):
        teach(lesson, None)


@pytest.mark.parametrize("at_the_end", [False, True])
def test_a_rate_is_revised_from_what_another_process_has_written(folder, monkeypatch, another_process, at_the_end):
    twice({"call": 0.01})
    another_process(twice, {"start": 2.0})
    if not at_the_end:
        wait(monkeypatch)
    twice({"compile": 20.0})
    if at_the_end:
        learned.write_rest()
    expected = Rates(call=pytest.approx(0.01), start=pytest.approx(2.0), compile=pytest.approx(20.0))
    assert learned.rates() == read_anew_rates() == expected


def test_a_process_that_uses_no_gpu_keeps_what_others_know_of_another_one(folder, another_process):
    """It has read what was known of the GPU before."""
    teach({}, "sm_80")
    read_anew()
    another_process(lambda: [teach({"start": 2.0}, "sm_90"), teach({"start": 2.0}, "sm_90"), learned.write_rest()])
    search = 2 * Rates().cpu_search
    for _ in range(2):
        teach({"cpu_search": search, "call": 0.01}, None)
    assert learned.known().architecture == "sm_90"
    assert learned.rates() == Rates(start=pytest.approx(2.0), cpu_search=pytest.approx(search))
    assert learned.known() == read_anew()


def test_doubts_about_another_gpu_are_not_written(folder, another_process):
    teach({}, "sm_80")
    teach({"call": 0.01}, "sm_80")
    another_process(teach, {}, "sm_90")
    learned.write_rest()
    assert read_anew() == Learned(architecture="sm_90")


def test_no_lesson_lists_the_cache(folder, monkeypatch):
    monkeypatch.setattr(os, "listdir", None)
    for k in range(4):
        teach({"call": 0.01 * 2**k}, None)
    assert read_anew().rates


def damaged(entry):
    entry.write_bytes(entry.read_bytes()[:-1])


def writable(entry):
    entry.chmod(0o666)


@pytest.mark.parametrize("damage", [damaged, writable, os.unlink])
def test_a_file_that_cannot_be_trusted_is_ignored_and_written_anew(folder, damage):
    for _ in range(2):
        teach({"call": 0.01}, None)
    (entry,) = folder.iterdir()
    damage(entry)
    assert read_anew() == Learned()
    for _ in range(2):
        teach({"start": 2.0}, None)
    assert read_anew_rates() == Rates(start=pytest.approx(2.0))


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b"[]", b"null", b"\xff", b"[" * 10_000, b'{"rates": [1], "dates": 3}', b" " * 99_999 + b"{}",
        json.dumps({"rates": {"nonsense": 1.0}, "dates": {"nonsense": "2026-11-20"}}).encode(),
        json.dumps({"rates": {"call": 1e9}, "doubts": {"call": -1.0}, "dates": {"call": 3}}).encode(),
        b'{"rates": {"call": NaN}, "doubts": {"call": "0.01"}}',
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_left_out(text):
    found = Learned.parsed(text, TODAY)
    assert (found.rates, found.doubts) == ({}, {})
    Rates(**found.rates)


def test_what_makes_sense_is_kept():
    found = Learned.parsed(json.dumps(GOOD).encode(), TODAY)
    assert vars(found) == GOOD
    mixed = GOOD | {"rates": {"call": 0.01, "start": "fast"}}
    assert Learned.parsed(json.dumps(mixed).encode(), TODAY).rates == {"call": 0.01}


def test_old_rates_are_forgotten():
    later = TODAY + timedelta(DAYS)
    assert Learned.parsed(json.dumps(GOOD).encode(), later).rates == {}


def test_another_gpu_starts_anew():
    rates, doubts = {"gpu_all": 2e10, "cpu_all": 1e8, "disk_raw": 2e9}, {"call": 0.1, "disk_packed": 3e9}
    known = Learned(rates, doubts, dict.fromkeys(rates, "2026-11-20"))
    assert known.after({}, None, TODAY) == known
    assert replace(known, architecture="sm_80").after({}, "sm_80", TODAY).rates == known.rates
    other = replace(known, architecture="sm_80").after({}, "sm_90", TODAY)
    assert (other.rates, other.doubts) == ({"cpu_all": 1e8, "disk_raw": 2e9}, {"disk_packed": 3e9})
    assert other.architecture == "sm_90"


@pytest.mark.full
def test_processes_that_learn_at_once_leave_a_whole_file(folder):
    script = (
        "from garaph_py.runtime.learned import teach\nfor k in range(40): teach({'call': 0.01 + 0.002 * k}, 'sm_90')"
    )
    processes = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert read_anew().architecture == "sm_90"
    assert set(read_anew().rates) == {"call"}


def test_a_cache_that_cannot_be_used_is_no_problem(monkeypatch):
    monkeypatch.setenv("GARAPH_CACHE_DIR", "relative")
    for _ in range(2):
        teach({"call": 0.01}, None)
    assert learned.rates() == Rates()


# The history of a graph.

CALL = Call(ALL, 1_000_000, 50_000_000, threads=8, limit=10)
HERE = OnDevice(True, True, 1 << 40)
FOUND = OnDevice(True, True)


def reckoned(call=CALL, there=FOUND):
    return choose(call, there, Rates())


ON_GPU, TWO, BOTH = ("gpu", 1), ("gpu", 2), ("hybrid", 1)


def added(history, measured, way=ON_CPU, called="PageRank", placed=None, ordering=0.0):
    history.add(called, way, placed, measured, CALL.vertices, ordering)


def test_the_median_of_the_last_calls_counts():
    history = History()
    for seconds in 9.0, 0.5, 0.6, 0.4:
        added(history, Measured(False, seconds + 0.1, seconds, 8))
    for seconds in 0.02, 0.03:
        assert history.past("PageRank").on_gpus(1) is None
        added(
            history, Measured(True, seconds + 0.01, seconds, 7, few=3, pulls=2, pushed=0.5, needed=9, found=9), ON_GPU
        )
    past = history.past("PageRank")
    assert past.took == {ON_CPU: Took(0.5, pytest.approx(0.1)), ON_GPU: Took(0.02, pytest.approx(0.01))}
    assert replace(past, took={}) == Past(7, reached=0.0, few=3, pulls=2, pushed=0.5)
    assert history.past("BFS") == Past()


def test_of_the_first_call_on_the_cpu_only_the_iterations_count():
    history = History()
    added(history, Measured(False, 9.0, 0.3, 8))
    assert history.past("PageRank").took == {ON_CPU: Took(0.3, None)}
    assert cpu_seconds(replace(CALL, past=history.past("PageRank")), Rates()) == pytest.approx(
        0.3 + 2e-9 * CALL.vertices
    )


def test_ordering_edge_values_does_not_count_for_the_next_call():
    history = History()
    for seconds in 0.6, 0.9, 0.001:
        added(history, Measured(False, 9.0, seconds, 8, active=CALL.vertices // 50), ordering=0.25)
    assert history.past("PageRank").took[ON_CPU].iterating == pytest.approx(0.35)
    assert history.past("PageRank").reached == 0.02


def test_of_a_call_that_brings_the_graph_only_the_iterations_count():
    history = History()
    added(history, Measured(False, 0.4, 0.3, 8))
    history.lose(reckoned(), Measured(False, 0.4, 0.3, 8))
    assert history.lost > 0.3
    for found in 0, 89, 90:
        assert history.past("PageRank").on_gpus(1) == (Took(0.1, None) if found == 90 else None)
        added(history, Measured(True, 0.5, 0.1, 8, needed=100, found=found), ON_GPU)
    assert history.past("PageRank").on_gpus(1) == Took(0.1, 0.4)
    assert history.lost == 0.0


def test_each_way_has_its_own_times():
    history = History()
    for seconds, way in (0.3, ON_GPU), (0.2, TWO), (0.25, BOTH):
        for _ in range(2):
            added(history, Measured(True, seconds, seconds, 8), way)
    past = history.past("PageRank")
    assert (past.on_gpus(1).iterating, past.on_gpus(2).iterating, past.on_gpus(3)) == (0.25, 0.2, None)
    assert not past.are_faster_alone(1)
    for _ in range(2):
        added(history, Measured(True, 0.1, 0.1, 8), ON_GPU)
    assert history.past("PageRank").are_faster_alone(1)
    assert not history.past("PageRank").are_faster_alone(2)  # nobody knows what help would do


def test_times_on_a_gpu_are_those_of_calls_with_as_much_room():
    history = History()
    added(history, Measured(False, 0.4, 0.4, 8), placed="little room")
    for room, seconds in ("little room", 0.2), ("much room", 0.1):
        for _ in range(2):
            added(history, Measured(True, seconds, seconds, 8), ON_GPU, placed=room)
    assert history.past("PageRank", "little room").on_gpus(1).iterating == 0.2
    assert history.past("PageRank", "much room").on_gpus(1).iterating == 0.1
    assert list(history.past("PageRank", "other room").took) == [ON_CPU]


def test_a_graph_remembers_few_kinds():
    history = History()
    for k in range(2 * MOST_KINDS):
        added(history, Measured(False, 0.4, 0.3, 8), called=str(k))
    assert history.past("0") == Past()
    assert history.past(str(2 * MOST_KINDS - 1)).took.keys() == {ON_CPU}
    assert len(history._kinds) == MOST_KINDS
    for k in range(2 * MOST_KINDS):
        added(history, Measured(True, 0.4, 0.3, 8), ON_GPU, placed=k)
    assert len(history._kinds["PageRank"].times) == MOST_KINDS


def test_two_threads_may_forget_the_same_entry():
    class Shared(dict):
        def pop(self, key, *default):
            super().pop(key, None)  # another thread is faster
            return super().pop(key, *default)

    remembered = Shared.fromkeys(range(MOST_KINDS + 1))
    learned.forget_oldest(remembered)
    assert list(remembered) == list(range(1, MOST_KINDS + 1))


def test_kinds_of_calls():
    graph = gp.from_edges([0, 1], [1, 2])
    same, other = RunOptions(verify=True), RunOptions(iterations=3)
    kinds = [kind(bind(gp.apps.BFS(k), graph), options, 4) for k, options in ((0, same), (1, RunOptions()), (1, other))]
    assert kinds[0] == kinds[1] != kinds[2]
    assert kind(bind(gp.apps.SSSP(0), graph), same, 4) != kinds[0] != kind(bind(gp.apps.BFS(0), graph), same, 2)


def test_history_goes_with_the_graph_s_other_arrays():
    graph = gp.from_edges([0, 1], [1, 2])
    History.of(graph._arrays).lost = 1.0
    assert History.of(graph._arrays).lost == 1.0
    graph.release()
    assert History.of(graph._arrays).lost == 0.0


@pytest.fixture
def large(monkeypatch):
    """Small graphs are reckoned with as large ones, and there is a driver; a function sets the rates."""
    monkeypatch.setattr("garaph_py.runtime.plan.LEAST_GPU_EDGES", 1)
    monkeypatch.setattr("garaph_py.executor.gpu.device.has_driver", lambda: True)
    return lambda **known: monkeypatch.setattr(learned, "rates", lambda: Rates(**known))


@pytest.mark.full
def test_which_runs_are_remembered(monkeypatch, folder, large, tmp_path):
    large(cpu_all=1e12)
    graph, program, ways = gp.rmat(8), gp.apps.PageRank(), list[object]()
    monkeypatch.setattr(History, "add", lambda self, called, way, *more: ways.append(way))
    result = gp.run(program, graph, iterations=2)
    assert result.stats.why.startswith("expected ")
    gp.run(program, graph, iterations=2, device="cpu")  # a graph so small, for which nothing is reckoned
    gp.run(program, graph, iterations=2, options=gp.Options(deterministic=True))
    gp.run(program, graph, iterations=2, report=tmp_path / "report.html")
    assert ways == [ON_CPU]
    monkeypatch.setattr(carry_out_, "LEAST_GPU_EDGES", 1)
    gp.run(program, graph, iterations=2, device="cpu")
    assert ways == [ON_CPU] * 2
    gp.run(program, graph, iterations=2, options=gp.Options(fetch=False))  # the CPU's answer is on the host
    assert ways == [ON_CPU] * 3


def test_a_run_that_leaves_its_answer_on_the_gpu_is_no_example(monkeypatch, folder, large, device_for, graph_of):
    graph, program, ways = graph_of(GRAPH), Hops(HUB), list[object]()
    device_for(program, graph)
    monkeypatch.setattr(carry_out_, "LEAST_GPU_EDGES", 1)
    monkeypatch.setattr(History, "add", lambda self, called, way, *more: ways.append(way))
    for fetch in (False, True):
        gp.run(program, graph, device="gpu", options=gp.Options(fetch=fetch))
    assert ways == [ON_GPU]


@pytest.mark.slow
def test_what_was_measured_on_one_device_counts_whoever_chose_it(monkeypatch, folder, large, device_for, graph_of):
    """The rates say that the CPU is faster; runs on the GPU show that it is not."""
    graph, program = graph_of(GRAPH), Hops(HUB)
    device_for(program, graph)
    large(cpu_frontier=1e12, start=0.0, compile=0.0)
    monkeypatch.setattr(carry_out_, "LEAST_GPU_EDGES", 1)
    assert gp.run(program, graph).stats.device == "cpu"
    for _ in range(3):
        gp.run(program, graph, device="gpu")
        gp.run(program, graph, device="cpu")
    history = History.of(graph._arrays)
    (calls,) = history._kinds.values()
    for (way, _), times in calls.times.items():
        times.iterating.extend([0.5 if way == ON_CPU else 0.1] * 3)
        times.beyond.extend([0.0] * 3)
    stats = gp.run(program, graph).stats
    assert stats.device == "NumPy"
    assert stats.why.startswith("expected 100 ms with the GPU")
    assert "500 ms on the CPU" in stats.why


def test_calls_begin_on_the_cpu_and_go_to_the_gpu_when_they_have_lost_enough(
    monkeypatch, folder, large, device_for, graph_of
):
    graph, program = graph_of(GRAPH), Hops(HUB)
    device_for(program, graph)
    preparing = {"start": 0.0, "compile": 0.0, "ranks": 1e13, "placing": 1e6}  # as long as many calls take
    large(call=1e-6, gpu_frontier=1e13, link=1e13, **preparing)
    monkeypatch.setattr("garaph_py.runtime.reckoning.GPU_STEP", 0.0)
    for _ in range(1000):
        stats = gp.run(program, graph).stats
        if stats.device != "cpu":
            break
        lost = History.of(graph._arrays).lost
        assert "to prepare" in stats.why
        assert lost > 0
    assert "calls on this graph have lost" in stats.why
    assert History.of(graph._arrays).lost == 0
