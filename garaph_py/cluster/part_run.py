"""`PartRun`: a program on one part of a graph, superstep by superstep, and what it exchanges with other parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import events
from ..dispatch.scheduler import Scheduler
from ..errors import DeviceError, ParameterError
from ..executor.decision import Decision
from ..executor.modes import COMPONENTS, CPU, PULL, PULL_TILED, PUSH
from ..executor.partials import sum_partials
from ..executor.results import StepResult
from ..executor.state import State
from ..graph.part import Part
from ..graph.vertex_set import WORD, VertexSet
from ..native.compiling import compile_seconds
from ..native.threads import ThreadPool
from ..pages.layout import Page
from ..pages.provider import SourceFactory
from ..program import BoundProgram, VertexProgram
from ..program.converged import has_converged
from ..program.functions import partial_dtype
from ..program.monoids import largest
from ..program.part import bind_on_part
from ..runtime.carry_out import encoded
from ..runtime.machine import Machine
from ..runtime.options import ANY, HYBRID, RunOptions
from ..runtime.plan import Chosen, RunPlan, executor_of, plan
from .finite import Found, Watch
from .gather import gather
from .part_executor import MODES, PartExecutor

Array = npt.NDArray[Any]

EARLY = 1 << 20
"""Least bytes of values that are sent while others are computed: 1 MiB takes about 2 ms, of which 0.5 are for the
message itself (docs/results/cluster.md)."""


class Counts(NamedTuple):
    """What a superstep of one part did, or the sum over all parts.

    Attributes
    ----------
    active, active_edges : int
        Own vertices that are active, and the sum of their out-degrees in the undivided graph.
    partials : ndarray or None
        Partial sums of the program's `aggregate` over own vertices, in a fixed order; None if it has none.
    total : ndarray, shape (1,), or None
        The program's total, in a sum over all parts, and in a part that resumes from a checkpoint; otherwise None.
    edges : int
        Edges gathered or followed.
    seconds : float
        The time of the superstep, with what it spent compiling; for several parts, the longest.
    record : Iteration or None
        Of one part: the record of its superstep; None before the first.
    unfinished : int
        An upper estimate of the edges that a pull would visit (`State.unfinished_edges`); 0 if it is not needed.
    """

    active: int
    active_edges: int
    partials: Array | None = None
    total: Array | None = None
    edges: int = 0
    seconds: float = 0.0
    record: events.Iteration | None = None
    unfinished: int = 0


class Changed(NamedTuple):
    """What one part sends another after a superstep, about the vertices that the other one mirrors, in their order.

    Attributes
    ----------
    values : ndarray of the values' dtype
        The values of some of them.
    changed : ndarray of bool
        Whose values the other part does not have yet.
    active : ndarray of bool
        Which of them are active.
    first : int
        The position of the first of them.
    """

    values: Array
    changed: Array
    active: Array
    first: int = 0


Tell = Callable[[int, Changed], None]
"""``tell(part, changed)`` sends another part what has changed, before all vertices have been updated."""


class PartRun:
    """One program on one part.

    The order of calls is `connect`, `open`, then for every other part `outgoing` and `incoming`, `step`, and so on, and
    `report` after an exchange. All runs are synchronous.

    Parameters
    ----------
    program : VertexProgram
        With vertices given by their numbers in the undivided graph (`program.part.by_numbers`).
    part : Part
    options : RunOptions
        Those of the run over the undivided graph.
    threads : int, optional
        By default, every core that this process may use.
    listener : callable
        Receives the progress of compilation.

    Raises
    ------
    ParameterError
        If the options ask for a mode in which parts cannot run.
    ProgramError, GraphError
        As binding does.
    """

    # wide: what a run on one machine is made of, for one part.
    def __init__(
        self, program: VertexProgram, part: Part, options: RunOptions, threads: int | None = None,
        listener: events.Listener = events.ignore,
    ) -> None:  # fmt: skip
        check_options(options)
        self.bound = bind_on_part(program, part.graph)
        if not only_pulls(self.bound, options) or options.encoding_of(part.graph) != part.graph.encoding:
            part = part.with_out_edges(threads)
        self.part = part.on(encoded(part.graph, options))
        self._options, self._threads, self._listener = options, threads, listener
        self._sends: dict[int, Array] = {}
        self._sent: dict[int, Array] = {}
        self._spare: dict[int, Array] = {}
        self._told: dict[int, int] = {}  # of how many of its mirrors a part has been told already
        self._pulled = 0  # up to which vertex all have new values
        self._stack = ExitStack()
        self._done = 0

    @property
    def is_empty(self) -> bool:
        """Whether the part owns no vertices. It then has no edges and no mirrors."""
        return self.part.own[0] == self.part.own[1]

    def connect(self, part: int, wanted: Array) -> None:
        """Learn which own vertices another `part` mirrors: its `Part.wanted` of this part."""
        self._sends[part] = self.part.local(wanted).astype(np.uint32)

    def open(self) -> Counts:
        """Make initial values and the first frontier, of own vertices and of mirrors; nothing needs to be sent."""
        if self.is_empty:
            self._watch = Watch(self.bound, np.zeros(0, self.bound.value), self._options.check)
            return self._nothing()
        graph, bound, machine = self.part.graph, self.bound, Machine.here()
        self._plan = plan_of(bound, self.part, self._options, self._threads, machine)
        self._pool = pool = self._stack.enter_context(ThreadPool(self._plan.threads, self._plan.spins))
        sources = self._stack.enter_context(SourceFactory(graph, bound.reads_edge_values))
        self._executor = executor = PartExecutor(bound, self.part, self._plan, pool, sources, self._listener)
        self._stack.callback(executor.close)
        self._state = state = executor.open()
        self._scheduler = self._scheduled()
        if not state.thresholds.dtype.names:
            state.thresholds[:] = largest(state.thresholds.dtype)  # one bucket holds everything
        self._watch = Watch(bound, state.values[slice(*self.part.own)], self._options.check)
        self._begin()
        partials = None if bound.total is None else executor.host.first_partials
        return Counts(state.active_count, state.active_edges, partials, unfinished=state.unfinished_edges or 0)

    def _scheduled(self) -> Scheduler:
        """The scheduler of what the executor can do, over the undivided graph."""
        place = self.part.place
        return Scheduler(self._plan.schedule, place.n, place.m, self.bound, self._executor.capabilities)

    def _begin(self) -> None:
        """Note, after a state was made or loaded, that the mirrors of all parts have this part's values, and that
        nobody knows which edges a pull may leave out."""
        state = self._state
        state.unfinished_edges = self.part.graph.m if self.bound.ends_late else None
        if state.next_values is not state.values:
            state.next_values[:] = state.values
        self._sent = {part: state.values[places] for part, places in self._sends.items()}
        self._spare = {part: np.empty_like(sent) for part, sent in self._sent.items()}

    def total(self, counts: Sequence[Counts]) -> Counts:
        """Sum the counts of all parts, which are in the order of these."""
        return Counts(
            sum(each.active for each in counts), sum(each.active_edges for each in counts), None,
            total_of(counts, self.bound.total), sum(each.edges for each in counts),
            max((each.seconds for each in counts), default=0.0), unfinished=sum(each.unfinished for each in counts),
        )  # fmt: skip

    def ends(self, totals: Counts, done: int) -> bool:
        """Whether the run ends after `done` supersteps: no vertex is active, the program has converged, or its total is
        wrong."""
        n = self.part.place.n
        if self._watch.is_wrong(totals.total):
            return True
        return totals.active == 0 or (done > 0 and has_converged(self.bound.program, totals.total, n))

    def not_finite(self) -> Found:
        """The numbers of the own vertices that are not finite, at the start and now."""
        own = slice(*self.part.own)
        values = np.zeros(0, self.bound.value) if self.is_empty else self._state.values[own]
        return self._watch.found(values, self.part.place.numbers[own])

    def step(self, totals: Counts, tell: Tell | None = None) -> Counts:
        """Do a superstep over the own vertices. Every part decides on the mode by the same `totals`.

        If this takes long, other parts are told the first new values while the rest is computed; not by one thread,
        whose core would have to do both.
        """
        if self.is_empty:
            return self._nothing()
        self._told, self._pulled = dict.fromkeys(self._sends, 0), self.part.own[0]
        early = None if tell is None else partial(self._tell_early, tell)
        self._executor.host.after_pull = None if self._executor.uses_gpu or self._pool.size == 1 else early
        state, executor, started, compiled = self._state, self._executor, time.perf_counter(), compile_seconds()
        if totals.total is not None and state.total is not None:
            state.total[:] = totals.total
        with_gpu, missing = executor.uses_gpu, -state.values.nbytes * executor.uses_gpu
        unfinished = totals.unfinished if self.bound.ends_late else None
        seen = self._scheduler.observe(totals.active, totals.active_edges, missing, unfinished_edges=unfinished)
        decision = self._scheduler.decide(seen)._replace(ahead=None)
        if decision.mode != PULL or executor.host.is_relaxation:  # it looks at these, also at those of mirrors
            offsets = self.part.graph._arrays.out_edges.offsets
            state.active_count, state.active_edges = executor.host.count(state.frontier, offsets, 0, len(state.values))
        read = executor.source.bytes_read
        result = executor.step(state, decision)
        pages = result.pages
        active, active_edges = sum(page.active for page in pages), sum(page.active_edges for page in pages)
        changeable = sum(page.changeable for page in pages)
        state.visited(decision.mode, sum(page.edges for page in pages), active, changeable)
        state.advance(0, 0, changeable)
        self._scheduler.learn(seen, decision, result.sharing, result.pages_skipped, result.page_count)
        if executor.uses_gpu != with_gpu:  # the GPU has failed
            self._scheduler = self._scheduled()
        partials = None
        if self.bound.total is not None:
            partials = np.concatenate([page.partials for page in pages if page.partials is not None])
        if decision.mode == PUSH or result.device != CPU:  # it has counted the part's edges, or mirrors
            active, active_edges = self._own_active()
        seconds, compiled = time.perf_counter() - started, compile_seconds() - compiled
        record = record_of(self._done, decision, result, seconds - compiled, totals, seen.f)
        record = record._replace(from_disk=executor.source.bytes_read - read, compile_seconds=compiled)
        self._done += 1
        unfinished = state.unfinished_edges or 0
        return Counts(active, active_edges, partials, None, record.edges, seconds, record, unfinished)

    def _nothing(self) -> Counts:
        """The counts of a part without vertices."""
        return Counts(0, 0, None if self.bound.total is None else np.zeros(0, partial_dtype(self.bound.total)))

    def outgoing(self, part: int) -> Changed:
        """What another `part` needs to know after a superstep. The values count as sent."""
        places, state = self._sends.get(part), self._state if not self.is_empty else None
        if places is None or state is None:
            return Changed(np.zeros(0, self.bound.value), *np.zeros((2, 0), np.bool_))
        found = self._changed(part, slice(self._told.get(part, 0), len(places)), state.values, state.frontier)
        # The other part has read what was sent two supersteps ago: it has done the one after that.
        self._sent[part], self._spare[part] = self._spare[part], self._sent[part]
        self._told[part] = 0
        return found

    def _tell_early(self, tell: Tell, page: Page, state: State) -> None:
        """After a page, tell all parts what has changed up to its end, if that is worth a message of its own."""
        if page.first_vertex > self._pulled:  # a page before it is missing
            return
        self._pulled = page.last_vertex
        for part, places in self._sends.items():
            first, last = self._told[part], int(np.searchsorted(places, self._pulled))
            if (last - first) * self.bound.value.itemsize >= EARLY:
                tell(part, self._changed(part, slice(first, last), state.next_values, state.next_frontier))
                self._told[part] = last

    def _changed(self, part: int, some: slice, values: Array, frontier: VertexSet) -> Changed:
        """What another `part` needs to know of `some` of the vertices that it mirrors."""
        places, sent, now = self._sends[part][some], self._sent[part][some], self._spare[part][some]
        changed, active = gather(places, values, sent, frontier.bits, now, self._pool)
        if "prepare" in self.bound.arguments:  # it has rewritten the mirrors' values there, too
            changed[:] = True
        return Changed(now, changed, active, some.start)

    def incoming(self, part: int, told: Changed) -> None:
        """Store what another `part` has sent at its mirrors. It reads only values that `told.changed` marks."""
        first = self.part.mirrors(part)[0] + told.first
        last = first + len(told.values)
        if first == last:
            return
        state = self._state
        for values in (state.values, state.next_values):
            if told.changed.all():
                values[first:last] = told.values
            else:
                values[first:last][told.changed] = told.values[told.changed]
        put(state.frontier, first, told.active)

    def report(self) -> Array:
        """The reported values of the own vertices, in their order. Vertices in them are given by number."""
        if self.is_empty:
            return np.zeros(0, self.bound.reports)
        first, last = self.part.own
        return self._executor.host.report(self._state, self._executor.source)[first:last]

    def save(self) -> dict[str, Array]:
        """The state after an exchange, as named arrays; `load` continues from it. They are copies."""
        if self.is_empty:
            return {}
        state = self._state
        numbers = np.array([self._done, state.changeable], np.int64)
        return {"values": state.values.copy(), "frontier": state.frontier.bits.copy(), "numbers": numbers}

    def load(self, saved: Mapping[str, Array]) -> None:
        """Continue from a state that `save` has returned, of a run that has been opened in the same way."""
        if self.is_empty:
            return
        state = self._state
        state.values[:], state.frontier.bits[:] = saved["values"], saved["frontier"]
        self._done, state.changeable = map(int, saved["numbers"])
        self._executor.load(state)
        self._begin()

    def own(self, saved: Mapping[str, Array]) -> dict[str, Array]:
        """The own vertices' part of what `save` has returned: their values, and which of them are active, as uint8."""
        if self.is_empty:
            return {"values": np.zeros(0, self.bound.value), "active": np.zeros(0, np.uint8)}
        first, last = self.part.own
        active = np.unpackbits(saved["frontier"].view(np.uint8), count=last, bitorder="little")[first:]
        return {"values": saved["values"][first:last], "active": active}

    def counts(self, total: Array | None) -> Counts:
        """The counts of the state as it is, with the `total` of all parts."""
        if self.is_empty:
            return self._nothing()._replace(total=total)
        return Counts(*self._own_active(), total=total, unfinished=self._state.unfinished_edges or 0)

    def _own_active(self) -> tuple[int, int]:
        """How many own vertices are active, and the sum of their out-degrees in the undivided graph."""
        return self._executor.host.count(self._state.frontier, self.part.place.degree_offsets, *self.part.own)

    def close(self) -> None:
        """Release memory, pages and threads."""
        self._stack.close()


def total_of(counts: Sequence[Counts], dtype: np.dtype[Any] | None) -> Array | None:
    """The program's total, shape (1,), from the counts of all parts; None if it has none, and so no `dtype` of it."""
    if dtype is None:
        return None
    if (known := next((each.total for each in counts if each.total is not None), None)) is not None:
        return known
    partials = [each.partials for each in counts if each.partials is not None and len(each.partials)]
    kind = partial_dtype(dtype)
    with np.errstate(all="ignore"):  # a total that is not finite ends the run
        total: Array = (sum_partials(partials, kind) if partials else np.zeros(1, kind)).astype(dtype)
    return total


def check_options(options: RunOptions) -> None:
    """Refuse options with which parts cannot run."""
    if options.mode in (PULL_TILED, COMPONENTS):
        raise ParameterError(
            f"mode={options.mode!r} is for one machine; on parts, choose from {ANY}, {', '.join(MODES)}"
        )
    if options.sync is False:
        raise ParameterError("sync=False is for one machine; parts run superstep by superstep, so leave it out")
    if options.lists is not None:
        raise ParameterError(f"engine={options.engine!r} works on one GPU; on parts, use engine='auto'")


def plan_of(bound: BoundProgram, part: Part, options: RunOptions, threads: int | None, machine: Machine) -> RunPlan:
    """The plan of a run on a part: as on one machine, but synchronous, on one GPU at most, one superstep at a time.

    A program with sums of floats that depend on their order only pulls, because a notify-pull cuts lists elsewhere than
    one machine does. ``device="auto"`` gives no GPU edges on disk, and no sums that would have other bits there.
    """
    asked, device = replace(options, sync=True, threads=threads, checkpoint=None), options.device
    if device == ANY:
        on_cpu = part.graph.on_disk or (options.deterministic and not any_order(bound))
        device = CPU if on_cpu or executor_of(bound, part.graph, asked, machine)[0] == CPU else HYBRID
    elif device != CPU and part.graph.on_disk:
        raise DeviceError(
            f"device={device!r} needs the edges of each part in its worker's memory; take more workers, or give each "
            "more memory (memory_limit)"
        )
    asked = replace(asked, device=device, gpus=None if device == CPU else 1)
    chosen = plan(bound, part.graph, asked, machine, Chosen(device))
    mode = PULL if only_pulls(bound, options) else chosen.schedule.mode
    schedule = replace(chosen.schedule, mode=mode, components=False, tiles=False, pass_bytes=0, buckets=False)
    return replace(chosen, chains=False, deltas=False, schedule=schedule, needs_gpu=options.needs_gpu)


def only_pulls(bound: BoundProgram, options: RunOptions) -> bool:
    """Whether all supersteps pull, so that parts need no out-edges."""
    return options.mode == PULL or (options.mode == ANY and not any_order(bound))


def any_order(bound: BoundProgram) -> bool:
    """Whether sums and totals have the same bits in any order."""
    kinds = [bound.accumulator[name] for name in bound.accumulator.names or ()] or [bound.accumulator]
    return bound.program.sum.idempotent or (bound.program.sum.is_named and all(kind.kind in "iu" for kind in kinds))


def record_of(number: int, decision: Decision, result: StepResult, seconds: float, totals: Counts, f: float) -> Any:
    """The record of a superstep of one part; `totals` are those of all parts at its beginning."""
    pages = result.pages
    skipped = result.pages_skipped
    edges = result.followed + sum(page.edges for page in pages)
    return events.Iteration(
        number, decision.mode, f, totals.active, edges, result.page_count - skipped, skipped, seconds, result.device,
        sum(page.to_device for page in pages), sum(page.from_device for page in pages), why=decision.why,
        alpha=decision.alpha,
    )  # fmt: skip


def put(active: VertexSet, first: int, is_active: Array) -> None:
    """Add the vertices from `first` on to a set, or remove them, as `is_active` says for each."""
    words = slice(first // WORD, -(-(first + len(is_active)) // WORD))
    mask = np.unpackbits(active.bits[words].view(np.uint8), bitorder="little")
    begin = first - words.start * WORD
    mask[begin : begin + len(is_active)] = is_active
    active.bits[words] = np.packbits(mask, bitorder="little").view(np.uint64)
    active.loosen()
