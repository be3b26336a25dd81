"""CPU and GPU on one job: answers do not depend on who took which page, whatever fails on the way."""

import itertools
import os
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import garaph_py as gp
from garaph_py.dispatch import policy as decisions
from garaph_py.dispatch.observation import Observation
from garaph_py.dispatch.policy import POLICIES, decide
from garaph_py.dispatch.rates import LEAST_SECONDS, Rates
from garaph_py.executor import hybrid as together
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.state import State
from garaph_py.graph.vertex_set import VertexSet
from garaph_py.pages.layout import Page
from garaph_py.runtime import run as runtime
from tests.executor.gpu.test_executor import GRAPH, HUB, memory_for
from tests.support import numpy_gpu, twins
from tests.support.numpy_gpu import Hops, Quiet

pytestmark = pytest.mark.usefixtures("cut_small_graphs")

SCHEDULES = int(os.environ.get("GARAPH_SCHEDULES", "10"))
"""Of each program, synchronous and not: 250 make a thousand."""


@pytest.fixture
def always(monkeypatch):
    """Both processors work in every iteration."""
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    monkeypatch.setattr(Rates, "cpu_helps", True)


def run(program, graph, **how):
    given = {"device": "hybrid", "gather": "segmented", "page_edges": 3000, "streams": 3} | how
    return gp.run(program, graph, **given)


@pytest.mark.parametrize("seed", range(SCHEDULES))
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("program", [Hops(HUB), Quiet(HUB)], ids=["total", "quiet"])
@pytest.mark.usefixtures("pending_is_poisoned")
def test_any_schedule_gives_the_same_answer(device_for, graph_of, monkeypatch, program, sync, seed):
    """One processor or both in each iteration, and who takes which page, by chance."""
    graph = graph_of(GRAPH)
    driver = device_for(program, graph)
    memory = memory_for(program, graph, 0.3)
    rng = np.random.default_rng(seed)
    takes = lambda self, waiting: rng.integers(waiting + 1) * (rng.random() < seed % 25 / 24)  # noqa: E731
    monkeypatch.setattr(Rates, "share", takes)
    monkeypatch.setattr(Rates, "cpu_helps", property(lambda self: rng.random() < 0.6))
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9 if rng.random() < 0.7 else 1e-9))
    monkeypatch.setattr(decisions, "PUSH_THRESHOLD", rng.choice([1, decisions.PUSH_THRESHOLD]))
    expected = gp.run(program, graph, device="cpu", sync=True)
    result = run(program, graph, sync=sync, gpu_memory=memory)
    np.testing.assert_array_equal(result.values, expected.values)
    if sync:
        assert [row.active for row in result.stats.iterations] == [row.active for row in expected.stats.iterations]
    assert driver.held == 0
    assert not [thread for thread in threading.enumerate() if thread.name == "garaph-gpu"]


@pytest.fixture
def divided(monkeypatch):
    """In iterations for which the CPU has notified, the GPU pulls pages that chance picks; never all, nor none."""
    rng = np.random.default_rng(5)

    def divide(self, pages, notified, stays, value_bytes):
        assert len(pages) == len(notified) == len([stays(page) for page in pages])
        picked = rng.permutation(len(pages))[: rng.integers(1, max(len(pages), 2))]
        return [pages[k] for k in sorted(picked)]

    monkeypatch.setattr(Rates, "worth_dividing", lambda self, active_edges: True)
    monkeypatch.setattr(Rates, "divide", divide)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e-9))
    monkeypatch.setattr(Rates, "share", lambda self, waiting: int(rng.integers(waiting + 1)))


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("program", [Hops(HUB), Quiet(HUB)], ids=["total", "quiet"])
def test_notified_pages_are_divided(device_for, graph_of, divided, pending_is_poisoned, program, sync):
    graph = graph_of(GRAPH)
    driver = device_for(program, graph)
    expected = gp.run(program, graph, device="cpu", sync=True)
    memory = memory_for(program, graph, 0.3)
    result = run(program, graph, sync=sync, gpu_memory=memory, mode="notify-pull", page_edges=500)
    np.testing.assert_array_equal(result.values, expected.values)
    assert {(row.device, row.mode) for row in result.stats.iterations} == {("both", "notify-pull")}
    assert driver.held == 0


@pytest.mark.parametrize("at", [0, 2, 9, 30])
@pytest.mark.parametrize("sync", [True, False])
def test_divided_pages_of_a_gpu_that_fails(device_for, graph_of, divided, pending_is_poisoned, monkeypatch, sync, at):
    graph, program = graph_of(GRAPH), Quiet(HUB)
    driver = device_for(program, graph)
    memory = memory_for(program, graph, 0.3)
    fail_after(at, driver, monkeypatch)
    result = run(program, graph, sync=sync, gpu_memory=memory, mode="notify-pull", page_edges=500)
    np.testing.assert_array_equal(result.values, gp.run(program, graph, device="cpu", sync=True).values)
    assert "launch failure" in result.stats.note


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("helps", [True, False])
@pytest.mark.parametrize("until", [21, 30])
def test_the_cpu_goes_on_where_the_gpu_stopped(device_for, graph_of, monkeypatch, sync, helps, until):
    """Down a tree, whose vertices are reached by one edge each: what the CPU knew of its last superstep is no use."""
    n, children = 6000, np.arange(1, 6000)
    parents = np.maximum(children - np.random.default_rng(1).integers(1, 40, n - 1), 0)
    graph, program, turns = graph_of(twins.Edges(n, parents, children)), Quiet(0), itertools.count()
    device_for(program, graph)
    monkeypatch.setattr(Rates, "cpu_helps", helps)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9 if 20 <= next(turns) < until else 1e-9))
    result = run(program, graph, sync=sync, page_edges=1000, threads=2)
    np.testing.assert_array_equal(result.values, gp.run(program, graph, device="cpu", sync=True).values)
    devices = [row.device for row in result.stats.iterations]
    assert devices == [
        "both" if helps and 20 <= k < until else "gpu" if 20 <= k < until else "cpu" for k in range(len(devices))
    ]


def test_values_of_the_cpu_have_left_before_they_change_again(device_for, graph_of, monkeypatch):
    """Copies to the GPU happen as late as may be: when somebody waits for them, or before the next kernel."""
    rng, n, late = np.random.default_rng(3), 6000, []
    path = rng.permutation(n)
    graph, program = graph_of(twins.Edges(n, path[:-1], path[1:])), Quiet(int(path[0]))
    driver = device_for(program, graph)
    monkeypatch.setattr(Rates, "share", lambda self, waiting: int(0.9 * waiting))
    monkeypatch.setattr(Rates, "cpu_helps", True)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    call = numpy_gpu.FakeFunction.prepared_async_call

    def arrive():
        while late:
            driver.memcpy_htod(*late.pop(0))

    def receive(self, pages, state):
        self.streams.forth.synchronize = arrive
        for page in pages:
            new = state.next_values[page.first_vertex : page.last_vertex]
            late.append((self.address("pending") + page.first_vertex * new.itemsize, new.view(np.uint8)))

    def launch(self, *arguments, **options):
        if late:
            time.sleep(0.03)  # by then the CPU is at work on the next superstep
            arrive()
        call(self, *arguments, **options)

    monkeypatch.setattr(GpuExecutor, "receive", receive)
    monkeypatch.setattr(numpy_gpu.FakeFunction, "prepared_async_call", launch)
    how = {"sync": True, "iterations": 40}
    result = run(program, graph, gpu_memory=memory_for(program, graph, 0.5), page_edges=1000, **how)
    np.testing.assert_array_equal(result.values, gp.run(program, graph, device="cpu", **how).values)
    assert {row.device for row in result.stats.iterations} == {"both"}


class InTurns(Quiet):
    """Pushes, and lets vertices far away wait for their turn where one processor works."""

    monotone = True

    def priority(self, value):
        return value


@pytest.mark.parametrize("ratio", [1e-9, 3.0, 1e9])
@pytest.mark.parametrize("sync", [True, False])
def test_nobody_waits_for_a_turn(device_for, graph_of, monkeypatch, ratio, sync):
    graph, program = graph_of(GRAPH), InTurns(HUB)
    device_for(program, graph)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: ratio))
    expected = gp.run(program, graph, device="cpu")
    result = run(program, graph, sync=sync, gpu_memory=memory_for(program, graph, 0.3))
    np.testing.assert_array_equal(result.values, expected.values)


@pytest.mark.parametrize("engine", ["auto", "garaph"])
@pytest.mark.parametrize("share", [0.2, 2])
def test_alpha_decides_who_works(device_for, graph_of, monkeypatch, engine, share):
    graph, program = graph_of(GRAPH), Quiet(HUB)
    device_for(program, graph)
    memory = memory_for(program, graph, share)
    expected = gp.run(program, graph, device="cpu", sync=True)
    for ratio in (1e-9, 3.0):
        monkeypatch.setattr(Rates, "ratio", property(lambda self, ratio=ratio: ratio))
        result = run(program, graph, engine=engine, sync=True, gpu_memory=memory)
        np.testing.assert_array_equal(result.values, expected.values)
        devices = {row.device for row in result.stats.iterations}
        assert devices == {"cpu"} if ratio < 1 else ("both" if engine == "garaph" else "gpu") in devices


@pytest.mark.parametrize(("worth", "how", "expected"), [
    (0, {}, {"gpu"}), (1 << 40, {}, {"cpu"}), (0, {"mode": "notify-pull"}, {"gpu"}), (0, {"mode": "push"}, {"cpu"}),
])  # fmt: skip
def test_auto_takes_both_where_there_is_a_gpu(device_for, graph_of, monkeypatch, worth, how, expected):
    graph, program = graph_of(GRAPH), Quiet(HUB)
    device_for(program, graph)
    monkeypatch.setattr(runtime, "WORTH_A_GPU", worth)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    result = run(program, graph, device="auto", **how)
    assert {row.device for row in result.stats.iterations} == expected
    assert (result.stats.iterations[0].alpha is not None) == (worth == 0 and not how)
    monkeypatch.setattr(runtime, "find_device", None)  # nobody asks for one that would not be used
    if worth or how.get("mode") == "push":
        run(program, graph, device="auto", **how)


def fail_after(copies, driver, monkeypatch, name="memcpy_htod_async"):
    """The GPU does so many copies to it, or others, once iterations have begun."""
    copy, left = getattr(driver, name), itertools.count(copies, -1)

    def fails(*arguments):
        if next(left) <= 0:
            raise driver.Error("cuMemcpyAsync failed: unspecified launch failure")
        copy(*arguments)

    numpy_gpu.when_iterations_begin(monkeypatch, lambda: setattr(driver, name, fails))


@pytest.mark.parametrize("at", [0, 3, 8, 20])
@pytest.mark.parametrize("sync", [True, False])
def test_a_gpu_that_fails_leaves_the_pages_to_the_cpu(device_for, graph_of, always, monkeypatch, sync, at):
    graph, program = graph_of(GRAPH), Hops(HUB)
    driver = device_for(program, graph)
    memory = memory_for(program, graph, 0.3)
    fail_after(at, driver, monkeypatch)
    expected = gp.run(program, graph, device="cpu", sync=True)
    result = run(program, graph, sync=sync, gpu_memory=memory)
    np.testing.assert_array_equal(result.values, expected.values)
    assert "launch failure" in result.stats.note
    assert result.stats.iterations[-1].device == "cpu"


@pytest.mark.parametrize("at", range(12))
@pytest.mark.parametrize("helps", [True, False])
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.usefixtures("pending_is_poisoned")
def test_values_of_a_page_come_and_no_more(device_for, graph_of, always, monkeypatch, sync, helps, at):
    """A GPU that fails between a page's values and who was activated: along a path, where one vertex is at a time."""
    path = np.random.default_rng(3).permutation(600)
    graph, program = graph_of(twins.Edges(600, path[:-1], path[1:])), Quiet(int(path[0]))
    driver = device_for(program, graph)
    monkeypatch.setattr(Rates, "cpu_helps", helps)
    fail_after(at, driver, monkeypatch, "memcpy_dtoh_async")
    result = run(program, graph, sync=sync, page_edges=200)
    np.testing.assert_array_equal(result.values, gp.run(program, graph, device="cpu", sync=True).values)
    assert "launch failure" in result.stats.note


def test_an_interrupt_leaves_nothing_behind(device_for, graph_of, always, monkeypatch):
    graph, program = graph_of(GRAPH), Hops(HUB)
    driver = device_for(program, graph)
    memory = memory_for(program, graph, 0.3)

    def interrupted(self, shared, own, state, mode):
        raise KeyboardInterrupt

    monkeypatch.setattr(together.HybridExecutor, "_take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(program, graph, gpu_memory=memory)
    assert driver.held == 0
    assert not [thread for thread in threading.enumerate() if thread.name == "garaph-gpu"]


def observation(**what):
    return Observation(**({"vertices": 100, "edges": 1000, "active": 10, "active_edges": 100} | what))


@pytest.mark.parametrize(("what", "alpha"), [
    ({"ratio": 4.0}, 0.8), ({"ratio": 10.0}, 2.0), ({"ratio": 10.0, "active_edges": 900}, 10.0),
    ({"ratio": 4.0, "vertex": 3.0}, 1.04),
    ({"ratio": 4.0, "k": 10.0}, 4.0), ({"ratio": 4.0, "start": 0.5}, 2.8), ({"ratio": 10.0, "sparse": 0.5}, 0.5),
    ({"ratio": 3.0, "updates_all_vertices": True}, 3.0), ({"ratio": 4.0, "forced_mode": "pull"}, 4.0),
    ({"ratio": 4.0, "engine": "auto"}, 4.0), ({"ratio": 4.0, "engine": "auto", "active_edges": 10}, 0.08),
    ({"ratio": 4.0, "engine": "auto", "active_edges": 60, "is_relaxation": True}, 0.48),
])  # fmt: skip
def test_alpha_is_equation_3(what, alpha):
    policy = POLICIES[what.pop("engine", "garaph")]
    seen = observation(**what)
    decision = decide(seen, policy)
    assert decision.alpha == pytest.approx(alpha)
    assert decision.device == ("both" if alpha >= 1 else "cpu")
    alone = decide(replace(seen, cpu_helps=False), policy)
    assert (alone.device, alone.mode) == (("gpu", "pull") if alpha >= 1 else ("cpu", decision.mode))


def test_one_processor_has_no_alpha():
    policy = POLICIES["garaph"]
    assert decide(observation(), policy).alpha is None
    assert decide(observation(), policy).device == "cpu"
    assert decide(observation(device="gpu"), policy).device == "gpu"


def test_rates_follow_what_was_measured():
    rates = Rates.expected(4, 10**9, 10**8, 4.0, False)
    for _ in range(90):
        rates = rates.measured(10**9, 1.0, gpu_edges=10**10, gpu_seconds=1.0, copied_edges=3 * 10**7)
        rates = rates.alone(10**3, 1e-5).alone(5 * 10**8, 1.00001)
    assert rates.ratio == pytest.approx(10)
    assert rates.seen["start"] == pytest.approx(1e-5)
    assert rates.sparse == pytest.approx(2)
    share = rates.share(1030000000)
    assert share == pytest.approx(1e9, rel=1e-6)  # 1000 of 1030 million edges a second
    assert rates.share(int(1.02e9 * LEAST_SECONDS)) == 0
    assert rates.measured(gpu_edges=5, gpu_seconds=1.0, copied_edges=10**9).gpu == rates.gpu
    assert rates.alone(10**9, 1.0).alone(10**3, 9.0).seen["start"] == rates.seen["start"]
    assert rates.measured() == rates
    first = Rates.expected(4, 10**9, 10**8, 4.0, False).alone(1 << 14, 1.0)
    dear = first.alone(1 << 14, 1e-4 + 6 * 2**14 / first.cpu)
    assert (first.sparse, dear.sparse) == (2.0, pytest.approx(4.0))
    assert dear.alone(1 << 14, 1.0).sparse == pytest.approx(10.0)  # somebody was held up
    assert dear.alone((1 << 14) - 1, 1.0).sparse == dear.sparse
    assert Rates.expected(4, 0, 0, 4.0, False).ratio > 0


def test_the_cpu_takes_pages_only_where_that_helps():
    rates = Rates(100, 50, 2.0, 10.0, 10.0)  # five seconds of copies
    assert rates.cpu_helps
    assert not rates._replace(cpu=1.0).cpu_helps  # a tenth is less than it takes from the copies
    assert not rates._replace(streamed=0).cpu_helps
    assert not rates._replace(cpu=2e3, copied=1e4).cpu_helps  # eight tenths of a millisecond


def test_the_first_measurement_counts_as_it_is():
    """A guess of the CPU that is too high would hand it more than it can do while the GPU does the rest."""
    rates = Rates.expected(16, 10**9, 10**9, 4.0, False)
    assert not rates.cpu_known
    assert rates.share(10**9) == pytest.approx(2e-3 * rates.cpu, abs=1)
    known = rates.measured(cpu_edges=10**6, cpu_seconds=1e-3)
    assert known.cpu == 10**9
    assert known.share(10**9) == pytest.approx(2e-3 * known.cpu, abs=1)
    assert known.measured(gpu_edges=1, gpu_seconds=1.0, copied_edges=10**9 + 1) == known  # what stays came, too
    copied = known.measured(gpu_edges=10**8, gpu_seconds=1e-2, copied_edges=10**8)
    assert copied.share(10**9) > 5 * 10**7
    assert known.measured(cpu_edges=3 * 10**6, cpu_seconds=1e-3).cpu == 2 * 10**9
    assert not rates.measured(gpu_edges=10**6, gpu_seconds=1.0).cpu_known


def pages_of(*edges):
    ends = np.cumsum(edges).tolist()
    return [Page(k, k, k + 1, end - own, end) for k, (own, end) in enumerate(zip(edges, ends, strict=True))]


def test_pages_are_divided_by_what_they_cost():
    million = 10**6
    rates = Rates(400 * million, 300 * million, 1e9, 2e10, 1e10)
    pages = pages_of(100 * million, 100 * million, 100 * million, 100 * million)
    stays = lambda page: page.number == 0  # noqa: E731

    def given(*notified, rates=rates, values=0):
        return [page.number for page in rates.divide(pages, [n * million for n in notified], stays, values)]

    assert given(1, 1, 1, 1) == []  # the GPU would have to begin
    assert given(20, 1, 1, 1) == [0]  # it stays
    assert given(20, 1, 60, 1) == [0, 2]  # dense
    assert given(90, 90, 90, 90) == [0, 1, 2, 3]
    assert given(20, 1, 1, 1, values=10**9) == []
    assert given(20, 1, 60, 1, rates=rates.gathered(9 * million, 1e-3)) == [0]  # a fast CPU
    assert rates.divide([], [], stays, 0) == []
    assert rates.gathered(20, 3e-4) == rates  # so few say how long a job takes to begin
    assert rates.worth_dividing(million)
    assert not rates.worth_dividing(1000)
    assert not rates._replace(reactive=True).worth_dividing(million)


@given(st.lists(st.tuples(st.integers(0, 10**8), st.integers(0, 10**8)), max_size=30), st.integers(0, 30))
def test_no_division_ends_later_than_the_cpu_alone(loads, resident):
    rates = Rates(10**9, 10**8, 1e9, 5e9, 5e9)
    pages = pages_of(*(max(pair) for pair in loads)) if loads else []
    notified = [min(pair) for pair in loads]
    theirs = set(rates.divide(pages, notified, lambda page: page.number < resident, 0))
    alone = sum(n for page, n in zip(pages, notified, strict=True) if page not in theirs) / rates.cpu
    assert alone <= sum(notified) / rates.cpu
    assert all(notified[page.number] for page in theirs)


@given(st.integers(0, 10**12), st.floats(1e6, 1e11), st.floats(1e6, 1e11))
def test_a_share_ends_with_the_rest(waiting, cpu, copied):
    rates = Rates(waiting, waiting, cpu, 1.0, copied)
    share = rates.share(waiting)
    assert 0 <= share <= waiting
    assert share / cpu <= (waiting - share) / copied * (1 + 1e-9) + 1e-9


def test_who_takes_which_page_is_not_deterministic(graph_of):
    with pytest.raises(gp.errors.ParameterError, match="leave device='hybrid' out"):
        gp.run(gp.apps.PageRank(), graph_of(GRAPH), device="hybrid", deterministic=True)


def test_values_of_several_fields_have_no_turns():
    kind = np.dtype([("rank", np.float32), ("delta", np.float32)])
    given = State.empty(np.zeros(9, kind), np.zeros(9, kind), False, VertexSet.empty(9))
    cpu = SimpleNamespace(is_relaxation=False)
    state = together.HybridExecutor(None, None, cpu, [SimpleNamespace()]).start(given)
    assert state.next_values is state.values
