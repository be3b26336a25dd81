"""Arrays of edges: what every codec has in common, wherever the array lies, and the plain array in memory.

An array of edges holds the other ends of edges, or the edges' values. It has two properties that vary independently:
its *codec*, which says how its elements are stored (`RAW` or `PACKED`), and its *location*, memory or disk. A graph's
code asks the array instead of testing which of the classes it has:

========== ============================= =====================================
codec      in memory                     on disk (storage/reader.py)
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
"""Names of the codecs: each element as numpy has it, or numbers of few bits (docs/packed.md)."""


class EdgeArray(Protocol):
    """An array of edges' ends or values, of any codec and at any location."""

    @property
    def codec(self) -> str:
        """``"raw"`` or ``"packed"``."""

    @property
    def on_disk(self) -> bool:
        """Whether elements are read from disk when they are needed. If so, this is a `DiskArray`."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its elements, when they are decoded."""

    def __len__(self) -> int:
        """The number of its elements."""

    @property
    def nbytes(self) -> int:
        """Bytes of memory that it takes."""

    @property
    def least(self) -> Any:
        """The least element of an array that has some; NaN if one element is. On disk this reads the whole array."""

    @property
    def unit(self) -> int:
        """Slices in memory begin at a multiple of so many elements: 1 for raw arrays."""

    @property
    def buffers(self) -> tuple[Array, ...]:
        """The numpy arrays that it consists of; none for an array on disk."""

    @property
    def k(self) -> float:
        """How much faster its location reads sequentially than at random (Garaph section 4.2); 1 in memory."""

    def slice(self, first: int, last: int) -> EdgeArray:
        """Elements [first, last) as an array in memory, `first` a multiple of `unit`.

        In memory nothing is copied, and the last unit is always whole. An array on disk is read, and checked, by the
        calling thread; runs read pages ahead instead (pages/disk_source.py).
        """


class DiskArray(EdgeArray, Protocol):
    """An array of edges in blocks on disk."""

    @property
    def stored_bytes(self) -> int:
        """Bytes that its blocks take on disk."""

    def room(self, first: int, last: int) -> int:
        """Bytes of memory that the blocks with elements [first, last) take, as they are stored."""


class RawArray:
    """A plain array in memory.

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
    def least(self) -> Any:
        return self.data.min()

    @property
    def buffers(self) -> tuple[Array, ...]:
        return (self.data,)

    def slice(self, first: int, last: int) -> RawArray:
        return RawArray(self.data[first:last])

    def __repr__(self) -> str:
        return f"<RawArray: {len(self):,} elements, {self.dtype}>"
