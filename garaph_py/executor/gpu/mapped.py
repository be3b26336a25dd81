"""Edges in pinned host memory that kernels read over the link, each when it is needed (zero copy; EMOGI section 3.3).

A search and union-find need only some of the edges. Reading these where they are moves fewer bytes than copies of all.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...codec.arrays import RAW
from ...graph.adjacency import Adjacency
from ...pages.layout import Page
from .edges import raw_places
from .pinned import Pinned

ALIGNMENT = 16
"""Alignment of mapped arrays in bytes: kernels read four sources at a time."""


@dataclass(frozen=True)
class MappedEdges:
    """Raw edges in host memory, as the GPU addresses them.

    Attributes
    ----------
    addresses : list of int
        Where the array of all sources begins, and that of all edge values if the program reads them.
    widths : list of int
        Bytes of an element of each.
    """

    addresses: list[int]
    widths: list[int]

    @classmethod
    def of(cls, edges: Adjacency, reads_values: bool, pinned: Pinned) -> MappedEdges | None:
        """Pin and map `edges`; None if they are packed or on disk, or if the system refuses to pin them.

        They stay pinned until `pinned` is closed. The device's context must be current.
        """
        arrays = edges.arrays(reads_values)
        if any(array.on_disk or array.codec != RAW for array in arrays):
            return None
        buffers = [buffer for array in arrays for buffer in array.buffers]
        addresses = [pinned.map(buffer) for buffer in buffers]
        if not all(address and address % ALIGNMENT == 0 for address in addresses):
            return None
        return cls([address for address in addresses if address], [buffer.itemsize for buffer in buffers])

    def places(self, page: Page) -> list[int]:
        """The addresses of a page's arrays, which begin at the first edge of a run."""
        return raw_places(page, self.addresses, self.widths)
