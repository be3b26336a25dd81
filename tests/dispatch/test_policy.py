"""The scheduler's decisions by table: pure functions of what was observed."""

from __future__ import annotations

from typing import Any

import pytest

from garaph_py.dispatch import policy as policies
from garaph_py.dispatch.observation import NOTIFY_BOUND, Observation
from garaph_py.dispatch.policy import (
    AUTO_THRESHOLD,
    DELTAS_THRESHOLD,
    DEVICE_FEW_EDGES,
    DEVICE_PUSH_THRESHOLD,
    FEW_EDGES,
    POLICIES,
    PUSH_THRESHOLD,
    RELAXING_THRESHOLD,
    notify_bound_after,
)
from garaph_py.dispatch.push_cost import LEAST_EDGES
from garaph_py.executor.costs import EXPECTED
from garaph_py.executor.decision import Ahead, Decision
from garaph_py.executor.modes import COMPONENTS, NOTIFY_PULL, PULL, PULL_TILED, PUSH


def seen(active_edges: int, engine: str = "garaph", **more: object) -> tuple[Observation, str]:
    return Observation(vertices=100, edges=1000, active=10, active_edges=active_edges, **more), engine  # type: ignore[arg-type]


def decide(seen: tuple[Observation, str]) -> Decision:
    observation, engine = seen
    return POLICIES[engine].decide(observation)


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


@pytest.mark.parametrize(("active_edges", "dual", "more", "mode"), [
    (500, True, {}, NOTIFY_PULL), (501, True, {}, PULL), (500, False, {}, PULL),
    (50, True, {"k": 10.0}, NOTIFY_PULL), (51, True, {"k": 10.0}, PULL),
    (500, True, {"updates_all_vertices": True}, PULL), (500, True, {"forced_mode": "pull"}, PULL),
])  # fmt: skip
def test_beside_the_gpu_the_cpu_s_mode_follows_f(
    active_edges: int, dual: bool, more: dict[str, Any], mode: str
) -> None:
    observation, _ = seen(active_edges, ratio=1e3, **more)
    decision = policies.GaraphPolicy(dual=dual).decide(observation)
    assert (decision.device, decision.mode) == ("both", mode)
    assert decision.alpha is not None
    assert decision.alpha >= 1
    assert ("<= 0." in decision.why) == (mode == NOTIFY_PULL)


def test_the_reason_names_the_threshold() -> None:
    assert decide(seen(501)).why == "f = 0.501 > 0.5"
    assert decide(seen(51, k=10)).why == "f = 0.051 > 0.05"
    assert decide(seen(50, k=10)).why == "f = 0.05 <= 0.05"
    assert decide(seen(11, "auto", k=2)).why == "f = 0.011 > 0.01"


@pytest.mark.parametrize(("engine", "asynchronous", "partitions", "gather", "zero_copy", "reactive"), [
    ("garaph", False, True, "replicated", False, True), ("auto", True, False, "auto", True, False),
])  # fmt: skip
def test_an_engine_s_settings(
    engine: str, asynchronous: bool, partitions: bool, gather: str, zero_copy: bool, reactive: bool
) -> None:
    """Garaph is synchronous, cuts a page into a partition per thread, and divides pages reactively."""
    policy = POLICIES[engine]
    assert (policy.chooses_asynchrony, policy.one_partition_per_thread) == (asynchronous, partitions)
    assert (policy.gather, policy.zero_copy, policy.lists) == (gather, zero_copy, None)
    assert policy.first_rates(2, (100, 0, 4.0)).reactive == reactive
    assert policy.modes[:2] == (PULL, NOTIFY_PULL)


@pytest.mark.parametrize(("what", "most"), [
    ({}, 60_000), ({"k": 2.0}, 30_000),
    ({"is_relaxation": True}, 200_000), ({"is_relaxation": True, "pushes": False}, 3000),
    ({"deltas": True, "has_sums": True}, 300_000), ({"deltas": True, "has_sums": True, "k": 2.0}, 150_000),
    ({"device": "gpu"}, 3000), ({"device": "gpu", "is_relaxation": True}, int(3 * 10**6 / EXPECTED.push_edge)),
    ({"device": "gpu", "is_relaxation": True, "device_push_cost": 100.0}, 65_536),
])  # fmt: skip
def test_auto_pulls_from_more_active_edges(what: dict[str, Any], most: int) -> None:
    """The bounds were measured; this is what a graph of three million edges makes of them."""
    few, many = (
        decide((Observation(100, 3 * 10**6, 10, active_edges, **what), "auto")) for active_edges in (most, most + 1)
    )
    assert few.mode == (NOTIFY_PULL if what.keys() <= {"k", "device"} or "pushes" in what else PUSH)
    assert many.mode == PULL
    assert " <= " in few.why or few.why == "only 65536 edges lead from active vertices"
    assert not few.reenters


def test_tiles_are_pulled_from_most_vertices() -> None:
    """More than half of all edges lead from active vertices."""
    found = [decide(seen(active, "auto", tiles=True, updates_all_vertices=True)) for active in (0, 500, 501, 1000)]
    assert [one.mode for one in found] == [PULL, PULL, PULL_TILED, PULL_TILED]


def test_values_that_are_not_final_are_pushed() -> None:
    found = [decide(seen(active, "auto", is_relaxation=True, only_pushes=True)) for active in (1, 900)]
    assert [(one.mode, one.why) for one in found] == [(PUSH, "f = 0.001 <= 0.0667"), (PUSH, "values are not final")]


def test_auto_switches_earlier() -> None:
    assert decide(seen(int(1000 * AUTO_THRESHOLD), "auto")).mode == NOTIFY_PULL
    assert decide(seen(int(1000 * AUTO_THRESHOLD) + 1, "auto")).mode == PULL


def test_auto_pushes_few_edges_of_programs_that_relax() -> None:
    def of_a_million(active_edges: int, engine: str, **more: Any) -> str:
        observation = Observation(100, 10**6, 10, active_edges, is_relaxation=True, **more)
        return decide((observation, engine)).mode

    few, many = int(10**6 * PUSH_THRESHOLD), int(10**6 * PUSH_THRESHOLD) + 1
    assert of_a_million(few, "auto") == PUSH
    assert of_a_million(many, "auto") == PULL
    assert of_a_million(many, "auto", in_buckets=True) == PUSH
    assert of_a_million(few, "garaph") == NOTIFY_PULL


@pytest.mark.parametrize(("unfinished", "most"), [(10**6, 200_040), (10**5, 20_040), (0, FEW_EDGES)])
def test_pulls_that_end_late_are_left_to_few_unfinished_edges(unfinished: int, most: int) -> None:
    """A push of five edges costs as much as a pull of one that is left, and two looks at a vertex as much as two."""

    def mode(active_edges: int) -> str:
        observation = Observation(100, 10**6, 10, active_edges, is_relaxation=True, unfinished_edges=unfinished)
        return decide((observation, "auto")).mode

    assert (mode(most), mode(most + 1)) == (PUSH, PULL)


def test_without_edges_there_is_a_bound_on_f() -> None:
    seen = Observation(100, 0, 10, 0, is_relaxation=True, unfinished_edges=0)
    assert policies.push_bound(seen) == 40


@pytest.mark.parametrize(("active_edges", "more", "why"), [
    (FEW_EDGES, {}, "only 4096 edges lead from active vertices"),
    (FEW_EDGES + 1, {}, "f = 0.41 > 0.0667"),
    (500, {}, "f = 0.05 <= 0.0667"),
    (FEW_EDGES, {"only_pushes": True}, "values are not final"),
    (FEW_EDGES, {"in_buckets": True}, "the vertices of the open bucket push"),
    (FEW_EDGES, {"pushes": False}, "f = 0.41 > 0.001"),
    (FEW_EDGES, {"reenters": True}, "f = 0.41 > 0.0667"),
    (FEW_EDGES, {"ratio": 1e-9}, "f = 0.41 > 0.0667"),
    (FEW_EDGES, {"ratio": 1e-9, "device_pushes": True}, "f = 0.41 > 0.0667"),
])  # fmt: skip
def test_a_cpu_that_works_alone_pushes_few_edges_whatever_f_is(
    active_edges: int, more: dict[str, Any], why: str
) -> None:
    """In a hybrid run, and with reentry, it does not go on by itself, so f decides."""
    decision = decide((Observation(100, 10**4, 10, active_edges, is_relaxation=True, **more), "auto"))
    assert (decision.mode, decision.why) == (PULL if " > " in why else PUSH, why)
    assert decision.device == "cpu"


def test_deltas_are_pushed_to_the_sums_of_a_pull() -> None:
    few, many = int(1000 * DELTAS_THRESHOLD), int(1000 * DELTAS_THRESHOLD) + 1
    assert decide(seen(few, "auto", deltas=True, has_sums=True)).mode == PUSH
    assert decide(seen(many, "auto", deltas=True, has_sums=True)) == Decision(PULL, "f = 0.101 > 0.02")
    for mode in (None, PUSH, "".join(PUSH)):  # the same name from a command line is another object
        first = decide(seen(few, "auto", deltas=True, forced_mode=mode))
        assert (first.mode, first.keeps_sums) == (PULL, True)
        assert decide(seen(few, "auto", deltas=True, has_sums=True, forced_mode=mode)).mode == PUSH
    assert decide(seen(1, "auto", deltas=False, has_sums=False)).mode == NOTIFY_PULL


def test_a_gpu_pushes_deltas_up_to_a_bound_of_its_own() -> None:
    few, many = int(1000 / EXPECTED.push_edge), int(1000 / EXPECTED.push_edge) + 1
    assert decide(seen(few, "auto", device="gpu", k=3.0, deltas=True, has_sums=True)).mode == PUSH
    assert decide(seen(many, "auto", device="gpu", deltas=True, has_sums=True)).mode == PULL
    assert decide(seen(few, "auto", device="gpu", deltas=True)) == Decision(
        PULL, "it makes the sums that later iterations push to", "gpu", keeps_sums=True
    )
    assert decide(seen(few, device="gpu", deltas=True, has_sums=True)).mode == PULL  # the paper's


def test_a_gpu_goes_on_pushing_deltas_while_few_edges_are_followed() -> None:
    """A push along many edges is decided on by itself, so that its time is measured."""
    edges = 10 * LEAST_EDGES
    for device, active_edges, more, ahead in (
        ("gpu", LEAST_EDGES - 1, {}, LEAST_EDGES - 1), ("gpu", LEAST_EDGES, {}, None), ("cpu", 1, {}, None),
        ("gpu", 1, {"device_push_cost": 200.0}, edges // 200), ("gpu", 1, {"least_compacted": 700.0}, 699),
        ("gpu", 700, {"least_compacted": 700.0, "compacts": True}, None), ("gpu", 1, {"compacts": True}, None),
    ):  # fmt: skip
        observation = Observation(100, edges, 10, active_edges, deltas=True, has_sums=True, device=device, **more)  # type: ignore[arg-type]
        decision = decide((observation, "auto"))
        assert decision.mode == PUSH
        assert decision.ahead == (None if ahead is None else Ahead(ahead, False))


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
        (1 / EXPECTED.push_edge, False, PUSH), (1.01 / EXPECTED.push_edge, False, PULL),
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
    ("f", "ratio", "expected"),
    [
        (0.02, 50.0, (PUSH, "gpu")),
        (0.43, 50.0, (PUSH, "gpu")),
        (0.02, 0.01, (PULL, "cpu")),
        (0.45, 50.0, (PULL, "both")),
    ],
)
def test_the_gpu_of_a_hybrid_run_pushes(f: float, ratio: float, expected: tuple[str, str]) -> None:
    where = Observation(
        10**6, 10**8, 10, int(f * 10**8), is_relaxation=True, pushes=False, device_pushes=True, ratio=ratio, start=0.5
    )
    decision = decide((where, "auto"))
    assert (decision.mode, decision.device) == expected


@pytest.mark.parametrize(("f", "ratio", "alpha"), [(0.022, 10.0, 4.7), (0.11, 20.0, 9.0), (0.6, 48.0, 30.0)])
def test_alpha_of_a_push_is_larger(f: float, ratio: float, alpha: float) -> None:
    """The GPU's push takes 0.05 + f / 0.44 of its pull, and never longer; the CPU takes a start of 0.025, and f."""
    where = Observation(
        100, 10**8, 1, int(f * 10**8), is_relaxation=True, in_buckets=True, device_pushes=True, device_push_cost=1.0,
        ratio=ratio, start=0.025, sparse=1.0,
    )  # fmt: skip
    decision = decide((where, "auto"))
    assert (decision.mode, decision.device) == (PUSH, "gpu")
    assert decision.alpha == pytest.approx(alpha)


def test_what_a_push_saves_is_less_than_what_a_pull_does() -> None:
    """On the GPU it takes 0.1 of a pull, and on the CPU half of that: 0.05 of a pull is to be saved."""
    what = {"engine": "auto", "is_relaxation": True, "device_pushes": True, "ratio": 1 / 0.44, "sparse": 1.0}
    assert decide(seen(22, moving=0.051, **what)).device == "gpu"
    assert decide(seen(22, moving=0.049, **what)).device == "cpu"


@pytest.mark.parametrize(("moving", "device"), [(0.01, "gpu"), (0.0, "gpu"), (-0.01, "cpu")])
@pytest.mark.parametrize("ratio", [0.2, 50.0])
def test_from_disk_the_processor_with_the_values_pushes(moving: float, device: str, ratio: float) -> None:
    """Both wait for the disk, whatever their speeds in memory are."""
    what = {"is_relaxation": True, "device_pushes": True, "from_disk": True}
    decision = decide(seen(20, engine="auto", ratio=ratio, moving=moving, **what))
    assert (decision.mode, decision.device, decision.alpha) == (PUSH, device, 1.0)


GPU_ALONE = {"device": "gpu", "is_relaxation": True}
IN_HYBRID = {"is_relaxation": True, "pushes": False, "device_pushes": True, "ratio": 50.0}


@pytest.mark.parametrize(("what", "edges", "expected"), [
    (GPU_ALONE, 10**8, Ahead(int(10**8 / EXPECTED.push_edge), True)), (GPU_ALONE, 1000, Ahead(65_536, True)),
    (GPU_ALONE | {"device_pulls_end_early": True}, 10**8, Ahead(2_000_000, True)),
    (GPU_ALONE | {"device_push_cost": 0.5}, 10**8, Ahead(10**8, True)),
    (GPU_ALONE | {"device": "cpu", "step": 3}, 15 * 10**6, Ahead(10**6, False, 3)),
    (GPU_ALONE | {"device": "cpu", "step": 3}, 1000, Ahead(4096, False, 3)),
    (GPU_ALONE | {"device": "cpu", "in_buckets": True}, 1000, Ahead(4096, False)),  # it opens the first bucket itself
    (GPU_ALONE | {"is_relaxation": False}, 10**8, None),
    (GPU_ALONE | {"compacts": True}, 10**8, None),
    (GPU_ALONE | {"least_compacted": 4096.0}, 10**8, Ahead(4095, False)),
    (GPU_ALONE | {"least_compacted": 1e9}, 10**8, Ahead(int(10**8 / EXPECTED.push_edge), True)),
    (GPU_ALONE | {"pushes": False, "device_pushes": True}, 10**8, None),
    (GPU_ALONE | {"device": "cpu", "reenters": True}, 10**8, None),
    (GPU_ALONE | {"device": "cpu", "forced_mode": PUSH}, 10**8, None),
    (GPU_ALONE | {"forced_mode": PUSH}, 10**8, None),
    (IN_HYBRID, 10**8, Ahead(int(10**8 / EXPECTED.push_edge), False)),
    (IN_HYBRID | {"cpu_helps": False}, 10**8, Ahead(int(10**8 / EXPECTED.push_edge), True)),
    (IN_HYBRID | {"pushes": True, "device_pushes": False}, 10**8, None),
])  # fmt: skip
def test_how_a_processor_may_go_on(what: dict[str, Any], edges: int, expected: Ahead | None) -> None:
    assert policies.ahead_of(Observation(100, edges, 10, 10, **what)) == expected


ALL = {"updates_all_vertices": True}


@pytest.mark.parametrize(("what", "engine", "mode", "repeats"), [
    (ALL, "auto", PULL, True), (ALL | {"device": "gpu"}, "auto", PULL, True),
    (ALL | {"tiles": True}, "auto", PULL_TILED, True), (ALL | {"forced_mode": PULL}, "auto", PULL, True),
    (ALL | {"forced_mode": PULL, "device": "gpu"}, "auto", PULL, False),
    (ALL | {"forced_mode": NOTIFY_PULL}, "auto", NOTIFY_PULL, False), (ALL | {"ratio": 1e3}, "auto", PULL, False),
    (ALL | {"ratio": 1e-3}, "auto", PULL, False), ({}, "auto", PULL, False), (ALL, "garaph", PULL, False),
])  # fmt: skip
def test_iterations_repeat_where_all_do_the_same(what: dict[str, Any], engine: str, mode: str, repeats: bool) -> None:
    decision = decide(seen(900, engine, **what))
    assert decision.mode == mode
    assert decision.ahead == (Ahead(0, pulls=True, repeats=True) if repeats else None)


@pytest.mark.parametrize("compacts", [True, False])
@pytest.mark.parametrize("what", [GPU_ALONE, {"device": "gpu", "deltas": True, "has_sums": True}])
def test_a_push_along_an_edge_list_says_so(what: dict[str, Any], compacts: bool) -> None:
    decision = decide((Observation(100, 10**8, 10, 10**6, compacts=compacts, **what), "auto"))
    assert (decision.mode, decision.compacts) == (PUSH, compacts)
    assert ("lists the edges" in decision.why) == compacts


def test_the_gpu_notifies_where_that_spares_pages() -> None:
    assert notify_bound_after(NOTIFY_BOUND, 1e-4, 5, 10, 10**7) == NOTIFY_BOUND
    tried = notify_bound_after(NOTIFY_BOUND, 1e-4, 4, 10, 10**7)
    assert tried == 1e-6
    assert notify_bound_after(tried, 1e-6, 0, 10, 10**7) == 0.0
    assert notify_bound_after(NOTIFY_BOUND, 0.0, 0, 0, 0) == NOTIFY_BOUND
    assert notify_bound_after(NOTIFY_BOUND, 1.0, 0, 1, 1) == 0.0
    for active_edges, mode in ((10, NOTIFY_PULL), (11, PULL)):
        where = Observation(10, 10**7, 1, active_edges, device="gpu", notify_bound=tried)
        assert decide((where, "auto")).mode == mode


@pytest.mark.parametrize("mode", [PULL, NOTIFY_PULL, PUSH])
@pytest.mark.parametrize("active_edges", [0, 1000])
def test_a_forced_mode_is_obeyed_and_said(mode: str, active_edges: int) -> None:
    decision = decide(seen(active_edges, forced_mode=mode))
    assert decision.mode == mode
    assert decision.why == "as asked"


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


@pytest.mark.parametrize(("moving", "device"), [(0.0, "gpu"), (0.1, "gpu"), (-0.1, "cpu")])
def test_equal_processors_leave_the_values_where_they_are(moving: float, device: str) -> None:
    decision = decide(seen(500, "auto", ratio=2.0, sparse=1.0, is_relaxation=True, in_buckets=True, moving=moving,
                           cpu_helps=False))  # fmt: skip
    assert (decision.alpha, decision.device) == (1.0, device)
    assert device == "cpu" or decision.why == "alpha = 1 >= 1, the CPU would not help"


def test_values_move_where_that_costs_as_much_as_it_saves() -> None:
    decision = decide(seen(250, moving=0.5, **HYBRID | {"ratio": 2.0, "in_buckets": True}))
    assert (decision.alpha, decision.device) == (0.5, "cpu")


@pytest.mark.parametrize("helps", [True, False])
def test_a_gpu_that_keeps_the_values_works_alone(helps: bool) -> None:
    decision = decide(seen(30, moving=1.0, missed=0.2, **HYBRID | {"cpu_helps": helps}))
    assert (decision.device, decision.why) == ("gpu", "alpha = 0.6 < 1, but the GPU has the values")


@pytest.mark.parametrize(
    ("helps", "ends_early", "device"), [(True, False, "both"), (True, True, "gpu"), (False, False, "gpu")]
)
def test_a_gpu_whose_pulls_end_early_gets_no_help(helps: bool, ends_early: bool, device: str) -> None:
    decision = decide(seen(900, **HYBRID | {"cpu_helps": helps, "device_pulls_end_early": ends_early}))
    assert (decision.mode, decision.device) == (PULL, device)


@pytest.mark.parametrize(("ratio", "device"), [(2.0, "gpu"), (1.0, "gpu"), (0.5, "cpu")])
def test_one_processor_finds_components(ratio: float, device: str) -> None:
    decision = decide(seen(1000, "auto", components=True, ratio=ratio))
    assert (decision.mode, decision.device, decision.alpha) == (COMPONENTS, device, ratio)


@pytest.mark.parametrize(("alpha", "why"), [(1.0, "alpha = 1 >= 1"), (2.0, "alpha = 2 >= 1")])
def test_both_pull_from_equal_speed_on(alpha: float, why: str) -> None:
    both = decide(seen(1000, ratio=alpha, updates_all_vertices=True))
    assert (both.device, both.why) == ("both", why)
    alone = decide(seen(1000, ratio=alpha, updates_all_vertices=True, cpu_helps=False))
    assert (alone.device, alone.why) == ("gpu", f"{why}, the CPU would not help")
