"""What changes while a program runs: vertex values, frontiers, and who holds the newest values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph.vertex_set import VertexSet

Array = npt.NDArray[Any]

HOST = "host"
"""The host's memory, as `Holders` names it. A device is named by its executor."""


class Holders:
    """Which memories hold the newest vertex values: the host's, a device's, or several.

    An executor that computes new values calls `wrote`; one that copies them to another memory calls `copied`. Nothing
    else changes hands, so that values may stay where they were computed until somebody asks for them.
    """

    def __init__(self) -> None:
        self._newest = {HOST}

    def wrote(self, *memories: str) -> None:
        """New values are in these memories, and those of all others are out of date."""
        self._newest = set(memories)

    def copied(self, memory: str) -> None:
        """The newest values have been copied to this memory too."""
        self._newest.add(memory)

    def has(self, memory: str) -> bool:
        """Whether this memory holds the newest values."""
        return memory in self._newest


@dataclass
class State:
    """The values and frontiers of one run.

    Attributes
    ----------
    values : ndarray, shape (n,)
        Vertex values as gather sees them (GlobalVertices, Garaph section 3.1).
    next_values : ndarray, shape (n,)
        Where new values go: a second array, committed at the iteration's end (synchronous), or `values` itself
        (asynchronous, where new values are visible at once; synchronous too while no value that is read can change).
    synchronous : bool
    frontier : VertexSet
        The active vertices: those that changed in the last iteration.
    next_frontier : VertexSet
        The vertices that change in this iteration.
    notified : VertexSet
        The vertices that a notify-pull iteration updates.
    pending : VertexSet
        Changed vertices whose bucket has not been opened yet, where the program has a priority.
    active_count, active_edges, changeable : int
        Size of `frontier`, the sum of its out-degrees, and how many of it are not done: they may change again.
    total : ndarray, shape (1,), or None
        What the program aggregated over all vertices.
    thresholds : ndarray of the values' dtype, shape (2,)
        Priorities that bound the open bucket: vertices up to the first have been processed, those up to the second
        are in the bucket.
    holders : Holders
        Who has the newest values.
    """

    values: Array
    next_values: Array
    synchronous: bool
    frontier: VertexSet
    next_frontier: VertexSet
    notified: VertexSet
    pending: VertexSet
    active_count: int
    active_edges: int
    changeable: int
    total: Array | None
    thresholds: Array
    holders: Holders = field(default_factory=Holders)

    @classmethod
    def empty(cls, values: Array, next_values: Array, synchronous: bool, frontier: VertexSet) -> State:
        """A state without active vertices or total, whose sets are those of `frontier`'s size."""
        n = len(values)
        other, notified, pending = (VertexSet.empty(n) for _ in range(3))
        thresholds = np.zeros(2, values.dtype)
        return cls(values, next_values, synchronous, frontier, other, notified, pending, 0, 0, 0, None, thresholds)

    def swap_values(self) -> None:
        """Make the new values the current ones."""
        self.values, self.next_values = self.next_values, self.values

    def advance(self, active: int, active_edges: int, changeable: int) -> None:
        """Make the next frontier the current one; it has so many vertices, out-edges and vertices that may change."""
        self.frontier, self.next_frontier = self.next_frontier, self.frontier
        self.active_count, self.active_edges, self.changeable = active, active_edges, changeable
