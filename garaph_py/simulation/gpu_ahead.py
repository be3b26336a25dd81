"""Recorded pulls of a GPU that were launched together (executor/gpu/pulls_ahead.py): which they are, what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..executor.gpu.gather import AUTO, SEGMENTED
from ..executor.modes import GPU
from .demand import PULL_AHEAD
from .executor import pulls_ahead
from .fitting import fit, pop_unit_cost, sizes, unit_columns
from .gpu_pushes import capabilities_of_gpu
from .machine import WorkCost, doublings
from .recorded import Record, RecordedRun, room_of
from .simulate import observe, scheduler_of


def ahead(run: RecordedRun) -> list[bool]:
    """For each iteration of a run: whether it was a pull that was launched together with others.

    Records do not say whether a decision allowed this, so the policy decides again. An iteration that copied edges was
    launched by itself.
    """
    workload, options, rows = run.workload, run.options, run.rows
    found = [False] * len(rows)
    if options.device != GPU or options.lists is not None or options.gather not in (AUTO, SEGMENTED):
        return found
    residency = workload.residency(room_of(run), options.policy.keep)
    can = capabilities_of_gpu(workload, residency, True)
    scheduler, number = scheduler_of(workload, options, can, residency.pages), 0
    while number < len(rows):
        scheduler.number = number
        decision = scheduler.decide(observe(scheduler, workload.activities[number], None))
        count = 0 if rows[number]["to_device"] else pulls_ahead(workload, residency, decision)
        found[number : number + count] = [True] * len(rows[number : number + count])
        number += max(count, 1)
    return found


def ahead_costs(runs: Sequence[RecordedRun]) -> Iterator[WorkCost]:
    """The costs of pulls that were launched together, for each program that has such pulls."""
    for program in dict.fromkeys(run.workload.traits.name for run in runs):
        own = [run for run in runs if run.workload.traits.name == program]
        pulls = list[tuple[RecordedRun, Record]]()
        for run in own:
            pulls += [(run, row) for row, is_ahead in zip(run.rows, ahead(run), strict=True) if is_ahead]
        if not pulls:
            continue
        steps = np.array([doublings(run.workload.vertex_data) for run, _ in pulls])
        columns = unit_columns(np.array([row["edges"] for _, row in pulls], float), steps)
        columns.append(np.array([run.workload.vertices for run, _ in pulls], float))
        values = fit([*columns, np.ones(len(pulls))], [row["seconds"] for _, row in pulls])
        edge = pop_unit_cost(values, len(set(steps)) > 1)
        vertex, iteration = pop_unit_cost(values, False), values[0]
        yield WorkCost(GPU, program, PULL_AHEAD, edge, vertex, iteration=iteration, measured=sizes(own))
