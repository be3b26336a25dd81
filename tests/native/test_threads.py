"""Cores this process may use, and teams of threads."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

from garaph_py.errors import ParameterError
from garaph_py.native import Kernel, PerCall, atomic_add, clock, compare_and_swap
from garaph_py.native.threads import ThreadPool, available_cores, even_cuts, split
from tests.support.threads import at_work, end_idle


def test_available_cores_obeys_affinity() -> None:
    code = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});" \
           "from garaph_py.native.threads import available_cores; print(available_cores())"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
    assert 1 <= available_cores() <= len(os.sched_getaffinity(0))


@pytest.mark.parametrize("size", [1, 2, 7])
def test_results_come_in_order_and_the_caller_takes_part(size: int) -> None:
    with ThreadPool(size) as pool:
        names = pool.run(lambda number: (number, threading.current_thread().name), [(k,) for k in range(size)])
    assert [number for number, _ in names] == list(range(size))
    assert names[0][1] == threading.current_thread().name


def test_threads_are_made_ahead() -> None:
    with ThreadPool(5) as pool:
        pool.start()
        assert len(at_work("garaph-cpu")) == 4
        assert pool.run(pow, [(2, k) for k in range(9)]) == [2**k for k in range(9)]


def test_a_failure_is_raised_after_everybody_has_finished() -> None:
    finished = []

    def work(number: int) -> None:
        if number == 1:
            raise ValueError("one")
        threading.Event().wait(0.05)
        finished.append(number)

    with ThreadPool(3) as pool, pytest.raises(ValueError, match="one"):
        pool.run(work, [(0,), (1,), (2,)])
    assert sorted(finished) == [0, 2]


@pytest.mark.parametrize("allowed", [0, 1])
def test_without_further_threads_those_that_exist_do_the_tasks(allowed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    start, started = threading.Thread.start, []

    def refuse(thread: threading.Thread) -> None:
        if len(started) == allowed:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    done = []
    end_idle()
    with ThreadPool(4) as pool:
        monkeypatch.setattr(threading.Thread, "start", refuse)
        assert pool.run(lambda k: done.append(k) or k, [(k,) for k in range(9)]) == list(range(9))
    assert sorted(done) == list(range(9))
    assert not at_work("garaph-cpu")


@pytest.mark.parametrize("size", [0, -1, 1.0, True, "2", 5000])
def test_a_useless_size_is_refused(size: object) -> None:
    with pytest.raises(ParameterError, match="threads="):
        ThreadPool(size)  # type: ignore[arg-type]


@pytest.mark.parametrize("lengths", [[], [0], [5], [0, 0, 9, 0], [1, 2, 3, 4, 5, 6], [7, 0, 0, 0, 0, 1]])
@pytest.mark.parametrize("begin", [0, 100])
@pytest.mark.parametrize("parts", [1, 2, 3, 9])
def test_lists_are_cut_where_they_begin(lengths: list[int], begin: int, parts: int) -> None:
    offsets = begin + np.cumsum([0, *lengths])
    cuts = even_cuts(offsets, parts)
    assert (len(cuts), cuts[0], cuts[-1]) == (parts + 1, 0, len(lengths))
    items = np.diff(offsets[cuts])
    assert (items >= 0).all()
    assert items.max() <= sum(lengths) / parts + max(lengths, default=0)


def test_split_is_even() -> None:
    assert split(10, 3) == [0, 3, 6, 10]
    assert split(0, 2) == [0, 0, 0]


# Calls of one kernel


def square(k, out, count, fails):
    total = 0
    for _ in range(count):
        total += k * k
    out[0] += total
    return k + fails[0]


SQUARE = Kernel("i64 i64* i64 i64*", square)
NO = np.zeros(1, np.int64)


@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize("calls", [0, 1, 2, 5, 300])
@pytest.mark.parametrize("launches", [["launch"], ["launch_with_lock"], ["launch", "launch_with_lock"]])
def test_every_call_is_made_once(size: int, calls: int, launches: list[str]) -> None:
    out = np.zeros((calls, 1), np.int64)
    rows = SQUARE.rows(calls, np.arange(calls), PerCall(out), 3, NO)
    with ThreadPool(size) as pool:
        for turn in range(1, 30):
            for number, launch in enumerate(launches, 1 + (turn - 1) * len(launches)):
                assert getattr(pool, launch)(rows).tolist() == list(range(calls))
                assert out[:, 0].tolist() == [number * 3 * k * k for k in range(calls)]


def note(times, nanoseconds):
    times[0] = times[1] = clock()
    while times[1] < times[0] + nanoseconds:
        times[1] = clock()
    return 0


@pytest.mark.parametrize("locked", [True, False])
def test_nobody_else_runs_python_while_the_caller_keeps_the_lock(locked: bool) -> None:
    times, ticks, over = np.zeros((4, 2), np.int64), [], threading.Event()

    def tick() -> None:
        while not over.is_set():
            ticks.append(time.perf_counter_ns())
            time.sleep(0.0001)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        with ThreadPool(2) as pool:
            rows = Kernel("i64* i64", note, holds_gil=locked).rows(4, PerCall(times), 30_000_000)
            (pool.launch_with_lock if locked else pool.launch)(rows)
    finally:
        over.set()
        thread.join()
    inside = [each for each in ticks if times[:, 0].min() < each < times[:, 1].max()]
    assert (not inside) == locked


def test_arguments_are_released() -> None:
    out = np.zeros((3, 1), np.int64)
    freed = weakref.ref(out)
    with ThreadPool(2) as pool:
        pool.launch(SQUARE.rows(3, np.arange(3), PerCall(out), 1, NO))
        del out
        assert freed() is None


def test_threads_that_fell_asleep_wake_up() -> None:
    seen = np.zeros((2, 1), np.int64)
    rows = SQUARE.rows(2, np.arange(2), PerCall(seen), 30_000_000, NO)
    with ThreadPool(2) as pool:
        for _ in range(3):
            threading.Event().wait(0.05)
            pool.launch(rows)
    assert (seen[:, 0] == [0, 90_000_000]).all()


@pytest.mark.parametrize("spins", [0, 1, 30, 1000])
def test_threads_wake_up_whenever_they_fall_asleep(spins: int) -> None:
    """Those that begin to sleep just as a job, a task or the end comes must not miss it: the team could not end."""
    out = np.zeros((6, 1), np.int64)
    rows = SQUARE.rows(6, np.arange(6), PerCall(out), 1, NO)
    for turn in range(60):
        with ThreadPool(2, spins) as pool:
            for _ in range(5):
                time.sleep(1e-6 * (turn % 7))
                assert pool.launch(rows).tolist() == list(range(6))
            assert pool.run(pow, [(2, k) for k in range(4)]) == [1, 2, 4, 8]
        if turn % 10 == 9:
            assert not at_work("garaph-cpu")
    assert (out[:, 0] == 300 * np.arange(6) ** 2).all()


def add_up(counter, times):
    for _ in range(times):
        atomic_add(counter, 0, 1)
    return 0


def lower(values, start):
    for x in range(start):
        while True:
            old = values[0]
            if not start - x < old or compare_and_swap(values, 0, old, np.float32(start - x)):
                break
    return 0


@pytest.mark.slow
def test_atomic_operations_lose_nothing() -> None:
    counter, least = np.zeros(1, np.int64), np.full(1, np.inf, np.float32)
    with ThreadPool(4) as pool:
        pool.launch(Kernel("i64* i64", add_up).rows(40, counter, 5000))
        pool.launch(Kernel("f32* i64", lower).rows(8, least, np.arange(1000, 1008)))
    assert counter[0] == 200_000
    assert least[0] == 1


def test_teams_of_two_callers_do_not_meet() -> None:
    wrong = []

    def work(mine: int) -> None:
        out = np.zeros((8, 1), np.int64)
        rows = SQUARE.rows(8, np.arange(8) + mine, PerCall(out), 1, NO)
        with ThreadPool(3) as pool:
            for _ in range(300):
                if pool.launch(rows).tolist() != [k + mine for k in range(8)]:
                    wrong.append(mine)

    callers = [threading.Thread(target=work, args=(100 * k,)) for k in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


def test_rows_can_be_filled_again() -> None:
    first, second = np.zeros((2, 1), np.int64), np.zeros((2, 1), np.int64)
    rows = SQUARE.rows(2, np.array([1, 2]), PerCall(first), 1, NO)
    with ThreadPool(1) as pool:
        for out, given in (
            (first, PerCall(first)),
            (second, PerCall(second)),
            (second, second),
            (first, PerCall(first)),
        ):
            out[:] = 0
            pool.launch(rows.fill(np.array([1, 2]), given, 1, NO))
            assert out[:, 0].tolist() == ([5, 0] if given is second else [1, 4])
    rows.fill(1, None, 1, NO)
    assert not rows.words[:, 1].any()
    rows.fill(1, PerCall(first), 1, NO)
    assert rows.words[:, 1].all()


def test_rows_refuse_what_does_not_fit() -> None:
    with pytest.raises(TypeError, match="takes 4 arguments"):
        SQUARE.rows(2, 1, NO)
    with pytest.raises(TypeError, match=r"i64\*"):
        SQUARE.rows(2, 1, np.zeros(2, np.float32), 1, NO)
    with pytest.raises(TypeError, match="C-contiguous"):
        SQUARE.rows(2, 1, PerCall(np.zeros((4, 4), np.int64)[:, ::2]), 1, NO)


# What each did when


@pytest.mark.parametrize("size", [1, 2, 7])
def test_a_trace_says_who_worked_when(size: int) -> None:
    out = np.zeros((40, 1), np.int64)
    many, one = SQUARE.rows(40, np.arange(40), PerCall(out), 100_000, NO), SQUARE.rows(1, 3, out, 10, NO)
    with ThreadPool(size) as pool:
        pool.launch(many)
        assert list(pool.spans()) == []
        pool.trace()
        before = time.perf_counter_ns()
        for page in range(20):
            pool.about = {"page": page}
            pool.launch(many)
            pool.launch(one)
        after = time.perf_counter_ns()
        spans = list(pool.spans())
    tracks = {span.track for span in spans}
    assert "cpu 0" in tracks
    assert tracks <= {f"cpu {seat}" for seat in range(size)}
    assert {span.name for span in spans} == {"square"}
    assert {span.details["page"] for span in spans} == set(range(20))
    for track in tracks:
        ends = before
        for span in (span for span in spans if span.track == track):
            assert ends <= span.start <= span.end
            ends = span.end
        assert ends <= after


def test_every_call_is_in_the_trace_once() -> None:
    with ThreadPool(3) as pool:
        pool.trace()
        for _ in range(50):
            pool.launch(SQUARE.rows(9, np.arange(9), PerCall(np.zeros((9, 1), np.int64)), 1000, NO))
        assert [sum(made for _, _, made in notes.tolist()) for *_, notes in pool._log] == [9] * 50
