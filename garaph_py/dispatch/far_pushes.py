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

LEAST_MOVING = 1 / 2
"""Least share of a push's seconds that counts as moving edges, even if following them should take longer. A guess."""


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
        reading, copying = self._rates
        return self.lists.compaction(active, edges, copying) < self.lists.zero_copy(active, edges, reading)

    @property
    def least(self) -> float:
        """Fewest edges for which that may be so, whatever the lengths of the lists; infinite if it is never so.

        Beside its fixed cost, an edge list gains in proportion to the edges. For a number of edges, the gain is a
        concave function of the number of lists: it is largest with as few or as many as can be, or where the host
        writes edges as fast as they are copied.
        """
        if self.lists is None:
            return math.inf
        reading, copying = self._rates
        shares = 0.0, self.lists.balanced(copying), 1.0  # lists an edge
        gain = max(self.lists.gain(share, reading, copying) for share in shares)
        return max(EXPECTED.gpu_start / gain, 1.0) if gain > 0 else math.inf

    @property
    def _rates(self) -> tuple[float, float]:
        """The rates of sectors and of copies, as far as they are known."""
        reading = self.reading or EXPECTED.sectors
        return reading, self.copying or EXPECTED.link * min(reading / EXPECTED.sectors, 1.0)

    def after(self, compacted: bool, active: int, edges: int, seconds: float) -> FarPushes:
        """What is known after a push in this many seconds."""
        if self.lists is None or active + edges < LEAST_EDGES or seconds <= 0:
            return self
        moving = max(seconds - edges / EXPECTED.push, LEAST_MOVING * seconds)
        if compacted:
            return self._replace(copying=max(self.copying, self.lists.copied_bytes(edges) / moving))
        return self._replace(reading=max(self.reading, self.lists.read_bytes(active, edges) / moving))
