"""What the runs of a page leave behind, for whoever settles the vertices that their bounds cut."""

from __future__ import annotations

import numpy as np

from ...program import BoundProgram
from ...program.functions import partial_dtype
from ..protocol import PageResult


class Partitions:
    """What the runs of a page leave behind: replicas of the vertices that their bounds cut, counts, partial totals.

    Behind those of `parts` runs, `counts` and `partials` have a place for what settling them adds.
    """

    def __init__(self, parts: int, bound: BoundProgram) -> None:
        self.heads, self.tails = np.empty((2, parts), bound.accumulator)
        self.sums = np.empty((parts, 64), bound.accumulator)
        self.cuts, self.counts = np.empty((parts, 2), np.int64), np.zeros((parts + 1, 4), np.int64)
        self.partials = np.zeros(parts + 1, partial_dtype(bound.total))
        self.last_count, self.last_partial = self.counts[parts], self.partials[parts:]

    def forget_settled(self) -> None:
        """Nothing has been settled, as when there is one run, or no vertex is cut."""
        self.counts[-1], self.partials[-1] = 0, 0

    def result(self, bound: BoundProgram) -> PageResult:
        """What all runs did, and settling them."""
        edges, active, active_edges, changeable = map(int, self.counts.sum(axis=0))
        partials = None if bound.total is None else self.partials.copy()
        return PageResult(edges, active, active_edges, changeable, partials)
