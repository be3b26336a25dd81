"""Several iterations over a small graph in one compiled call, each a pull along all edges: launching each from Python
would take longer than doing it.

One thread does them, so the page must be one partition. Only a program's `converged` and a total that is not finite may
end a run before its last iteration. The kernel ends at such a total; `converged` is asked afterwards, and if it would
have ended the run earlier, the iterations up to there are done again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...native import clock
from ...pages.source import PageEdges
from ...program.converged import iterations_until
from ...program.define import convert, define
from ...program.dtypes import record_class
from ...program.functions import partial_dtype
from ..decision import PageDecision
from ..modes import CPU, PULL
from ..results import PageResult, Supersteps
from ..state import State
from .edges import Reader
from .functions import Functions
from .launch import Launcher
from .pull import PULLED, Pull, Task, make_pull_partition
from .records import RecordKernel
from .walk import NOTHING

Array = npt.NDArray[Any]
DType = np.dtype[Any]

MOST_ITERATIONS = 32
"""Iterations of one call. What Python takes to begin it, 150 microseconds (docs/decisions/cpu.md), is then 5 for each;
and with one partition's 8,192 edges at most, they take less than a millisecond, so that Ctrl-C is noticed soon."""
EDGES, ACTIVE, ACTIVE_EDGES, CHANGEABLE, BEGAN = range(5)
"""Columns of the log: the counts of an iteration, and the time at which it began."""
WIDTH = BEGAN + 1
"""Number of columns of the log."""
NAMES = (*PULLED, "log", "partials", "most_steps")


def make_pull_few(f: Functions, reader: Reader, kind: Any) -> RecordKernel:
    """Make the kernel that pulls several times, from the values to the next values and back; totals are of this
    `kind`."""
    pull, store_partial, load_partial = make_pull_partition(f, reader), f.partial.store, f.partial.load
    as_total, are_finite = convert("def as_total(r):", kind), finite_test(kind)
    changed = {"values": "t.next_values", "next_values": "t.values", "total": "total"}
    arguments = ", ".join(changed.get(name, f"t.{name}") for name in NAMES)
    following = define(f"def following(t, total): return Record({arguments})", Record=record_class(NAMES))

    def pull_few(edges, t):
        """Do iterations; return their number. The last one's frontier is in `next_frontier`."""
        steps, goes_on = NOTHING, True
        while goes_on:
            began = clock()
            for w in range(((t.n - 1) >> 6) + 1):
                t.next_frontier[w] = np.uint64(0)
            pull(edges, t)
            row, partial = WIDTH * steps, load_partial(t.partial, 0)
            total = as_total(partial)
            for k in range(BEGAN):
                t.log[row + k] = t.counts[k]
            t.log[row + BEGAN] = began
            store_partial(t.partials, steps, partial)
            steps += 1
            goes_on = steps < t.most_steps and t.counts[1] > 0 and are_finite(total)
            t = following(t, total)
        return steps

    return RecordKernel("pull_few", pull_few, NAMES, f, reader)


def finite_test(kind: DType) -> Any:
    """The function that says whether all numbers of a total of this `kind` are finite."""
    numbers = [f"x[{k}]" for k in range(len(kind.names))] if kind.names else ["x"]
    return define(f"def are_finite(x): return {' and '.join(f'{x} - {x} == 0' for x in numbers)}")


class PullFew:
    """Runs the kernel `pull_few`.

    Parameters
    ----------
    launcher : Launcher
    reader : Reader
        Reads the in-edges.
    kernels : Kernels
        The program's kernels for these edges.
    pull : Pull
    """

    def __init__(self, launcher: Launcher, reader: Reader, kernels: Any, pull: Pull) -> None:
        self._launch, self._reader, self._kernels, self._pull = launcher, reader, kernels, pull

    def __call__(self, edges: PageEdges, state: State, task: Task, most: int | None) -> PageResult:
        """Do several iterations along all `edges`, and make the last one's values the current ones."""
        most, first = min(most or MOST_ITERATIONS, MOST_ITERATIONS), state.values.copy()
        log, partials = self._run(edges, state, task, most)
        bound = self._launch.bound
        steps = iterations_until(bound.program, partials.astype(bound.total), len(state.values))
        has_converged = steps < len(log)
        if has_converged:
            state.values[:] = first
            log, partials = self._run(edges, state, task, steps)
        if steps % 2:
            state.values, state.next_values = state.next_values, state.values
        followed, active, active_edges, changeable, _ = log[-1].tolist()
        result = PageResult(followed, active, active_edges, changeable, partials[-1:], has_converged=has_converged)
        if steps > 1:
            seconds, how = np.append(np.diff(log[:, BEGAN]) / 1e9, 0.0), PageDecision(PULL, CPU)
            pulled, columns = np.ones(steps, np.bool_), log.T
            active, active_edges, gathered = columns[ACTIVE], columns[ACTIVE_EDGES], columns[EDGES]
            result.supersteps = Supersteps(active, active_edges, seconds, gathered, pulled, how, how)
        return result

    def _run(self, edges: PageEdges, state: State, task: Task, most: int) -> tuple[Array, Array]:
        """Run the kernel; return its log, and the partial totals of its iterations."""
        launch, log, total = self._launch, np.empty((most, WIDTH), np.int64), self._launch.bound.total
        partials = np.empty(most, partial_dtype(total))
        state.next_frontier.clear()
        (steps,) = launch(
            self._kernels.pull_few, 1, state, launch.edges(self._reader, edges, 1),
            early=int(self._pull.ends_early(state)), **launch.partitions(1).arguments, **task.span, log=log,
            partials=partials, most_steps=most,
        ).tolist()  # fmt: skip
        return log[:steps], partials[:steps]
