"""Pushes of a simulated GPU: decided as on a real one, done in calls of several supersteps, and calibrated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from garaph_py.dispatch.policy import AutoPolicy
from garaph_py.dispatch.rates import Rates
from garaph_py.executor.costs import EXPECTED
from garaph_py.executor.decision import Decision
from garaph_py.executor.far_lists import SECTOR
from garaph_py.executor.gpu.header import CHAIN_LENGTH
from garaph_py.executor.modes import CPU, GPU, NOTIFY_PULL, PULL, PUSH
from garaph_py.runtime.options import HYBRID
from garaph_py.simulation import Activity, Workload, simulate
from garaph_py.simulation.assess import extrapolations
from garaph_py.simulation.calibrate import calibrate, push_costs, with_any
from garaph_py.simulation.demand import CHAIN, PUSH_FEW
from garaph_py.simulation.gpu_pulls import with_launch
from garaph_py.simulation.gpu_pushes import (
    SMALL_ACTIVE,
    SMALL_EDGES,
    can_push,
    capabilities_of_gpu,
    expected_seconds,
    of_gpu_push,
    ways_of_call,
)
from garaph_py.simulation.machine import UnitCost, WorkCost
from garaph_py.simulation.simulate import executor_of
from garaph_py.simulation.workload import Traits, even_offsets
from tests.support.simulated import KNOWN, LABELS, SMALL, SUMS, how, recorded, workload

LARGE = Activity(SMALL_ACTIVE, SMALL_EDGES + 1)
FEW = Activity(1, 4)
PUSHES = (
    WorkCost(GPU, "any", CHAIN, UnitCost(2.0), iteration=8.0, call=64.0, first=256.0),
    WorkCost(GPU, "any", PUSH_FEW, UnitCost(1.0), iteration=4.0, call=32.0, first=128.0),
)
PUSHING = replace(SMALL, work=(*SMALL.work, *PUSHES))


def test_one_launch_does_all_supersteps_over_small_frontiers() -> None:
    assert ways_of_call([FEW] * 100, SMALL_EDGES) == [PUSH_FEW] * 100
    assert ways_of_call([replace(FEW, active=SMALL_ACTIVE + 1)], SMALL_EDGES) == [CHAIN]


def test_a_call_has_so_many_launches() -> None:
    assert ways_of_call([LARGE] * 100, 1 << 20) == [CHAIN] * CHAIN_LENGTH
    mixed = [LARGE, FEW, FEW] * 100
    assert ways_of_call(mixed, 1 << 20) == [CHAIN, PUSH_FEW, PUSH_FEW] * (CHAIN_LENGTH // 2)


def test_a_call_ends_where_a_superstep_would_pull() -> None:
    assert ways_of_call([FEW, LARGE, FEW], LARGE.active_edges - 1) == [PUSH_FEW]
    assert ways_of_call([LARGE], LARGE.active_edges - 1) == []


def test_a_call_by_hand() -> None:
    """All edges are on the GPU: the run's first superstep, one beside it in the same kernel, and the last."""
    done = simulate(workload(LABELS, [FEW, Activity(3, 16), FEW]), PUSHING, how(GPU), room=8192)
    assert [(row.mode, row.device, row.edges, row.pages) for row in done.iterations] == [
        (PUSH, GPU, 4, 4), (PUSH, GPU, 16, 4), (PUSH, GPU, 4, 4)
    ]  # fmt: skip
    assert [row.seconds for row in done.iterations] == [4 + 4 + 128, 4 + 16, 4 + 4 + 32]
    assert [row.to_device for row in done.iterations] == [4096, 0, 0]  # all edges, while the run was set up
    traced = replace(how(GPU), trace="-")  # each superstep is seen, so each is a call
    single = simulate(workload(LABELS, [FEW, FEW]), PUSHING, traced, room=8192)
    assert [row.seconds for row in single.iterations] == [8 + 8 + 64 + 256, 8 + 8 + 64]


def test_lists_in_host_memory_are_read_over_the_link() -> None:
    far = replace(PUSHES[1], far=UnitCost(0.5))
    work, room = workload(LABELS, [FEW, FEW], n=1 << 10, m=1 << 14), 1 << 15
    elsewhere = work.residency(room).elsewhere
    share = sum(page.edges for page in elsewhere) / work.edges
    done = simulate(work, replace(SMALL, work=(*SMALL.work, far)), how(GPU), room)
    nbytes = share * (4 * 4 + SECTOR)
    assert 0.2 < share < 0.8
    assert [row.to_device for row in done.iterations] == [round(nbytes)] * 2
    assert done.iterations[1].seconds == 4 + 4 + 32 + nbytes / 2


def test_one_warp_reads_a_list_in_host_memory_by_itself() -> None:
    waits = replace(PUSHES[1], alone=0.25)
    work, room = workload(LABELS, [FEW, Activity(4, 4096)], n=1 << 10, m=1 << 14), 1 << 15
    share = sum(page.edges for page in work.residency(room).elsewhere) / work.edges
    done = simulate(work, replace(SMALL, work=(*SMALL.work, waits)), how(GPU), room)
    assert done.iterations[1].seconds == pytest.approx(4 + 4096 + 32 + share * 1024 / 4)
    everything = simulate(work, replace(SMALL, work=(*SMALL.work, waits)), how(GPU), 1 << 20)
    assert everything.iterations[1].seconds == 4 + 4096 + 32
    assert of_gpu_push(work, Activity(4, 4096), work.residency(room), CHAIN).alone == 0  # lists are divided


def test_the_cost_of_a_push_is_that_of_real_runs() -> None:
    work, policy = workload(LABELS, n=1 << 16, m=1 << 20), AutoPolicy()
    near, far = work.residency(8 << 20), work.residency(1 << 20)
    assert capabilities_of_gpu(work, near, True, policy).push_cost == pytest.approx(EXPECTED.gpu / EXPECTED.push_cached)
    nbytes = 4.0 * sum(page.edges for page in far.elsewhere)
    pull = work.edges / EXPECTED.gpu + nbytes / EXPECTED.link
    push = work.edges / EXPECTED.push_cached + nbytes / EXPECTED.far
    assert capabilities_of_gpu(work, far, True, policy).push_cost == pytest.approx(push / pull)
    lists = workload(LABELS, n=1 << 13, m=1 << 20)  # long ones, which are read faster unless they are packed
    for edge_bytes, rate in (4.0, EXPECTED.far_long), (3.0, EXPECTED.far):
        long = replace(lists, edge_bytes=edge_bytes)
        residency = long.residency(1 << 20)
        nbytes = edge_bytes * sum(page.edges for page in residency.elsewhere)
        _, push, sooner = expected_seconds(long, residency, deltas=False)
        assert push == pytest.approx(long.edges / EXPECTED.push_cached + nbytes / EXPECTED.far)
        assert sooner == pytest.approx(long.edges / EXPECTED.push_cached + nbytes / rate)
    large = workload(LABELS, n=1 << 24, m=1 << 25, page_edges=None)  # values that the GPU's cache does not hold
    push_cost = capabilities_of_gpu(large, large.residency(1 << 30), True, policy).push_cost
    assert push_cost == pytest.approx(EXPECTED.push_edge)
    assert of_gpu_push(work, Activity(10, 100, followed=40), near, CHAIN).edges == 40


def test_a_gpu_pushes_if_the_program_may_and_the_machine_knows_the_cost() -> None:
    work = workload(LABELS)
    assert can_push(work, PUSHING)
    assert not can_push(work, SMALL)
    assert not can_push(work, replace(SMALL, work=(*SMALL.work, replace(PUSHES[0], program="SSSP"))))
    assert not can_push(work, replace(SMALL, work=(*SMALL.work, replace(PUSHES[0], processor=CPU))))
    assert not any(can_push(each, PUSHING) for each in (
        workload(SUMS), replace(work, pushes=False), replace(work, on_disks=True)
    ))  # fmt: skip
    for machine, engine in (SMALL, "auto"), (PUSHING, "garaph"):
        done = simulate(workload(LABELS, [FEW] * 2), machine, how(GPU, engine), room=8192)
        assert all(row.mode in (PULL, NOTIFY_PULL) for row in done.iterations)


def test_in_a_hybrid_run_the_gpu_pushes_alone() -> None:
    work = recorded(20, LABELS, HYBRID, 2.0).workload
    pushes = [replace(one, edge=UnitCost(2e-11), iteration=1e-5, call=3e-4, first=0.0) for one in PUSHES]
    before, after = (
        simulate(work, replace(KNOWN, work=(*KNOWN.work, *more)), how(HYBRID), int(2.0 * work.edges * 4))
        for more in ((), pushes)
    )
    assert (PUSH, GPU) not in {(row.mode, row.device) for row in before.iterations}
    pushed = [row for row in after.iterations if (row.mode, row.device) == (PUSH, GPU)]
    assert pushed[0].edges == work.activities[pushed[0].number].active_edges
    assert after.seconds < before.seconds


def test_values_that_only_the_host_has_are_sent_before_a_push() -> None:
    work = workload(LABELS, [FEW, FEW])
    both = executor_of(work, PUSHING, how(HYBRID), 8192)
    rates = Rates.expected(1, *both.capabilities.loads[0], reactive=False)
    times = []
    for device in (GPU, CPU, GPU, GPU):
        (done,) = both.steps(work.activities, Decision(PUSH, "", device, sharing=(rates,)))
        times.append(done.seconds)
    alone = 8 + 2 * 4 + 64  # a call with one superstep
    assert times[2:] == [alone + work.vertex_data / PUSHING.link.to_device, alone]
    assert done.sharing == (rates,)


SEARCH = Traits("BFS", 4, is_relaxation=True, ends_early=True)
TRUE = replace(KNOWN, work=(
    WorkCost(CPU, "BFS", PULL, UnitCost(1e-9), iteration=2e-4),
    WorkCost(GPU, "BFS", PULL, UnitCost(1e-11), iteration=2e-4, first=1e-3),
    WorkCost(GPU, "BFS", CHAIN, UnitCost(2e-11), far=UnitCost(3e-11), iteration=4e-5, call=4e-4, first=2e-4),
    WorkCost(GPU, "BFS", PUSH_FEW, UnitCost(4e-10), iteration=8e-6, call=4e-4, first=2e-4, alone=1e-7),
    WorkCost(GPU, "BFS", PUSH, UnitCost(2e-11), far=UnitCost(3e-11), iteration=1.5e-4),
))  # fmt: skip


def searched(scale: int, share: float, trace: str | None = None, shares: tuple[float, ...] = ()):
    """A search with pushes of all kinds, as the true machine has it."""
    run = recorded(scale, SEARCH, GPU, share, TRUE)
    n, m = run.workload.vertices, run.workload.edges
    shares = shares or (1e-9, 1e-6, 0.003, 0.95, 0.9, 0.02, 0.01, 0.006, 0.004, 0.003, 0.002, 0.0015, 1e-6, 1e-8)
    activities = tuple(Activity(max(round(n * one), 1), round(m * one)) for one in shares)
    work = Workload(SEARCH, n, m, even_offsets(n, m), activities, 4.0, 30.0)
    options = replace(run.options, trace=trace)
    rows = tuple(row._asdict() for row in simulate(work, TRUE, options, run.room).iterations)
    return replace(run, workload=work, options=options, rows=rows, copy_rate=5e10)


def test_calibration_finds_the_costs_of_pushes_again() -> None:
    runs = [searched(scale, share) for scale in (16, 17, 18) for share in (0.25, 2.0)]
    assert {row["mode"] for run in runs for row in run.rows} == {PULL, PUSH}
    machine = calibrate(runs)
    assert all(work.processor != CPU for work in machine.work)  # none of it was done by the CPU
    for way, edge, fixed in (CHAIN, 2e-11, 4e-5), (PUSH_FEW, 4e-10, 8e-6):
        found = machine.work_of(GPU, "BFS", way)
        assert found.mode == way
        assert found.edge.base == pytest.approx(edge, rel=0.1)
        assert found.iteration == pytest.approx(fixed, rel=0.1)
        assert found.call == pytest.approx(4e-4, rel=0.1)
    assert machine.work_of(GPU, "BFS", CHAIN).far.base == pytest.approx(3e-11, rel=0.1)
    assert machine.work_of(GPU, "BFS", PUSH_FEW).alone == pytest.approx(1e-7, rel=0.1)
    assert machine.work_of(GPU, "BFS", PULL).first == pytest.approx(1e-3, rel=0.1)
    for share in 0.5, 2.0:
        run = searched(19, share)
        done = simulate(run.workload, machine, run.options, run.room)
        assert [row.mode for row in done.iterations] == [row["mode"] for row in run.rows]
        assert done.seconds == pytest.approx(run.seconds, rel=0.05)
        said = extrapolations(machine, run.workload, done, run.options.policy)
        beyond = "2.0 MiB of vertex data, beyond the 256.0 KiB to 1.0 MiB that were measured"
        assert f"BFS on the GPU, push: {beyond}" in said


def test_other_programs_have_the_costs_of_all_on_a_gpu() -> None:
    runs = [searched(scale, share) for scale in (16, 17, 18) for share in (0.25, 2.0)]
    runs += [replace(recorded(scale, SUMS, GPU, 0.25), copy_rate=5e10) for scale in (20, 21)]
    machine = calibrate(runs)
    assert machine.work_of(GPU, "SSSP", PUSH_FEW) == replace(machine.work_of(GPU, "BFS", PUSH_FEW), program="any")
    costs = [machine.work_of(GPU, program, PULL) for program in ("SSSP", "BFS", "PageRank")]
    assert [work.program for work in costs] == ["any", "BFS", "PageRank"]
    launching = with_any(with_launch(calibrate(runs[:6]), 7e-5), runs, runs)
    assert launching.work_of(GPU, "SSSP", PULL).launch == 7e-5
    other = replace(runs[0].workload, traits=replace(SEARCH, name="SSSP"))
    done = simulate(other, machine, runs[0].options, runs[0].room)
    assert done.seconds == pytest.approx(runs[0].seconds, rel=0.5)
    said = extrapolations(machine, other, done, runs[0].options.policy)
    assert any("SSSP on the GPU, push: not measured" in one for one in said)
    assert not any(work.program == "any" for work in calibrate(runs[:6]).work)


def test_small_pushes_by_themselves_show_their_fixed_cost_only() -> None:
    """What they cost otherwise is as in calls of several; if some are large, they show it themselves."""
    large, small = (1e-9, 0.003, 0.9, 0.02, 0.01, 1e-6), (1e-9, 1e-8, 1e-7, 1e-6)
    together = [searched(scale, 2.0, shares=large) for scale in (16, 17)]
    apart = [searched(scale, 2.0, "-", small) for scale in (16, 17)]
    found = {work.mode: work for work in push_costs([*together, *apart])}
    assert found[PUSH].iteration == pytest.approx(1.5e-4, rel=0.1)
    assert (found[PUSH].edge, found[PUSH].call) == (found[CHAIN].edge, 0.0)
    apart += [searched(scale, 2.0, "-", large) for scale in (16, 17)]
    found = {work.mode: work for work in push_costs([*together, *apart])}
    assert found[PUSH].edge != found[CHAIN].edge
    assert found[PUSH].edge.base == pytest.approx(2e-11, rel=0.1)
