"""Packed blocks: runs of a packed array as bytes, each decodable on its own (docs/format.md, "Packed blocks")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .checked import unpack_checked
from .codecs import Limits
from .format import ASCENDING, GROUP, LISTS, NUMBERS, PADDING, RECORD, RECORD_BYTES, RUN, Packed
from .pack import NARROW, views

Array = npt.NDArray[Any]

KIND_OF = {
    "in_offsets": ASCENDING,
    "in_sources": LISTS,
    "in_values": NUMBERS,
    "out_offsets": ASCENDING,
    "out_targets": LISTS,
    "out_values": NUMBERS,
    "id_offsets": ASCENDING,
}
"""The arrays of the format that can be packed, by name, and their kind; the other arrays are always raw."""
OFFSETS_OF = {"in_sources": "in_offsets", "out_targets": "out_offsets"}
"""For each array of lists, the array of the offsets at which its lists begin."""
UNIT = RUN * 8
"""Raw bytes of a packed block are a multiple of this, so that no run is cut, whatever the type of the elements."""
WORD = 4
"""Bytes of a word."""
PADDING_BYTES = PADDING * WORD


class UndecodableError(Exception):
    """A block cannot be decoded, although its checksum may match; the message says why."""


@dataclass(frozen=True)
class PackedBlock:
    """The parts of a packed block that has been checked.

    Attributes
    ----------
    records : ndarray of RECORD
        Records whose `first_word` counts from the first word of the block.
    masks : ndarray of uint32, or None
        For lists: one bit for each element, set if a list begins with it.
    words : ndarray of uint32
        The words, without padding.
    continues : bool
        Whether the base of the first run must equal the element before the block.
    most, last : int
        The greatest element, and the last element.
    """

    records: Array
    masks: Array | None
    words: Array
    continues: bool
    most: int
    last: int

    @property
    def base(self) -> int:
        return int(self.records["base"][0])

    @property
    def limits(self) -> Limits:
        """The least base, which no element is below, and the greatest element."""
        return Limits(int(self.records["base"].min()), self.most)


class PackedBlocks:
    """Version 1 of packed blocks: records, then for lists the masks, then the words. It is a `storage.blocks.Encoding`.

    Parameters
    ----------
    name : str
        The name of the array, which decides its kind.
    dtype : dtype
    """

    def __init__(self, name: str, dtype: np.dtype[Any]) -> None:
        self.name, self.dtype, self.kind = name, dtype, KIND_OF.get(name)

    def unfit(self, block_bytes: int) -> str | None:
        if self.kind is None or self.dtype.name not in NARROW:
            return f"{self.name} of {self.dtype} cannot be packed"
        if block_bytes % UNIT:
            return f"block_bytes is {block_bytes}, but packed blocks need a multiple of {UNIT}"
        return None

    def possible(self, stored: Array, raw: Array) -> Array:
        counts = raw // self.dtype.itemsize
        words = stored.astype(np.int64) - self.words_at(counts)
        return np.asarray((words >= 0) & (words % WORD == 0) & (words <= -(-counts // RUN) * RUN * WORD))

    def words_at(self, count: Any) -> Any:
        """The byte offset of the words in a block of `count` elements."""
        masks = -(-count // GROUP) * WORD if self.kind == LISTS else 0
        return -(-count // RUN) * RECORD_BYTES + masks

    def landing(self, raw: memoryview, stored: int) -> memoryview:
        return np.empty(stored, np.uint8).data

    def decode(self, stored: memoryview, raw: memoryview | None, count: int) -> PackedBlock:
        assert self.kind is not None
        landed = np.frombuffer(stored, np.uint8)
        elements = np.empty(min(count, RUN), self.dtype) if raw is None else np.frombuffer(raw, self.dtype)
        masks_at, words_at = -(-count // RUN) * RECORD_BYTES, self.words_at(count)
        records = (
            landed[:masks_at].view(RECORD).copy()
        )  # a copy is aligned; a stored block may begin at any multiple of 4
        masks = landed[masks_at:words_at].view(np.uint32) if self.kind == LISTS else None
        words = landed[words_at:].view(np.uint32)
        problem, most = unpack_checked(self.kind, records, masks, words, count, elements)
        if problem:
            raise UndecodableError(problem)
        continues = self.kind == ASCENDING or (masks is not None and not int(masks[0]) & 1)
        return PackedBlock(records, masks, words, continues, most, int(elements[(count - 1) % len(elements)]))


def begin_masks(offsets: Array, first: int, last: int) -> Array:
    """A bitmap of the elements [first, last): a bit is set if one of the lists at `offsets` begins with the element."""
    begins = np.zeros(-(-(last - first) // GROUP) * GROUP, np.bool_)
    low, high = np.searchsorted(offsets, (first, last))
    begins[offsets[low:high] - first] = True
    return np.packbits(begins, bitorder="little").view(np.uint32)


def cut(packed: Packed, elements: int, offsets: Array | None) -> Iterator[Array]:
    """Cut `packed` into blocks of `elements` elements; yield the bytes of each.

    For an array of lists, `offsets` are the elements at which lists begin.
    """
    runs = elements // RUN
    for first in range(0, len(packed.records), runs):
        piece = packed.runs(first, first + runs)
        records = piece.records.copy()
        records["first_word"] -= piece.first_word
        begin = first * RUN
        masks = [] if offsets is None else [begin_masks(offsets, begin, begin + piece.length).view(np.uint8)]
        yield np.concatenate([views(records)[1], *masks, piece.words[:-PADDING].view(np.uint8)])
