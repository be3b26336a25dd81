"""Destinations by rank: their numbers among the vertices that have in-edges, and where runs of edges meet them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...codec import format as packed
from ...pages.layout import Page

Array = npt.NDArray[Any]

RUN = packed.RUN
"""Edges of a run, the piece a warp takes; `kernels/words.cuh` has the same."""
MANY_RUNS = 32
"""Runs that edges go on through after the one they begin in: where they are more, the vertex is a hub."""
WARP = 32


def run_range(page: Page) -> range:
    """The runs that a page's edges lie in."""
    return range(page.first_edge // RUN, -(-page.last_edge // RUN))


def runs_of(page: Page) -> int:
    """How many they are."""
    return len(run_range(page))


def starts_bytes(edges: int) -> int:
    """Bytes of a bit an edge, in whole runs and a run more."""
    return (-(-edges // RUN) + 1) * RUN // 8


@dataclass(frozen=True)
class Ranks:
    """The destinations of a graph; tables that only the device keeps are made when asked for.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        CSC offsets.
    before : ndarray of uint32, shape (n + 1,)
        Destinations among the vertices before each.
    """

    offsets: Array
    before: Array

    @classmethod
    def of(cls, offsets: Array) -> Ranks:
        before = np.zeros(len(offsets), np.uint32)
        np.cumsum(offsets[1:] != offsets[:-1], dtype=np.uint32, out=before[1:])
        return cls(offsets, before)

    @property
    def by_run(self) -> Array:
        """Destinations that begin before each run of `RUN` edges: uint32, shape (runs,)."""
        starts = np.arange(0, max(int(self.offsets[-1]), 1), RUN)
        first: Array = self.before[np.searchsorted(self.offsets[:-1], starts)]
        return first

    @property
    def by_word(self) -> Array:
        """Destinations among the vertices before 32 w: uint32, shape (ceil(n / 32),)."""
        return np.ascontiguousarray(self.before[:-1:WARP])

    @cached_property
    def hubs(self) -> Array:
        """The vertices whose edges go on through many runs, ascending: int64, shape (hubs,)."""
        some = np.arange(0, int(self.offsets[-1]), MANY_RUNS * RUN)  # of the edges of each, one is among these
        large = np.unique(np.searchsorted(self.offsets, some, side="right") - 1)
        found: Array = large[(self.offsets[large + 1] - 1) // RUN - self.offsets[large] // RUN > MANY_RUNS]
        return found

    @property
    def destinations(self) -> Array:
        """The vertices with in-edges, ascending: uint32, shape (destinations,)."""
        found: Array = np.arange(len(self.offsets) - 1, dtype=np.uint32)[self.offsets[1:] != self.offsets[:-1]]
        return found
