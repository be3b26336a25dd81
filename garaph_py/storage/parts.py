"""What it takes to read and to trust parts of an array's blocks: checksums of sectors, and records of packed runs.

Both are written beside an array of edges (docs/format.md, "Parts of blocks"). So a part of a block can be read, and
checked, although the whole block has never been read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.format import RECORD, RECORD_BYTES, RUN
from .blocks import BlockReader
from .limits import BlockLimits
from .sectors import sectors_in
from .sums import sums

Array = npt.NDArray[Any]

INVALID = "does not fit the blocks' index; import the graph again"
REWRITE = "restore the file, or have garaph restripe write it anew"


def records_of(count: int) -> int:
    """The number of records of `count` elements."""
    return -(-count // RUN)


def read_sums(reader: BlockReader) -> Array:
    """The checksums of the sectors of an array that has them: uint32, those of block 0 first.

    Raises
    ------
    Damage
    """
    assert reader.array.sums is not None
    count = int(sectors_in(reader.index["offset"].astype(np.int64), reader.index["length"]).sum())
    return np.frombuffer(reader.beside(reader.array.sums, 4 * count), np.uint32)


def read_records(reader: BlockReader) -> Array:
    """The records of a packed array that has them apart; `first_word` counts from the block's own first word.

    Raises
    ------
    Damage
        If the file does not match its checksum, or says that words are where the index has none.
    """
    array = reader.array
    assert array.records is not None
    records = np.frombuffer(reader.beside(array.records, RECORD_BYTES * records_of(array.length)), RECORD)
    if not len(records):
        return records
    widths, each = records["widths"], array.block_bytes // array.dtype.itemsize // RUN
    counts, firsts = widths.sum(axis=1, dtype=np.int64), np.arange(0, len(records), each)
    ends, in_blocks = np.cumsum(counts), np.add.reduceat(counts, firsts)
    begins = ends - counts - np.repeat((ends - counts)[firsts], np.diff(np.append(firsts, len(records))))
    stored = (reader.index["length"].astype(np.int64) - reader.words_at()) // 4
    if int(widths.max()) > 32 or (records["first_word"] != begins).any() or (in_blocks != stored).any():
        raise reader.damage_beside(array.records, INVALID)
    return records


def in_order(records: Array, runs: Array, blocks: Array, words: Array) -> Array:
    """Whether each of some records can be that of its run: the words lie in its block, after those of the runs before.

    Parameters
    ----------
    records : ndarray of RECORD, shape (k,)
        `first_word` counts from the block's own first word.
    runs, blocks : ndarray of int64, shape (k,)
        Their numbers; the runs ascend.
    words : ndarray of int64, shape (k,)
        The words that the block of each has.
    """
    begins, ends = records["first_word"], records["first_word"] + records["widths"].sum(axis=1, dtype=np.int64)
    sound: Array = (records["widths"].max(axis=1) <= 32) & (begins >= 0) & (begins <= words) & (ends <= words)
    is_next = runs[1:] == runs[:-1] + 1
    follows = np.where(is_next, begins[1:] == ends[:-1], begins[1:] >= ends[:-1])
    sound[1:] &= follows | (blocks[1:] != blocks[:-1])
    return sound


def checker_of(reader: BlockReader, limits: BlockLimits) -> Callable[[int, Any], None] | None:
    """A function that compares a sound block with what the files about its parts say, and adds it to `limits`; None if
    there are no such files.

    Raises
    ------
    Damage
        From this function and the one that it returns.
    """
    array, index = reader.array, reader.index
    if array.sums is None:
        return None
    known, records = read_sums(reader), None if array.records is None else read_records(reader)
    at = np.append(0, np.cumsum(sectors_in(index["offset"].astype(np.int64), index["length"])))

    def check(block: int, stored: Any) -> None:
        own, (first, last) = np.frombuffer(stored, np.uint8), array.bounds(block)
        assert array.sums is not None
        if (sums(own, int(index["offset"][block])) != known[at[block] : at[block + 1]]).any():
            raise reader.damage_beside(array.sums, f"its checksums for block {block} do not match; {REWRITE}")
        if records is not None and array.records is not None:
            begin, end = first // RUN, records_of(last)
            if own[: (end - begin) * RECORD_BYTES].tobytes() != records[begin:end].tobytes():
                raise reader.damage_beside(array.records, f"its records for block {block} do not match; {REWRITE}")
        limits.put(own, last - first)

    return check
