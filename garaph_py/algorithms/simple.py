"""Neighbours without self-loops, each once although edges to it may be parallel. Lists of neighbours ascend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph.adjacency import Adjacency
from ..native import Kernel
from .in_memory import Call

Array = npt.NDArray[Any]


def count_neighbours(first, last, offsets, others, counts):
    """Add to the count of each vertex of [first, last) how many other vertices are in its list."""
    for v in range(first, last):
        before, found = np.int64(-1), np.int64(0)
        for e in range(offsets[v], offsets[v + 1]):
            u = np.int64(others[e])
            found += (u != before) & (u != v)
            before = u
        counts[v] += found
    return 0


COUNT_NEIGHBOURS = Kernel("i64 i64 i64* u32* i64*", count_neighbours)


def simple_degrees(call: Call, sides: Sequence[Adjacency]) -> Array:
    """How many other vertices are in each vertex's lists: int64, shape (n,). One that is in two lists counts twice."""
    counts = np.zeros(call.graph.n, np.int64)
    for side in sides:
        call.on_vertices(COUNT_NEIGHBOURS, side.offsets, side.neighbours, counts, offsets=side.offsets)
    return counts
