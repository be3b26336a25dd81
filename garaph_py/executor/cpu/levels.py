"""Notes at which superstep each vertex was first reached from each of up to 64 sources.

A search from many sources keeps one bit for each in a vertex's value, and forgets when a bit changed. So the levels are
noted here after each superstep: only vertices of the frontier have changed.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph.vertex_set import WORD
from ...native import Kernel, trailing_zeros
from ...native.kernel import kind_of
from ...native.threads import ThreadPool, split
from ..state import State

Array = npt.NDArray[Any]

SOURCES = 64
"""The most sources: one bit for each, in a value of 64 bits."""
KINDS = np.int8, np.int32
"""The types of levels, which are as narrow as the last level allows."""
PARTS = 8
"""Parts of the vertices for each thread, which takes the next when it has finished one: frontiers are uneven."""


# wide: the arguments of a kernel
def note(frontier, values, left, levels, count, level, first_word, last_word):
    """For the vertices of `frontier` in a range of words, write `level` for each bit that is in `left`, but no longer
    in the vertex's value; then make `left` the value."""
    for w in range(first_word, last_word):
        vertices = frontier[w]
        while vertices != np.uint64(0):
            v = (w << 6) + trailing_zeros(vertices)
            vertices &= vertices - np.uint64(1)
            bits = np.uint64(left[v] & ~values[v])
            left[v] = values[v]
            for k in range(count):  # all, without a branch: the compiler does several with one instruction
                at = v * count + k
                levels[at] = level if (bits >> np.uint64(k)) & np.uint64(1) else levels[at]
    return 0


@cache
def kernel_for(kind: np.dtype[Any]) -> Kernel:
    """The kernel for levels of this type."""
    return Kernel(f"u64* i64* i64* {kind_of(kind)} i64 i64 i64 i64", note)


class Levels:
    """The levels of all vertices from several sources.

    Parameters
    ----------
    sources : ndarray of int64
        Internal ids of the sources, at most `SOURCES`.
    n : int
        Number of vertices.

    Attributes
    ----------
    table : ndarray, shape (n, number of sources)
        Number of edges on a shortest path; -1 where there is none.
    """

    def __init__(self, sources: Array, n: int) -> None:
        count = len(sources)
        self.table = np.full((n, count), -1, KINDS[0])
        self.table[sources, np.arange(count)] = 0
        self._left = np.full(n, self.all_bits(count), np.int64)
        for bit, source in enumerate(sources.tolist()):
            self._left[source] &= ~np.uint64(1 << bit).astype(np.int64)

    @staticmethod
    def all_bits(count: int) -> np.int64:
        """A word with a bit set for each of so many sources."""
        return np.uint64((1 << count) - 1).astype(np.int64)

    @property
    def first_values(self) -> Array:
        """For each vertex a bit for each source that has not reached it, at the start."""
        return self._left.copy()

    def after(self, state: State, iterations: int, pool: ThreadPool) -> None:
        """Note the vertices that the last of so many `iterations` has reached."""
        if iterations > np.iinfo(self.table.dtype).max:
            self.table = self.table.astype(KINDS[1])
        kernel, frontier = kernel_for(self.table.dtype), state.frontier.bits
        bounds = split(-(-len(self._left) // WORD), PARTS * pool.size)
        rows = kernel.rows(
            len(bounds) - 1, frontier, state.values, self._left, self.table.reshape(-1), self.table.shape[1],
            iterations, np.array(bounds[:-1]), np.array(bounds[1:]),
        )  # fmt: skip
        pool.launch(rows)
