"""What pulls of a GPU cost is found again in runs of a known machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from garaph_py.dispatch.rates import Speeds
from garaph_py.executor.modes import GPU, PULL
from garaph_py.simulation import Machine, simulate
from garaph_py.simulation.calibrate import calibrate
from tests.support.simulated import KNOWN, SUMS, recorded

ONE_BY_ONE = "garaph:keep=yes"
"""An engine whose pulls are not launched together."""


def launching(seconds: float) -> Machine:
    """The known machine, whose GPU takes so long to launch a page."""
    work = tuple(replace(one, launch=seconds) if one.processor == GPU else one for one in KNOWN.work)
    return replace(KNOWN, work=work)


def test_copies_and_the_first_iteration_have_costs_of_their_own():
    work = tuple(replace(one, first=2e-3) if one.processor == GPU else one for one in KNOWN.work)
    known = replace(KNOWN, work=work, link=replace(KNOWN.link, copy=3e-4))
    runs = [recorded(scale, SUMS, GPU, share, known, ONE_BY_ONE) for scale in (17, 18, 19) for share in (0.25, 2.0)]
    speeds = Speeds(4e9, 1e11, 5e10)
    machine = calibrate([replace(run, copy_rate=5e10, speeds=speeds) for run in runs])
    assert machine.speeds == speeds
    found = machine.work_of(GPU, "PageRank", PULL)
    assert machine.link.copy == pytest.approx(3e-4, rel=0.1)
    assert found.first == pytest.approx(2e-3, rel=0.1)
    assert found.iteration == pytest.approx(1e-3, rel=0.1)
    for share in 0.5, 2.0:
        run = recorded(20, SUMS, GPU, share, known, ONE_BY_ONE)
        assert simulate(run.workload, machine, run.options, run.room).seconds == pytest.approx(run.seconds, rel=0.05)


@pytest.mark.parametrize("launch", [pytest.param(0.0, marks=pytest.mark.full), 7e-5])
def test_launches_of_pages_are_told_from_their_copies(launch: float) -> None:
    known = launching(launch)
    known = replace(known, link=replace(known.link, copy=2e-5))
    runs = [
        recorded(scale, SUMS, GPU, share, known, ONE_BY_ONE) for scale in (15, 16, 17) for share in (0.25, 0.9, 2.0)
    ]
    machine = calibrate([replace(run, copy_rate=5e10) for run in runs])
    assert machine.work_of(GPU, "PageRank", PULL).launch == pytest.approx(launch, abs=6e-6)
    for share in 0.6, 0.95:  # an iteration that copies little, too, waits for the launches of pages that stay
        run = recorded(16, SUMS, GPU, share, known, ONE_BY_ONE)
        assert simulate(run.workload, machine, run.options, run.room).seconds == pytest.approx(run.seconds, rel=0.05)


def test_copies_from_memory_that_is_not_pinned_have_a_rate_of_their_own() -> None:
    known = replace(KNOWN, link=replace(KNOWN.link, unpinned=4e9))
    pinned = [recorded(scale, SUMS, GPU, share, known, ONE_BY_ONE) for scale in (16, 17) for share in (0.25, 2.0)]
    small = [recorded(13, SUMS, GPU, share, known, ONE_BY_ONE) for share in (0.25, 2.0)]
    assert [run.workload.is_pinned for run in (*pinned, *small)] == [True] * 4 + [False] * 2
    assert calibrate(pinned).link.unpinned is None
    machine = calibrate([*pinned, *small])
    assert machine.link.unpinned == pytest.approx(4e9, rel=0.05)
    assert machine.link.to_device == pytest.approx(5e10, rel=0.05)
    run = recorded(14, SUMS, GPU, 0.5, known, ONE_BY_ONE)
    assert simulate(run.workload, machine, run.options, run.room).seconds == pytest.approx(run.seconds, rel=0.05)
