"""Sets of vertices as bitmaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

WORD = 64
BLOCK = 4096


@dataclass
class VertexSet:
    """A bitmap over vertices, with a coarse index so that a small set costs little to walk and to clear.

    Attributes
    ----------
    bits : ndarray of uint64, shape (ceil(n / 64),)
        Bit ``v % 64`` of word ``v // 64`` says whether v is in the set.
    blocks : ndarray of uint8, shape (ceil(n / 4096),)
        Zero where none of the block's 4096 vertices is in the set.
    is_summary_loose : bool
        `blocks` may also be set for blocks without vertices.
    """

    bits: Array
    blocks: Array
    is_summary_loose: bool = False

    @classmethod
    def empty(cls, n: int) -> VertexSet:
        return cls(np.zeros(-(-n // WORD), np.uint64), np.zeros(-(-n // BLOCK), np.uint8))

    def clear(self) -> None:
        """Remove every vertex, in time proportional to the blocks in use."""
        if self.is_wide:
            self.bits[:] = 0
        else:
            words = BLOCK // WORD
            for block in np.flatnonzero(self.blocks):
                self.bits[block * words : (block + 1) * words] = 0
        self.blocks[:] = 0
        self.is_summary_loose = False

    @property
    def is_wide(self) -> bool:
        """Whether it has vertices in many places, so that a walk is worth dividing."""
        return bool(np.count_nonzero(self.blocks) * 4 > len(self.blocks))

    def mark(self) -> None:
        """Compute `blocks` from `bits`, after somebody wrote the bits alone."""
        if len(self.bits):
            starts = np.arange(0, len(self.bits), BLOCK // WORD)
            self.blocks[:] = np.logical_or.reduceat(self.bits != 0, starts)
        self.is_summary_loose = False

    def loosen(self) -> None:
        """Set all of `blocks`: correct whatever the bits are, and cheaper than `mark` until somebody walks the set."""
        self.blocks[:] = 1
        self.is_summary_loose = True

    def tighten(self) -> None:
        """Compute `blocks` from `bits` if `loosen` has set more of them than need be."""
        if self.is_summary_loose:
            self.mark()

    def fill(self, n: int) -> None:
        """Put all `n` vertices in."""
        self.clear()
        self.put(0, n)

    def put(self, first: int, last: int) -> None:
        """Put the vertices [first, last) in; `first` is a multiple of `WORD`."""
        whole = last // WORD
        self.bits[first // WORD : whole] = ~np.uint64(0)
        if last % WORD:
            self.bits[whole] |= (np.uint64(1) << np.uint64(last % WORD)) - np.uint64(1)
        self.blocks[first // BLOCK : -(-last // BLOCK)] = 1

    def add(self, other: VertexSet) -> None:
        """Put the vertices of `other` in."""
        self.bits |= other.bits
        self.blocks |= other.blocks

    def mask(self, n: int) -> Array:
        """The set as a boolean array of shape (n,)."""
        octets = self.bits.astype("<u8", copy=False).view(np.uint8)
        return np.unpackbits(octets, bitorder="little", count=n).astype(bool)
