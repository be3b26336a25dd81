"""CPU and GPU in one run: answers do not depend on who took which page, or on what failed."""

import itertools
import os
import threading
import time
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch import policy as decisions
from garaph_py.dispatch.rates import Rates
from garaph_py.executor import hybrid as together
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.state import State
from garaph_py.graph.vertex_set import VertexSet
from garaph_py.runtime import plan
from tests.support import numpy_gpu, twins
from tests.support.numpy_gpu import GRAPH, HUB, Hops, Quiet, held_after, memory_for
from tests.support.verdicts import auto_takes

from ..support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs")

counts = pytest.mark.parametrize("count", [1, 2, 5])

SCHEDULES = int(os.environ.get("GARAPH_SCHEDULES", "10"))
"""Of each program, synchronous and not: 250 make a thousand."""


@pytest.fixture
def always(all_work, gpu_keeps_up):
    """Host and all GPUs work in every iteration."""


def name_of(count):
    """What a result calls so many GPUs."""
    return "NumPy" if count == 1 else f"{count} x NumPy"


def run(program, graph, **how):
    given = {"device": "hybrid", "gather": "segmented", "page_edges": 3000, "streams": 3} | how
    return run_with(program, graph, **given)


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("seed", range(SCHEDULES))
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("program", [Hops(HUB), Quiet(HUB)], ids=["total", "quiet"])
@counts
@pytest.mark.usefixtures("pending_is_poisoned", "all_work")
def test_any_schedule_gives_the_same_answer(devices_for, graph_of, monkeypatch, count, program, sync, seed):  # wide
    """Chance decides which processors work in each iteration, and which of them takes which page."""
    graph = graph_of(GRAPH)
    drivers = devices_for(program, graph, count)
    memory = memory_for(program, graph, 0.3)
    rng = np.random.default_rng(seed)
    takes = lambda self, waiting: rng.integers(waiting + 1) * (rng.random() < seed % 25 / 24)  # noqa: E731
    monkeypatch.setattr(Rates, "share", takes)
    monkeypatch.setattr(Rates, "cpu_helps", property(lambda self: rng.random() < 0.6))
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9 if rng.random() < 0.7 else 1e-9))
    monkeypatch.setattr(decisions, "PUSH_THRESHOLD", rng.choice([1, decisions.PUSH_THRESHOLD]))
    expected = run_with(program, graph, device="cpu", sync=True)
    result = run(program, graph, gpus=count, sync=sync, gpu_memory=memory)
    np.testing.assert_array_equal(result.values, expected.values)
    if sync:
        assert [row.active for row in result.stats.iterations] == [row.active for row in expected.stats.iterations]
    assert result.stats.device == name_of(count)
    assert [held_after(driver, graph) for driver in drivers] == [0] * count
    assert not [thread for thread in threading.enumerate() if thread.name == "garaph-gpu"]


@pytest.fixture
def divided(monkeypatch):
    """In iterations for which the CPU has notified, the GPU pulls random pages: at least one, but not all."""
    rng = np.random.default_rng(5)

    def divide(self, pages, notified, stays, value_bytes):
        assert len(pages) == len(notified) == len([stays(page) for page in pages])
        picked = rng.permutation(len(pages))[: rng.integers(1, max(len(pages), 2))]
        return [pages[k] for k in sorted(picked)]

    monkeypatch.setattr(Rates, "worth_dividing", lambda self, active_edges: True)
    monkeypatch.setattr(Rates, "divide", divide)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e-9))
    monkeypatch.setattr(Rates, "share", lambda self, waiting: int(rng.integers(waiting + 1)))


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("program", [Hops(HUB), Quiet(HUB)], ids=["total", "quiet"])
@counts
@pytest.mark.usefixtures("pending_is_poisoned", "all_work")
def test_notified_pages_are_divided(devices_for, graph_of, divided, count, program, sync):  # wide
    graph = graph_of(GRAPH)
    drivers = devices_for(program, graph, count)
    expected = run_with(program, graph, device="cpu", sync=True)
    memory = memory_for(program, graph, 0.3)
    result = run(program, graph, gpus=count, sync=sync, gpu_memory=memory, mode="notify-pull", page_edges=500)
    np.testing.assert_array_equal(result.values, expected.values)
    assert {(row.device, row.mode) for row in result.stats.iterations} == {("both", "notify-pull")}
    assert result.stats.device == name_of(count)
    assert [held_after(driver, graph) for driver in drivers] == [0] * count


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("at", [0, 2, 9, 30])
@pytest.mark.parametrize("sync", [True, False])
@counts
@pytest.mark.usefixtures("pending_is_poisoned", "all_work")
def test_divided_pages_of_a_gpu_that_fails(devices_for, graph_of, divided, monkeypatch, count, sync, at):  # wide
    graph, program = graph_of(GRAPH), Quiet(HUB)
    *_, driver = devices_for(program, graph, count)
    memory = memory_for(program, graph, 0.3)
    fail_after(at // count, driver, monkeypatch)
    result = run(program, graph, gpus=count, sync=sync, gpu_memory=memory, mode="notify-pull", page_edges=500)
    np.testing.assert_array_equal(result.values, run_with(program, graph, device="cpu", sync=True).values)
    assert "launch failure" in result.stats.note


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("helps", [True, False])
@pytest.mark.parametrize("until", [21, 30])
@counts
@pytest.mark.usefixtures("all_gpus")
def test_the_cpu_goes_on_where_the_gpu_stopped(devices_for, graph_of, monkeypatch, count, sync, helps, until):  # wide
    """One edge of a tree reaches each vertex: what the CPU kept of its last iteration must not be used."""
    n, children = 6000, np.arange(1, 6000)
    parents = np.maximum(children - np.random.default_rng(1).integers(1, 40, n - 1), 0)
    graph, program, turns = graph_of(twins.Edges(n, parents, children)), Quiet(0), itertools.count()
    devices_for(program, graph, count)
    for module in "executor", "placement":  # several iterations at once
        monkeypatch.setattr(f"garaph_py.executor.gpu.{module}.can_push", lambda *_: False)
    monkeypatch.setattr(Rates, "cpu_helps", helps)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9 if 20 <= next(turns) < until else 1e-9))
    result = run(program, graph, gpus=count, sync=sync, page_edges=1000, threads=2)
    np.testing.assert_array_equal(result.values, run_with(program, graph, device="cpu", sync=True).values)
    devices = [row.device for row in result.stats.iterations]
    assert devices == [
        "both" if helps and 20 <= k < until else "gpu" if 20 <= k < until else "cpu" for k in range(len(devices))
    ]


@pytest.mark.slow
@counts
@pytest.mark.usefixtures("all_work")
def test_values_of_the_cpu_have_left_before_they_change_again(devices_for, graph_of, monkeypatch, count):
    """Copies to the GPU are as late as allowed: when a thread waits for them, or before the next kernel."""
    rng, n = np.random.default_rng(3), 6000
    path = rng.permutation(n)
    graph, program = graph_of(twins.Edges(n, path[:-1], path[1:])), Quiet(int(path[0]))
    late = {driver: [] for driver in devices_for(program, graph, count)}
    monkeypatch.setattr(Rates, "share", lambda self, waiting: int(0.9 * waiting))
    call = numpy_gpu.FakeFunction.prepared_async_call

    def arrive(driver):
        while late[driver]:
            driver.memcpy_htod(*late[driver].pop(0))

    def receive(self, pages, state):
        driver = self.device.driver
        self.streams.forth.synchronize = partial(arrive, driver)
        for page in pages:
            new = state.next_values[page.first_vertex : page.last_vertex]
            late[driver].append((self.address("next_values") + page.first_vertex * new.itemsize, new.view(np.uint8)))

    def launch(self, *arguments, **options):
        if late[self.driver]:
            time.sleep(0.03)  # by then the CPU is at work on the next superstep
            arrive(self.driver)
        call(self, *arguments, **options)

    monkeypatch.setattr(GpuExecutor, "receive", receive)
    monkeypatch.setattr(numpy_gpu.FakeFunction, "prepared_async_call", launch)
    how = {"sync": True, "iterations": 40}
    result = run(program, graph, gpus=count, gpu_memory=memory_for(program, graph, 0.5), page_edges=1000, **how)
    np.testing.assert_array_equal(result.values, run_with(program, graph, device="cpu", **how).values)
    assert {row.device for row in result.stats.iterations} == {"both"}


class InTurns(Quiet):
    """It pushes, and distant vertices wait in buckets if only one processor works."""

    monotone = True

    def priority(self, value):
        return value


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("ratio", [1e-9, 3.0, 1e9])
@pytest.mark.parametrize("sync", [True, False])
@counts
@pytest.mark.usefixtures("all_gpus")
def test_a_program_with_a_priority_in_a_hybrid_run(devices_for, graph_of, monkeypatch, count, ratio, sync):
    graph, program = graph_of(GRAPH), InTurns(HUB)
    devices_for(program, graph, count)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: ratio))
    expected = gp.run(program, graph, device="cpu")
    result = run(program, graph, gpus=count, sync=sync, gpu_memory=memory_for(program, graph, 0.3))
    np.testing.assert_array_equal(result.values, expected.values)


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("engine", ["auto", "garaph", "garaph:every_edge=no"])
@pytest.mark.parametrize("share", [0.2, 2])
@counts
@pytest.mark.usefixtures("all_gpus")
def test_alpha_decides_who_works(devices_for, graph_of, monkeypatch, count, engine, share):
    graph, program = graph_of(GRAPH), Quiet(HUB)
    devices_for(program, graph, count)
    memory = memory_for(program, graph, share)
    expected = run_with(program, graph, device="cpu", sync=True)
    for ratio in (1e-9, 3.0):
        monkeypatch.setattr(Rates, "ratio", property(lambda self, ratio=ratio: ratio))
        result = run(program, graph, gpus=count, engine=engine, sync=True, gpu_memory=memory)
        np.testing.assert_array_equal(result.values, expected.values)
        devices = {row.device for row in result.stats.iterations}
        assert devices == {"cpu"} if ratio < 1 else ("gpu" if engine == "auto" else "both") in devices


DENSE = twins.skewed(3, 3000, 60000)
"""A search in supersteps has an f of more than 1/2 in some of them, and of less in others."""


@pytest.mark.spread
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize(
    ("dual", "program"),
    [
        (True, Quiet),
        (False, Quiet),
        (True, Hops),
    ],
    ids=["notifies", "does not", "total"],
)
@counts
@pytest.mark.usefixtures("pending_is_poisoned", "always")
def test_beside_the_gpu_the_cpu_notifies(devices_for, graph_of, count, dual, program, sync):
    """Of Garaph's engine, while f is small: the GPU pulls its pages, and the CPU gathers for whom it has notified."""
    graph, search = graph_of(DENSE), program(int(DENSE.out_degrees.argmax()))
    drivers = devices_for(search, graph, count)
    expected = run_with(search, graph, device="cpu", sync=True)
    engine, memory = f"garaph:dual={'yes' if dual else 'no'}", memory_for(search, graph, 0.3)
    result = run(search, graph, gpus=count, engine=engine, sync=sync, gpu_memory=memory, page_edges=500)
    np.testing.assert_array_equal(result.values, expected.values)
    rows = result.stats.iterations
    assert {row.device for row in rows} == {"both"}
    may = dual and program is Quiet  # a total needs every vertex
    assert [row.mode for row in rows] == ["notify-pull" if may and row.f <= 0.5 else "pull" for row in rows]
    ways = {(group.device, group.mode) for row in rows for group in row.groups if row.mode == "notify-pull"}
    assert ways <= {("cpu", "notify-pull"), ("gpu", "pull")}
    assert (("gpu", "pull") in ways) == may
    if sync:
        assert {row.f <= 0.5 for row in rows} == {True, False}
        assert [row.active for row in rows] == [row.active for row in expected.stats.iterations]
    assert [held_after(driver, graph) for driver in drivers] == [0] * count


@pytest.mark.spread
@pytest.mark.parametrize("sync", [True, False])
@counts
@pytest.mark.usefixtures("always")
def test_both_over_pages_none_of_which_stays(devices_for, graph_of, count, sync):
    graph, program = graph_of(GRAPH), Quiet(HUB)
    drivers = devices_for(program, graph, count)
    memory = memory_for(program, graph, 0.9 / count)
    expected = run_with(program, graph, device="cpu", sync=True)
    result = run(program, graph, gpus=count, engine="garaph", sync=sync, gpu_memory=memory, page_edges=2000)
    np.testing.assert_array_equal(result.values, expected.values)
    rows = result.stats.iterations
    copied = [sum(group.edges for group in row.groups if group.device == "gpu") for row in rows]
    assert [row.to_device for row in rows] == [4 * edges for edges in copied]
    assert sum(copied) > 0
    assert [held_after(driver, graph) for driver in drivers] == [0] * count


@pytest.mark.spread
@pytest.mark.parametrize(("count", "at"), [(1, 0), (1, 3), (1, 9), (2, 0), (5, 0)])
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.usefixtures("always")
def test_a_gpu_that_fails_beside_a_cpu_that_notifies(devices_for, graph_of, monkeypatch, count, sync, at):
    """The last of several fails at its first copy: it depends on timing how many it makes."""
    graph, program = graph_of(GRAPH), Quiet(HUB)
    *_, driver = devices_for(program, graph, count)
    memory = memory_for(program, graph, 0.1)
    fail_after(at, driver, monkeypatch)
    result = run(program, graph, gpus=count, engine="garaph", sync=sync, gpu_memory=memory, page_edges=500)
    np.testing.assert_array_equal(result.values, run_with(program, graph, device="cpu", sync=True).values)
    assert "launch failure" in result.stats.note


@pytest.mark.slow
@pytest.mark.parametrize(("worth", "how", "expected", "both"), [
    (True, {"iterations": 50}, {"gpu"}, True),  # each superstep is a launch
    (True, {}, {"gpu"}, False),
    (False, {}, {"cpu"}, False),
    (True, {"mode": "notify-pull"}, {"gpu"}, False),
    (True, {"mode": "push"}, {"cpu"}, False),
])  # fmt: skip
def test_auto_takes_both_where_the_cpu_may_help(device_for, graph_of, monkeypatch, worth, how, expected, both):
    """Of one GPU; how many a run takes is tested with `runtime.several`."""
    graph, program = graph_of(GRAPH), Quiet(HUB)
    device_for(program, graph)
    auto_takes(monkeypatch, worth)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9))
    result = run(program, graph, device="auto", **how)
    assert {row.device for row in result.stats.iterations} == expected
    assert (result.stats.iterations[0].alpha is not None) == both
    monkeypatch.setattr("garaph_py.executor.gpu.device.find", None)  # nobody asks for one that would not be used
    if not worth or how.get("mode") == "push":
        run(program, graph, device="auto", **how)


def fail_after(copies, driver, monkeypatch, name="memcpy_htod_async"):
    """The GPU fails after so many copies of the given kind, counted from the start of the iterations. Each of several
    GPUs makes fewer than one."""
    copy, left = getattr(driver, name), itertools.count(copies, -1)

    def fails(*arguments):
        if next(left) <= 0:
            raise driver.Error("cuMemcpyAsync failed: unspecified launch failure")
        copy(*arguments)

    numpy_gpu.when_iterations_begin(monkeypatch, lambda: setattr(driver, name, fails))


@pytest.mark.spread
@pytest.mark.parametrize("at", [0, 3, 8, 20])
@pytest.mark.parametrize("sync", [True, False])
@counts
@pytest.mark.usefixtures("always")
def test_a_gpu_that_fails_leaves_the_pages_to_the_cpu(devices_for, graph_of, monkeypatch, count, sync, at):
    graph, program = graph_of(GRAPH), Hops(HUB)
    *_, driver = devices_for(program, graph, count)
    memory = memory_for(program, graph, 0.15) - (0 if sync else 8 * graph.n)  # then there is one array of values
    fail_after(at // count, driver, monkeypatch)
    expected = run_with(program, graph, device="cpu", sync=True)
    result = run(program, graph, gpus=count, sync=sync, gpu_memory=memory)
    np.testing.assert_array_equal(result.values, expected.values)
    assert "launch failure" in result.stats.note
    assert result.stats.device == ("cpu" if count == 1 else name_of(count - 1))
    assert ("the CPU goes on alone" in result.stats.note) == (count == 1)
    assert count > 1 or result.stats.iterations[-1].device == "cpu"


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize(("count", "at"), [*((1, at) for at in range(12)), (2, 0), (2, 1), (5, 1)])
@pytest.mark.parametrize("helps", [True, False])
@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.usefixtures("pending_is_poisoned", "always")
def test_a_gpu_fails_between_values_and_bits_of_a_page(  # wide
    devices_for, graph_of, monkeypatch, count, at, sync, helps
):
    """The GPU fails after a page's values were copied, and before its frontier was; one vertex is active at a time."""
    path = np.random.default_rng(3).permutation(600)
    graph, program = graph_of(twins.Edges(600, path[:-1], path[1:])), Quiet(int(path[0]))
    driver, *_ = devices_for(program, graph, count)
    monkeypatch.setattr("garaph_py.executor.gpu.executor.can_push", lambda *_: False)  # it would copy at the end only
    monkeypatch.setattr(Rates, "cpu_helps", helps)
    fail_after(at, driver, monkeypatch, "memcpy_dtoh_async" if helps else "memcpy_dtoh")
    result = run(program, graph, gpus=count, sync=sync, page_edges=200)
    np.testing.assert_array_equal(result.values, run_with(program, graph, device="cpu", sync=True).values)
    assert "launch failure" in result.stats.note


@counts
@pytest.mark.usefixtures("always")
def test_an_interrupt_leaves_nothing_behind(devices_for, graph_of, monkeypatch, count):
    graph, program = graph_of(GRAPH), Hops(HUB)
    drivers = devices_for(program, graph, count)
    memory = memory_for(program, graph, 0.3)

    def interrupted(self, shared, own, source, state, mode):
        raise KeyboardInterrupt

    monkeypatch.setattr(together.HybridExecutor, "_take", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(program, graph, gpus=count, gpu_memory=memory)
    assert [held_after(driver, graph) for driver in drivers] == [0] * count
    assert not [thread for thread in threading.enumerate() if thread.name == "garaph-gpu"]


def test_deterministic_hybrid_runs_are_refused(graph_of):
    with pytest.raises(gp.errors.ParameterError, match="leave device='hybrid' out"):
        run_with(gp.apps.PageRank(), graph_of(GRAPH), device="hybrid", deterministic=True)


def test_asynchronous_values_of_several_fields_are_in_one_array():
    kind = np.dtype([("rank", np.float32), ("delta", np.float32)])
    given = State.empty(9, np.zeros(9, kind), np.zeros(9, kind), False, VertexSet.empty(9))
    cpu = SimpleNamespace(is_relaxation=False)
    state = together.HybridExecutor(SimpleNamespace(n=9), cpu, [SimpleNamespace()]).start(given)
    assert state.next_values is state.values


@pytest.mark.spread
@pytest.mark.parametrize("may_push", [True, False])
@counts
@pytest.mark.usefixtures("all_gpus")
def test_the_host_pushes_only_if_the_plan_says_so(devices_for, graph_of, monkeypatch, count, may_push):
    graph = graph_of(GRAPH)
    drivers = devices_for(Quiet(HUB), graph, count)
    monkeypatch.setattr(plan, "may_push", lambda *_: may_push)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e-9))
    result = run(Quiet(HUB), graph, gpus=count)
    assert ("push" in [row.mode for row in result.stats.iterations]) == may_push
    np.testing.assert_array_equal(result.values, run_with(Quiet(HUB), graph, device="cpu", sync=True).values)
    assert [held_after(driver, graph) for driver in drivers] == [0] * count
