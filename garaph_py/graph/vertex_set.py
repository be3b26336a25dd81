"""A set of vertices, stored as a bitmap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

WORD = 64
"""Vertices in a word of the bitmap."""
BLOCK = 4096
"""Vertices in a block of the summary."""
LINE = 64
"""Bytes of a cache line, which no two of several sets share."""


@dataclass
class VertexSet:
    """A bitmap over all vertices, with a coarse summary, which makes it cheap to walk or clear a small set.

    Attributes
    ----------
    bits : ndarray of uint64, shape (ceil(n / 64),)
        Bit ``v % 64`` of word ``v // 64`` is set if vertex v is in the set.
    blocks : ndarray of uint8, shape (ceil(n / 4096),)
        The summary: 0 if none of a block's 4096 vertices is in the set.
    is_summary_loose : bool
        Whether `blocks` may also be set for blocks without vertices.
    """

    bits: Array
    blocks: Array
    is_summary_loose: bool = False

    @classmethod
    def empty(cls, n: int) -> VertexSet:
        """The empty set, for a graph of `n` vertices."""
        return cls(np.zeros(-(-n // WORD), np.uint64), np.zeros(-(-n // BLOCK), np.uint8))

    def clear(self) -> None:
        """Remove all vertices, in time proportional to the number of blocks that are not 0."""
        used, words = int(np.count_nonzero(self.blocks)), BLOCK // WORD
        if self._are_many(used):
            self.bits.fill(0)
        elif used:
            for block in np.flatnonzero(self.blocks):
                self.bits[block * words : (block + 1) * words] = 0
        self.blocks.fill(0)
        self.is_summary_loose = False

    def first(self) -> int:
        """The smallest vertex of the set, which must not be empty."""
        w = int((self.bits != 0).argmax())
        word = int(self.bits[w])
        return w * WORD + (word & -word).bit_length() - 1

    @property
    def is_wide(self) -> bool:
        """Whether more than a quarter of the blocks are not 0, so that threads should share a pass over the set."""
        return self._are_many(int(np.count_nonzero(self.blocks)))

    def _are_many(self, blocks: int) -> bool:
        """Whether so many blocks are more than a quarter of all."""
        return blocks * 4 > len(self.blocks)

    def mark(self) -> None:
        """Compute `blocks` from `bits`, after only the bits were written."""
        if len(self.bits):
            starts = np.arange(0, len(self.bits), BLOCK // WORD)
            self.blocks[:] = np.logical_or.reduceat(self.bits != 0, starts)
        self.is_summary_loose = False

    def loosen(self) -> None:
        """Set all of `blocks`. That is correct for any bits, and cheaper than `mark` unless code walks the set."""
        self.blocks[:] = 1
        self.is_summary_loose = True

    def tighten(self) -> None:
        """Compute `blocks` from `bits` if `loosen` has set all of them."""
        if self.is_summary_loose:
            self.mark()

    def fill(self, n: int) -> None:
        """Make it the set of all `n` vertices."""
        self.clear()
        self.put(0, n)

    def put(self, first: int, last: int) -> None:
        """Add the vertices [first, last); `first` must be a multiple of `WORD`."""
        whole = last // WORD
        self.bits[first // WORD : whole] = ~np.uint64(0)
        if last % WORD:
            self.bits[whole] |= (np.uint64(1) << np.uint64(last % WORD)) - np.uint64(1)
        self.blocks[first // BLOCK : -(-last // BLOCK)] = 1

    def add(self, other: VertexSet) -> None:
        """Add the vertices of `other`."""
        self.bits |= other.bits
        self.blocks |= other.blocks

    def count_in(self, first: Array, last: Array) -> Array:
        """How many vertices of the set are in each of the ranges [first, last)."""
        before = np.append(0, np.cumsum(np.bitwise_count(self.bits), dtype=np.int64))  # in the words before each one
        bits = np.append(self.bits, np.uint64(0))

        def below(bounds: Array) -> Array:
            words, rest = bounds // WORD, (bounds % WORD).astype(np.uint64)
            found: Array = before[words] + np.bitwise_count(bits[words] & ((np.uint64(1) << rest) - np.uint64(1)))
            return found

        return below(last) - below(first)

    def mask(self, n: int) -> Array:
        """The set as a boolean array of shape (n,)."""
        octets = self.bits.astype("<u8", copy=False).view(np.uint8)
        return np.unpackbits(octets, bitorder="little", count=n).astype(bool)


def empty_sets(n: int, count: int) -> tuple[Array, list[VertexSet]]:
    """`count` empty sets of `n` vertices, and the memory in which they lie together: if it is filled with 0, and no
    summary is loose, they are empty again."""
    words, blocks = -(-n // WORD), -(-n // BLOCK)
    memory = np.zeros((count, -(-(8 * words + blocks) // LINE) * LINE // 8), np.uint64)
    return memory, [VertexSet(row[:words], row[words:].view(np.uint8)[:blocks]) for row in memory]
