"""How a GPU that works alone pushes along lists in host memory: its kernels read them there, or an edge list is copied.

Both ways are priced by `FarLists`: first at the expected rates of the link, then at the best that the run has measured
for each way. Until it has copied an edge list, copies are expected to be as much slower as reads. Pure.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..executor.costs import EXPECTED
from ..executor.far_lists import FarLists
from .push_cost import LEAST_EDGES


class FarPushes(NamedTuple):
    """What a run knows of its pushes along lists in host memory.

    Attributes
    ----------
    lists : FarLists or None
        None if the GPU lacks no list, or has no memory for edge lists.
    reading, copying : float
        The best rate (bytes/s) at which kernels have read sectors, and edge lists have been copied; 0 before the first.
    """

    lists: FarLists | None
    reading: float = 0.0
    copying: float = 0.0

    def compacts(self, active: int, edges: int) -> bool:
        """Whether an edge list is the cheaper way for this many active vertices and out-edges."""
        if self.lists is None or not edges:
            return False
        reading = self.reading or EXPECTED.sectors
        copying = self.copying or EXPECTED.link * min(reading / EXPECTED.sectors, 1.0)
        return self.lists.compaction(active, edges, copying) < self.lists.zero_copy(active, edges, reading)

    @property
    def least(self) -> float:
        """Fewest edges for which that may be so, if all lists are as short as can be; infinite if it is never so."""
        if not self.compacts(LEAST_EDGES, LEAST_EDGES):
            return math.inf
        return next(edges for k in range(64) if self.compacts(edges := 1 << k, edges))

    def after(self, compacted: bool, active: int, edges: int, seconds: float) -> FarPushes:
        """What is known after a push in this many seconds."""
        if self.lists is None or active + edges < LEAST_EDGES or seconds <= 0:
            return self
        moving = max(seconds - edges / EXPECTED.push, seconds / 2)
        if compacted:
            return self._replace(copying=max(self.copying, self.lists.copied_bytes(edges) / moving))
        return self._replace(reading=max(self.reading, self.lists.read_bytes(active, edges) / moving))
