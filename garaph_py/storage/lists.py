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
def count_faults(offsets, low, high, first, others, count, most):
    """How many of the elements [first, first + count) exceed `most` or are less than the one before in their list.

    The lists [low, high) begin after element `first` and before the end. The first loop compares several elements with
    one instruction, because it looks at no list; the second takes back what it counted where lists begin.
    """
    limit, faults = np.uint32(most), np.int64(others[0] > np.uint32(most))
    for k in range(1, count):
        faults += np.int64(others[k] < others[k - 1]) + np.int64(others[k] > limit)
    for v in range(low, high):
        place = offsets[v] - first
        faults -= np.int64(others[place] < others[place - 1]) & np.int64(offsets[v] != offsets[v - 1])
    return faults


COUNT_FAULTS = Kernel("i64* i64 i64 i64 u32* i64 i64", count_faults)


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
        """Each of the `_parts` that has elements among those of [first, last), with their bounds."""
        for vertex, offsets in self._parts(first, last):
            begin, end = max(first, int(offsets[0])), min(last, int(offsets[-1]))
            if begin < end:
                yield vertex, offsets, begin, end

    def begins(self, first: int, last: int) -> Array:
        """One bit for each element of [first, last), set where a list begins; see `codec.blocks.begin_masks`."""
        found = begin_masks(np.zeros(0, np.int64), first, last)
        for _, offsets in self._parts(first, last):
            found |= begin_masks(offsets[:-1], first, last)
        return found

    def sound(self, first: int, others: Array, below: int) -> bool:
        """Whether the elements `others` are less than `below`, and none is less than the one before in its list.

        `others`, of which there is at least one, begin with element `first` of the array.
        """
        faults = 0
        for _, offsets, begin, end in self._pieces(first, first + len(others)):
            low, high = np.searchsorted(offsets, begin, "right"), np.searchsorted(offsets, end)
            piece = others[begin - first : end - first]
            faults += COUNT_FAULTS(offsets, int(low), int(high), begin, piece, len(piece), below - 1)
        return faults == 0

    def fall(self, first: int, others: Array) -> int | None:
        """The first of the elements `others` that is less than the one before in its list, counted from 0; or None."""
        falls = np.append(False, others[1:] < others[:-1])
        for _, offsets in self._parts(first, first + len(others)):
            begins = offsets[(offsets >= first) & (offsets < first + len(others))]
            falls[begins - first] = False
        return int(np.argmax(falls)) if falls.any() else None

    def continues(self, element: int) -> bool:
        """Whether the element is in the same list as the one before."""
        _, offsets = next(self._parts(element, element + 1))
        return bool(offsets[np.searchsorted(offsets, element)] != element)

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
