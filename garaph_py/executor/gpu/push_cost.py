"""What a push costs beside a pull, from where a run's edges are: in the GPU's memory, streamed, in host memory, or on
disk."""

from __future__ import annotations

from ...codec.arrays import PACKED
from ...native.threads import available_cores
from ..costs import EXPECTED
from ..far_lists import FarLists
from ..modes import ZERO_COPY
from .mapped import MappedEdges
from .placed import Placement


def push_cost(*placed: Placement) -> float:
    """The cost of an active vertex's out-edge in a push, in multiples of an edge's cost in a pull of all edges; of
    several GPUs, each of which has the edges of a part, and waits for the slowest.

    Pages that will be resident count as if they were on the GPU already; `dispatch.push_cost` says what a push costs
    until then.
    """
    if any(each.pushes_from_disk for each in placed):
        return EXPECTED.push_from_disk
    return EXPECTED.push_cost(*map(seconds, placed))


def seconds(placed: Placement) -> tuple[float, float, float]:
    """The time of a pull of all edges, and of a push along all of them, as `Costs.seconds_of` gives it."""
    residency, mapped, m = placed.residency, far_mapped(placed), placed.residency.edges
    streamed = sum(page.edges for page in residency.elsewhere) if not placed.in_place else 0
    streamed_bytes, values = streamed * placed.edges.arrays.width, placed.memory.arrays["values"]
    encoding = PACKED if mapped is None else mapped.layout.encoding
    rate = EXPECTED.far_rate(m, residency.vertices, encoding)
    return EXPECTED.seconds_of(m, values, streamed_bytes, m * far_bytes(placed), rate, placed.keeps_sums)


def far_mapped(placed: Placement) -> MappedEdges | None:
    """The lists along which pushes go in host memory."""
    return placed.mapped if placed.out_edges is None else placed.out_edges.mapped


def far_edges(placed: Placement) -> int:
    """The edges that pushes read in host memory: all, if they are raw there and packed on the GPU."""
    residency, m = placed.residency, placed.residency.edges
    if placed.out_edges is not None:
        return m if placed.out_edges.way == ZERO_COPY else 0
    if placed.mapped is None or placed.is_resident:
        return 0
    here = sum(page.edges for page in residency.here)
    return m - here if placed.edges.arrays.encoding == placed.mapped.layout.encoding else m


MOST_WRITERS = 16
"""Threads that write edge lists, at most, in the price of these: more have not been measured."""


def far_lists(placed: Placement, threads: int | None) -> FarLists | None:
    """The lists in host memory, if the host may write edge lists instead, on `threads` or all available cores."""
    mapped = far_mapped(placed)
    if placed.listed is None or placed.on_disk or mapped is None:
        return None
    share, writers = (
        far_edges(placed) / max(placed.residency.edges, 1),
        min(threads or available_cores(), MOST_WRITERS),
    )
    return FarLists(share, mapped.layout.width, placed.listed.edge_bytes, writers)


def far_bytes(placed: Placement) -> float:
    """Bytes that a push reads in host memory for each edge that it follows, on the average."""
    mapped = far_mapped(placed)
    return 0.0 if mapped is None else far_edges(placed) / max(placed.residency.edges, 1) * mapped.layout.width
