"""Reads arrays into memory as packed arrays: joins packed blocks, or packs raw blocks chunk by chunk."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from ..codec.arrays import PACKED
from ..codec.blocks import KIND_OF, PADDING_BYTES, WORD, Array, PackedBlock, PackedBlocks
from ..codec.format import GROUP, LISTS, PADDING, RECORD, RECORD_BYTES, RUN, Packed
from ..codec.pack import NARROW, joined, pack
from ..native.threads import ThreadPool
from ..system.memory import on_own_pages
from .blocks import EDGES, PACKED_1, StoredArray

CHUNK_BYTES = 1 << 24
"""Raw bytes that `Repacked` packs at a time, approximately."""


class Assembled:
    """Joins the packed blocks of an array, in any order.

    Parameters
    ----------
    array : StoredArray
    stored : ndarray
        Stored bytes of each block.

    Attributes
    ----------
    packed : Packed
        The array; it is complete after `put` was called for all blocks.
    """

    def __init__(self, array: StoredArray, stored: Array) -> None:
        elements = array.bounds(0)[1]
        counts = np.full(len(stored), elements)
        counts[-1:] = array.length - (len(stored) - 1) * elements
        words = (stored.astype(np.int64) - PackedBlocks(array.name, array.dtype).words_at(counts)) // WORD
        self._ends, self._runs = np.cumsum(words), elements // RUN
        self.packed = Packed(
            on_own_pages(-(-array.length // RUN), RECORD),
            on_own_pages(int(words.sum()) + PADDING, np.dtype(np.uint32)),
            array.length,
            array.dtype,
        )

    def put(self, block: int, piece: PackedBlock) -> None:
        """Copy a checked block to its place."""
        end = int(self._ends[block])
        first_word, first = end - len(piece.words), block * self._runs
        records = self.packed.records[first : first + len(piece.records)]
        records[:] = piece.records
        records["first_word"] += first_word
        self.packed.words[first_word:end] = piece.words


class Repacked:
    """Packs an array from its raw blocks, a chunk at a time.

    Parameters
    ----------
    array : StoredArray
    offsets : ndarray of int64, or None
        Where each list begins, for an array of lists.
    pool : ThreadPool
    grown : callable
        Receives the number of packed bytes after each chunk. It may raise an exception to stop reading.

    Attributes
    ----------
    packed : Packed or None
        The array, after all chunks have been read; None if its numbers do not fit into 32 bits.
    """

    def __init__(
        self, array: StoredArray, offsets: Array | None, pool: ThreadPool, grown: Callable[[int], None]
    ) -> None:
        self._array, self._offsets, self._pool, self._grown = array, offsets, pool, grown
        self._blocks = blocks_of_whole_runs(array.block_bytes, array.dtype.itemsize)
        room = min(array.bounds(self._blocks)[0], array.length)
        self._chunk = on_own_pages(room, array.dtype)  # the system gets such memory back as soon as it is freed
        self._start = self._before = 0
        self._pieces: list[Packed] = []
        self.packed: Packed | None = None

    def chunks(self) -> Iterator[range]:
        """The blocks of each chunk. The caller must read them into `elements` before it asks for the next chunk."""
        array = self._array
        for block in range(0, array.blocks, self._blocks):
            blocks = range(block, min(block + self._blocks, array.blocks))
            self._start, last = array.bounds(block)[0], array.bounds(blocks[-1])[1]
            yield blocks
            if not self._pack(last - self._start):
                return
        del self._chunk
        self.packed = joined(self._pieces, array.dtype)

    def _pack(self, count: int) -> bool:
        """Pack a chunk of `count` elements; return whether its packed numbers fit into 32 bits."""
        chunk, kind = self._chunk[:count], KIND_OF[self._array.name]
        piece = pack(chunk, kind, self._pool, self._offsets, self._start, self._before)
        if piece is None:
            return False
        self._pieces.append(piece)
        self._before = int(chunk[-1])
        self._grown(sum(each.nbytes for each in self._pieces))
        return True

    def elements(self, first: int, last: int) -> Array:
        """The memory into which elements [first, last) of the array are read."""
        return self._chunk[first - self._start : last - self._start]


def blocks_of_whole_runs(block_bytes: int, itemsize: int) -> int:
    """Blocks of a chunk: as many as hold whole runs, and about `CHUNK_BYTES` if that is possible."""
    unit = math.lcm(block_bytes, RUN * itemsize)
    return unit // block_bytes * max(1, CHUNK_BYTES // unit)


def can_be_packed(array: StoredArray) -> bool:
    """Whether an array of a packed graph is packed in memory, provided that its numbers fit into 32 bits."""
    return array.name in EDGES and array.dtype.name in NARROW


def least_bytes(array: StoredArray) -> int:
    """Bytes of memory that an array takes in a packed graph; a lower bound if it has yet to be packed."""
    if not can_be_packed(array):
        return array.raw_bytes
    if array.encoding != PACKED_1:
        return -(-array.length // RUN) * RECORD_BYTES + PADDING_BYTES
    masks = -(-array.length // GROUP) * WORD if KIND_OF[array.name] == LISTS else 0
    return array.stored_bytes - masks + PADDING_BYTES


def bytes_in_memory(array: StoredArray, codec: str, on_disk: bool) -> int:
    """Bytes of memory, or a lower bound, that an array takes in a graph of that codec, or with edges on disk."""
    if on_disk and array.name in EDGES:
        return 0
    return least_bytes(array) if codec == PACKED and not on_disk else array.raw_bytes
