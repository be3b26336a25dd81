"""Runs in hub order on a device simulated with NumPy: the same answers, in the user's order, whatever happens."""

import math
import random
from contextlib import suppress
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from garaph_py import events
from garaph_py.dispatch.rates import Rates
from garaph_py.errors import DeviceError
from garaph_py.executor.decision import Decision
from garaph_py.executor.gpu import device, order
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.settings import Settings
from garaph_py.executor.modes import NOTIFY_PULL, PULL
from garaph_py.program import bind
from garaph_py.runtime import runner
from tests.support import twins
from tests.support.late_gpu import LateDriver, arm_when_initialized
from tests.support.numpy_gpu import GRAPH, HUB, Blend, Hops, PlainBlend, failing_once, held_after

from ...support.runs import run_with

WEIGHTED = twins.skewed(3, 9000, 60000, "int32")
WEIGHTS = np.random.default_rng(8).integers(1, 9, 9000)
PROGRAMS = {"values": (Blend(WEIGHTS), WEIGHTED), "plain": (PlainBlend(WEIGHTS), GRAPH)}


@pytest.fixture(params=PROGRAMS)
def case(request, graph_of):
    program, edges = PROGRAMS[request.param]
    return program, graph_of(edges)


def run_on_gpu(program, graph, **how):
    given = {"device": "gpu", "page_edges": 3000, "gpu_order": "hub", "iterations": 6, "sync": True}
    return run_with(program, graph, **{**given, **how})


def on_cpu(program, graph, **how):
    return run_with(program, graph, device="cpu", sync=True, **{"iterations": 6, **how})


def launched(driver, name):
    return sum(kernel == name for kernel, _ in driver.launched)


def opened(program, graph, **settings):
    made = GpuExecutor(bind(program, graph), graph, device.find(), Settings(page_edges=3000, **settings))
    return made, made.initialize(True)


def lists(sources, offsets, values=None):
    """The in-edges of each vertex as sorted pairs of source and value."""
    values = np.zeros(len(sources)) if values is None else values
    return [sorted(zip(sources[a:b].tolist(), values[a:b].tolist(), strict=True)) for a, b in pairwise(offsets)]


@pytest.mark.spread
@pytest.mark.parametrize("graph_directed", [True, False])
def test_each_destination_keeps_its_edges(device_for, graph_of, graph_directed):
    graph = graph_of(WEIGHTED, directed=graph_directed)
    driver = device_for(Blend(WEIGHTS), graph)
    made, _ = opened(Blend(WEIGHTS), graph, order="hub")
    with made:
        hub = made._numbering
        assert not made.shares_pages
        sources, values = (
            driver.array(made._kept.memory.at(f"{name} in hub order"), kind, graph.m)
            for name, kind in (("sources", np.uint32), ("edge values", np.int32))
        )
        found = lists(hub.order.given[sources], hub.ranks.offsets, values)
        given = graph._arrays.in_edges
        expected = lists(given.neighbours, given.offsets, given.values)
        assert [found[position] for position in hub.positions] == expected


def test_the_state_is_in_the_users_order(device_for, case, monkeypatch):
    monkeypatch.setattr("garaph_py.executor.gpu.device_state.REPORT_VERTICES", 1000)
    program, graph = case
    device_for(program, graph)
    states = []
    for name in ("given", "hub"):
        made, state = opened(program, graph, order=name, gather="segmented")
        with made:
            assert made.shares_pages == (name == "given")
            for _ in range(3):
                result = made.step(state, Decision(PULL, "test"))
                state.advance(sum(page.active for page in result.pages), 0, 0)
                copy = made.start_copy()
            states.append((state.values.copy(), state.frontier.bits.copy(), made.report(state).copy()))
            np.testing.assert_array_equal(copy.values, state.values)
            np.testing.assert_array_equal(copy.bits, state.frontier.bits)
            made.load(state)
            again = made.start_copy()
            np.testing.assert_array_equal(again.values, copy.values)
    for given, hub in zip(*states, strict=True):
        np.testing.assert_array_equal(given, hub)


@pytest.mark.spread
@pytest.mark.parametrize("processor", ["gpu", "hybrid"])
def test_the_answer_is_the_cpus(device_for, case, processor):
    program, graph = case
    driver, expected = device_for(program, graph), on_cpu(program, graph)
    result = run_on_gpu(program, graph, device=processor)
    assert result.values.tobytes() == expected.values.tobytes()
    assert [row.active for row in result.stats.iterations] == [row.active for row in expected.stats.iterations]
    assert launched(driver, "reorder_edges") > 0
    assert result.stats.found_bytes == 0
    before = len(driver.launched)
    again = run_on_gpu(program, graph, device=processor)
    assert again.values.tobytes() == expected.values.tobytes()
    assert again.stats.found_bytes > (4 if isinstance(program, PlainBlend) else 8) * graph.m
    assert "reorder_edges" not in {name for name, _ in driver.launched[before:]}
    assert held_after(driver, graph) == 0


def test_what_a_run_orders_anew_it_has_not_found(device_for, case):
    """It finds the edges in the given order, and needs those in hub order."""
    program, graph = case
    device_for(program, graph)
    run_on_gpu(program, graph, gpu_order="given")
    first, second = run_on_gpu(program, graph), run_on_gpu(program, graph)
    assert first.stats.found_bytes == 0 < second.stats.found_bytes


def test_pages_are_never_shared(device_for, case, monkeypatch):
    """Whatever the policy decides: the CPU alone, the GPU alone or both."""
    program, graph = case
    rng = np.random.default_rng(5)
    monkeypatch.setattr(Rates, "cpu_helps", True)
    monkeypatch.setattr(Rates, "ratio", property(lambda self: 1e9 if rng.random() < 0.6 else 1e-9))
    monkeypatch.setattr(Rates, "share", lambda self, waiting: waiting)
    device_for(program, graph)
    expected = on_cpu(program, graph, iterations=20)
    result = run_on_gpu(program, graph, device="hybrid", iterations=20)
    assert result.values.tobytes() == expected.values.tobytes()
    assert {row.device for row in result.stats.iterations} == {"cpu", "gpu"}
    made, state = opened(program, graph, order="hub")
    with made, pytest.raises(ValueError, match="cannot be shared"):
        made.offer(list(made.source.pages), state, PULL, True)


def test_no_page_is_skipped(device_for, case):
    program, graph = case
    device_for(program, graph)
    result = run_on_gpu(program, graph, mode=NOTIFY_PULL)
    assert result.values.tobytes() == on_cpu(program, graph).values.tobytes()
    assert sum(row.pages_skipped for row in result.stats.iterations) == 0


def test_a_program_that_sees_numbers_is_never_renumbered(device_for, graph_of, monkeypatch):
    monkeypatch.setattr(order, "cost", lambda arrays, threads: 0)
    monkeypatch.setattr(order, "LEAST_BYTES", 0)
    monkeypatch.setattr(order, "is_skewed", lambda offsets, pool: True)
    graph = graph_of(GRAPH)
    driver = device_for(Hops(HUB), graph)
    for _ in range(3):
        result = run_on_gpu(Hops(HUB), graph, gpu_order="auto", iterations=None)
    assert launched(driver, "reorder_edges") == 0
    np.testing.assert_array_equal(result.values, on_cpu(Hops(HUB), graph, iterations=None).values)


def test_auto_makes_the_order_once_it_pays(device_for, case, monkeypatch):
    program, graph = case
    monkeypatch.setattr(order, "cost", lambda arrays, threads: 10 * arrays.m)
    monkeypatch.setattr(order, "LEAST_BYTES", 0)
    monkeypatch.setattr(order, "is_skewed", lambda offsets, pool: True)
    driver, expected = device_for(program, graph), on_cpu(program, graph)
    made = []
    for _ in range(4):
        result = run_on_gpu(program, graph, gpu_order="auto")
        assert result.values.tobytes() == expected.values.tobytes()
        made.append(launched(driver, "reorder_edges") > 0)
    assert made == [False, False, True, True]  # after 2 x 6 iterations
    assert sum(row.to_device for row in result.stats.iterations) == 0
    run_on_gpu(program, graph, gpu_order="given")
    assert driver.launched[-1][0] != "collect"


@pytest.mark.full
def test_two_programs_in_turns(device_for, graph_of):
    """With edge values and without; in hub order and in the given one."""
    graph = graph_of(WEIGHTED)
    driver = device_for(Blend(WEIGHTS), graph)
    programs = [PlainBlend(WEIGHTS), Blend(WEIGHTS), PlainBlend(2), Blend(3)]
    expected = [on_cpu(program, graph).values.tobytes() for program in programs]
    for name in ("hub", "given", "hub", "auto"):
        for program, values in zip(programs, expected, strict=True):
            assert run_on_gpu(program, graph, gpu_order=name, gather="segmented").values.tobytes() == values
    kept = driver.held
    run_on_gpu(programs[1], graph)
    assert driver.held == kept
    assert held_after(driver, graph) == 0


@pytest.mark.spread
@pytest.mark.parametrize("share", [0.5, 1.5, 2.5])
def test_with_too_little_memory_the_order_stays(device_for, case, share):
    program, graph = case
    driver, expected = device_for(program, graph), on_cpu(program, graph)
    made, _ = opened(program, graph, gather="segmented")
    with made:
        edges = sum(made.edges.arrays.width * page.edges for page in made.residency.pages)
        memory = int(made.residency.used + (share - 1) * edges)
    graph.release()
    driver.refuses = memory
    result = run_on_gpu(program, graph, gpu_memory=memory, page_edges=None)
    assert result.values.tobytes() == expected.values.tobytes()
    assert (launched(driver, "reorder_edges") > 0) == (share > 2)
    again = run_on_gpu(program, graph, gpu_memory=memory, page_edges=None)
    assert again.values.tobytes() == expected.values.tobytes()


class Stop(Exception):
    pass


def stop(event):
    if isinstance(event, events.Iteration) and event.number == 3:
        raise Stop


def test_a_checkpoint_is_in_the_users_order(device_for, case, tmp_path):
    program, graph = case
    device_for(program, graph)
    expected = on_cpu(program, graph).values.tobytes()
    for first, then in (("hub", "hub"), ("given", "hub"), ("hub", "given")):
        folder = tmp_path / f"{first} {then}"
        with pytest.raises(Stop):
            run_on_gpu(program, graph, gpu_order=first, checkpoint=folder, checkpoint_every=1, on_event=stop)
        result = run_on_gpu(program, graph, gpu_order=then, checkpoint=folder, resume=True, checkpoint_every=1)
        assert result.stats.resumed > 0
        assert result.values.tobytes() == expected


@pytest.mark.slow
@pytest.mark.parametrize("fails_at", [2, 5, 40, 80, 120, 200])
@pytest.mark.parametrize("processor", ["gpu", "hybrid"])
def test_a_lost_gpu_costs_no_answer(device_for, case, monkeypatch, processor, fails_at):
    program, graph = case
    monkeypatch.setattr(runner, "INTERVAL", 0.0)
    monkeypatch.setattr(runner, "SHARE", math.inf)
    expected = on_cpu(program, graph, iterations=15).values.tobytes()
    driver = device_for(program, graph)
    left, works = [10**9], driver.memcpy_dtoh

    def fails(array, place, stream=None):
        left[0] -= 1
        if left[0] < 0:
            raise driver.Error("unspecified launch failure")
        return works(array, place)

    driver.memcpy_dtoh = driver.memcpy_dtoh_async = fails
    left[0] = fails_at
    try:
        result = run_on_gpu(program, graph, device=processor, iterations=15)
    except DeviceError:  # before the first iteration
        assert fails_at < 3
        return
    assert result.values.tobytes() == expected
    left[0] = 10**9
    assert run_on_gpu(program, graph, device=processor, iterations=15).values.tobytes() == expected
    assert held_after(driver, graph) == 0


@pytest.mark.full
@pytest.mark.parametrize("call", ["memcpy_htod", "memcpy_htod_async", "mem_alloc"])
def test_after_a_failure_nothing_wrong_is_found(device_for, case, call):
    program, graph = case
    expected = on_cpu(program, graph).values.tobytes()
    driver = device_for(program, graph)
    left = failing_once(driver, call)
    for number in range(1, 60, 4):
        left[0], driver.next = number, 256
        with suppress(DeviceError):
            assert run_on_gpu(program, graph).values.tobytes() == expected
        left[0] = 0
        assert run_on_gpu(program, graph).values.tobytes() == expected
        assert held_after(driver, graph) == 0


@pytest.mark.full
@pytest.mark.spread
@pytest.mark.parametrize("processor", ["gpu", "hybrid"])
@pytest.mark.parametrize("seed", range(8))
def test_answers_do_not_depend_on_timing_or_failures(device_for, case, monkeypatch, seed, processor):
    program, graph = case
    expected, chance = on_cpu(program, graph, iterations=12).values.tobytes(), random.Random(seed)
    arm_when_initialized(monkeypatch)
    monkeypatch.setattr(device, "_broken", {})
    monkeypatch.setattr(runner, "INTERVAL", 0.0)
    monkeypatch.setattr(runner, "SHARE", math.inf)
    calls = 0
    for fails in (False, True, True, True):
        number = chance.randrange(max(calls, 1)) if fails else None
        driver = device_for(program, graph, partial(LateDriver, rng=chance, fails_at=number))
        result = run_on_gpu(program, graph, device=processor, iterations=12)
        assert result.values.tobytes() == expected
        assert ("launch failure" in (result.stats.note or "")) == driver.failed
        assert held_after(driver, graph) == 0
        calls = driver.calls
