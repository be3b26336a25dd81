"""Longest paths to vertices by a vertex program, which a GPU may run, and whose edges may be on disk.

A vertex waits until all of its in-neighbours have a number; its own is then 1 more than the largest of theirs. So its
value changes only once, a vertex on a cycle waits forever, and the run ends on any graph. While one in-neighbour waits,
the largest of their values is `WAITING`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..program import VertexProgram
from ..program.monoids import max as maximum
from .runs import Runs

Array = npt.NDArray[Any]

WAITING = 0xFFFFFFFF
"""The value of a vertex that has no number; numbers are smaller."""


class LongestPaths(VertexProgram):
    """The number of edges on the longest path to each vertex of a directed graph; `WAITING` for vertices that are on a
    cycle or reached from one."""

    value = np.uint32
    sum = maximum

    def init(self, in_degree):
        return WAITING if in_degree > 0 else 0

    def gather(self, src):
        return src + 1 if src != WAITING else src

    def apply(self, acc):
        return acc


def longest_paths(runs: Runs) -> Array:
    """The number of edges on the longest path to each vertex, or `WAITING`: uint32, shape (n,).

    The run is asynchronous: numbers are used as soon as they are known.
    """
    return runs(LongestPaths(), sync=False)
