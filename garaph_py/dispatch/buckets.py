"""Buckets of changed vertices by priority, opened one after the other (delta-stepping; Julienne's buckets)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..executor.next_step import make_first_step, make_next_step
from ..executor.protocol import SupportsPriority
from ..executor.results import OpenBucket
from ..executor.state import State
from ..program.monoids import largest, smallest

ENOUGH = 1 / 32
"""Share of all edges with which a bucket keeps all threads busy. Not measured by itself."""
FASTEST = 8
"""How many times as large a step becomes at most. With 2, the first buckets were small, and took more launches
(docs/results/cpu.md, "SSSP")."""


@dataclass(frozen=True)
class Bucket:
    """The work of the iterations of one bucket.

    Attributes
    ----------
    edges : int
        Out-edges of the vertices that are active in the bucket's first iteration.
    followed : int
        Edges followed in all iterations of the bucket.
    """

    edges: int
    followed: int


def next_step(step: float, bucket: Bucket, before: Bucket | None, edges: int) -> float:
    """How far the threshold rises for the next bucket, after `bucket` and the one `before` it, in a graph of `edges`
    edges."""
    adapt, last = make_next_step(np.dtype(type(step)), FASTEST), 0 if before is None else before.edges
    adapted: float = adapt(step, bucket.edges, bucket.followed, last, edges * ENOUGH)
    return adapted


class Buckets:
    """Delta-stepping buckets: which changed vertices enter the next frontier."""

    def __init__(self, executor: SupportsPriority, state: State) -> None:
        self.executor, self.state = executor, state
        kind = state.thresholds.dtype
        self.highest = largest(kind)
        state.thresholds[:] = smallest(kind)
        self.step: Any = None
        self.edges, self.followed = 0, 0
        self.before: Bucket | None = None

    def go_on(self, opened: OpenBucket | None, followed: int) -> None:
        """Note what an iteration has done: the last bucket that the executor itself has `opened`, or the edges
        followed."""
        if opened is None:
            self.followed += followed
        else:
            self.step, self.edges, self.followed = opened
            self.before = None

    def next(self, edges: int) -> bool:
        """Advance the threshold until the frontier is not empty or no vertex is pending.

        Returns whether the frontier is not empty. `edges` is the number of edges of the graph.
        """
        state, thresholds = self.state, self.state.thresholds
        if self.step is None:
            least = self.executor.open_bucket(state)
            if least is None:
                return False
            self.step = make_first_step(np.dtype(type(least)))(least)
        else:
            bucket = Bucket(self.edges, self.followed)
            self.step, self.before = next_step(self.step, bucket, self.before, edges), bucket
            least = thresholds[1].item()
        while True:
            thresholds[0] = thresholds[1]
            thresholds[1] = min(max(least, thresholds[1].item()) + self.step, self.highest)
            least = self.executor.open_bucket(state)
            if least is None or state.active_count:
                break
        self.edges, self.followed = state.active_edges, 0
        return state.active_count > 0
