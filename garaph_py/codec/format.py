"""Packed arrays: bit-packed numbers instead of raw ones of 32 or 64 bits (docs/packed.md).

Sources ascend within a destination, so the gaps between them are small numbers. In a group of 32 numbers, each takes as
many bits as the widest of them needs. A run of 1024 numbers has a record, which gives the position of each of its
groups. A list begins with a source itself, not with a gap, so it can be decoded without the list before it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .arrays import PACKED

Array = npt.NDArray[Any]

GROUP = 32
"""Numbers that are stored with the same width in bits."""
RUN = 1024
"""Numbers that share a record; a multiple of `GROUP`."""
PADDING = 4
"""Words after the last word of an array. Decoders may read them, but ignore their contents."""
RECORD = np.dtype([("first_word", "<i8"), ("base", "<i8"), ("widths", "u1", (RUN // GROUP,))])
RECORD_BYTES = RECORD.itemsize
RECORD_WORDS = RECORD_BYTES // 8
"""int64 numbers in a record: compiled code reads a record as these, and its widths as bytes."""
WHOLE = np.dtype(("V", RECORD_BYTES))
"""A record as one item. NumPy copies some of many records in a twentieth of the time if it need not look at fields."""
WIDTHS_AT = 16
"""Byte offset of the widths in a record."""

LISTS, ASCENDING, NUMBERS = "lists", "ascending", "numbers"
"""The kinds of arrays. The kind decides what the packed numbers and the base of a run are.

- Lists, each ascending: a number is the gap to the previous element, or the element itself if a list begins there. The
  base is the element before the run, or 0 if a list begins with the run.
- Ascending: a number is the gap to the previous element. The base is the element before the run, 0 for the first run.
- Numbers, in any order: a number is the element minus the base, which is the least element of the run.
"""


@dataclass(frozen=True)
class Packed:
    """A packed array in memory: the `codec.arrays.EdgeArray` of the packed codec.

    Attributes
    ----------
    records : ndarray of RECORD, shape (runs,)
        For each run of `RUN` numbers: the index of its first word (if this is a slice, in the whole array); its base;
        and the width in bits, 0 to 32, of each of its groups.
    words : ndarray of uint32
        A group of width w takes w words. Number k of the group takes bits k w to (k + 1) w - 1, counted from the lowest
        bit of the first word. Groups follow each other; `PADDING` words follow the last one. Numbers past the end of
        the array are 0.
    length : int
        The number of elements.
    dtype : dtype
        The type of its elements.
    """

    codec: ClassVar[str] = PACKED
    on_disk: ClassVar[bool] = False
    unit: ClassVar[int] = RUN
    k: ClassVar[float] = 1.0

    records: Array
    words: Array
    length: int
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        return self.length

    @property
    def buffers(self) -> tuple[Array, ...]:
        return self.records, self.words

    @property
    def nbytes(self) -> int:
        return int(self.records.nbytes + self.words.nbytes)

    @property
    def first_word(self) -> int:
        """The index of ``words[0]`` in the whole array."""
        return int(self.records["first_word"][0]) if len(self.records) else 0

    def slice(self, first: int, last: int) -> Packed:
        return self.runs(first // RUN, -(-last // RUN))

    def runs(self, first: int, last: int) -> Packed:
        """Runs [first, last), without a copy. If later runs follow, their words serve as padding."""
        records = self.records[first:last]
        if not len(records):
            return Packed(records, self.words[:PADDING], 0, self.dtype)
        begin = int(records["first_word"][0]) - self.first_word
        end = int(records["first_word"][-1]) - self.first_word + int(records["widths"][-1].sum())
        length = min(last * RUN, self.length) - first * RUN
        return Packed(records, self.words[begin : end + PADDING], length, self.dtype)


class Placed(Packed):
    """A packed array whose records count words from ``words[0]``; other bytes may lie between the words of two runs."""

    @property
    def first_word(self) -> int:
        return 0

    def alone(self, room: int) -> Placed:
        """The same array in at most `room` bytes of words: without words of other arrays, as far as that takes.

        If it fits with all words that lie before its own or between them, it is a view. If it fits only without those
        before, its words are a view and its records a copy. Otherwise all is a copy.
        """
        if not len(self.records):
            return replace(self, words=self.words[:PADDING])
        begins, widths = self.records["first_word"], self.records["widths"]
        final = len(begins) - 1 - int(begins[::-1].argmax())  # several may begin there, but only the last has words
        end = int(begins[final]) + int(widths[final].sum()) + PADDING
        if end * self.words.itemsize <= room:
            return replace(self, words=self.words[:end])
        records, first = self.records.copy(), int(begins.min()) // PADDING * PADDING
        if (end - first) * self.words.itemsize <= room:
            records["first_word"] -= first
            return replace(self, records=records, words=self.words[first:end])
        counts = widths.sum(axis=1, dtype=np.int64)
        ends = np.cumsum(counts)
        places = np.repeat(begins - (ends - counts), counts) + np.arange(ends[-1])
        records["first_word"] = ends - counts
        return replace(self, records=records, words=np.append(self.words[places], np.zeros(PADDING, np.uint32)))


def decode(packed: Packed, starts: Array | None, kind: str) -> list[int]:
    """Decode an array, slowly. This function is the specification of the format.

    Parameters
    ----------
    starts : ndarray of bool, shape (length,), or None
        For `LISTS`: whether a list begins with each element.
    """
    out: list[int] = []
    before = 0
    for number, record in enumerate(packed.records):
        word = int(record["first_word"]) - packed.first_word
        before = int(record["base"])
        for width in map(int, record["widths"]):
            bits = sum(int(packed.words[word + k]) << 32 * k for k in range(width))
            for k in range(GROUP):
                x = bits >> k * width & (1 << width) - 1
                if len(out) == packed.length:
                    break
                if kind == NUMBERS or (starts is not None and starts[len(out)]):
                    out.append((before if kind == NUMBERS else 0) + x)
                else:
                    out.append(before + x)
                if kind != NUMBERS:
                    before = out[-1]
            word += width
        assert len(out) == min((number + 1) * RUN, packed.length)
    return out


def problem(records: Array, words: int) -> str | None:
    """Why `records` cannot be decoded with `words` words, not counting padding; None if they can."""
    if len(records) and int(records["widths"].max()) > 32:
        return "a group's width is above 32 bits"
    counts = records["widths"].sum(axis=1, dtype=np.int64)
    ends = np.cumsum(counts)
    if (records["first_word"] != ends - counts).any():
        return "a run's words do not follow those of the run before"
    if int(counts.sum()) != words:
        return f"its groups need {int(counts.sum())} words, but there are {words}"
    return None
