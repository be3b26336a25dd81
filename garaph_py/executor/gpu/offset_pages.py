"""Pages as in Garaph: beside each source, the 16-bit offset of the edge's destination in its shard (section 2.1).

An offset counts the vertices with in-edges, as the shard's accumulators do. Otherwise a bit for each edge tells the
GPU the same (ranks.py), and costs no bytes on the link.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...codec.arrays import RawArray
from ...graph.adjacency import Adjacency
from ...pages.layout import Page
from ...pages.memory_source import MemoryPageSource
from ...pages.source import PageEdges

Array = npt.NDArray[Any]


class OffsetPages(MemoryPageSource):
    """The pages of raw edges in memory, with the offsets of their destinations.

    Parameters
    ----------
    edges : Adjacency
    pages : sequence of Page
    offsets : ndarray of uint16, shape (m,)
    reads_values : bool
        The program reads edge values; otherwise the pages have none.
    """

    def __init__(self, edges: Adjacency, pages: Sequence[Page], offsets: Array, reads_values: bool) -> None:
        super().__init__(edges, pages=pages)
        self._offsets, self._reads_values = offsets, reads_values

    def edges(self, page: Page) -> PageEdges:
        found, offsets = super().edges(page), RawArray(self._offsets[page.first_edge : page.last_edge])
        return found._replace(offsets=offsets, values=found.values if self._reads_values else None)


def write_offsets(offsets: Array, firsts: Array, into: Array) -> None:
    """Write the offset of each edge's destination in its shard.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        CSC offsets.
    firsts : ndarray of int64
        The first vertices of a page's shards, followed by the page's end (`shards.shards`).
    into : ndarray of uint16
        For all edges of the graph.
    """
    begins = offsets[firsts[0] : firsts[-1] + 1]
    degrees = np.diff(begins)
    ranks: Array = np.cumsum(degrees > 0) - (degrees > 0)
    in_shard: Array = ranks - np.repeat(ranks[firsts[:-1] - firsts[0]], np.diff(firsts))
    into[begins[0] : begins[-1]] = np.repeat(in_shard.astype(np.uint16), degrees)
