"""Pulls of a GPU that were launched together are told from others in records, and have costs of their own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from garaph_py.executor.gpu.header import MOST_PULLS
from garaph_py.executor.modes import GPU, PULL
from garaph_py.simulation import Machine, simulate
from garaph_py.simulation.calibrate import calibrate
from garaph_py.simulation.demand import PULL_AHEAD
from garaph_py.simulation.gpu_ahead import ahead
from garaph_py.simulation.machine import Disks, UnitCost, WorkCost
from tests.support.simulated import EVERYBODY, KNOWN, SUMS, recorded

COSTS = WorkCost(GPU, "PageRank", PULL_AHEAD, UnitCost(7e-12), UnitCost(5e-11), iteration=2e-5)
SINGLE_PULL = KNOWN.work_of(GPU, "PageRank", PULL).iteration
"""Seconds that a pull by itself takes beside its edges."""
AHEAD = replace(KNOWN, work=(*KNOWN.work, COSTS))


def long(scale: int, share: float, machine: Machine = AHEAD, count: int = MOST_PULLS + 3):
    """A recorded run of so many iterations."""
    run = recorded(scale, SUMS, GPU, share, machine)
    run = replace(run, workload=replace(run.workload, activities=(EVERYBODY,) * count))
    rows = simulate(run.workload, machine, run.options, run.room).iterations
    return replace(run, rows=tuple({**run.rows[0], **row._asdict()} for row in rows))


def test_which_pulls_were_launched_together():
    run = long(15, 2.0)
    assert ahead(run) == [False, *[True] * (MOST_PULLS + 2)]  # edges are copied in the first; then 8, and 2
    limited = replace(run, options=replace(run.options, iterations=MOST_PULLS + 2))
    assert ahead(replace(limited, rows=run.rows[: MOST_PULLS + 2])) == [False, *[True] * MOST_PULLS, False]
    there = ({**run.rows[0], "to_device": 0}, *run.rows[1:])
    assert ahead(replace(run, rows=there)) == [True] * (MOST_PULLS + 3)
    for options in {"check": "finite"}, {"gather": "replicated"}, {"engine": "garaph:keep=yes"}:
        assert not any(ahead(replace(run, options=replace(run.options, **options))))
    assert not any(ahead(long(15, 0.5)))


def test_their_costs_are_found_again():
    runs = [long(scale, share) for scale in (14, 15, 17) for share in (0.25, 2.0)]
    machine = calibrate([replace(run, copy_rate=5e10) for run in runs])
    found, one = (machine.work_of(GPU, "PageRank", mode) for mode in (PULL_AHEAD, PULL))
    assert found.mode == PULL_AHEAD
    assert 256 * found.edge.base + found.vertex.base == pytest.approx(256 * 7e-12 + 5e-11, rel=0.1)  # of each vertex
    assert found.iteration == pytest.approx(2e-5, rel=0.1)
    assert one.iteration == pytest.approx(SINGLE_PULL, rel=0.1)
    run = long(18, 2.0)
    assert simulate(run.workload, machine, run.options, run.room).seconds == pytest.approx(run.seconds, rel=0.05)


@pytest.mark.parametrize("limit", [None, MOST_PULLS + 2])
def test_the_last_pull_of_a_run(limit):
    """One pull is left after eight: without a limit, the host launches eight more; with a limit, it launches one."""
    run = long(15, 2.0, count=MOST_PULLS + 2)
    run = replace(run, options=replace(run.options, iterations=limit))
    done = simulate(run.workload, AHEAD, run.options, run.room).iterations
    assert ahead(run) == [False, *[True] * MOST_PULLS, limit is None]
    together = done[1].seconds
    assert done[-1].seconds == pytest.approx(together if limit is None else SINGLE_PULL, rel=0.2)


def test_edges_on_disk_are_read_first():
    run = long(15, 2.0)
    work = replace(run.workload, on_disks=True)
    machine = replace(AHEAD, disks=Disks(1, 1e9, 1e8))
    first, second, *_ = simulate(work, machine, run.options, run.room).iterations
    assert first.to_device > 0
    assert first.seconds > 10 * second.seconds


def test_what_is_launched_by_itself():
    run = long(15, 2.0)
    assert len(run.workload.residency(run.room).pages) > 1
    assert not any(ahead(replace(run, deterministic=True)))
    assert not any(ahead(replace(run, workload=replace(run.workload, traits=replace(SUMS, prepares=True)))))


def test_without_their_costs_each_is_one_of_a_kind():
    run = long(15, 2.0, KNOWN)
    seconds = [row["seconds"] for row in run.rows]
    assert len({round(each, 12) for each in seconds[1:]}) == 1
    assert seconds[1] == pytest.approx(min(seconds))
