"""Packed arrays: numbers of few bits where raw ones take 32 or 64 (docs/packed.md).

Sources ascend within a destination, so the gaps between them are small; 32 at a time they take as many bits as the
widest of them needs. A group's place follows from its run's record, and a list begins with a source itself, so it is
found without decoding what stands before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

GROUP = 32
"""Numbers of one width."""
RUN = 1024
"""Numbers of one record; a multiple of `GROUP`."""
PADDING = 4
"""Words after the last, which decoders read and ignore."""
RECORD = np.dtype([("first_word", "<i8"), ("base", "<i8"), ("widths", "u1", (RUN // GROUP,))])
RECORD_BYTES = RECORD.itemsize
RECORD_WORDS = RECORD_BYTES // 8
"""Kernels read records as so many int64 each, and their widths as bytes."""
WIDTHS_AT = 16
"""Bytes before a record's widths."""

LISTS, ASCENDING, NUMBERS = "lists", "ascending", "numbers"
"""What the packed numbers are. Of lists, ascending each: gaps, and where a list begins the element itself; a run's base
is the element before it, 0 where a list begins there. Of an ascending array: gaps; the base is the element before the
run (0 at the start). Of others: what they exceed the least of their run by, which is the base."""


@dataclass(frozen=True)
class Packed:
    """An array whose numbers are packed.

    Attributes
    ----------
    records : ndarray of RECORD, shape (runs,)
        Of each run of `RUN` numbers: where its words begin, counted from those of the whole array of which this may be
        a slice; its base; and the width in bits, 0 to 32, of each of its groups.
    words : ndarray of uint32
        A group of width w is w words: number k its bits k w to (k + 1) w - 1, counted from the lowest bit of the first.
        Groups follow each other; `PADDING` words follow the last. Numbers past the array's end are 0.
    length : int
        Numbers in the array.
    dtype : dtype
        Of what they decode to.
    """

    records: Array
    words: Array
    length: int
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        return int(self.records.nbytes + self.words.nbytes)

    @property
    def first_word(self) -> int:
        """Where ``words[0]`` stands in the whole array."""
        return int(self.records["first_word"][0]) if len(self.records) else 0

    @property
    def least(self) -> Any:
        """The least number, of `NUMBERS`; of an array that has any."""
        return self.records["base"].min().astype(self.dtype)

    def runs(self, first: int, last: int) -> Packed:
        """Runs [first, last), without a copy; where words follow, these are the padding."""
        records = self.records[first:last]
        if not len(records):
            return Packed(records, self.words[:PADDING], 0, self.dtype)
        begin = int(records["first_word"][0]) - self.first_word
        end = int(records["first_word"][-1]) - self.first_word + int(records["widths"][-1].sum())
        length = min(last * RUN, self.length) - first * RUN
        return Packed(records, self.words[begin : end + PADDING], length, self.dtype)


class Placed(Packed):
    """A packed array whose records say where words stand in `words` itself, apart from each other by whole runs."""

    @property
    def first_word(self) -> int:
        return 0


def decode(packed: Packed, starts: Array | None, kind: str) -> list[int]:
    """The array, slowly: the specification of the format.

    Parameters
    ----------
    starts : ndarray of bool, shape (length,), or None
        For `LISTS`: where a list begins.
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
    """What is wrong with records that come with so many words, padding not counted; None if they can be decoded."""
    if len(records) and int(records["widths"].max()) > 32:
        return "a group's width is above 32 bits"
    counts = records["widths"].sum(axis=1, dtype=np.int64)
    ends = np.cumsum(counts)
    if (records["first_word"] != ends - counts).any():
        return "a run's words do not follow those of the run before"
    if int(counts.sum()) != words:
        return f"its groups need {int(counts.sum())} words, and there are {words}"
    return None
