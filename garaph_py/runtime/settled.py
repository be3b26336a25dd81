"""Choices of a GPU that the next calls repeat without an estimate, because an estimate takes as long as a short call's
margin over the other choices."""

from __future__ import annotations

import math
from collections.abc import Hashable

from ..executor.modes import GPU
from ..graph import Graph
from ..graph.arrays import GraphArrays
from ..native.threads import available_cores
from ..program import BoundProgram
from . import learned
from .lessons import Measured
from .options import ANY, HYBRID, RunOptions
from .plan import Chosen, RunPlan
from .reckoning import cpu_seconds
from .watching import may_chain

CHOOSING = 4e-4
"""Time (s) to choose, and to learn from the call: 0.3 to 0.5 ms on a host with two H200s (docs/decisions/hybrid.md)."""
SHARE = 0.01
"""The share of the time of calls that choosing may take. So calls that take longer repeat a choice less often."""
MOST_REPEATS = 16
"""The most calls that repeat a choice, however short they are; the shortest take 2.6 ms. A guess."""
MARGIN = 1.25
"""How many times as long as the call a call on the CPU must be expected to take: the error of an estimate that
`lessons.TOLERANCE` allows. Below that, each call chooses."""
SETTLED = "choices of a processor"
"""Name of a graph's `Settled` among its derived arrays."""


class Settled:
    """The choices for calls on one graph. It is among the graph's derived arrays, and is released with them."""

    def __init__(self, history: learned.History) -> None:
        self._history = history
        self._kept: dict[Hashable, tuple[Chosen, int]] = {}  # each with what the history had found out by then

    @classmethod
    def of(cls, arrays: GraphArrays) -> Settled:
        """The choices for a graph."""
        history = learned.History.of(arrays)
        return arrays.derived.get(SETTLED, lambda: cls(history), lambda _: 0)

    def take(self, bound: BoundProgram, options: RunOptions) -> Chosen | None:
        """Take out what this call repeats; None if it has to choose. A call that goes well keeps it again.

        It has to choose if other calls on the graph have found something out since (`History.found_out`).
        """
        kept, found_out = self._kept.pop(asked(bound, options), (None, 0)) if self._kept else (None, 0)
        return kept if found_out == self._history.found_out else None

    def keep(self, bound: BoundProgram, options: RunOptions, chosen: RunPlan, measured: Measured) -> None:
        """After a call: keep its choice if GPUs worked alone, and took less time than is expected of the CPU, even if
        they had to get the graph first."""
        verdict, on_cpu = chosen.verdict, math.inf
        if verdict is not None:
            on_cpu = cpu_seconds(verdict.call, verdict.rates)
        least = CHOOSING / (SHARE * MOST_REPEATS)
        repeats = int(CHOOSING / (SHARE * max(measured.seconds, least)))
        left = repeats if chosen.left is None else min(chosen.left - 1, repeats)
        if chosen.executor == GPU and left > 0 and on_cpu >= MARGIN * measured.seconds:
            gpus, key = (chosen.gpus, chosen.why_gpus), asked(bound, options)
            self._kept[key] = Chosen(GPU, verdict, chosen.why_alone, gpus, left), self._history.found_out
            learned.forget_oldest(self._kept)


def repeated(bound: BoundProgram, graph: Graph, options: RunOptions) -> Chosen | None:
    """The choice that a call repeats, if it has one and need not make it anew."""
    may = options.device in (ANY, HYBRID) and SETTLED in graph._arrays.derived
    return Settled.of(graph._arrays).take(bound, options) if may else None


def settle(bound: BoundProgram, graph: Graph, options: RunOptions, chosen: RunPlan, measured: Measured) -> None:
    """After a call that had a choice: keep it for the next calls, if it went well. From disk, each call chooses."""
    if options.device in (ANY, HYBRID) and not graph.on_disk:
        Settled.of(graph._arrays).keep(bound, options, chosen, measured)


def asked(bound: BoundProgram, options: RunOptions) -> Hashable:
    """All that a choice depends on, beside the graph and what has been measured."""
    called = learned.kind(bound, options, options.threads or available_cores())
    where = options.device, options.asked_gpus, options.deterministic
    return called, learned.placed(options), where, may_chain(options)
