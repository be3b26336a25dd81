"""An array whose blocks stay on disk: which bytes to read for some of them, and whether to believe what was read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.blocks import OFFSETS_OF, PackedBlocks
from ..codec.checked import BASE, PROBLEMS, begins_where
from ..codec.format import RECORD, RUN
from ..graph.graph import PACKED, RAW
from ..system.memory import on_own_pages
from .blocks import MISMATCH, BlockReader
from .check import Constraints as Rule
from .disks import ALIGNMENT, open_direct, read_into
from .sectors import SECTOR, cut, sums

Array = npt.NDArray[Any]

MERGED_BYTES = 1 << 21
"""Blocks that adjoin on a disk are read together up to so many."""


@dataclass(frozen=True)
class ReadRequest:
    """Blocks that lie one after the other on one disk, or a part of one.

    Attributes
    ----------
    disk : int
    offset, nbytes : int
        What to read of the data file; aligned, so more than the blocks.
    needed : int
        Bytes up to the end of the last block, or of the part.
    blocks : list of int
    pieces : list of (int, int)
        Where it goes, and how many bytes there; none if it cannot go there at once, for want of alignment.
    is_part : bool
        Only sectors of a block that has been checked.
    """

    disk: int
    offset: int
    nbytes: int
    needed: int
    blocks: list[int]
    pieces: list[tuple[int, int]]
    is_part: bool = False


@dataclass(frozen=True)
class ReadPlan:
    """How blocks [first, last) come into an area.

    Attributes
    ----------
    first, last : int
    at : list of int
        Where each block's stored bytes go.
    reads : list of Read
    nbytes : int
        Room that it takes.
    """

    first: int
    last: int
    at: list[int]
    reads: list[ReadRequest]
    nbytes: int


class ArrayReader:
    """The blocks of one array, on disk; `graph.stored.Stored`.

    Parameters
    ----------
    reader : BlockReader
    rule : Rule
        What every element satisfies.
    offsets : ndarray of int64, optional
        Where lists begin, for an array of lists.
    """

    def __init__(self, reader: BlockReader, rule: Rule, offsets: Array | None = None) -> None:
        self.reader, self._rule, self._offsets = reader, rule, offsets
        self.array, index = reader.array, reader.index
        self.encoding = PACKED if isinstance(reader.encoding, PackedBlocks) else RAW
        self.elements = (
            self.array.bounds(0)[1] if self.array.blocks > 1 else self.array.block_bytes // self.dtype.itemsize
        )
        self._starts, self._lengths = index["offset"].astype(np.int64), index["length"].astype(np.int64)
        self._disks = index["disk"].astype(np.int64)
        self._sound, self._continues = np.zeros((2, self.array.blocks), np.bool_)
        self._bases, self._ends = np.zeros((2, self.array.blocks), np.int64)
        aligned = self.array.block_bytes % SECTOR == 0 and not (self._starts % SECTOR).any()
        self._sectors = self.array.block_bytes // SECTOR if self.encoding == RAW and aligned else 0  # of a block
        self._sums = np.zeros(self.array.blocks * self._sectors, np.uint32)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    @property
    def stored_bytes(self) -> int:
        return self.array.stored_bytes

    @property
    def nbytes(self) -> int:
        """Of memory, for sums of sectors."""
        return self._sums.nbytes

    @cached_property
    def least(self) -> Any:
        """The least element, NaN if one is; found in a pass over all blocks."""
        found: list[Any] = []
        with ExitStack() as stack:
            handles = [open_direct(path) for path in self.reader.paths]
            for handle in handles:
                stack.callback(os.close, handle)
            data = on_own_pages(int(self._lengths.max()) + 3 * ALIGNMENT, np.dtype(np.uint8))
            for block in range(self.array.blocks):
                read = self._read([block], 0, block)
                at = int(self._starts[block]) - read.offset
                read_into(handles[read.disk], [data[: read.nbytes].data], read.offset, read.needed)
                self.check(block, data, at)
                raw = self.stored(block, data, at).view(self.dtype) if self.encoding == RAW else None
                found.append((self.records(block, data, at)["base"] if raw is None else raw).min())
        return np.array(found).min().astype(self.dtype)

    def span(self, first: int, last: int) -> range:
        """The blocks that hold elements [first, last)."""
        return range(first // self.elements, -(-last // self.elements)) if last > first else range(0)

    def room(self, first: int, last: int) -> int:
        """Bytes that the blocks with elements [first, last) take, whether or not the first one is read with them."""
        return self.plan(self.span(first, last)).nbytes + 2 * ALIGNMENT

    def _touched(self, span: range, ranges: Array) -> list[int]:
        """The blocks of a span that hold elements of any of the `ranges`."""
        counts = np.zeros(len(span) + 1, np.int64)
        np.add.at(counts, ranges[:, 0] // self.elements - span.start, 1)
        np.add.at(counts, (ranges[:, 1] - 1) // self.elements + 1 - span.start, -1)
        return (span.start + np.flatnonzero(np.cumsum(counts[:-1]))).tolist()

    def _parts(self, ranges: Array, first: int) -> tuple[list[int], list[ReadRequest]]:
        """What to read for `ranges`: blocks that have to be whole, since they have not been checked yet or nothing
        would be left out, and parts of the others, to their places after block `first`."""
        width = self.dtype.itemsize
        parts = cut(np.stack((ranges[:, 0] * width // SECTOR, -(-ranges[:, 1] * width // SECTOR)), 1), self._sectors)
        blocks = parts[:, 0] // self._sectors
        whole = ~self._sound[blocks] | (parts[:, 1] - parts[:, 0] == self._sectors)
        missing = np.unique(blocks[whole])
        reads = []
        rest = ~np.isin(blocks, missing)
        for block, (begin, end) in zip(blocks[rest].tolist(), parts[rest].tolist(), strict=True):
            within, nbytes = (begin - block * self._sectors) * SECTOR, (end - begin) * SECTOR
            needed = min(nbytes, int(self._lengths[block]) - within)
            place = (block - first) * self.array.block_bytes + within
            offset = int(self._starts[block]) + within
            reads.append(ReadRequest(int(self._disks[block]), offset, nbytes, needed, [block], [(place, nbytes)], True))
        return missing.tolist(), reads

    def plan(self, span: range, skip: bool = False, ranges: Array | None = None) -> ReadPlan:
        """How the blocks of `span` are read, `skip` the first one; or what holds elements of the `ranges` (int64, shape
        (k, 2), ascending, apart, none empty) and can be checked."""
        blocks, parts = list(span[1:] if skip else span), list[ReadRequest]()
        first, size = (span.start if len(span) else 0), self.array.block_bytes
        if ranges is not None and self._sectors:
            blocks, parts = self._parts(ranges, first)
        elif ranges is not None:
            blocks = self._touched(span, ranges)
        if self.encoding == RAW:
            at = [k * size for k in range(len(span))]
            reads = [self._read(run, None, first) for run in self._runs(blocks)] + parts
            return ReadPlan(first, span.stop, at, reads, size * len(span) + ALIGNMENT)
        at, reads, end = [0] * len(span), [], 0
        if skip and len(span):
            end = -(-int(self._lengths[first]) // ALIGNMENT) * ALIGNMENT
        for run in self._runs(blocks):
            read = self._read(run, end, first)
            for block in run:
                at[block - first] = end + int(self._starts[block]) - read.offset
            reads.append(read)
            end += read.nbytes
        return ReadPlan(first, span.stop, at, reads, end + ALIGNMENT)

    def _runs(self, blocks: list[int]) -> Iterator[list[int]]:
        """Blocks that adjoin on their disk, in the order of the first of each."""
        open_runs: dict[int, list[int]] = {}
        order: list[list[int]] = []
        for block in blocks:
            disk, run = int(self._disks[block]), open_runs.get(int(self._disks[block]))
            if run is not None:
                end = self._starts[run[-1]] + self._lengths[run[-1]]
                if end == self._starts[block] and end + self._lengths[block] - self._starts[run[0]] <= MERGED_BYTES:
                    run.append(block)
                    continue
            open_runs[disk] = [block]
            order.append(open_runs[disk])
        return iter(order)

    def _read(self, run: list[int], place: int | None, first: int) -> ReadRequest:
        """How to read blocks that adjoin, to one `place`, or each to its own after block `first`."""
        begin, end = int(self._starts[run[0]]), int(self._starts[run[-1]] + self._lengths[run[-1]])
        offset = begin // ALIGNMENT * ALIGNMENT
        nbytes = -(-(end - offset) // ALIGNMENT) * ALIGNMENT
        pieces = [] if place is None else [(place, nbytes)]
        size = self.array.block_bytes
        if place is None and size % ALIGNMENT == 0 and begin == offset:
            pieces = [((block - first) * size, size) for block in run[:-1]]
            pieces.append(((run[-1] - first) * size, nbytes - len(pieces) * size))
        return ReadRequest(int(self._disks[run[0]]), offset, nbytes, end - offset, run, pieces)

    def stored(self, block: int, data: Array, at: int) -> Array:
        """The stored bytes of a block that is in `data` from `at` on."""
        return data[at : at + int(self._lengths[block])]

    def place(self, read: ReadRequest, staged: Array, data: Array, plan: ReadPlan) -> None:
        """Bring blocks that were read elsewhere to where they belong."""
        for block in read.blocks:
            begin = int(self._starts[block]) - read.offset
            self.stored(block, data, plan.at[block - plan.first])[:] = self.stored(block, staged, begin)

    def check(self, block: int, data: Array, at: int) -> None:
        """Hold a block against its checksum; the first time, against everything that its array must satisfy, and note
        sums of its sectors.

        Raises
        ------
        Damage
        """
        stored = self.stored(block, data, at)
        self.reader.check(block, stored.data)
        if self._sound[block]:
            return
        begin, end = self.array.bounds(block)
        piece = self.reader.decode(block, stored.data, None)
        if piece is None:
            if fault := self._rule.fault(stored.view(self.dtype)):
                raise self.reader.damage(block, fault[1], element=fault[0])
        else:
            if problem := self._rule.excess(piece.most):
                raise self.reader.damage(block, problem)
            if (
                piece.masks is not None
                and self._offsets is not None
                and not begins_where(self._offsets, begin, end, piece.masks)
            ):
                problem = f"its lists do not begin where {OFFSETS_OF[self.array.name]} says"
                raise self.reader.damage(block, problem)
            self._bases[block], self._continues[block] = piece.base, piece.continues
            self._ends[block] = piece.last
        if self._sectors:
            noted = sums(stored)
            self._sums[block * self._sectors :][: len(noted)] = noted
        self._sound[block] = True

    def check_part(self, read: ReadRequest, data: Array) -> None:
        """Hold a part of a block that has been checked, brought to `data`, against what was noted then.

        Raises
        ------
        Damage
        """
        (block,), ((at, _),) = read.blocks, read.pieces
        within = read.offset - int(self._starts[block])
        found = sums(data[at : at + read.needed])
        wrong = self._sums[block * self._sectors + within // SECTOR :][: len(found)] != found
        if wrong.any():
            element = (within + int(np.argmax(wrong)) * SECTOR) // self.dtype.itemsize
            raise self.reader.damage(block, MISMATCH, element=element)

    def check_joints(self, first: int, last: int) -> None:
        """Of blocks [first, last) that have been checked: each goes on from the one before.

        Raises
        ------
        Damage
        """
        blocks = np.arange(first + 1, last)
        both = self._sound[blocks] & self._sound[blocks - 1]
        strange = both & self._continues[blocks] & (self._bases[blocks] != self._ends[blocks - 1])
        if first == 0 and last and self._continues[0] and self._bases[0] != 0:
            strange, blocks = np.ones(1, np.bool_), np.zeros(1, np.int64)
        if strange.any():
            block = int(blocks[np.argmax(strange)])
            raise self.reader.damage(block, PROBLEMS[BASE])

    def records(self, block: int, data: Array, at: int) -> Array:
        """A packed block's records, their words counted from where `data` begins, of which it is a part."""
        assert isinstance(self.reader.encoding, PackedBlocks)
        begin, end = self.array.bounds(block)
        records = data[at : at + -(-(end - begin) // RUN) * RECORD.itemsize].view(RECORD).copy()
        records["first_word"] += (at + self.reader.encoding.words_at(end - begin)) // 4
        return records
