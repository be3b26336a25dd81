"""The lists of out-edges that a GPU lacks, in host memory, and what it costs to push along them in either way.

Kernels read them in place (zero copy), or the host writes the edges of active vertices to an edge list, which is copied
(compaction; `edge_list.py`).
"""

from __future__ import annotations

from typing import NamedTuple

from .costs import EXPECTED

SECTOR = 32
"""Bytes of the smallest request for host memory. A list begins and ends within sectors, so that it takes one more than
its edges fill, on the average."""


class FarLists(NamedTuple):
    """Lists in host memory, along which a GPU may push in two ways.

    Attributes
    ----------
    share : float
        The share of the edges that the GPU lacks.
    edge_bytes : float
        Mean bytes of an edge in these lists.
    listed_bytes : int
        Bytes of an edge in an edge list: its source, its target and, if the program reads it, its value.
    threads : int
        CPU threads that write edge lists.
    """

    share: float
    edge_bytes: float
    listed_bytes: int
    threads: int

    def read_bytes(self, active: int, edges: int) -> float:
        """Bytes of the sectors in which kernels read the lists of `active` vertices, which have so many `edges`."""
        return self.share * (edges * self.edge_bytes + active * SECTOR)

    def copied_bytes(self, edges: int) -> float:
        """Bytes of these edges in an edge list."""
        return self.share * edges * self.listed_bytes

    def zero_copy(self, active: int, edges: int, rate: float = EXPECTED.sectors) -> float:
        """Seconds of a push whose kernels read sectors at this `rate` (bytes/s)."""
        return edges / EXPECTED.push + self.read_bytes(active, edges) / rate

    def compaction(self, active: int, edges: int, rate: float = EXPECTED.link) -> float:
        """Seconds of a push along an edge list, which is copied at this `rate` (bytes/s) while the host writes it."""
        writing = self.share * (active * EXPECTED.listed_vertex + edges * EXPECTED.listed_edge) / self.threads
        return EXPECTED.gpu_start + edges / EXPECTED.push + max(writing, self.copied_bytes(edges) / rate)
