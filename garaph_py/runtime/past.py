"""What earlier calls of a program on a graph took, on which processors. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..executor.costs import EXPECTED
from ..executor.modes import CPU, GPU
from .options import HYBRID

Way = tuple[str, int]
"""What computed: ``"cpu"``, ``"gpu"`` or ``"hybrid"``, and the number of GPUs."""
ON_CPU: Way = (CPU, 0)
"""The CPU without a GPU."""
EVEN_F = EXPECTED.push / EXPECTED.gpu
"""f above which a GPU that may push is expected to pull instead."""


@dataclass(frozen=True)
class Took:
    """What calls took that computed in the same way.

    Attributes
    ----------
    iterating : float
        Seconds of all iterations.
    beyond : float or None
        Seconds of the rest of a call that finds what earlier ones have made; None if there was no such call.
    """

    iterating: float
    beyond: float | None = None

    def is_shorter_than(self, other: Took) -> bool:
        """Whether such calls took less time: whole calls, if both are known, otherwise all iterations."""
        if self.beyond is None or other.beyond is None:
            return self.iterating < other.iterating
        return self.iterating + self.beyond < other.iterating + other.beyond


@dataclass(frozen=True)
class Past:
    """What earlier calls with such a program on the same graph took.

    Attributes
    ----------
    iterations : int or None
        Of the last call; None if there was none.
    lost : float
        Seconds that the calls on this graph have lost by using the CPU, since a GPU was used last.
    reached : float
        Active vertices of the last call, summed over its iterations, divided by the vertices of the graph.
    few : int
        Iterations of the last call whose active vertices had few out-edges (`policy.DEVICE_FEW_EDGES`).
    pulls : int
        Iterations of the last call in which more than `EVEN_F` of the edges left active vertices.
    pushed : float
        The shares of the edges that left active vertices in its other iterations, summed.
    took : dict of Way to Took
        By what computed, as far as it is known.
    """

    iterations: int | None = None
    lost: float = 0.0
    reached: float = 1.0
    few: int = 0
    pulls: int = 0
    pushed: float = 0.0
    took: Mapping[Way, Took] = field(default_factory=dict)

    def on_gpus(self, count: int) -> Took | None:
        """What calls took on so many GPUs, alone or with the CPU, whichever took less; None if it is not known."""
        alone, both = self.took.get((GPU, count)), self.took.get((HYBRID, count))
        return both if alone is None or (both is not None and both.is_shorter_than(alone)) else alone

    def are_faster_alone(self, count: int) -> bool:
        """Whether so many GPUs are known to take less time alone than with the CPU."""
        alone, both = self.took.get((GPU, count)), self.took.get((HYBRID, count))
        return alone is not None and both is not None and alone.is_shorter_than(both)
