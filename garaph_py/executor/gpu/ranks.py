"""Ranks of destinations. The rank of a destination is its index among the vertices with in-edges.

A destination is a vertex with in-edges; a run is `RUN` consecutive edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ...codec import format as packed
from ...native.threads import ThreadPool, split
from ...pages.layout import Page

Array = npt.NDArray[Any]

RUN = packed.RUN
"""Edges of a run, which one warp gathers."""
MANY_RUNS = 32
"""A destination is a hub if its edges continue in more than this many runs after the one in which they begin."""
WARP = 32
"""Threads of a warp."""
PIECE = 1 << 15
"""Vertices that are ranked together, so that what is computed for them stays in a core's cache."""
SHARE = 1 << 16
"""Vertices or runs for which another thread is worth waking: one thread takes 0.2 to 2 ms for them."""


def run_range(page: Page) -> range:
    """The runs that contain edges of a page."""
    return range(page.first_edge // RUN, -(-page.last_edge // RUN))


def runs_of(page: Page) -> int:
    """The number of runs that contain edges of a page."""
    return len(run_range(page))


def starts_bytes(edges: int) -> int:
    """Bytes of the bitmap `starts`: one bit per edge, rounded up to whole runs, plus one more run."""
    return (-(-edges // RUN) + 1) * RUN // 8


@dataclass(frozen=True)
class Ranks:
    """The ranks of a graph's destinations. Tables that only the device keeps are properties, computed at each access.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        CSC offsets.
    before : ndarray of uint32, shape (n + 1,)
        For each vertex: the number of destinations before it.
    """

    offsets: Array
    before: Array

    @classmethod
    def of(cls, offsets: Array, threads: int | None = None) -> Ranks:
        """The ranks for these offsets, made by `threads` threads; None for one per available core."""
        before = np.empty(len(offsets), np.uint32)
        before[0] = 0

        def rank(first: int, last: int) -> int:
            """Number the destinations of a part, beginning with 0; return how many there are."""
            found = 0
            for begin in range(first, last, PIECE):
                end = min(begin + PIECE, last)
                piece = before[begin + 1 : end + 1]
                np.cumsum(offsets[begin + 1 : end + 1] != offsets[begin:end], dtype=np.uint32, out=piece)
                piece += np.uint32(found)
                found = int(piece[-1])
            return found

        def shift(first: int, last: int, base: int) -> None:
            before[first + 1 : last + 1] += np.uint32(base)

        with ThreadPool(threads) as pool:
            parts = parts_of(len(offsets) - 1, pool)
            bases = accumulate(pool.run(rank, parts), initial=0)
            pool.run(shift, [(*part, base) for part, base in zip(parts, bases, strict=False)])
        return cls(offsets, before)

    def by_run(self, threads: int | None = None) -> Array:
        """For each run: the number of destinations that begin before it; uint32, shape (runs,)."""
        runs = -(-max(int(self.offsets[-1]), 1) // RUN)
        ranks = np.empty(runs, np.uint32)

        def fill(first: int, last: int) -> None:
            starts = np.arange(first * RUN, last * RUN, RUN)
            ranks[first:last] = self.before[np.searchsorted(self.offsets[:-1], starts)]

        with ThreadPool(threads) as pool:
            pool.run(fill, parts_of(runs, pool))
        return ranks

    @property
    def by_word(self) -> Array:
        """For each word w of 32 vertices: the destinations before vertex 32 w; uint32, shape (ceil(n / 32),)."""
        return np.ascontiguousarray(self.before[:-1:WARP])

    @cached_property
    def hubs(self) -> Array:
        """The hubs (see `MANY_RUNS`), ascending; int64."""
        some = np.arange(0, int(self.offsets[-1]), MANY_RUNS * RUN)  # every hub has at least one of these edges
        large = np.unique(np.searchsorted(self.offsets, some, side="right") - 1)
        found: Array = large[(self.offsets[large + 1] - 1) // RUN - self.offsets[large] // RUN > MANY_RUNS]
        return found

    @property
    def destinations(self) -> Array:
        """The vertices with in-edges, ascending; uint32, shape (destinations,)."""
        found: Array = np.arange(len(self.offsets) - 1, dtype=np.uint32)[self.offsets[1:] != self.offsets[:-1]]
        return found


def parts_of(count: int, pool: ThreadPool) -> list[tuple[int, int]]:
    """``range(count)`` in a part for each thread that is worth waking."""
    return list(pairwise(split(count, min(pool.size, 1 + count // SHARE))))
