"""Decides when it pays that a device numbers the vertices of a graph in hub order (numbering.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph.arrays import GraphArrays
from ...native.threads import ThreadPool, available_cores
from ...program import BoundProgram
from .numbering import CLASSES, Numbering, Order, classes_of
from .ranks import Ranks, parts_of

Array = npt.NDArray[Any]

TOP, LEAST_SHARE = 0.1, 0.5
"""Degrees are skewed if the share `TOP` of the vertices, those with the most out-edges, has at least the share
`LEAST_SHARE` of the out-edges. (In R-MAT graphs of scale 12 to 18 it has 0.73 to 0.86.)"""
LEAST_BYTES = 1 << 24
"""Bytes of values that are worth ordering: fewer mostly stay in the cache in any order."""
EDGE_COST, VERTEX_COST = 2, 8000
"""Cost of making the order for an edge, on the device, and for a vertex, on one thread of the host. The unit is the
time in which the device gathers an edge, 0.01 ns on an H200. So a vertex takes a thread 80 ns: half of that for sorting
it, the rest for its offsets and ranks."""


class Ordering:
    """What is known about a graph's hub order on one device, and whether it pays to make it.

    Attributes
    ----------
    gathered : int
        Edges that programs which may use the order have gathered on the device in the given order: since the start, or
        since the order was made.
    """

    def __init__(self) -> None:
        self.gathered = 0
        self._is_skewed: bool | None = None
        self._numbering: Numbering | None = None

    def pays(self, bound: BoundProgram, arrays: GraphArrays, threads: int | None) -> bool:
        """Whether to make the order now: once the iterations so far have cost as much as making it would.

        If the estimate is right, a call waits for it at most as long as earlier calls have taken, and a graph that is
        used only a few times keeps its order.
        """
        if arrays.n * bound.value.itemsize < LEAST_BYTES or self.gathered < cost(arrays, threads):
            return False
        if self._is_skewed is None:
            with ThreadPool(threads) as pool:
                self._is_skewed = is_skewed(arrays.out_edges.offsets, pool)
        return self._is_skewed

    def numbering(self, arrays: GraphArrays, threads: int | None) -> Numbering:
        """The graph in hub order, as the host knows it; made once."""
        if self._numbering is None:
            with ThreadPool(threads) as pool:
                order = Order.of(arrays.out_edges.offsets, pool)
                offsets = order.offsets(arrays.in_edges.offsets, pool)
            self._numbering = Numbering(arrays, Ranks.of(offsets, threads), order)
        return self._numbering


def cost(arrays: GraphArrays, threads: int | None) -> int:
    """What it costs to make the order with so many threads (None for one per available core), in gathered edges."""
    return EDGE_COST * arrays.m + VERTEX_COST * arrays.n // (threads or available_cores())


def is_skewed(offsets: Array, pool: ThreadPool) -> bool:
    """Whether out-degrees are skewed (see `TOP`). Degrees of the same class count as equal, which underestimates."""

    def count(first: int, last: int) -> Array:
        degrees, classes = np.diff(offsets[first : last + 1]), classes_of(offsets[first : last + 1])
        return np.stack([np.bincount(classes, weights, CLASSES) for weights in (None, degrees)])

    vertices, edges = np.cumsum(sum(pool.run(count, parts_of(len(offsets) - 1, pool))), axis=1)
    share = np.interp(TOP * vertices[-1], [0, *vertices], [0, *edges])
    return bool(share >= LEAST_SHARE * max(edges[-1], 1))
