"""How many pages of an iteration were processed in each way, as HyTGraph's Figure 6 shows."""

from __future__ import annotations

from collections.abc import Sequence

from .. import events
from ..executor.gpu.settings import MANAGED
from ..executor.modes import COMPACTED, COPIED, CPU, RESIDENT, ZERO_COPY

WAYS = {way: f"pages_{way.replace('-', '_')}" for way in (COPIED, COMPACTED, ZERO_COPY, MANAGED, RESIDENT, CPU)}
"""The column of each way: how the edges of a page reached a GPU, or that the CPU processed it."""
UNKNOWN = "pages_unknown"
"""The column of pages of which the record does not say the way, or the processor."""
COLUMNS = *WAYS.values(), UNKNOWN


def pages_by_way(iteration: events.Iteration) -> dict[str, int]:
    """The pages that an iteration processed in each way, by column."""
    counts = dict.fromkeys(COLUMNS, 0)
    for way, pages in iteration.ways.items():
        counts[WAYS.get(way, UNKNOWN)] += pages
    return counts


def moved_bytes(iterations: Sequence[events.Iteration]) -> int | None:
    """Bytes that went over the link to the GPU; None if the driver moved some of them, which counts none (Grus)."""
    if any(group.transfer == MANAGED for iteration in iterations for group in iteration.groups):
        return None
    return sum(iteration.to_device for iteration in iterations)
