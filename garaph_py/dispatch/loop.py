"""Iterations: observe, decide, process every page, commit; until nothing is active or enough is done."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from .. import events
from ..executor.hybrid import HybridExecutor
from ..executor.modes import CPU, GPU, NOTIFY_PULL, PULL_TILED, PUSH
from ..executor.protocol import Executor, SupportsPriority, sum_partials
from ..executor.state import State
from ..pages.source import PageSource
from ..program import BoundProgram
from ..program.monoids import largest, smallest
from ..system.watchdog import Heartbeat
from .policy import GPU_THRESHOLD, Bucket, Observation, bound_of_notifying, decide, first_step, next_step


@dataclass(frozen=True)
class Limits:
    """How to run: what `garaph_py.run` was asked for.

    Attributes
    ----------
    iterations : int or None
        At most so many.
    engine, mode : str
        `mode` None leaves it to the engine.
    tiles : bool
        The graph has tiles, and they suit the program.
    began : float
        When the run began, by ``time.perf_counter``.
    k : float
        Sequential over random read speed of where the edges are.
    turns : bool
        Changed vertices may wait for their turn: less work, in more iterations.
    """

    iterations: int | None
    engine: str
    mode: str | None
    tiles: bool
    began: float
    k: float = 1.0
    turns: bool = True

    def pushes(self, kernel: Executor) -> bool:
        """Whether `kernel` may push, if the program relaxes."""
        return self.engine == "auto" and self.mode in (None, PUSH) and PUSH in kernel.modes


@dataclass(frozen=True)
class Outcome:
    """The state a run ended in, its iterations, and whether it converged."""

    state: State
    iterations: list[events.Iteration]
    converged: bool


def iterate(
    kernel: Executor,
    source: PageSource,
    bound: BoundProgram,
    state: State,
    limits: Limits,
    vertices: int,
    edges: int,
    listener: events.Listener,
    part: Heartbeat,
    done: list[events.Iteration] | None = None,
    before: int = 0,
    after: Callable[[State, int], None] | None = None,
) -> Outcome:
    """Run `bound` from `state` until no vertex is active, the program has converged, or the limit is reached.

    `done` are the iterations before; each that is committed is added. `part` says where the run is. Another process did
    `before` iterations ahead of those. ``after(state, iterations)`` is called at the end of each.
    """
    done = [] if done is None else done
    both = kernel if isinstance(kernel, HybridExecutor) else None
    takes_turns = bound.is_relaxation and "priority" in bound.arguments and not state.synchronous and both is None
    in_turns = takes_turns and limits.turns and limits.pushes(kernel)
    turns = Buckets(cast(SupportsPriority, kernel), state) if in_turns else None
    if turns is None and not state.limits.dtype.names:
        state.limits[:] = largest(state.limits.dtype)  # nobody waits for a turn
    notifying = GPU_THRESHOLD
    while state.active_count or (turns is not None and turns.next(edges)):
        number = before + len(done)
        if number and state.total is not None and bound.program.converged(readable(state.total), vertices):
            return Outcome(state, done, True)
        if limits.iterations is not None and number >= limits.iterations:
            return Outcome(state, done, False)
        seen = Observation(
            vertices,
            edges,
            state.active_count,
            state.active_edges,
            limits.engine,
            device=CPU if both is not None else kernel.name,
            forced_mode=limits.mode,
            updates_all_vertices=bound.total is not None,
            is_relaxation=bound.is_relaxation,
            pushes=PUSH in kernel.modes,
            tiles=limits.tiles and PULL_TILED in kernel.modes,
            in_turns=turns is not None,
            k=limits.k,
            notifying=notifying,
            **({} if both is None else both.seen),
        )
        record = one_iteration(kernel, source, bound, state, seen, number, limits.began, part)
        done.append(record)
        listener(record)
        if kernel.name == GPU and record.mode == NOTIFY_PULL:
            pages = record.pages + record.pages_skipped
            notifying = bound_of_notifying(notifying, record.f, record.pages_skipped, pages, edges)
        if turns is not None:
            turns.followed += record.edges
        if after is not None:
            after(state, number + 1)
    return Outcome(state, done, True)


def one_iteration(
    kernel: Executor, source: PageSource, bound: BoundProgram, state: State, seen: Observation, number: int,
    began: float, part: Heartbeat,
) -> events.Iteration:  # fmt: skip
    started, read = time.perf_counter(), source.bytes_read
    decision = decide(seen)
    mode = decision.mode
    part.doing = "iteration", number, mode
    if isinstance(kernel, HybridExecutor):
        kernel.device = decision.device
    visited = kernel.begin(state, mode)
    results = kernel.process(source.pages, source, state, mode)
    device = kernel.device if isinstance(kernel, HybridExecutor) else decision.device
    kernel.commit(state, mode)
    state.active, state.activated = state.activated, state.active
    state.active_count = sum(result.active for result in results)
    state.active_edges = sum(result.active_edges for result in results)
    state.changeable = sum(result.changeable for result in results)
    if bound.total is not None and state.total is not None:
        partials = [result.partials for result in results if result.partials is not None]
        state.total[:] = sum_partials(partials, partials[0].dtype).astype(bound.total)
    skipped = sum(result.skipped for result in results)
    return events.Iteration(
        number, mode, seen.f, seen.active, visited + sum(result.edges for result in results),
        len(results) - skipped, skipped, time.perf_counter() - started, device,
        sum(result.to_device for result in results), sum(result.from_device for result in results),
        started - began, decision.why, seen.alpha, source.bytes_read - read,
    )  # fmt: skip


class Buckets:
    """Whose turn it is among the changed vertices that wait: those of the least priorities."""

    def __init__(self, kernel: SupportsPriority, state: State) -> None:
        self.kernel, self.state = kernel, state
        kind = state.limits.dtype
        self.highest = largest(kind)
        state.limits[:] = smallest(kind)
        self.step: Any = None
        self.edges, self.followed = 0, 0
        self.before: Bucket | None = None

    def next(self, edges: int) -> bool:
        """Raise the limit until somebody is active or nobody waits; whether any is. The graph has so many `edges`."""
        state, limits = self.state, self.state.limits
        if self.step is None:
            least = self.kernel.advance(state)
            if least is None:
                return False
            self.step = first_step(least)
        else:
            turn = Bucket(self.edges, self.followed)
            self.step, self.before = next_step(self.step, turn, self.before, edges), turn
            least = limits[1].item()
        while True:
            limits[0] = limits[1]
            limits[1] = min(max(least, limits[1].item()) + self.step, self.highest)
            least = self.kernel.advance(state)
            if least is None or state.active_count:
                break
        self.edges, self.followed = state.active_edges, 0
        return state.active_count > 0


def readable(total: npt.NDArray[np.generic]) -> object:
    """The total as `converged` sees it, and may keep it: a number, or an object with the named fields."""
    return total.copy().view(np.recarray)[0] if total.dtype.names else total[0].item()
