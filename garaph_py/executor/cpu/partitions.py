"""The outputs of a page's partitions, which `merge_partial_sums` then merges."""

from __future__ import annotations

import numpy as np

from ...native import PerCall
from ...program import BoundProgram
from ...program.functions import partial_dtype
from ..results import PageResult


class Partitions:
    """The outputs of `count` partitions of a page.

    Attributes
    ----------
    heads, tails : ndarray, shape (count,)
        Partial sums of the vertices whose edges a partition's first or last bound cuts.
    cuts : ndarray of int64, shape (count, 2)
        The vertices of `heads` and `tails`; -1 where the bound cuts none.
    sums : ndarray, shape (count, 64)
        Room for the sums of 64 neighbouring vertices; `accumulators` is this array as a kernel's argument.
    counts : ndarray of int64, shape (count + 1, 4)
        Edges visited, vertices activated, their out-edges, and how many of them may change again. The last row belongs
        to `merge_partial_sums`.
    partials : ndarray, shape (count,)
        Partial totals. `merge_partial_sums` adds the parts of the vertices that it applies.
    arguments : dict of str to PerCall
        These arrays, but for `sums`, as the arguments of the kernels that pull.
    """

    def __init__(self, count: int, bound: BoundProgram) -> None:
        self.heads, self.tails = np.empty((2, count), bound.accumulator)
        self.sums = np.empty((count, 64), bound.accumulator)
        self.accumulators = PerCall(self.sums)
        self.cuts, self.counts = np.empty((count, 2), np.int64), np.zeros((count + 1, 4), np.int64)
        self.partials = np.zeros(count, partial_dtype(bound.total))
        self.arguments = {
            "head": PerCall(self.heads), "tail": PerCall(self.tails), "cuts": PerCall(self.cuts),
            "counts": PerCall(self.counts), "partial": PerCall(self.partials),
        }  # fmt: skip
        self.merge_counts = self.counts[count]

    def clear_merge(self) -> None:
        """Set the counts of `merge_partial_sums` to zero, for a page that needs no merge."""
        self.counts[-1] = 0

    def result(self, bound: BoundProgram) -> PageResult:
        """The sum of what all partitions and the merge did."""
        edges, active, active_edges, changeable = map(int, self.counts.sum(axis=0))
        partials = None if bound.total is None else self.partials.copy()
        return PageResult(edges, active, active_edges, changeable, partials)
