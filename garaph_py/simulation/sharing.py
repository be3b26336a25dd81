"""What an iteration that CPU and GPU share costs beside its pages, fitted to measured runs.

Which page each of them takes, and when, follows from the page queue, so the costs are found by simulating the same
iterations: what the CPU takes to be handed a page, and the GPU's thread to launch one, by trial; the rest of the time
is fitted as a constant plus a share of what the copies take. Few iterations are shared, so these costs are the same for
all programs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..executor.modes import BOTH, NOTIFY_PULL, PULL
from .demand import notified_vertices
from .fitting import least_errors
from .machine import ANY, Machine, WorkCost
from .recorded import RecordedRun, is_first, room_of
from .simulate import simulate

STEP = 1.5e-4
"""First seconds, and distance to the next ones, that are tried for a page."""
ROUNDS = 2
"""How often others are tried around the best, each time at half the distance."""
ALIKE = 3
"""Shared pulls of a run that are simulated: all later ones are like the third."""


@dataclass(frozen=True, order=True)
class Misfit:
    """How far simulated pulls on both processors are from the measured ones.

    Attributes
    ----------
    error : float
        Mean error, as a share of the measured time, with these costs:
    constant, more : float
        Fixed seconds of each, and in addition the share by which copies take longer, or in a notify-pull the seconds
        for each notified vertex.
    """

    error: float
    constant: float = 0.0
    more: float = 0.0


def with_sharing(machine: Machine, runs: Sequence[RecordedRun]) -> Machine:
    """`machine` with the costs of shared iterations, as fitted to `runs` on both processors."""
    assert machine.link is not None
    shared, best, step = list(shortened(runs)), (STEP, STEP), STEP
    tried: dict[tuple[float, float], Misfit] = {}
    for _ in range(ROUNDS if shared else 0):
        around = ([max(each + k * step, 0.0) for k in (-1, 0, 1)] for each in best)
        for page, launch in itertools.product(*around):
            if (page, launch) not in tried:
                tried[page, launch] = misfit(with_both(machine, page, launch), shared, PULL)
        best, step = min(tried, key=lambda costs: tried[costs]), step / 2
    if not tried or math.isinf(tried[best].error):
        return machine
    found = tried[best]
    machine = replace(machine, link=replace(machine.link, beside_cpu=1 / (1 + found.more)))
    machine = with_both(machine, *best, found.constant)
    notifying = [run for run in runs if any((row["device"], row["mode"]) == (BOTH, NOTIFY_PULL) for row in run.rows)]
    notified = misfit(with_both(machine, *best, mode=NOTIFY_PULL), notifying, NOTIFY_PULL)
    if math.isinf(notified.error):
        return machine
    return with_both(machine, *best, notified.constant, notified.more, NOTIFY_PULL)


def with_both(
    machine: Machine, page: float, launch: float, constant: float = 0.0, notified: float = 0.0, mode: str = PULL
) -> Machine:
    """`machine` with these costs of shared iterations in a mode."""
    both = WorkCost(BOTH, ANY, mode, page=page, launch=launch, iteration=constant, notified=notified)
    return replace(machine, work=(*machine.work, both))


def shortened(runs: Sequence[RecordedRun]) -> Iterator[RecordedRun]:
    """Those of `runs` that have pulls on both processors, each up to its third one."""
    for run in runs:
        shared = [number for number, row in enumerate(run.rows) if (row["device"], row["mode"]) == (BOTH, PULL)]
        if shared:
            end = shared[:ALIKE][-1] + 1
            workload = replace(run.workload, activities=run.workload.activities[:end])
            yield replace(run, workload=workload, rows=run.rows[:end])


def misfit(machine: Machine, runs: Sequence[RecordedRun], mode: str) -> Misfit:
    """The misfit in a mode of a machine without a constant and without `more`; infinite if it shares no iteration.

    The first iteration of a run in its mode does not count: it copies pages that stay on the GPU.
    """
    assert machine.link is not None
    found = list[tuple[float, float, float]]()
    for run in runs:
        done = simulate(run.workload, machine, run.options, room_of(run)).iterations
        for row, again, activity in zip(run.rows, done, run.workload.activities, strict=True):
            if row["device"] == BOTH == again.device and row["mode"] == mode == again.mode and not is_first(run, row):
                notified = notified_vertices(run.workload, activity)
                counted = row["to_device"] / machine.link.to_device if mode == PULL else notified
                found.append((row["seconds"], row["seconds"] - again.seconds, counted))
    if not found:
        return Misfit(math.inf)
    measured, rest, counted = np.array(found).T
    table, right = np.column_stack([np.ones(len(found)), counted]) / measured[:, None], rest / measured
    constant, more = map(float, least_errors(table, right))
    return Misfit(float(np.abs(right - table @ [constant, more]).mean()), constant, more)
