"""Several iterations in one step, if all of them do the same: Python then decides and records nothing in between.

On the CPU, calls of PageRank over graphs of a million edges and fewer take 0.72 to 0.96 of the time
(docs/results/cpu.md, "Iterations that repeat").
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..graph import Graph
from ..program import BoundProgram
from ..program.converged import has_converged
from ..system import interrupts
from .decision import Ahead, PageDecision
from .partials import is_finite, total_of
from .results import PageResult, Supersteps
from .state import State

LONGEST = 0.2
"""Seconds after which no other iteration begins in the same step, so that progress is shown five times a second."""


def may_repeat(bound: BoundProgram, graph: Graph, state: State, ahead: Ahead) -> bool:
    """Whether the decision lets one step repeat iterations, and all of them do the same, whatever the frontier is, with
    no edges on disk."""
    return ahead.repeats and bound.repeats_itself and state.synchronous and not graph.on_disk


def repeat(
    pull: Callable[[], list[PageResult]], swap: Callable[[], None], bound: BoundProgram, graph: Graph, state: State,
    how: PageDecision, most: int | None,
) -> list[PageResult]:  # fmt: skip
    """Iterate at most `most` times, until the program has converged, no vertex is active, a total is not finite, or
    `LONGEST` has passed. An interrupt ends it before the next launch.

    Parameters
    ----------
    pull : callable
        Pulls all edges once, which is done as `how` says.
    swap : callable
        Makes the new values the current ones.

    Returns
    -------
    list of PageResult
        Those of the last iteration. If there were several iterations, the first result has all of them as supersteps.
    """
    results, times = list[list[PageResult]](), [time.perf_counter()]
    goes_on, total = True, state.total
    assert total is not None
    before = total.copy()
    while goes_on:
        try:
            interrupts.check()
            done = pull()
            swap()
        except BaseException:
            total[:] = before  # if a device has failed, the host may go on with the values before the step
            raise
        results.append(done)
        times.append(time.perf_counter())
        total[:] = total_of([page.partials for page in done if page.partials is not None], total.dtype)
        is_early = len(results) != most and times[-1] - times[0] < LONGEST
        goes_on = is_early and is_finite(total) and any(page.active for page in done)
        if goes_on:
            done[0].has_converged = has_converged(bound.program, total, graph.n)
            goes_on = not done[0].has_converged
    if len(results) > 1:
        active, active_edges, edges = (
            np.array([sum(getattr(page, name) for page in each) for each in results], np.int64)
            for name in ("active", "active_edges", "edges")
        )
        seconds = np.diff(times)
        seconds[-1] = 0.0  # the caller measures the last one's
        pulled, pages = np.ones(len(results), np.bool_), without_partials(results) if differ(results) else None
        done[0].supersteps = Supersteps(active, active_edges, seconds, edges, pulled, how, how, pages=pages)
    return done


def differ(results: list[list[PageResult]]) -> bool:
    """Whether any of these `results` says how its edges were processed; those of GPUs do, and may differ."""
    return any(page.how is not None for pages in results for page in pages)


def without_partials(results: list[list[PageResult]]) -> list[list[PageResult]]:
    """Copies of these `results` for the records, which need no partial sums."""
    return [[replace(page, partials=None) for page in pages] for pages in results]
