"""Where the lists of an array of neighbours begin, and what follows from that: whether they ascend, and their hash."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.blocks import begin_masks
from ..graph.edge_hash import hash_edges
from ..native import Kernel
from .blocks import BlockReader

Array = npt.NDArray[Any]

UNSORTED = "a vertex's neighbours are not in ascending order; import the graph again"


# wide: compiled code takes its arrays one by one
def count_falls(offsets, low, high, first, others, count):
    """How many of the elements [first, first + count) are less than the one before, unless a list begins there.

    The lists [low, high) begin after element `first` and before the end. The first loop compares several elements with
    one instruction, because it looks at no list.
    """
    falls, before = np.int64(0), np.int64(0)
    for k in range(1, count):
        falls += np.int64(others[k] < others[k - 1])
    for v in range(low, high):
        place = offsets[v] - first
        if place != before:
            falls -= np.int64(others[place] < others[place - 1])
        before = place
    return falls


COUNT_FALLS = Kernel("i64* i64 i64 i64 u32* i64", count_falls)


class Lists:
    """The lists of an array of neighbours, whose offsets are in memory.

    Parameters
    ----------
    offsets : ndarray of int64
        Where each list begins, and the end of the last one; checked.
    """

    def __init__(self, offsets: Array) -> None:
        self.offsets = offsets

    def _parts(self, first: int, last: int) -> Iterator[tuple[int, Array]]:
        """The lists that hold elements [first, last), in parts: the first vertex of each, and the offsets."""
        low, high = np.searchsorted(self.offsets, first, "right") - 1, np.searchsorted(self.offsets, last)
        yield int(low), self.offsets[low : high + 1]

    def _pieces(self, first: int, last: int) -> Iterator[tuple[int, Array, int, int]]:
        """Each of the `_parts`, with the bounds of its elements among those of [first, last)."""
        for vertex, offsets in self._parts(first, last):
            yield vertex, offsets, max(first, int(offsets[0])), min(last, int(offsets[-1]))

    def begins(self, first: int, last: int) -> Array:
        """One bit for each element of [first, last), set where a list begins; see `codec.blocks.begin_masks`."""
        found = begin_masks(np.zeros(0, np.int64), first, last)
        for _, offsets in self._parts(first, last):
            found |= begin_masks(offsets[:-1], first, last)
        return found

    def fall(self, first: int, others: Array) -> int | None:
        """The first of the elements `others` that is less than the one before in its list, counted from 0; or None.

        `others`, of which there is at least one, begin with element `first` of the array.
        """
        for _, offsets, begin, end in self._pieces(first, first + len(others)):
            piece = others[begin - first : end - first]
            low, high = np.searchsorted(offsets, begin, "right"), np.searchsorted(offsets, end)
            if COUNT_FALLS(offsets, int(low), int(high), begin, piece, len(piece)):
                falls = piece[1:] < piece[:-1]
                falls[offsets[low:high] - begin - 1] = False
                return begin - first + int(np.argmax(falls)) + 1
        return None

    def continues(self, element: int) -> bool:
        """Whether the element is in the same list as the one before."""
        return not self.begins(element, element + 1)[0]

    def hash(self, first: int, others: Array, values: Array | None, into: bool) -> int:
        """The hash of the edges from `first` on that have these other endpoints and values; see `hash_edges`."""
        total = 0
        for vertex, offsets, begin, end in self._pieces(first, first + len(others)):
            part = slice(begin - first, end - first)
            total += hash_edges(offsets, vertex, begin, others[part], None if values is None else values[part], into)
        return total % 2**64


class StoredLists(Lists):
    """The lists of an array of neighbours, whose offsets stay on disk: a few of their blocks are in memory.

    Parameters
    ----------
    reader : BlockReader
        Reads the offsets, in which `check.scan` found no damage.
    ends : ndarray of int64, shape (blocks, 2)
        The first and the last offset of each block.
    """

    def __init__(self, reader: BlockReader, ends: Array) -> None:
        self._reader, self._firsts = reader, ends[:, 0]
        self._nexts = np.append(ends[1:, 0], ends[-1, 1])  # where the list of each block's last offset ends
        self._block = lru_cache(2)(self._load)  # neighbouring blocks of edges need the same offsets

    def _load(self, block: int) -> Array:
        first, last = self._reader.array.bounds(block)
        offsets = np.empty(last - first + 1, np.int64)
        self._reader.read(block, offsets[:-1].view(np.uint8).data)
        offsets[-1] = self._nexts[block]
        return offsets

    def _parts(self, first: int, last: int) -> Iterator[tuple[int, Array]]:
        low, high = np.searchsorted(self._nexts, first, "right"), np.searchsorted(self._firsts, last)
        for block in range(low, high):
            yield self._reader.array.bounds(block)[0], self._block(block)
