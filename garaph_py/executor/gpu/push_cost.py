"""What a push costs beside a pull, from where a run's edges are: in the GPU's memory, streamed, or in host memory."""

from __future__ import annotations

from ...codec.arrays import RAW
from ..modes import ZERO_COPY
from ..protocol import PUSH_COST
from .placement import Placement

PULL_RATE = 1e11
"""Edges/s of a pull from the GPU's memory: PageRank over R-MAT 24, H200 (docs/results/gpu.md)."""
PUSH_RATE = 2.5e10
"""Edges/s of a push from there, so that one along a quarter of the edges takes as long as a pull (`PUSH_COST`)."""
LINK_RATE = 5e10
"""Bytes/s of copies to the GPU (docs/results/gpu.md)."""
FAR_RATE = 2.5e10
"""Bytes/s of edges that a push reads in host memory, if a tenth of the vertices is active: half of what the link moves,
because their lists are short (docs/results/engines.md)."""


def push_cost(placed: Placement, edge_bytes: int) -> float:
    """The cost of an active vertex's out-edge in a push, in multiples of an edge's cost in a pull of all edges.

    `edge_bytes` are the bytes of a raw edge with the value that the program reads.
    """
    residency, m = placed.residency, placed.numbering.arrays.m
    streamed = sum(page.edges for page in residency.elsewhere) if not placed.in_place else 0
    pull = m / PULL_RATE + streamed * placed.edges.arrays.width / LINK_RATE
    push = m / PUSH_RATE + far_edges(placed) * edge_bytes / FAR_RATE
    return push / pull if m else PUSH_COST


def far_edges(placed: Placement) -> int:
    """The edges that pushes read in host memory: if they are packed on the GPU, all, because they are raw there."""
    residency, m = placed.residency, placed.numbering.arrays.m
    if placed.out_edges is not None:
        return m if placed.out_edges.way == ZERO_COPY else 0
    if placed.mapped is None or placed.is_resident:
        return 0
    here = sum(page.edges for page in residency.here)
    return m - here if placed.edges.arrays.encoding == RAW else m


def far_bytes(placed: Placement) -> float:
    """Bytes that a push reads in host memory for each edge that it follows, on the average."""
    mapped = placed.mapped if placed.out_edges is None else placed.out_edges.mapped
    return 0.0 if mapped is None else far_edges(placed) / max(placed.numbering.arrays.m, 1) * mapped.layout.width
