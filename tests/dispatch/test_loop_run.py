"""The loop on an executor that does what it is told: when the run ends, and what each record says."""

from types import SimpleNamespace

import numpy as np
import pytest

from garaph_py import events
from garaph_py.dispatch import loop
from garaph_py.dispatch.buckets import Buckets
from garaph_py.dispatch.loop import Loop, missing_bytes
from garaph_py.dispatch.policy import POLICIES
from garaph_py.dispatch.scheduler import Schedule, Scheduler
from garaph_py.events import PageGroup
from garaph_py.executor.decision import PageDecision
from garaph_py.executor.modes import CPU, GPU, PULL, PUSH, RESIDENT
from garaph_py.executor.protocol import Capabilities
from garaph_py.executor.results import OpenBucket, PageResult, StepResult, Supersteps
from garaph_py.executor.state import HOST, Holders

VERTICES, EDGES = 100, 1000
AUTO = POLICIES["auto"]


class State(SimpleNamespace):
    """A state that knows only what the loop asks for."""

    def __init__(self, total=None, kind=np.int64, synchronous=False):
        super().__init__(
            thresholds=np.zeros(2, kind), synchronous=synchronous, has_sums=False, total=total, holders=Holders(),
            active_count=3, active_edges=30, changeable=0, unfinished_edges=None, on_host=True,
        )  # fmt: skip

    def advance(self, active, active_edges, changeable):
        self.active_count, self.active_edges, self.changeable = active, active_edges, changeable

    def visited(self, mode, edges, active, changeable):
        assert self.unfinished_edges is None  # these programs' pulls do not end late

    def is_on_host(self, part):
        assert part == "values"
        return self.on_host


def executor(*results, modes=(PULL, PUSH), **can):
    """An executor that gives these results, and reads 10 bytes in the first step, 20 in the second, and so on."""
    source, left = SimpleNamespace(bytes_read=0, pages=(), takes_any_order=True), list(results)

    def step(state, decision):
        source.bytes_read += 10 * (len(results) - len(left) + 1)
        return left.pop(0)

    return SimpleNamespace(source=source, step=step, capabilities=Capabilities(CPU, modes, **can))


def made(schedule=None, total=None, converged=None, **more):
    bound = SimpleNamespace(
        is_relaxation=True, ends_late=False, updates_all_vertices=False, arguments=("priority",), total=total,
        program=SimpleNamespace(converged=converged), columns=(),
    )  # fmt: skip
    how = {"began": 0.0, "listener": events.ignore, "heartbeat": SimpleNamespace(doing=None)} | more
    return Loop(bound, VERTICES, EDGES, schedule or Schedule(AUTO, mode=PULL), **how)


def result(*pages, followed=0, device=CPU):
    return StepResult(list(pages), followed, device)


def page(edges, active=0, active_edges=0, **more):
    return PageResult(edges, active, active_edges, 0, None, **more)


@pytest.fixture
def clock(monkeypatch):
    """Each look at the clock finds it one second later; nothing is compiled."""
    ticks = iter(range(1, 100))
    monkeypatch.setattr(loop, "time", SimpleNamespace(perf_counter=lambda: float(next(ticks))))
    monkeypatch.setattr(loop, "compile_seconds", lambda: 0.0)


@pytest.mark.parametrize("before", [1, 2])
def test_a_run_ends_when_no_vertex_is_active(clock, before):
    seen, told, state = [], [], State()
    one = made(began=0.5, before=before, listener=told.append, after=lambda state, done: seen.append((done, len(told))))
    first = result(
        page(40, 2, 20, to_device=8, from_device=4), page(0, skipped=True, to_device=1),
        page(60, 1, 5, from_device=2, how=PageDecision(PULL, GPU, "copied")), followed=9,
    )  # fmt: skip
    assert one.run(executor(first, result(page(25), followed=1)), state)
    rows = one.done.records()
    assert [(row.number, row.active, row.f, row.edges) for row in rows] == [
        (before, 3, 0.03, 109), (before + 1, 3, 0.025, 26)
    ]  # fmt: skip
    assert [(row.pages, row.pages_skipped, row.to_device, row.from_device) for row in rows] == [
        (2, 1, 9, 6), (1, 0, 0, 0)
    ]  # fmt: skip
    assert [(row.started, row.seconds, row.compile_seconds, row.from_disk) for row in rows] == [
        (0.5, 1.0, 0.0, 10), (2.5, 1.0, 0.0, 20)
    ]  # fmt: skip
    assert rows[0].groups == (PageGroup(PULL, CPU, None, 1, 40), PageGroup(PULL, GPU, "copied", 1, 60))
    assert (rows[0].mode, rows[0].device, rows[0].why, rows[0].alpha) == (PULL, CPU, "as asked", None)
    assert (told, seen) == (rows, [(before + 1, 1), (before + 2, 2)])
    assert one.heartbeat.doing == ("iteration", before + 1, PULL)


def test_pages_of_one_kind_are_counted_together():
    two, how = page(7), PageDecision(PULL, GPU, RESIDENT)
    two.pages, two.how = 2, how
    done = result(page(4), page(5), page(9, skipped=True), two, device=GPU)
    assert loop.groups_of(PageDecision(PULL, GPU), done.pages) == (
        PageGroup(PULL, GPU, None, 2, 9), PageGroup(*how, 2, 7),
    )  # fmt: skip
    assert (done.page_count, done.pages_skipped) == (5, 1)


def test_skipped_pages_are_not_among_those_processed():
    one = made()
    one.run(executor(result(page(4), page(5), page(6), page(0, skipped=True))), State())
    assert [(row.pages, row.pages_skipped) for row in one.done.records()] == [(3, 1)]


def test_no_vertex_is_active_at_first():
    state = State()
    state.active_count = 0
    assert made().run(executor(), state)


@pytest.mark.parametrize(("limit", "before", "done"), [(1, 0, 1), (2, 0, 2), (3, 1, 2), (1, 1, 0)])
def test_a_run_ends_at_its_limit(limit, before, done):
    one = made(Schedule(AUTO, iterations=limit, mode=PULL), before=before)
    assert not one.run(executor(*[result(page(1, 1, 1))] * done), State())
    assert len(one.done) == done


@pytest.mark.parametrize(("before", "answers", "done"), [(0, [True], 1), (0, [False, True], 2), (3, [True], 0)])
def test_a_run_ends_when_the_program_has_converged(before, answers, done):
    """It is asked after each iteration, also after those before a checkpoint."""
    left = list(answers)
    one = made(total=np.dtype(np.float64), converged=lambda total, n: left.pop(0), before=before)
    results = [StepResult([PageResult(1, 1, 1, 0, np.array([0.5]))], 0, CPU) for _ in range(done)]
    assert one.run(executor(*results), State(total=np.zeros(1)))
    assert (len(one.done), left) == (done, [])


def test_the_total_is_the_sum_of_all_pages():
    state = State(total=np.zeros(1, np.float32))
    parts = [np.array([0.5, 1.0]), None, np.array([4.0])]
    pages = [PageResult(1, 0, 0, 2, part) for part in parts]
    one = made(total=np.dtype(np.float32))
    assert one.run(executor(StepResult(pages, 0, CPU)), state)
    assert (state.total.tolist(), state.total.dtype, state.changeable) == ([5.5], np.float32, 6)


def test_what_was_read_before_does_not_count():
    one = made(read=4)
    one.run(executor(result(page(1, 1, 1)), result(page(1))), State())
    assert [(row.number, row.from_disk) for row in one.done.records()] == [(0, 6), (1, 20)]


def test_compiling_is_counted_apart(clock, monkeypatch):
    times = iter([2.0, 2.25])
    monkeypatch.setattr(loop, "compile_seconds", lambda: next(times))
    one = made()
    one.run(executor(result(page(1))), State())
    (row,) = one.done.records()
    assert (row.seconds, row.compile_seconds) == (0.75, 0.25)


@pytest.mark.parametrize("many", [False, True])
def test_only_the_time_of_one_iteration_is_learned(monkeypatch, many):
    """Several at once say nothing of a push's cost; each has a record all the same."""
    timed = []
    monkeypatch.setattr(Scheduler, "done", lambda self, seen, decision, record: timed.append(seen.active_edges))
    way = PageDecision(PUSH, GPU, "resident")
    ints = [np.array(column) for column in ([5, 0], [50, 0], [30, 50], [False, False])]
    steps = Supersteps(ints[0], ints[1], np.array([0.25, 0.0]), ints[2], ints[3], way, way)
    one = made(Schedule(AUTO, mode=PUSH))
    one.run(executor(result(page(80, supersteps=steps if many else None))), State())
    assert timed == ([] if many else [30])
    rows = one.done.records()
    assert [(row.active, row.f) for row in rows] == [(3, 0.03), (5, 0.05)][: 1 + many]
    assert [part.f.tolist() for part in one.done._parts if not isinstance(part, list)] == []


def test_what_is_not_made_has_its_columns():
    way = PageDecision(PUSH, GPU, "resident")
    ints = [np.array(column) for column in ([5, 6, 0], [50, 60, 0], [30, 50, 60], [False] * 3)]
    steps = Supersteps(ints[0], ints[1], np.zeros(3), ints[2], ints[3], way, way)
    one = made(Schedule(AUTO, mode=PUSH))
    ready = executor(result(page(80, supersteps=steps)))
    scheduler = Scheduler(one.schedule, VERTICES, EDGES, one.bound, ready.capabilities)
    *_, unmade = one._iterate(ready, State(), scheduler, 4)
    assert unmade.column("active").tolist() == [3, 5, 6]
    assert unmade.column("f").tolist() == [0.03, 0.05, 0.06]
    assert [row.number for row in unmade.make()] == [4, 5, 6]


BUCKETS = {
    "schedule": Schedule(AUTO),
    "priorities": True,
    "synchronous": False,
    "relaxes": True,
    "names": ("priority",),
}


@pytest.mark.parametrize(("change", "uses"), [
    ({}, True), ({"schedule": Schedule(AUTO, buckets=False)}, False), ({"schedule": Schedule(AUTO, mode=PULL)}, False),
    ({"priorities": False}, False), ({"synchronous": True}, False), ({"relaxes": False}, False), ({"names": ()}, False),
])  # fmt: skip
def test_who_has_buckets(change, uses):
    what = BUCKETS | change
    one, state = made(what["schedule"]), State(synchronous=what["synchronous"])
    one.bound.is_relaxation, one.bound.arguments = what["relaxes"], what["names"]
    on = executor(has_priorities=what["priorities"])
    found = one._buckets(on, on.capabilities, state)
    assert isinstance(found, Buckets) == uses
    limits = np.iinfo(np.int64)
    assert state.thresholds.tolist() == [limits.min if uses else limits.max] * 2  # or one bucket holds everything


def test_values_of_several_fields_have_no_thresholds():
    state = State(kind=np.dtype([("a", np.int64)]))
    assert made(Schedule(AUTO, buckets=False))._buckets(executor(), executor().capabilities, state) is None
    assert state.thresholds["a"].tolist() == [0, 0]


@pytest.mark.parametrize("many", [False, True])
def test_a_bucket_counts_the_edges_of_its_iterations(monkeypatch, many):
    """They follow 30 edges, as one superstep or as two at once, and 7; then no vertex is left for another bucket."""
    asked = []

    def following(self, edges):
        asked.append((self.followed, edges))
        return False

    monkeypatch.setattr(Buckets, "next", following)
    one, way = made(Schedule(AUTO)), PageDecision(PUSH, CPU)
    ints = [np.array(column) for column in ([2, 1], [20, 7], [10, 20], [False, False])]
    steps = Supersteps(ints[0], ints[1], np.zeros(2), ints[2], ints[3], way, way)
    first = result(page(30, 1, 7, supersteps=steps if many else None))
    assert one.run(executor(first, result(page(7)), has_priorities=True), State())
    assert asked == [(37, EDGES)]
    assert one.done.records()[-1].why == "the vertices of the open bucket push"


def test_a_bucket_that_the_executor_has_opened_goes_on(monkeypatch):
    """It began with 20 edges and has followed 9; the next iteration follows 7 more."""
    asked = []
    monkeypatch.setattr(Buckets, "next", lambda self, edges: asked.append((self.step, self.edges, self.followed)))
    first = result(page(30, 1, 7, bucket=OpenBucket(4, 20, 9)))
    assert made(Schedule(AUTO)).run(executor(first, result(page(7)), has_priorities=True), State())
    assert asked == [(4, 20, 16)]


def test_an_iteration_may_have_no_page():
    one = made()
    assert one.run(executor(result(followed=3)), State())
    assert [(row.pages, row.edges) for row in one.done.records()] == [(0, 3)]


@pytest.mark.parametrize(("on_host", "holders", "missing"), [
    (False, ("gpu",), 800), (True, (HOST,), -800), (True, (HOST, "gpu"), 0),
])  # fmt: skip
def test_which_memory_lacks_the_values(on_host, holders, missing):
    state = State()
    state.on_host = on_host
    state.holders.wrote(*holders)
    assert missing_bytes(state, VERTICES) == missing
