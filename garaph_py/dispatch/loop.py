"""The loop of iterations: observe, decide, let the executor do the iteration, learn; until the run ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from .. import events
from ..executor.decision import Decision, PageDecision
from ..executor.partials import total_of
from ..executor.protocol import Capabilities, Executor, SupportsPriority
from ..executor.results import PageResult, Supersteps
from ..executor.state import HOST, State
from ..native.compiling import compile_seconds
from ..output.history import History, Unmade
from ..pages.layout import Page
from ..program import BoundProgram
from ..program.monoids import largest
from ..system.watchdog import Heartbeat
from .buckets import Buckets
from .convergence import Convergence
from .observation import Observation
from .scheduler import Schedule, Scheduler, before_each

Array = npt.NDArray[Any]

COUNTS = attrgetter("edges", "active", "active_edges", "changeable", "to_device", "from_device")
"""Counts of a `PageResult` that are added up over the pages of an iteration."""
NO_COUNTS = (0,) * 6
"""What an iteration without pages has of each."""
IN_ORDER = "; vertices of the least priority first"
"""Suffix of the reason, in the record of a superstep in which active vertices had to wait."""


@dataclass
class Loop:
    """The iterations of one run, on any executor.

    Parameters
    ----------
    bound : BoundProgram
    vertices, edges : int
        Size of the graph.
    schedule : Schedule
    began : float
        When the run began, by ``time.perf_counter``.
    listener : callable
        Receives the record of each iteration.
    heartbeat : Heartbeat
        Tells the watchdog what the loop is doing.
    before : int
        Iterations that were done before the checkpoint from which the run resumes.
    after : callable, optional
        ``after(state, iterations)`` is called at the end of each iteration.

    Attributes
    ----------
    done : History
        All iterations that were committed.
    read : int
        Bytes read from disk so far, also before the first iteration.
    """

    bound: BoundProgram
    vertices: int
    edges: int
    schedule: Schedule
    began: float
    listener: events.Listener
    heartbeat: Heartbeat
    before: int = 0
    after: Callable[[State, int], None] | None = None
    done: History = field(default_factory=History)
    read: int = 0

    def run(self, executor: Executor, state: State) -> bool:
        """Iterate until no vertex is active, the program has converged, or the limit is reached.

        Returns whether the run converged.

        Raises
        ------
        DeviceError
            If a device fails, and the executor cannot complete the iteration; `state` is as before the iteration.
        """
        bound, limit = self.bound, self.schedule.iterations
        source, can = executor.source, executor.capabilities
        scheduler = Scheduler(
            self.schedule, self.vertices, self.edges, bound, can, source.pages, source.takes_any_order
        )
        buckets, convergence = self._buckets(executor, can, state), Convergence(bound, self.vertices)
        scheduler.in_buckets = buckets is not None
        state.unfinished_edges = self.edges if bound.ends_late else None
        while state.active_count or (buckets is not None and buckets.next(self.edges)):
            number = self.before + len(self.done)
            if number and (scheduler.has_converged or convergence.ends(state.total)):
                return True
            if limit is not None and number >= limit:
                return False
            scheduler.step = None if buckets is None else buckets.step
            seen, decision, done = self._iterate(executor, state, scheduler, number)
            self.done.add(done)
            if isinstance(done, events.Iteration):
                scheduler.done(seen, decision, done)
            if self.listener is not events.ignore:
                for record in self.done.records()[number - self.before :]:
                    self.listener(record)
            if buckets is not None:
                buckets.go_on(scheduler.bucket, scheduler.followed)
            if self.after is not None:
                self.after(state, self.before + len(self.done))
        return True

    def _buckets(self, executor: Executor, can: Capabilities, state: State) -> Buckets | None:
        """The buckets of the run, on an executor that `can` so much; None if it does not use buckets."""
        schedule = self.schedule
        has_priority = self.bound.is_relaxation and "priority" in self.bound.arguments and can.has_priorities
        if has_priority and not state.synchronous and schedule.buckets and schedule.pushes(can.modes):
            return Buckets(cast(SupportsPriority, executor), state)
        if not state.thresholds.dtype.names:
            state.thresholds[:] = largest(state.thresholds.dtype)  # one bucket holds everything
        return None

    def _iterate(
        self, executor: Executor, state: State, scheduler: Scheduler, number: int
    ) -> tuple[Observation, Decision, events.Iteration | Unmade]:
        """Do one iteration, or several if the executor does several at once; return what was seen, decided and done."""
        source, started, compiled = executor.source, time.perf_counter(), compile_seconds()
        missing, scheduler.number = missing_bytes(state, self.vertices), number
        counts = active_by_page(state, scheduler.pages) if scheduler.counts_pages else ()
        seen = scheduler.observe(
            state.active_count, state.active_edges, missing, state.has_sums, counts, state.unfinished_edges
        )
        decision = scheduler.decide(seen)
        self.heartbeat.doing = "iteration", number, decision.mode
        result = executor.step(state, decision)
        pages = result.pages
        edges, active, active_edges, changeable, to_device, from_device = map(
            sum, zip(NO_COUNTS, *map(COUNTS, pages), strict=True)
        )
        count, skipped = result.page_count, result.pages_skipped
        state.visited(decision.mode, edges, active, changeable)
        state.advance(active, active_edges, changeable)
        if self.bound.total is not None and state.total is not None:
            partials = [page.partials for page in pages if page.partials is not None]
            state.total[:] = total_of(partials, self.bound.total)
        scheduler.learn(seen, decision, result.sharing, skipped, count)
        from_disk, self.read = source.bytes_read - self.read, source.bytes_read
        scheduler.read(decision, from_disk, edges)
        usual = PageDecision(decision.mode, result.device)
        record = events.Iteration(
            number, decision.mode, seen.f, seen.active, result.followed + edges, count - skipped, skipped,
            time.perf_counter() - started, result.device, to_device, from_device, started - self.began, decision.why,
            decision.alpha, from_disk, groups_of(usual, pages),
            partitions=pages[0].counts if pages else None,
        )  # fmt: skip
        scheduler.bucket, scheduler.followed = pages[0].bucket if pages else None, record.edges
        scheduler.has_converged = bool(pages) and pages[0].has_converged
        if compiled := compile_seconds() - compiled:
            record = record._replace(seconds=record.seconds - compiled, compile_seconds=compiled)
        if not pages or (steps := pages[0].supersteps) is None:
            return seen, decision, record
        scheduler.pushed_several(seen, steps)
        make = partial(several, record, seen, decision, steps)
        return seen, decision, Unmade(len(steps), partial(column_of, seen, steps), make)


def column_of(seen: Observation, steps: Supersteps, name: str) -> Array:
    """The field ``"active"`` or ``"f"`` of the records that `several` makes."""
    active = before_each(seen.active, steps.active)
    if name == "active":
        return active
    if not seen.edges:
        return (active > 0).astype(float)
    return before_each(seen.active_edges, steps.active_edges) / seen.edges


def several(last: events.Iteration, seen: Observation, decision: Decision, steps: Supersteps) -> list[events.Iteration]:
    """The records of the supersteps that an executor has done at once, from `last`, the record of all of them as one.

    Compilation counts in the first superstep, and so do copies to the device unless each has results of its own. The
    last one also gets the time that the executor has not measured.
    """
    records: list[events.Iteration] = []
    number, started, left, ahead = last.number, last.started, last.seconds, decision.ahead
    repeats, bound = ahead is None or ahead.repeats, ahead and ahead.push_edges
    pushes, pulls = (f"{how} {bound} edges lead from active vertices" for how in ("at most", "more than"))
    ways = (steps.push, pushes), (steps.pull, pulls)
    waiting = np.zeros_like(steps.active) if steps.waited is None else steps.waited
    active, f = (column_of(seen, steps, name) for name in ("active", "f"))
    edges = before_each(seen.active_edges, steps.active_edges)
    columns = active, edges, f, steps.seconds, steps.followed, steps.pulled, waiting
    each = [None] * len(steps) if steps.pages is None else steps.pages
    rows = zip(*(c.tolist() for c in columns), each, strict=True)
    for now, along, share, seconds, followed, pulled, waited, pages in rows:
        how, why = ways[pulled]
        why = decision.why if repeats or not records else why
        if not pulled and followed < along:
            why += IN_ORDER
        alike = [PageResult(followed, 0, 0, 0, None)] if pages is None else pages
        to, back = sum(page.to_device for page in alike), sum(page.from_device for page in alike)
        records.append(events.Iteration(
            number, how.direction, share, now, followed, last.pages, last.pages_skipped, seconds,
            last.device, to, back, started=started, why=why, alpha=last.alpha, groups=groups_of(how, alike),
            compile_seconds=0.0 if records else last.compile_seconds, waited=waited,
        ))  # fmt: skip
        number, started, left = number + 1, records[-1].ended, left - seconds
    records[-1] = records[-1]._replace(seconds=max(left, 0.0), from_device=last.from_device, from_disk=last.from_disk)
    if steps.pages is None:
        records[0] = records[0]._replace(to_device=last.to_device)
    return records


def active_by_page(state: State, pages: Sequence[Page]) -> tuple[int, ...]:
    """How many vertices of each page are active."""
    bounds = np.array([(page.first_vertex, page.last_vertex) for page in pages], np.int64).reshape(-1, 2)
    return tuple(state.frontier.count_in(bounds[:, 0], bounds[:, 1]).tolist())


def missing_bytes(state: State, vertices: int) -> int:
    """Bytes of vertex values that the host lacks; negative if only the host has them, 0 if host and device have
    them."""
    nbytes = vertices * state.thresholds.itemsize
    if not state.is_on_host("values"):
        return nbytes
    return -nbytes if state.holders.is_alone(HOST) else 0


def groups_of(usual: PageDecision, pages: Sequence[PageResult]) -> tuple[events.PageGroup, ...]:
    """Group the pages of an iteration by how they were processed, which was as `usual` unless they say so."""
    groups: dict[PageDecision, list[int]] = {}
    for page in pages:
        if not page.skipped:
            group = groups.setdefault(page.how or usual, [0, 0])
            group[0] += page.pages
            group[1] += page.edges
    return tuple(events.PageGroup(*how, *counts) for how, counts in groups.items())
