"""Edges in pinned host memory that kernels read over the link, each when it is needed (zero copy; EMOGI section 3.3).

A search and union-find need only some of the edges. Reading these in host memory moves fewer bytes than copying all.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass

from ...codec.arrays import RAW
from ...graph.adjacency import Adjacency
from ...pages.layout import Page
from .edges import ArraysOnDevice
from .pinned import Pinned

ALIGNMENT = 16
"""Alignment of mapped arrays in bytes: kernels read four sources, or the widths of 16 groups, at a time."""
STEP = 128
"""Raw edges that a warp reads at a time, also beyond the last one of a page (STEP of kernels/segments.cuh)."""


@dataclass(frozen=True)
class MappedEdges:
    """Edges in host memory, as the GPU addresses them.

    Attributes
    ----------
    layout : ArraysOnDevice
        The layout of the arrays of sources, and of edge values if the program reads them.
    addresses : list of int
        Where each of their buffers begins.
    """

    layout: ArraysOnDevice
    addresses: list[int]

    @classmethod
    def of(cls, edges: Adjacency, reads_values: bool, pinned: Pinned) -> MappedEdges | None:
        """Pin and map `edges`; None if they are on disk, or if the system refuses to pin them.

        They stay pinned until `pinned` is closed. The device's context must be current.
        """
        arrays = edges.arrays(reads_values)
        if any(array.on_disk for array in arrays):
            return None
        addresses = [pinned.map(buffer) for array in arrays for buffer in array.buffers]
        if not all(address and address % ALIGNMENT == 0 for address in addresses):
            return None
        return cls(ArraysOnDevice.of(edges, reads_values), [address for address in addresses if address])

    def places(self, page: Page) -> list[int]:
        """The addresses of a page's buffers, which begin at the first edge of a run."""
        return [address + begin for address, begin in zip(self.addresses, self.layout.begins(page), strict=True)]

    def holds(self, page: Page, edges: int) -> bool:
        """Whether a warp that pulls a page, of a graph with so many edges, reads nothing behind the pinned memory.

        Whole pages of memory are pinned, and packed arrays have padding.
        """
        if self.layout.encoding != RAW:
            return True
        begin, width = self.addresses[0], self.layout.sources.width
        last, end = (begin + count * width for count in (-(-page.last_edge // STEP) * STEP, edges))
        return last <= -(-end // mmap.PAGESIZE) * mmap.PAGESIZE


@dataclass(frozen=True)
class FarPages:
    """Edges in host memory, where kernels read those of some pages, while those of others are copied; which pages,
    each iteration says."""

    mapped: MappedEdges
