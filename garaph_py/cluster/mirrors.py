"""Counts the mirrors of the parts of a graph without making the parts. A cluster sends more the more mirrors it has."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph import Graph
from ..graph.part import Cuts

Array = npt.NDArray[Any]

EDGES = 1 << 24
"""Edges that are read at a time: 64 MiB of sources."""


def mirror_counts(graph: Graph, cuts: Cuts) -> Array:
    """The number of mirrors of each part: int64, shape (parts,). The edges may be in memory, packed or on disk."""
    counts = np.zeros(cuts.parts, np.int64)
    edges = graph._arrays.in_edges.without_values()
    is_source = np.empty(graph.n, np.bool_)
    for part in range(cuts.parts):
        first, last = cuts.vertices[part : part + 2].tolist()
        first_edge, last_edge = edges.offsets[[first, last]].tolist()
        is_source[:] = False
        for begin in range(first_edge, last_edge, EDGES):
            is_source[edges.part(begin, min(begin + EDGES, last_edge))[0]] = True
        is_source[first:last] = False
        counts[part] = np.count_nonzero(is_source)
    return counts
