"""Arrays of edges: the protocol that all codecs and locations share, and the raw array in memory.

An array of edges holds the other endpoints of edges, or the edges' values. It has two independent properties: its
*codec*, which says how its elements are stored (`RAW` or `PACKED`), and its *location*, memory or disk. Code that uses
an array asks for these properties and does not test its class:

========== ============================= =====================================
codec      in memory                     on disk (storage/readers.py)
========== ============================= =====================================
``raw``    `RawArray`                    ``RawArrayReader``
``packed`` `codec.format.Packed`         ``PackedArrayReader``
========== ============================= =====================================

`codec.codecs` encodes and decodes, with one entry for each codec.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

RAW, PACKED = "raw", "packed"
"""Names of the codecs: each element as NumPy stores it, or bit-packed (docs/packed.md)."""


class EdgeArray(Protocol):
    """An array of endpoints or values of edges, of any codec and at any location."""

    @property
    def codec(self) -> str:
        """``"raw"`` or ``"packed"``."""

    @property
    def on_disk(self) -> bool:
        """Whether the array is on disk, and its elements are read when they are needed. It is then a `DiskArray`."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its elements, when they are decoded."""

    def __len__(self) -> int:
        """The number of its elements."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory that it takes."""

    @property
    def unit(self) -> int:
        """Slices must begin at a multiple of this many elements: 1 for raw arrays, `RUN` for packed ones."""

    @property
    def buffers(self) -> tuple[Array, ...]:
        """The NumPy arrays of which it consists; none for an array on disk."""

    @property
    def k(self) -> float:
        """Ratio of sequential to random read speed of its location (Garaph section 4.2); 1 in memory."""

    def slice(self, first: int, last: int) -> EdgeArray:
        """Elements [first, last) as an array in memory; `first` must be a multiple of `unit`.

        In memory nothing is copied, and the last unit is always whole. On disk, the calling thread reads and checks the
        elements; runs prefetch pages instead (pages/disk_source.py).
        """


class DiskArray(EdgeArray, Protocol):
    """An array of edges in blocks on disk."""

    @property
    def stored_bytes(self) -> int:
        """Bytes that its blocks take on disk."""

    def room(self, first: int, last: int) -> int:
        """Bytes of memory for the stored blocks that hold elements [first, last)."""


class RawArray:
    """A raw array in memory.

    Parameters
    ----------
    data : ndarray
        Its elements.
    """

    __slots__ = ("data",)

    codec = RAW
    on_disk = False
    unit = 1
    k = 1.0

    def __init__(self, data: Array) -> None:
        self.data = data

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    def __len__(self) -> int:
        return len(self.data)

    @property
    def nbytes(self) -> int:
        return self.data.nbytes

    @property
    def buffers(self) -> tuple[Array, ...]:
        return (self.data,)

    def slice(self, first: int, last: int) -> RawArray:
        if first == 0 and last == len(self.data):  # no new array, so that a kernel's table may know its address
            return self
        return RawArray(self.data[first:last])

    def __repr__(self) -> str:
        return f"<RawArray: {len(self):,} elements, {self.dtype}>"
