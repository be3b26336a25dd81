"""Runs a program that gathers over both directions apart: in each iteration, the runs of two programs take turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import events
from ..errors import ParameterError
from ..executor.protocol import Executor
from ..executor.state import State, Values
from ..graph import Graph
from ..native.threads import ThreadPool
from ..output.history import History
from ..output.result import Result
from ..output.stats import Stats
from ..program import BoundProgram, VertexProgram
from ..program.directions import BothBound, bind_directions, directions
from ..program.elsewhere import Elsewhere
from .carry_out import carry_out, encoded
from .debug import interpret
from .finite import FiniteCheck
from .options import OFF, RunOptions, check_run_options
from .result import result_of
from .verify import verifier_of

Array = npt.NDArray[Any]

REFUSED = ("trace", "report", "checkpoint", "checkpoint_every")
"""Options of files about one run."""


def run_directions(program: VertexProgram, graph: Graph, options: RunOptions, on_event: events.Listener) -> Result:
    """Like `run`, for a program with `gather_out`."""
    check_options(options)
    both = bind_directions(program, graph, compiled=not options.debug)
    if options.debug:
        result = result_of(both.whole, graph.ids, *interpret(both.whole, graph, options, on_event, both))
        if options.verify:
            verifier_of(program)(graph, result)
        return result
    return Turns(both, options, on_event).run()


def check_options(options: RunOptions) -> None:
    """Refuse options that mean something for one run only."""
    for name in (name for name in REFUSED if getattr(options, name) is not None):
        raise ParameterError(
            f"{name}={getattr(options, name)!r}: a program with gather_out takes two runs for each iteration, which "
            f"write no files; leave {name} out"
        )
    if options.sync is False:
        raise ParameterError("sync=False: a program with gather_out sums over both directions first; leave sync out")


class Relay:
    """Takes what a run leaves for the next one (`Watch`).

    Parameters
    ----------
    total : ndarray or None
        That of the iteration before, which the run begins with; None if it makes its own.
    began, ended : callable
        ``began(state, pool)`` and ``ended(state, pool)`` are called before the first iteration and after the last one.

    Attributes
    ----------
    values : ndarray or Elsewhere
        What the run reports.
    total : ndarray or None
    active, active_edges : int
        How many vertices are active in the end, and how many out-edges they have.
    """

    values: Values

    def __init__(
        self, total: Array | None = None, began: Callable[[State, ThreadPool], None] | None = None,
        ended: Callable[[State, ThreadPool], None] | None = None,
    ) -> None:  # fmt: skip
        self.total, self._began, self._ended = total, began, ended
        self.active = self.active_edges = 0

    def begin(self, executor: Executor, state: State, pool: ThreadPool) -> None:
        self._executor, self._state = executor, state
        if self.total is not None and state.total is not None:
            state.total[:] = self.total
        if self._began is not None:
            self._began(state, pool)

    def after(self, executor: Executor, state: State, iterations: int, pool: ThreadPool) -> None:
        """Nothing: there is one iteration at most."""

    def end(self, pool: ThreadPool) -> Any:
        executor, state = self._executor, self._state
        del self._executor, self._state
        if self._ended is not None:
            self._ended(state, pool)
        self.total = None if state.total is None else state.total.copy()
        self.active, self.active_edges = state.active_count, state.active_edges
        self.values = executor.report(state)
        return self.values


class Turns:
    """One run of a program over both directions: the runs of the programs that take turns.

    Numbers that are not finite are looked for in the author's values, once for the whole run, so the runs themselves do
    not look.
    """

    def __init__(self, both: BothBound, options: RunOptions, on_event: events.Listener) -> None:
        self._both, self._programs, self._options, self._listener = both, directions(both), options, on_event
        for bound, graph in ((self._programs.sums, both.turned), (self._programs.rest, both.graph)):
            check_run_options(options, bound, graph)
        self._graph, self._turned = encoded(both.graph, options), encoded(both.turned, options)
        self._heard = on_event if on_event is events.ignore else self._pass_on
        self._done: list[events.Iteration] = []
        self._finite: FiniteCheck | None = None

    def run(self) -> Result:
        """Run to the end."""
        began, programs, limit = time.perf_counter(), self._programs, self._options.iterations
        before = Relay(began=self._begin)
        stats = self._run(programs.first, before, iterations=0).stats
        converged, runs = stats.converged, [stats]
        while not converged and len(self._done) != limit:
            started = time.perf_counter() - began
            summed, after = Relay(), Relay(before.total, ended=self._check)
            sums = self._run(handed(programs.sums, before.values), summed, self._turned).stats
            rest = self._run(handed(programs.rest, summed.values), after).stats
            number, f = len(self._done), before.active_edges / max(self._graph.m, 1)
            one = joined(sums.iterations[0], rest.iterations[0])
            self._done.append(one._replace(number=number, f=f, active=before.active, started=started))
            self._listener(self._done[-1])
            before, converged, runs = after, rest.converged, [*runs, sums, rest]
        last = Relay(began=self._end)
        options: dict[str, Any] = {"verify": self._options.verify, "fetch": self._options.fetch}
        result = self._run(handed(programs.last, before.values), last, iterations=0, **options)
        return replace(result, stats=self._stats([*runs, result.stats], converged))

    def _run(
        self, bound: BoundProgram, relay: Relay, graph: Graph | None = None, iterations: int = 1, verify: bool = False,
        fetch: bool = False,
    ) -> Result:  # fmt: skip
        """One of the runs."""
        options = replace(self._options, iterations=iterations, verify=verify, fetch=fetch, check=OFF)
        return carry_out(bound, graph or self._graph, options, self._heard, None, relay)

    def _pass_on(self, event: events.Event) -> None:
        """Tell the listener what a run does, but not of its iteration."""
        if not isinstance(event, events.Iteration):
            self._listener(event)

    def _begin(self, state: State, pool: ThreadPool) -> None:
        self._finite = FiniteCheck(self._both.whole, self._graph.ids, self._options.check, pool, self._both.out)
        self._finite.begin(state)

    def _check(self, state: State, pool: ThreadPool) -> None:
        """Look at the values and the total after an iteration."""
        assert self._finite is not None
        self._finite.pool = pool
        self._finite.after(state, len(self._done) + 1)

    def _end(self, state: State, pool: ThreadPool) -> None:
        """Look at the values that are reported."""
        assert self._finite is not None
        self._finite.pool = pool
        self._finite.end(state, len(self._done))

    def _stats(self, runs: list[Stats], converged: bool) -> Stats:
        """The statistics of all runs as those of one."""
        notes = list(dict.fromkeys(stats.note for stats in runs if stats.note is not None))
        return replace(
            runs[-2] if self._done else runs[-1], history=History(self._done), converged=converged,
            seconds=sum(one.seconds for one in self._done), note="; ".join(notes) or None,
            compile_seconds=sum(stats.compile_seconds for stats in runs),
        )  # fmt: skip


def handed(bound: BoundProgram, values: Values) -> BoundProgram:
    """A program with what another one has reported as its vertex data."""
    assert bound.vertex_data is not None
    kind = bound.vertex_data.dtype
    if not isinstance(values, Elsewhere):
        return replace(bound, vertex_data=values.view(kind))
    columns = zip(kind.names or (), values.columns(), strict=True)
    return replace(bound, vertex_data=np.empty(values.size, kind), elsewhere=dict(columns))


def joined(out: events.Iteration, rest: events.Iteration) -> events.Iteration:
    """The record of an iteration, from those of its sum over out-edges and of the rest."""
    added = ("edges", "pages", "pages_skipped", "seconds", "to_device", "from_device", "from_disk", "compile_seconds")
    return rest._replace(
        **{name: getattr(out, name) + getattr(rest, name) for name in added},
        device=rest.device if out.device == rest.device else "both",
        why=f"out-edges: {out.why}; in-edges: {rest.why}", groups=out.groups + rest.groups,
    )  # fmt: skip
