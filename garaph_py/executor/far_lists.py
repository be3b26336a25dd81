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

    def read_bytes(self, active: float, edges: float) -> float:
        """Bytes of the sectors in which kernels read the lists of `active` vertices, which have so many `edges`."""
        return self.share * (edges * self.edge_bytes + active * SECTOR)

    def copied_bytes(self, edges: float) -> float:
        """Bytes of these edges in an edge list."""
        return self.share * edges * self.listed_bytes

    def zero_copy(self, active: float, edges: float, rate: float = EXPECTED.sectors) -> float:
        """Seconds of a push whose kernels read sectors at this `rate` (bytes/s)."""
        return edges / EXPECTED.push + self.read_bytes(active, edges) / rate

    def compaction(self, active: float, edges: float, rate: float = EXPECTED.link) -> float:
        """Seconds of a push along an edge list, which is copied at this `rate` (bytes/s) while the host writes it."""
        writing = self.share * (active * EXPECTED.listed_vertex + edges * EXPECTED.listed_edge) / self.threads
        return EXPECTED.gpu_start + edges / EXPECTED.push + max(writing, self.copied_bytes(edges) / rate)

    def balanced(self, rate: float) -> float:
        """Lists an edge, at most one, with which an edge list is written as fast as it is copied at this `rate`."""
        lists = (self.threads * self.listed_bytes / rate - EXPECTED.listed_edge) / EXPECTED.listed_vertex
        return min(max(lists, 0.0), 1.0)

    def gain(self, lists: float, reading: float, copying: float) -> float:
        """Seconds that an edge list saves for each edge, beside its fixed cost, with so many lists an edge.

        Kernels would read sectors at the rate `reading`, and the edge list is copied at the rate `copying` (bytes/s).
        """
        return self.zero_copy(lists, 1, reading) - self.compaction(lists, 1, copying) + EXPECTED.gpu_start
