"""What the partitions of a page leave behind for the step that merges them."""

from __future__ import annotations

import numpy as np

from ...program import BoundProgram
from ...program.functions import partial_dtype
from ..protocol import PageResult


class Partitions:
    """What `count` partitions of a page leave behind.

    Attributes
    ----------
    heads, tails : ndarray, shape (count,)
        Partial sums of the vertices that a partition's first and last bound cut.
    cuts : ndarray of int64, shape (count, 2)
        These vertices; -1 where the bound cuts none.
    sums : ndarray, shape (count, 64)
        Room for the sums of 64 neighbouring vertices.
    counts : ndarray of int64, shape (count + 1, 4)
        Edges visited, vertices activated, their out-edges, and how many of them may change again. The last row is of
        `merge_partial_sums`.
    partials : ndarray, shape (count + 1,)
        Partial totals, likewise.
    """

    def __init__(self, count: int, bound: BoundProgram) -> None:
        self.heads, self.tails = np.empty((2, count), bound.accumulator)
        self.sums = np.empty((count, 64), bound.accumulator)
        self.cuts, self.counts = np.empty((count, 2), np.int64), np.zeros((count + 1, 4), np.int64)
        self.partials = np.zeros(count + 1, partial_dtype(bound.total))
        self.merge_counts, self.merge_partial = self.counts[count], self.partials[count:]

    def clear_merge(self) -> None:
        """Count nothing for merging, as when there is one partition, or no bound cuts a vertex."""
        self.counts[-1], self.partials[-1] = 0, 0

    def result(self, bound: BoundProgram) -> PageResult:
        """What all partitions did, and merging their sums."""
        edges, active, active_edges, changeable = map(int, self.counts.sum(axis=0))
        partials = None if bound.total is None else self.partials.copy()
        return PageResult(edges, active, active_edges, changeable, partials)
