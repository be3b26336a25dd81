"""The scheduler's decisions by table: pure functions of what was observed."""

from __future__ import annotations

import pytest

from garaph_py.dispatch import policy as policies
from garaph_py.dispatch.buckets import Bucket, first_step, next_step
from garaph_py.dispatch.observation import NOTIFY_BOUND, Observation
from garaph_py.dispatch.policy import (
    AUTO_THRESHOLD,
    DELTAS_THRESHOLD,
    DEVICE_FEW_EDGES,
    DEVICE_PUSH_THRESHOLD,
    POLICIES,
    PUSH_THRESHOLD,
    RELAXING_THRESHOLD,
    notify_bound_after,
)
from garaph_py.executor.modes import NOTIFY_PULL, PULL, PUSH
from garaph_py.executor.protocol import PUSH_COST, Decision


def seen(active_edges: int, engine: str = "garaph", **more: object) -> tuple[Observation, str]:
    return Observation(vertices=100, edges=1000, active=10, active_edges=active_edges, **more), engine  # type: ignore[arg-type]


def decide(seen: tuple[Observation, str]) -> Decision:
    observation, engine = seen
    return policies.decide(observation, POLICIES[engine])


@pytest.mark.parametrize(
    ("active_edges", "k", "mode"),
    [
        (0, 1, NOTIFY_PULL),
        (500, 1, NOTIFY_PULL),
        (501, 1, PULL),
        (1000, 1, PULL),
        (50, 10, NOTIFY_PULL),
        (51, 10, PULL),
    ],
)
def test_the_paper_switches_at_one_over_two_k(active_edges: int, k: float, mode: str) -> None:
    assert decide(seen(active_edges, k=k)).mode == mode


def test_auto_switches_earlier() -> None:
    assert decide(seen(int(1000 * AUTO_THRESHOLD), "auto")).mode == NOTIFY_PULL
    assert decide(seen(int(1000 * AUTO_THRESHOLD) + 1, "auto")).mode == PULL


def test_auto_pushes_few_edges_of_programs_that_relax() -> None:
    few, many = int(1000 * PUSH_THRESHOLD), int(1000 * PUSH_THRESHOLD) + 1
    assert decide(seen(few, "auto", is_relaxation=True)).mode == PUSH
    assert decide(seen(many, "auto", is_relaxation=True)).mode == PULL
    assert decide(seen(many, "auto", is_relaxation=True, in_buckets=True)).mode == PUSH
    assert decide(seen(few, "garaph", is_relaxation=True)).mode == NOTIFY_PULL


def test_deltas_are_pushed_to_the_sums_of_a_pull() -> None:
    few, many = int(1000 * DELTAS_THRESHOLD), int(1000 * DELTAS_THRESHOLD) + 1
    assert decide(seen(few, "auto", deltas=True, has_sums=True)).mode == PUSH
    assert decide(seen(many, "auto", deltas=True, has_sums=True)) == Decision(PULL, "f = 0.101 > 0.02")
    for mode in (None, PUSH):
        first = decide(seen(few, "auto", deltas=True, forced_mode=mode))
        assert (first.mode, first.keeps_sums) == (PULL, True)
        assert decide(seen(few, "auto", deltas=True, has_sums=True, forced_mode=mode)).mode == PUSH
    assert decide(seen(1, "auto", deltas=False, has_sums=False)).mode == NOTIFY_PULL


def test_a_gpu_pushes_deltas_up_to_a_bound_of_its_own() -> None:
    few, many = int(1000 / PUSH_COST), int(1000 / PUSH_COST) + 1
    assert decide(seen(few, "auto", device="gpu", k=3.0, deltas=True, has_sums=True)).mode == PUSH
    assert decide(seen(many, "auto", device="gpu", deltas=True, has_sums=True)).mode == PULL
    assert decide(seen(few, "auto", device="gpu", deltas=True)) == Decision(
        PULL, "it makes the sums that later iterations push to", "gpu", keeps_sums=True
    )
    assert decide(seen(few, device="gpu", deltas=True, has_sums=True)).mode == PULL  # the paper's


def test_auto_pulls_where_it_cannot_push() -> None:
    few, many = int(1000 * RELAXING_THRESHOLD), int(1000 * RELAXING_THRESHOLD) + 1
    assert decide(seen(few, "auto", is_relaxation=True, pushes=False)).mode == NOTIFY_PULL
    assert decide(seen(many, "auto", is_relaxation=True, pushes=False)).mode == PULL


def test_the_gpu_pulls() -> None:
    assert decide(seen(0, device="gpu")).mode == PULL
    assert decide(seen(int(1000 * NOTIFY_BOUND), "auto", device="gpu")).mode == NOTIFY_PULL
    assert decide(seen(int(1000 * NOTIFY_BOUND) + 1, "auto", device="gpu")).mode == PULL
    assert decide(seen(1000, "auto", device="gpu", updates_all_vertices=True)).mode == PULL


def test_a_gpu_pushes_less_if_its_pulls_end_early() -> None:
    edges = 10**8
    for f, ends_early, mode in (
        (1 / PUSH_COST, False, PUSH), (1.01 / PUSH_COST, False, PULL),
        (DEVICE_PUSH_THRESHOLD, True, PUSH), (1.01 * DEVICE_PUSH_THRESHOLD, True, PULL),
    ):  # fmt: skip
        where = Observation(
            10**6, edges, 1, int(f * edges), device="gpu", is_relaxation=True, device_pulls_end_early=ends_early
        )
        assert decide((where, "auto")).mode == mode


def test_a_gpu_pushes_from_few_lists_in_any_graph() -> None:
    for active_edges, mode in ((DEVICE_FEW_EDGES, PUSH), (DEVICE_FEW_EDGES + 1, PULL)):
        where = Observation(10**5, 2 * DEVICE_FEW_EDGES, 1, active_edges, device="gpu", is_relaxation=True)
        assert decide((where, "auto")).mode == mode


@pytest.mark.parametrize(
    ("f", "ratio", "expected"), [(0.02, 50.0, (PUSH, "gpu")), (0.02, 0.01, (PULL, "cpu")), (0.26, 50.0, (PULL, "both"))]
)
def test_the_gpu_of_a_hybrid_run_pushes(f: float, ratio: float, expected: tuple[str, str]) -> None:
    where = Observation(
        10**6, 10**8, 10, int(f * 10**8), is_relaxation=True, pushes=False, device_pushes=True, ratio=ratio, start=0.5
    )
    decision = decide((where, "auto"))
    assert (decision.mode, decision.device) == expected


def test_the_gpu_notifies_where_that_spares_pages() -> None:
    assert notify_bound_after(NOTIFY_BOUND, 1e-4, 5, 10, 10**7) == NOTIFY_BOUND
    tried = notify_bound_after(NOTIFY_BOUND, 1e-4, 4, 10, 10**7)
    assert tried == 1e-6
    assert notify_bound_after(tried, 1e-6, 0, 10, 10**7) == 0.0
    assert notify_bound_after(NOTIFY_BOUND, 0.0, 0, 0, 0) == NOTIFY_BOUND
    for active_edges, mode in ((10, NOTIFY_PULL), (11, PULL)):
        where = Observation(10, 10**7, 1, active_edges, device="gpu", notify_bound=tried)
        assert decide((where, "auto")).mode == mode


def test_bucket_width_follows_the_frontier() -> None:
    small, large, restless = Bucket(10, 12), Bucket(200, 300), Bucket(10, 90)
    assert next_step(3, small, None, 1000) == 6
    assert next_step(3, small, Bucket(5, 5), 1000) == 6
    assert next_step(3, small, Bucket(4, 4), 1000) == 3  # it grows by itself
    assert next_step(3, Bucket(100, 100), None, 1000) == 3
    assert next_step(3, large, None, 1000) == 1
    assert next_step(3, restless, None, 1000) == 1
    assert next_step(1, restless, None, 1000) == 1
    assert next_step(0.5, restless, None, 1000) == 0.25
    assert first_step(17) == 1
    assert 0 < first_step(0.0) < first_step(1.0) < 1


@pytest.mark.parametrize("mode", [PULL, NOTIFY_PULL, PUSH])
@pytest.mark.parametrize("active_edges", [0, 1000])
def test_a_forced_mode_is_obeyed_and_said(mode: str, active_edges: int) -> None:
    decision = decide(seen(active_edges, forced_mode=mode))
    assert decision.mode == mode
    assert decision.why == "as asked"


def test_f_of_a_graph_without_edges() -> None:
    assert Observation(3, 0, 3, 0).f == 1
    assert Observation(3, 0, 0, 0).f == 0


HYBRID = {"engine": "auto", "ratio": 20.0, "sparse": 1.0, "is_relaxation": True, "cpu_helps": False}


@pytest.mark.parametrize(
    ("active_edges", "moving", "missed", "device"),
    [  # f is active_edges / 1000, and alpha twenty times that
        (5, 0.0, 0.0, "cpu"),
        (5, 0.8, 0.0, "cpu"),  # the CPU saves 0.9 of what an iteration takes on the GPU
        (5, 1.0, 0.0, "gpu"),
        (5, 1.0, 0.2, "cpu"),
        (30, 1.0, 0.2, "gpu"),
        (60, 1.0, 9.0, "gpu"),  # alpha is 1.2
        (60, -0.1, 0.0, "gpu"),
        (60, -0.3, 0.0, "cpu"),
        (60, -0.3, 0.2, "gpu"),
        (5, -9.0, 9.0, "cpu"),
    ],
)
def test_values_move_when_that_pays(active_edges: int, moving: float, missed: float, device: str) -> None:
    decision = decide(seen(active_edges, moving=moving, missed=missed, **HYBRID))
    assert decision.device == device
    assert decision.alpha == pytest.approx(active_edges / 50)
    assert ("but the GPU has the values" in decision.why) == (device == "gpu" and active_edges < 50)
