"""The state of a run: vertex values, frontiers, and which memories hold the newest values."""

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

    An executor that computes new values calls `wrote`; an executor that copies them to another memory calls `copied`.
    Values are copied on demand only: they stay where they were computed until another memory needs them.
    """

    def __init__(self) -> None:
        self._newest = {HOST}

    def wrote(self, *memories: str) -> None:
        """Record that these memories hold new values, and that the values in all others are out of date."""
        self._newest = set(memories)

    def copied(self, memory: str) -> None:
        """Record that the newest values have been copied to this memory too."""
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
        The array that new values are written to. In synchronous runs, a second array, which is committed at the end of
        the iteration, or `values` itself as long as no value that is read can change. In asynchronous runs, `values`
        itself, so that new values are visible at once.
    synchronous : bool
    frontier : VertexSet
        The active vertices: those that changed in the last iteration.
    next_frontier : VertexSet
        The vertices that change in this iteration.
    notified : VertexSet
        The vertices that a notify-pull iteration updates.
    pending : VertexSet
        Changed vertices whose bucket has not been opened yet; empty if the program has no priority.
    active_count, active_edges, changeable : int
        Number of vertices in `frontier`, the sum of their out-degrees, and how many of them may change again (`done`
        does not hold for them).
    total : ndarray, shape (1,), or None
        The program's aggregate over all vertices.
    thresholds : ndarray of the values' dtype, shape (2,)
        Priorities that bound the open bucket: vertices up to the first have been processed; vertices above the first
        and up to the second are in the bucket.
    holders : Holders
        Which memories hold the newest values.
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
        """A state without active vertices or a total; its other sets are empty, and as large as `frontier`."""
        n = len(values)
        other, notified, pending = (VertexSet.empty(n) for _ in range(3))
        thresholds = np.zeros(2, values.dtype)
        return cls(values, next_values, synchronous, frontier, other, notified, pending, 0, 0, 0, None, thresholds)

    def swap_values(self) -> None:
        """Make the new values the current ones."""
        self.values, self.next_values = self.next_values, self.values

    def advance(self, active: int, active_edges: int, changeable: int) -> None:
        """Make the next frontier the current one, and record its `active_count`, `active_edges` and `changeable`."""
        self.frontier, self.next_frontier = self.next_frontier, self.frontier
        self.active_count, self.active_edges, self.changeable = active, active_edges, changeable
