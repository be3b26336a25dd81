"""Pushes on several GPUs: the same answers, values and counts as on one, whatever the timing, whichever fails."""

import itertools
import random

import numpy as np
import pytest

from garaph_py.dispatch import policy
from garaph_py.executor.gpu import exchange, memory_plan
from garaph_py.executor.gpu.multi_gpu import MultiGpuExecutor
from tests.support.late_gpu import arm_when_initialized
from tests.support.numpy_gpu import GRAPH, HUB, Eager, Lengths, Quiet
from tests.support.several_gpus import commit_and_compare, late, runs_with_a_failure

from ...support.runs import run_with

pytestmark = pytest.mark.usefixtures("cut_small_graphs", "all_work")

ways = pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])
processors = pytest.mark.parametrize("processor", ["gpu", "hybrid"])


@pytest.fixture(autouse=True)
def compared(monkeypatch):
    """After each iteration, all GPUs have the same values and the same frontier."""
    monkeypatch.setattr(MultiGpuExecutor, "commit", commit_and_compare)


@pytest.fixture
def graph(graph_of):
    return graph_of(GRAPH, directed=False)


def modes(result):
    return {row.mode for row in result.stats.iterations}


@pytest.mark.parametrize("kind", [Quiet, Lengths], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("count", [2, 5])
@pytest.mark.parametrize("most", [None, 7], ids=["at once", "7 at a time"])
@processors
@ways
def test_the_answer_is_the_same(devices_for, graph, monkeypatch, kind, count, most, processor, sync):
    program = kind(HUB)
    expected = run_with(program, graph, device="cpu", sync=True)
    devices_for(program, graph, count)
    if most is not None:
        monkeypatch.setattr(memory_plan, "MOST_EXCHANGED", most)
        monkeypatch.setattr(memory_plan, "LEAST_EXCHANGED", most)
    result = run_with(program, graph, device=processor, gpus=count, sync=sync, page_edges=3000, threads=2)
    np.testing.assert_array_equal(result.values, expected.values)
    assert "push" in modes(result)
    if sync:
        assert [row.active for row in result.stats.iterations] == [row.active for row in expected.stats.iterations]


@pytest.mark.parametrize("kind", [Quiet, Lengths, Eager], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("count", [2, 5])
@processors
@ways
def test_pushes_and_pulls_take_turns(devices_for, graph_of, monkeypatch, kind, count, processor, sync):
    """A push replaces values in place: it exchanges no arrays, whatever the pull before it has processed."""
    monkeypatch.setattr(policy, "DEVICE_FEW_EDGES", 0)
    program, graph = kind(HUB), graph_of(GRAPH, weighted=kind is Lengths, directed=False)
    expected = run_with(program, graph, device="cpu", sync=True)
    devices_for(program, graph, count)
    result = run_with(program, graph, device=processor, gpus=count, sync=sync, page_edges=3000, threads=2)
    np.testing.assert_array_equal(result.values, expected.values)
    taken = [row.mode for row in result.stats.iterations]
    assert ("pull", "push") in itertools.pairwise(taken)
    if sync:
        assert [row.active for row in result.stats.iterations] == [row.active for row in expected.stats.iterations]


@ways
def test_gpus_have_different_room(devices_for, graph, monkeypatch, sync):
    """They exchange as many vertices at a time as the one with least room."""
    program, mosts, plan = Quiet(HUB), itertools.cycle((9, 7, 50)), memory_plan.plan_exchange
    expected = run_with(program, graph, device="cpu", sync=True)
    devices_for(program, graph, 3)
    different = "garaph_py.executor.gpu.placement.plan_exchange"
    monkeypatch.setattr(different, lambda *told: plan(*told)._replace(most=next(mosts)))
    result = run_with(program, graph, device="gpu", gpus=3, sync=sync, page_edges=3000)
    np.testing.assert_array_equal(result.values, expected.values)
    assert "push" in modes(result)


def test_gpus_that_stream_pages_only_pull(devices_for, graph):
    program = Quiet(HUB)
    expected = run_with(program, graph, device="cpu", sync=True)
    devices_for(program, graph, 2)
    result = run_with(program, graph, device="gpu", gpus=2, page_edges=3000, streams=2, gpu_memory=700_000)
    np.testing.assert_array_equal(result.values, expected.values)
    assert "push" not in modes(result)
    assert sum(row.to_device for row in result.stats.iterations) > 0


def test_what_is_received_counts_once(devices_for, graph, monkeypatch):
    """A vertex that several GPUs have changed is in the frontier once, and its edges are counted once."""
    program, results = Quiet(HUB), []
    devices_for(program, graph, 5)
    result = exchange.Exchange.result

    def noted(self, *how):
        results.append(result(self, *how))
        return results[-1]

    monkeypatch.setattr(exchange.Exchange, "result", noted)
    run_with(program, graph, device="gpu", gpus=5, page_edges=3000)
    assert results
    for k in range(0, len(results), 5):
        assert len({(each.active, each.active_edges) for each in results[k : k + 5]}) == 1


def test_gpus_without_room_only_pull(devices_for, graph, monkeypatch):
    monkeypatch.setattr(memory_plan, "plan_exchange", lambda *_: None)
    monkeypatch.setattr("garaph_py.executor.gpu.placement.plan_exchange", lambda *_: None)
    program = Quiet(HUB)
    devices_for(program, graph, 2)
    assert "push" not in modes(run_with(program, graph, device="gpu", gpus=2))


def test_a_directed_graph_is_only_pulled(devices_for, graph_of):
    """A GPU has the in-edges of its part, but not the out-edges."""
    program, graph = Quiet(HUB), graph_of(GRAPH, directed=True)
    devices_for(program, graph, 2)
    assert "push" not in modes(run_with(program, graph, device="gpu", gpus=2))


@pytest.mark.parametrize(
    ("n", "synchronous", "left", "most"),
    [
        (100, True, 1 << 20, 100), (100, True, 12 * 100, None), (100, False, 1 << 20, 100), (0, True, 1 << 20, None),
        (1 << 25, True, 1 << 40, 1 << 20), (1 << 25, True, 12 * (1 << 14) + (1 << 10), 1 << 14),
        (1 << 25, True, 12 * (1 << 14), None), (1 << 25, False, 8 << 25, None),
    ],
)  # fmt: skip
def test_the_plan_fits_what_is_left(n, synchronous, left, most):
    plan = memory_plan.plan_exchange(n, 8, 1, synchronous, left)
    assert (None if plan is None else plan.most) == most
    if plan is not None:
        assert plan.nbytes <= left
        assert plan.listed == (0 if synchronous else 8 * n)


@pytest.fixture
def run_late(devices_for, graph, monkeypatch):
    """A function that pushes on late GPUs, of which one may fail at a call, and checks the answer; their drivers."""
    monkeypatch.setattr(memory_plan, "MOST_EXCHANGED", 500)
    monkeypatch.setattr(memory_plan, "LEAST_EXCHANGED", 500)

    def begin(rng, count, processor, sync, failing=None, fails_at=None):  # wide
        program = rng.choice((Quiet, Lengths))(HUB)
        expected = run_with(program, graph, device="cpu", sync=True)

        drivers = devices_for(program, graph, count, late(rng, failing, fails_at))
        with pytest.MonkeyPatch.context() as armed:
            arm_when_initialized(armed)
            result = run_with(program, graph, device=processor, gpus=count, sync=sync, page_edges=3000, threads=2)
        np.testing.assert_array_equal(result.values, expected.values)
        return drivers, result

    return begin


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("count", [2, 5])
@processors
@ways
def test_answers_do_not_depend_on_timing(run_late, count, processor, sync):
    rng = random.Random(f"{count} {processor} {sync}")
    assert "push" in set.union(*(modes(run_late(rng, count, processor, sync)[1]) for _ in range(2)))


@pytest.mark.slow
@pytest.mark.spread
@pytest.mark.parametrize("count", [2, 5])
@processors
@ways
def test_the_others_go_on_when_one_fails(run_late, count, processor, sync):
    for result in runs_with_a_failure(run_late, count, processor, sync):
        assert "failed" in result.stats.note
