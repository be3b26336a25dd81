"""What changes while a program runs: vertex values and the sets of active and notified vertices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ..graph.vertex_set import VertexSet

Array = npt.NDArray[Any]


@dataclass
class State:
    """The values and frontiers of one run.

    Attributes
    ----------
    values : ndarray, shape (n,)
        Vertex values as gather sees them (GlobalVertices, Garaph section 3.1).
    pending : ndarray, shape (n,)
        Where new values go: another array that is committed at the iteration's end (synchronous), or `values` itself
        (asynchronous: visible at once; synchronous as well while nothing that is read can change).
    synchronous : bool
    active : VertexSet
        Vertices that changed in the last iteration.
    activated : VertexSet
        Vertices that change in this one.
    notified : VertexSet
        Vertices to update in notify-pull mode.
    later : VertexSet
        Changed vertices whose turn has not come, where the program has a priority.
    active_count, active_edges, changeable : int
        Size of `active`, the sum of its out-degrees, and how many of it are not done: they may change again.
    total : ndarray, shape (1,), or None
        What the program aggregated over all vertices.
    limits : ndarray of the values' dtype, shape (2,)
        Priorities: those up to the first have had their turn, those up to the second have it now.
    """

    values: Array
    pending: Array
    synchronous: bool
    active: VertexSet
    activated: VertexSet
    notified: VertexSet
    later: VertexSet
    active_count: int
    active_edges: int
    changeable: int
    total: Array | None
    limits: Array
