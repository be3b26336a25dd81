"""What shared iterations cost is found from runs of a machine that is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from garaph_py.executor.modes import BOTH, CPU, GPU, NOTIFY_PULL, PULL
from garaph_py.simulation import simulate
from garaph_py.simulation.machine import Machine, UnitCost, WorkCost
from garaph_py.simulation.recorded import RecordedRun
from garaph_py.simulation.sharing import shortened, with_sharing
from garaph_py.simulation.workload import Activity
from tests.support.simulated import KNOWN, LABELS, SUMS, how, recorded

WITHOUT = replace(KNOWN, work=(
    WorkCost(CPU, "PageRank", PULL, UnitCost(3e-9), iteration=2e-4), WorkCost(GPU, "PageRank", PULL, UnitCost(1e-11)),
))  # fmt: skip
"""A machine on which the GPU is faster than the CPU even if it copies edges, and to share pages costs nothing."""
COSTS = WorkCost(BOTH, "any", PULL, page=3e-4, launch=1.5e-4, iteration=8e-4)


def test_costs_of_sharing_leave_out_what_the_cpu_s_edges_take():
    pull = WorkCost(CPU, "PageRank", PULL, UnitCost(0.0), near=1e-8, iteration=2e-4)
    known = replace(KNOWN, work=(pull, *KNOWN.work[1:]))
    runs = [recorded(scale, SUMS, "hybrid", 0.25, known) for scale in (20, 21)]
    assert {row["device"] for run in runs for row in run.rows} == {GPU, BOTH}
    found = with_sharing(replace(known, work=known.work[:-1]), runs).overhead("PageRank")
    assert 0 < found.page < 1e-3  # 2e-4 is true; the edges of a page take the CPU 0.05 s


def paged(scale: int, share: float) -> RecordedRun:
    """A run of the engine `garaph` on the known machine with `COSTS`, over pages of which each processor takes some."""
    machine = replace(WITHOUT, work=(*WITHOUT.work, COSTS))
    run = recorded(scale, SUMS, "hybrid", share, machine)
    work = replace(run.workload, page_edges=run.workload.edges // 16)
    options = how("hybrid", "garaph:keep=yes")
    rows = simulate(work, machine, options, run.room).iterations
    return replace(run, workload=work, options=options, rows=tuple(row._asdict() for row in rows))


def test_costs_of_a_page_are_found_on_either_side():
    runs = [paged(scale, share) for scale in (18, 19) for share in (0.25, 2.0)]
    assert {row["device"] for run in runs for row in run.rows} == {BOTH}
    machine = with_sharing(WITHOUT, runs)
    found = machine.overhead("PageRank")
    assert (found.page, found.launch) == pytest.approx((COSTS.page, COSTS.launch), abs=8e-5)
    assert found.iteration == pytest.approx(COSTS.iteration, rel=0.1)
    for run in runs:
        assert simulate(run.workload, machine, run.options, run.room).seconds == pytest.approx(run.seconds, rel=0.1)


def test_a_disturbed_iteration_changes_little():
    def disturbed(run: RecordedRun) -> RecordedRun:
        return replace(run, rows=(*run.rows[:2], {**run.rows[2], "seconds": 2 * run.rows[2]["seconds"]}))

    runs = [paged(scale, share) for scale in (18, 19) for share in (0.25, 2.0)]
    found = with_sharing(WITHOUT, [disturbed(runs[0]), *runs[1:]]).overhead("PageRank")
    assert found.iteration == pytest.approx(COSTS.iteration, rel=0.1)


def test_costs_of_a_shared_notification_are_found():
    """The constant and what a notified vertex costs, beside what a page costs."""
    pull = replace(COSTS, launch=0.0)  # what launching costs is hardly seen here
    known = replace(pull, mode=NOTIFY_PULL, iteration=2e-3, notified=5e-9)
    gpu = WorkCost(GPU, "any", PULL, UnitCost(1e-11))
    cpu = tuple(WorkCost(CPU, "any", mode, UnitCost(3e-9), iteration=2e-4) for mode in (PULL, NOTIFY_PULL))
    without = replace(KNOWN, work=(*cpu, gpu))
    machine = replace(without, work=(*without.work, pull, known))
    runs = [notified(scale, machine) for scale in (18, 19)]
    assert {row["mode"] for run in runs for row in run.rows if row["device"] == BOTH} == {NOTIFY_PULL, PULL}
    found = with_sharing(without, runs).overhead("PageRank", NOTIFY_PULL)
    assert (found.iteration, found.notified) == pytest.approx((known.iteration, known.notified), rel=0.15)


def notified(scale: int, machine: Machine) -> RecordedRun:
    """A run like `paged` of a relaxation, in which all, and then ever fewer vertices are active."""
    run = recorded(scale, LABELS, "hybrid", 0.25, machine)
    n, m = run.workload.vertices, run.workload.edges
    shares = (1.0, 1.0, 1.0, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15)
    activities = tuple(Activity(int(n * share), int(m * share)) for share in shares)
    work = replace(run.workload, activities=activities, page_edges=m // 16)
    options = how("hybrid", "garaph:keep=yes")
    rows = simulate(work, machine, options, run.room).iterations
    return replace(run, workload=work, options=options, rows=tuple(row._asdict() for row in rows))


def test_only_the_first_shared_pulls_are_simulated():
    run = paged(18, 0.25)
    (short,) = shortened([run, recorded(14, SUMS, GPU, 0.25)])
    assert (len(run.rows), len(short.rows), len(short.workload.activities)) == (6, 3, 3)


def test_a_machine_whose_runs_share_nothing_stays_as_it_is():
    assert with_sharing(WITHOUT, [recorded(14, SUMS, GPU, 0.25)]) is WITHOUT
