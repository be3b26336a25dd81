"""What an iteration has to do, by hand; chains, and steps of several iterations; and costs that are found
again."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import garaph_py as gp
from garaph_py.dispatch.policy import POLICIES, GaraphPolicy
from garaph_py.executor.cpu.chain import MOST_SUPERSTEPS
from garaph_py.executor.modes import CPU, NOTIFY_PULL, PULL, PULL_TILED, PUSH
from garaph_py.graph.shape import Shape
from garaph_py.program import bind
from garaph_py.runtime.options import RunOptions
from garaph_py.simulation import Activity, Machine, Workload, simulate
from garaph_py.simulation.calibrate import calibrate, samples
from garaph_py.simulation.demand import CHAIN, PULL_ACTIVE, Demand, demand_of, of_push, repeated, supersteps
from garaph_py.simulation.executor import SimulatedCpu
from garaph_py.simulation.fitting import fit
from garaph_py.simulation.machine import UnitCost, WorkCost, machine_of, machine_text
from garaph_py.simulation.recorded import RecordedRun
from garaph_py.simulation.workload import Traits, activities_of, even_offsets, in_order, workload_of

from ..support.runs import run_with

AUTO, GARAPH = POLICIES["auto"], POLICIES["garaph"]
SHAPE = Shape(lists=60_000, turns=30_000, near=0.5, far=0.25, irregular=0.75, imbalance=1.5)
LABELS = Traits("Labels", 4, is_relaxation=True)


def work_of(*activities: Activity, traits: Traits = LABELS, shape: Shape = SHAPE) -> Workload:
    n, m = 80_000, 640_000
    return Workload(traits, n, m, even_offsets(n, m), tuple(activities), 4.0, 30.0, known_shape=shape)


def test_a_pull_by_hand() -> None:
    few, many = Activity(10, 20_000 - 1), Activity(10, 20_000)
    assert demand_of(work_of(), many, PULL, AUTO, 2) == Demand(
        PULL, 640_000, 320_000, 160_000, 80_000, vertex=30_000, turn=15_000, active=10_000, graph=40_000
    )
    assert demand_of(work_of(), few, PULL, AUTO, 2).mode == PULL_ACTIVE  # fewer than one edge in 32 is active
    by_all = demand_of(work_of(), few, PULL, GARAPH, 2)
    assert (by_all.mode, by_all.active) == (PULL, 0)
    assert demand_of(work_of(), few, PULL, GaraphPolicy(every_edge=False), 2).mode == PULL_ACTIVE
    assert (by_all.vertex, by_all.turn, by_all.graph) == (45_000, 22_500, 60_000)  # of the partition with more lists


def test_a_pull_prefetches_unless_sources_are_nearby() -> None:
    activity, distant = Activity(10, 20_000), replace(work_of(), known_nearby=False)
    assert demand_of(distant, activity, PULL, AUTO, 2) == replace(
        demand_of(work_of(), activity, PULL, AUTO, 2), fetched=320_000
    )
    assert demand_of(distant, replace(activity, active_edges=10), PULL, AUTO, 2).fetched == 0  # from active ones alone


def test_in_a_random_graph_sources_are_nearby_if_it_is_small() -> None:
    """Of 2^16 / 0.75 vertices, 15 in 16 pairs are at most 2^16 apart."""
    assert [replace(work_of(), vertices=n).nearby for n in (0, 87_381, 87_382)] == [True, True, False]


def test_a_pull_that_ends_early_by_hand() -> None:
    ends = work_of(traits=replace(LABELS, ends_early=True))
    known = demand_of(ends, Activity(10, 64_000, visited=70_000, reached=45_000), PULL, AUTO, 2)
    assert known == Demand(
        PULL_ACTIVE, 70_000, 35_000, 0, 0, vertex=7_495, turn=3_747.5, active=32_000, graph=40_000
    )  # a bit says whether a source is active, and the values of most sources are not read
    expected = demand_of(ends, Activity(10, 64_000, reached=45_000), PULL, AUTO, 2).edges
    length = 640_000 / 60_000
    assert expected == round(14_990 * (1 - 0.9**length) / 0.1)  # a tenth of the edges begins in active vertices
    assert demand_of(ends, Activity(0, 0, reached=90_000), PULL, AUTO, 2).edges == 0


def test_activated_vertices_cost_where_there_is_a_branch_for_them() -> None:
    activity, once = Activity(1_000, 8_000, activated=600), replace(LABELS, ends_early=True, ends_late=True)
    work = work_of(traits=once)
    in_chain = of_push(work, activity, CHAIN, 1)
    push, notify = (demand_of(work, activity, mode, AUTO, 2) for mode in (PUSH, NOTIFY_PULL))
    few, all_edges = (demand_of(work, activity, PULL, policy, 2) for policy in (AUTO, GARAPH))
    assert [one.activated for one in (in_chain, push, notify, few, all_edges)] == [600, 300, 300, 300, 0]
    again, alike, waits = (
        work_of(traits=replace(LABELS, has_buckets=buckets, edge_value_bytes=width))
        for buckets, width in ((False, 0), (True, 0), (True, 4))
    )
    assert [demand_of(one, activity, PUSH, AUTO, 2).activated for one in (again, alike, waits)] == [0, 300, 0]


def test_edges_of_reached_and_of_other_vertices_are_mixed() -> None:
    activity = Activity(10, 160_000, gathered=64_000, reached_edges=320_000)  # three quarters of the edges
    ends = work_of(traits=replace(LABELS, ends_early=True))
    pull, notify = (demand_of(ends, activity, mode, GARAPH, 2) for mode in (PULL, NOTIFY_PULL))
    assert (pull.mixed, notify.mixed) == (320_000 * 3 / 16, 32_000 * 3 / 16)
    assert demand_of(ends, activity, PULL, AUTO, 2).mixed == 0  # it looks whether sources are active
    assert demand_of(work_of(), activity, PULL, GARAPH, 2).mixed == 0
    assert demand_of(ends, replace(activity, reached_edges=9_000_000), PULL, GARAPH, 2).mixed == 0


def test_a_push_and_a_notification_by_hand() -> None:
    nbytes = 80_000 * (4 + 8) + 640_000 * 4  # values and offsets, and edges
    push = demand_of(work_of(), Activity(1_000, 8_000), PUSH, AUTO, 2)
    assert push == Demand(PUSH, 8_000, 4_000, 2_000, 1_000, vertex=500, graph=80_000, graph_bytes=nbytes)
    in_chain = of_push(work_of(), Activity(1_000, 8_000, waited=7), CHAIN, 1)
    assert in_chain == Demand(
        CHAIN, 8_000, 8_000, 4_000, 2_000, vertex=1_000, calls=0, waited=7, irregular=750, graph_bytes=nbytes
    )
    small = demand_of(work_of(), Activity(96, 4_000), PUSH, AUTO, 2)  # 4,096 edges and vertices are not divided
    assert (small.edge, small.vertex) == (4_000, 96)
    weighted = work_of(traits=replace(LABELS, edge_value_bytes=4))
    assert demand_of(weighted, Activity(1, 1), PUSH, AUTO, 2).graph_bytes == nbytes + 640_000 * 4
    notify = demand_of(work_of(), Activity(100, 1_000, gathered=9_000), NOTIFY_PULL, GARAPH, 2)
    lists = 60_000 * 9_000 / 640_000 / 2 * 1.5  # of average length, half of which turn; a partition has 1.5 times more
    assert notify == Demand(
        NOTIFY_PULL, 10_000, 500, 2_500, 1_250, gathered=4_500, vertex=50, turn=lists / 2, graph=80_000, notified=lists
    )
    few = demand_of(work_of(), Activity(1, 2, gathered=9_000), NOTIFY_PULL, GARAPH, 2)
    assert few.notified == 1.5  # two edges notify two vertices at most, 1.5 of them in one partition


def test_how_far_a_chain_goes() -> None:
    edges = [5, 8_000, 9_000, 5]
    activities = [Activity(1, count) for count in edges]
    assert supersteps(activities, 8_192, [1e-6] * 4) == 2
    assert supersteps(activities[2:], 8_192, [1e-6] * 2) == 0
    assert supersteps([Activity(9_000, 5)], 8_192, [1e-6]) == 0
    assert supersteps(activities, 1 << 30, [1e-6] * 4) == 4
    assert supersteps([Activity(20_000, 20_000)], 1 << 30, [1e-6]) == 0  # no queue is longer than 16,384
    assert supersteps([Activity(1, 1)] * 5, 100, [0.03] * 5) == 2  # no superstep begins after 50 ms
    assert supersteps([Activity(1, 1)] * (MOST_SUPERSTEPS + 9), 100, [0.0] * (MOST_SUPERSTEPS + 9)) == MOST_SUPERSTEPS


def test_how_many_iterations_one_step_repeats() -> None:
    assert repeated([0.05] * 10) == 4  # none begins after 0.2 s
    assert repeated([0.3, 0.1]) == 1
    assert repeated([1e-3] * 7) == 7


CHAINING = Machine(2, (
    WorkCost(CPU, "Labels", PUSH, UnitCost(1.0), iteration=100.0),
    WorkCost(CPU, "Labels", CHAIN, UnitCost(1e-7), UnitCost(1e-6), iteration=1e-5, call=1e-3, waited=1e-4),
))  # fmt: skip


@pytest.mark.parametrize(("how", "chained"), [
    ({}, True), ({"iterations": 9}, False), ({"trace": "x.json"}, False), ({"engine": "garaph"}, False),
])  # fmt: skip
def test_supersteps_of_one_call_by_hand(how: dict[str, object], chained: bool) -> None:
    work = work_of(*in_order([Activity(2, 10), Activity(3, 20, waited=5), Activity(4, 30)]))
    done = simulate(work, CHAINING, RunOptions(device=CPU, **how))
    if chained:
        each = [1e-5 + 2e-6 + 1e-6, 1e-5 + 3e-6 + 2e-6 + 5e-4, 1e-5 + 4e-6 + 3e-6 + 1e-3]
        assert [row.seconds for row in done.iterations] == pytest.approx(each)
        assert [row.active for row in done.iterations] == [2, 3, 4]
        assert done.iterations[1].started == pytest.approx(each[0])
    else:
        assert done.seconds > 1
    assert [row.mode for row in done.iterations] == [NOTIFY_PULL if how.get("engine") else PUSH] * 3


RANKS = Traits("Ranks", 8, updates_all_vertices=True)
REPEATING = Machine(2, tuple(
    WorkCost(CPU, "Ranks", mode, iteration=0.06, call=0.01) for mode in (PULL, PULL_TILED)
))  # fmt: skip


@pytest.mark.parametrize(("how", "calls"), [
    ({}, {3, 4}), ({"mode": PULL}, {3, 4}), ({"mode": PULL_TILED}, {3, 4}), ({"trace": "x.json"}, set(range(5))),
    ({"engine": "garaph"}, set(range(5))),
])  # fmt: skip
def test_iterations_of_one_step_by_hand(how: dict[str, Any], calls: set[int]) -> None:
    work = work_of(*in_order([Activity(80_000, 640_000)] * 5), traits=RANKS)
    done = simulate(work, REPEATING, RunOptions(device=CPU, **how))
    expected = [0.06 + 0.01 * (number in calls) for number in range(5)]
    assert [row.seconds for row in done.iterations] == pytest.approx(expected)


def test_a_step_repeats_nothing_of_several_pages_or_of_a_program_that_prepares() -> None:
    activities = in_order([Activity(80_000, 640_000)] * 5)
    paged = replace(work_of(*activities, traits=RANKS), page_edges=100_000)
    prepared = work_of(*activities, traits=replace(RANKS, prepares=True))
    for work in paged, prepared:
        done = simulate(work, REPEATING, RunOptions(device=CPU))
        assert [row.seconds for row in done.iterations] == pytest.approx([0.07] * 5)


def test_costs_of_an_engine_and_of_synchronous_runs() -> None:
    own = [
        WorkCost(CPU, "Labels", PULL, UnitCost(float(number)), engine=engine, sync=sync)
        for number, (engine, sync) in enumerate([("any", False), ("any", True), ("garaph", True)])
    ]
    weighted = [replace(one, edge=UnitCost(9.0), values=True) for one in own[:1]]
    with_values = Machine(1, (*(replace(one, values=False) for one in own), *weighted))
    assert with_values.work_of(CPU, "Labels", PULL, sync=True, values=True).edge.base == 9
    assert with_values.work_of(CPU, "Labels", PULL, sync=True, values=False).edge.base == 1
    machine = Machine(1, tuple(own))
    found = {
        (engine, sync): machine.work_of(CPU, "Labels", PULL, engine=engine, sync=sync).edge.base
        for engine in ("any", "garaph") for sync in (False, True)
    }  # fmt: skip
    assert found == {("any", False): 0, ("any", True): 1, ("garaph", False): 2, ("garaph", True): 2}
    assert Machine(1, tuple(own[2:])).work_of(CPU, "Labels", PUSH, engine="any").engine == "garaph"


def test_costs_by_hand_and_in_a_file() -> None:
    work = WorkCost(
        CPU, "Labels", PULL, UnitCost(1.0), UnitCost(2.0), iteration=3.0, engine="garaph", sync=True, near=5.0,
        far=UnitCost(7.0, 1.5), gathered=11.0, turn=13.0, active=17.0, graph=19.0, call=23.0, notified=29.0,
        waited=31.0, first=37.0, fetched=41.0, irregular=43.0, activated=47.0, mixed=53.0, locality=(0.1, 0.9),
    )  # fmt: skip
    counts = 1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e7, 10**8, 1e9, 10**10, 10**11, 1e12, 1e13
    demand = Demand(PULL, 9, *counts, activated=100.0, mixed=1e3)
    expected = 1 + 2e4 + 3 + 50 + 700 + 11e3 + 13e5 + 17e6 + 19e7 + 23e8 + 29e9 + 31e10 + 37e11 + 41e12 + 43e13
    expected += 47e2 + 53e3
    assert work.of(demand, 0) == pytest.approx(expected, abs=0.1)
    assert work.of(demand, 4 << 20) == pytest.approx(expected + 2 * 150, abs=0.1)
    assert replace(work, gathered=None).of(demand, 0) == pytest.approx(expected - 10e3, abs=0.1)
    machine = Machine(2, (work,))
    assert machine_of(tomllib.loads(machine_text(machine))) == machine


def recorded(shape: Shape, size: int, machine: Machine) -> RecordedRun:
    """What a machine would have recorded of a run over a graph of this shape."""
    n, m = size << 10, size << 13
    shares = [1e-4, 1e-2, 0.5, 0.9, 0.3, 0.01, 1e-5]
    activities = in_order(Activity(max(round(n * one), 1), round(m * one)) for one in shares)
    work = Workload(LABELS, n, m, even_offsets(n, m), tuple(activities), 4.0, 30.0, known_shape=shape)
    options = RunOptions(device=CPU)
    rows = [row._asdict() for row in simulate(work, machine, options).iterations]
    return RecordedRun(f"{size}", work, options, machine.cores, None, tuple(rows))


def test_the_costs_of_shapes_are_found_again() -> None:
    truth = Machine(2, (
        WorkCost(
            CPU, "Labels", PULL, UnitCost(1e-9), UnitCost(4e-9), near=3e-9, far=UnitCost(5e-9), turn=1e-8, graph=2e-9,
            iteration=1e-4, first=2e-4, fetched=2e-9,
        ),
        WorkCost(CPU, "Labels", PUSH, UnitCost(4e-9), UnitCost(2e-8), near=6e-9, iteration=1e-4, graph=1e-10),
        WorkCost(CPU, "Labels", CHAIN, UnitCost(2e-9), UnitCost(1e-8), irregular=3e-8, iteration=1e-7, call=1e-4),
    ))  # fmt: skip
    random = np.random.default_rng(1)
    shapes = [
        (Shape(int(size * 1000 * random.random()), int(size * 500 * random.random()), *random.random(3), 1.2), size)
        for size in (64, 96, 128, 160, 192, 224, 250, 256)
    ]
    runs = [recorded(shape, size, truth) for shape, size in shapes]
    machine = calibrate(runs[:-1])
    assert {work.mode for work in machine.work} == {PULL, PUSH, CHAIN}
    again = simulate(runs[-1].workload, machine, runs[-1].options)
    assert again.seconds == pytest.approx(runs[-1].seconds, rel=0.02)
    for row, was in zip(again.iterations, runs[-1].rows, strict=True):
        assert row.seconds == pytest.approx(was["seconds"], rel=0.15)


def test_an_iteration_after_one_in_another_mode_costs_more() -> None:
    costs = (WorkCost(CPU, "Labels", mode, UnitCost(1.0), first=1e9) for mode in (PULL, PUSH))
    machine, options = Machine(2, tuple(costs)), RunOptions(device=CPU, iterations=9)
    many, few = Activity(70_000, 600_000), Activity(100, 20_000)
    work = work_of(*in_order([many, many, few, few, many]))
    done = simulate(work, machine, options)
    assert [row.mode for row in done.iterations] == [PULL, PULL, PUSH, PUSH, PULL]
    assert [row.seconds >= 1e9 for row in done.iterations] == [True, False, True, False, True]
    rows = [row._asdict() for row in done.iterations]
    run = RecordedRun("again", work, options, 2, None, tuple(rows))
    assert [sample.demand.first for sample in samples(run)] == [1, 0, 1, 0, 1]


def test_a_chain_is_another_mode() -> None:
    costs = (WorkCost(CPU, "Labels", mode, UnitCost(1.0), first=1e9) for mode in (PULL, PUSH, CHAIN))
    machine, options = Machine(2, tuple(costs)), RunOptions(device=CPU)
    many, few = Activity(70_000, 600_000), Activity(10, 100)
    work = work_of(*in_order([many, few, many, few]))
    done = simulate(work, machine, options)
    assert [row.mode for row in done.iterations] == [PULL, PUSH, PULL, PUSH]
    assert [row.seconds >= 1e9 for row in done.iterations] == [True, False, True, False]  # a chain has no such cost
    run = RecordedRun("chained", work, options, 2, None, tuple(row._asdict() for row in done.iterations))
    assert [(sample.demand.mode, sample.demand.first) for sample in samples(run)] == [
        (PULL, 1), (CHAIN, 0), (PULL, 1), (CHAIN, 0),
    ]  # fmt: skip


def test_what_has_the_costs_of_a_push_is_counted_as_one() -> None:
    """Without costs of their own, a chain loses values from caches, and notifying takes longer in a larger graph."""
    vertex, few = UnitCost(0.0, 1e-6), Activity(10, 100)
    machine = Machine(1, (WorkCost(CPU, "Labels", PUSH, near=1e-6, vertex=vertex),))
    chained = simulate(work_of(few), machine, RunOptions(device=CPU))
    of_push = 50 * 1e-6 + 10 * vertex.seconds(work_of().graph_bytes)
    assert chained.seconds == pytest.approx(of_push)
    cpu = SimulatedCpu(work_of(few), machine, 1, AUTO)
    assert cpu.notify_seconds(few, [], []) == pytest.approx(of_push)


def test_a_short_run_counts_as_much_as_a_long_one() -> None:
    """An edge took one long run twice as long as ten short ones: its cost is near that of the short ones."""
    seconds, wholes = [200.0, *[1.0] * 10], [200.0, *[1.0] * 10]
    edges = [100.0, *[1.0] * 10]
    (alike,), (by_time,) = fit([edges], seconds, wholes), fit([edges], seconds)
    assert alike == pytest.approx(11 / (100 / 200 + 10))  # the shares of the eleven runs have the sum 11
    assert by_time == pytest.approx(210 / 110)


def test_few_graphs_show_nothing_of_their_shapes() -> None:
    runs = [recorded(SHAPE, size, CHAINING) for size in (64, 128)]
    for work in calibrate(runs).work:
        assert (work.near, work.far, work.turn, work.graph) == (0, UnitCost(), 0, 0)


def test_other_programs_get_the_costs_of_all() -> None:
    one, other = (recorded(SHAPE, 64, CHAINING), recorded(SHAPE, 128, CHAINING))
    other = replace(other, workload=replace(other.workload, traits=replace(LABELS, name="Other")))
    assert {work.program for work in calibrate([one]).work} == {"Labels"}
    assert {work.program for work in calibrate([one, other]).work} == {"Labels", "Other", "any"}


@pytest.mark.parametrize("how", [{}, {"mode": PULL_TILED}, {"trace": "t.json"}, {"engine": "garaph"}], ids=str)
def test_a_real_step_is_known_as_one(how: dict[str, Any], tmp_path: Path) -> None:
    """Each iteration of the record takes 0.07 s, so a step has three."""
    graph, program = gp.rmat(12, 8), gp.apps.PageRank(stop="never")
    options = how | {"trace": tmp_path / "t.json"} if "trace" in how else how
    stats = run_with(program, graph, device="cpu", iterations=7, **options).stats
    rows = [row._asdict() | {"seconds": 0.07} for row in stats.iterations]
    work = workload_of(bind(program, graph), graph, activities_of(rows, graph.m), synchronous=True)
    run = RecordedRun("r", work, RunOptions(device=CPU, iterations=7, **how), stats.threads, None, tuple(rows))
    is_one_by_one = "trace" in how or "engine" in how
    assert [sample.demand.calls for sample in samples(run)] == ([1] * 7 if is_one_by_one else [0, 0, 1, 0, 0, 1, 1])


@pytest.mark.full
def test_a_real_chain_is_known_as_one() -> None:
    """A search along a path: the real run does all supersteps in one call, and so does the simulation of its record.

    The record has other times, for a call ends early on a busy machine.
    """
    path = gp.from_edges(np.arange(3000), np.arange(1, 3001), directed=False)
    stats = run_with(gp.apps.BFS(0), path, device="cpu").stats
    rows = [row._asdict() | {"seconds": 1e-7} for row in stats.iterations]
    rows[-1]["seconds"] = 1e-3
    work = workload_of(bind(gp.apps.BFS(0), path), path, activities_of(rows, path.m), synchronous=False)
    run = RecordedRun("path", work, RunOptions(device=CPU), stats.threads, None, tuple(rows))
    machine = calibrate([run])
    assert [one.mode for one in machine.work] == [CHAIN]
    assert simulate(work, machine, run.options).seconds == pytest.approx(run.seconds, rel=0.01)
