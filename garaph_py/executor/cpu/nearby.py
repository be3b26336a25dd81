"""Whether the values that a pull reads are in the cache anyway, because neighbours have ids nearby."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...codec.arrays import RAW
from ...graph.arrays import GraphArrays

NEARBY = 1 << 16
"""Distance of ids up to which a source's value is still in the second-level cache: 512 KB of values of 8 bytes."""
SHARE = 15 / 16
"""The share of the edges whose sources have to be nearby. Grids and roads have nearly all, R-MAT graphs few; no number
in between was measured."""
SAMPLE = 1 << 10
"""How many edges are looked at: enough to tell this share to within a hundredth."""
NAME = "sources are nearby"
"""Its name among the derived arrays of a graph."""


def has_nearby_sources(arrays: GraphArrays) -> bool:
    """Whether nearly all sources have ids near that of their destination, as in grids and road networks.

    It looks at a sample of raw edges in memory, once for a graph; other edges it does not read, and says no.
    """

    def look() -> bool:
        offsets, sources = arrays.in_edges.offsets, arrays.in_edges.neighbours
        edges = np.linspace(0, len(sources) - 1, SAMPLE).astype(np.int64)
        destinations = np.searchsorted(offsets, edges, "right") - 1
        distances: Any = np.abs(sources[edges].astype(np.int64) - destinations)
        return bool((distances <= NEARBY).mean() >= SHARE)

    if arrays.on_disk or arrays.in_edges.encoding != RAW or not arrays.m:
        return False
    return arrays.derived.get(NAME, look, lambda found: 0)
