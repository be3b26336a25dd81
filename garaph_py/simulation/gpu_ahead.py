"""Recorded pulls of a GPU that were launched together (executor/gpu/pulls_ahead.py): which they are, what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..executor.gpu.gather import REPLICATED
from ..executor.modes import GPU
from .demand import PULL_AHEAD
from .executor import pulls_ahead
from .fitting import fit_edges, sizes
from .gpu_pushes import capabilities_of_gpu
from .machine import UnitCost, WorkCost
from .recorded import RecordedRun, room_of
from .simulate import observe, scheduler_of


def ahead(run: RecordedRun) -> list[bool]:
    """For each iteration of a run: whether it was a pull that was launched together with others."""
    found = [False] * len(run.rows)
    for first, count in batches(run):
        found[first : first + count] = [True] * len(found[first : first + count])
    return found


def batches(run: RecordedRun) -> Iterator[tuple[int, int]]:
    """The first of the pulls that were launched together, and how many these were; the last of them may be in vain.

    Records do not say whether a decision allowed this, so the policy decides again. An iteration that copied edges was
    launched by itself.
    """
    workload, options, rows, number = run.workload, run.options, run.rows, 0
    may = workload.traits.updates_all_vertices and options.lists is None and options.gather != REPLICATED
    if options.device != GPU or not may:
        return
    residency = workload.residency(room_of(run), options.policy.keep)
    if run.deterministic and len(residency.pages) > 1:
        return
    can = capabilities_of_gpu(workload, residency, True, options.policy)
    scheduler = scheduler_of(workload, options, can, residency.pages)
    while number < len(rows):
        scheduler.number = number
        decision = scheduler.decide(observe(scheduler, workload.activities[number], None))
        count = 0 if rows[number]["to_device"] else pulls_ahead(workload, residency, decision)
        if count:
            yield number, count
        number += max(count, 1)


def ahead_costs(runs: Sequence[RecordedRun]) -> Iterator[WorkCost]:
    """The costs of pulls that were launched together, for each program that has such pulls.

    Pulls among which the program converged count only if there are no others: their time includes pulls in vain.
    """
    for program in dict.fromkeys(run.workload.traits.name for run in runs):
        own = [run for run in runs if run.workload.traits.name == program]
        found = [(run, first, first + count) for run in own for first, count in batches(run)]
        whole = [one for one in found if one[2] <= len(one[0].rows)] or found
        pulls = [(run, row) for run, first, end in whole for row in run.rows[first:end]]
        if not pulls:
            continue
        edge, (vertex, iteration) = fit_edges(pulls, [run.workload.vertices for run, _ in pulls])
        yield WorkCost(GPU, program, PULL_AHEAD, edge, UnitCost(vertex), iteration=iteration, measured=sizes(own))
