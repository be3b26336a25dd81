"""Arrays of edges on disk: plans which bytes to read for some elements, and checks what was read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..codec.arrays import PACKED, RAW, EdgeArray, RawArray
from ..codec.blocks import OFFSETS_OF, PackedBlocks
from ..codec.checked import begins_where
from ..codec.format import RECORD, RUN, Placed
from ..system.memory import on_own_pages
from .blocks import MISMATCH, BlockReader
from .check import Constraints as Rule
from .check import broken_joints
from .disks import ALIGNMENT, open_direct, read_into
from .sectors import SECTOR, cut, sums

Array = npt.NDArray[Any]

MERGED_BYTES = 1 << 21
"""One request reads adjacent blocks on a disk, up to this many bytes."""


@dataclass(frozen=True)
class ReadRequest:
    """One read of a disk: blocks that are adjacent there, or a part of one block.

    Attributes
    ----------
    disk : int
        The number of the disk.
    offset, nbytes : int
        The bytes of the data file to read. Both are multiples of `ALIGNMENT`, so the read may exceed the blocks.
    needed : int
        Bytes from `offset` to the end of the last block, or of the part.
    blocks : list of int
        Numbers of the blocks.
    pieces : list of (int, int)
        Consecutive destinations in the page's buffer: position and number of bytes. Empty if the alignment does not
        allow a direct read there; the read then needs a staging buffer.
    is_part : bool
        Whether the read covers only some sectors of a block. The whole block has been checked before.
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
    """A plan to read the blocks [first, last) into a buffer.

    Attributes
    ----------
    first, last : int
    at : list of int
        The position in the buffer of the stored bytes of each block.
    reads : list of ReadRequest
    nbytes : int
        Bytes of the buffer that the blocks take.
    """

    first: int
    last: int
    at: list[int]
    reads: list[ReadRequest]
    nbytes: int


class ArrayReader:
    """An array of edges on disk, of any codec: a `codec.arrays.DiskArray`. `array_reader` makes one.

    Parameters
    ----------
    reader : BlockReader
    rule : Rule
        The constraints on its elements.
    k : float
        Ratio of the disks' sequential to random read speed (Garaph section 4.2).

    Attributes
    ----------
    reader : BlockReader
    array : StoredArray
        The manifest's entry for the array.
    block_elements : int
        Elements of a block; the last one may have fewer.
    """

    codec: ClassVar[str]
    unit: ClassVar[int]
    on_disk: ClassVar[bool] = True
    buffers: ClassVar[tuple[Array, ...]] = ()

    def __init__(self, reader: BlockReader, rule: Rule, k: float = 1.0) -> None:
        self.reader, self._rule, self.k = reader, rule, k
        self.array, index = reader.array, reader.index
        self.block_elements = self.array.block_bytes // self.dtype.itemsize
        self._starts, self._lengths = index["offset"].astype(np.int64), index["length"].astype(np.int64)
        self._disks = index["disk"].astype(np.int64)
        self._checked = np.zeros(self.array.blocks, np.bool_)  # blocks whose contents have been checked
        # What `check_joints` compares: whether a block continues the one before, its base, and its last element.
        self._continues = np.zeros(self.array.blocks, np.bool_)
        self._bases, self._ends = np.zeros((2, self.array.blocks), np.int64)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    def __len__(self) -> int:
        return self.array.length

    @property
    def stored_bytes(self) -> int:
        return self.array.stored_bytes

    @property
    def nbytes(self) -> int:
        return 0

    def slice(self, first: int, last: int) -> EdgeArray:
        """Elements [first, last), read and checked by the calling thread; see `EdgeArray.slice`.

        Raises
        ------
        Damage
            If a block fails a check.
        """
        last = min(-(-last // self.unit) * self.unit, len(self))
        with self._opened() as handles:
            return self._read_now(first, last, handles)

    @contextmanager
    def _opened(self) -> Iterator[list[int]]:
        """The data file on each disk, open for direct reads."""
        with ExitStack() as stack:
            handles = [open_direct(path) for path in self.reader.paths]
            for handle in handles:
                stack.callback(os.close, handle)
            yield handles

    def _read_now(self, first: int, last: int, handles: list[int]) -> EdgeArray:
        span = self.span(first, last)
        plan = self.plan(span)
        data = on_own_pages(plan.nbytes, np.dtype(np.uint8))
        records = np.zeros(self.records_bytes(span) // RECORD.itemsize, RECORD)
        for read in plan.reads:
            to = data if read.pieces else on_own_pages(read.nbytes, np.dtype(np.uint8))
            pieces = read.pieces or [(0, read.nbytes)]
            read_into(
                handles[read.disk], [to[at : at + nbytes].data for at, nbytes in pieces], read.offset, read.needed
            )
            if not read.pieces:
                self.place(read, to, data, plan)
            for block in read.blocks:
                self.check(block, data, plan.at[block - plan.first])
                self.note_records(block, data, plan, records)
        self.check_joints(plan.first, plan.last)
        return self.elements(first, last, data, records, plan)

    def span(self, first: int, last: int) -> range:
        """The blocks that hold elements [first, last)."""
        return range(first // self.block_elements, -(-last // self.block_elements)) if last > first else range(0)

    def room(self, first: int, last: int) -> int:
        """Bytes of a buffer for the blocks with elements [first, last), whether or not the first one is skipped."""
        return self.plan(self.span(first, last)).nbytes + 2 * ALIGNMENT

    def plan(self, span: range, skip: bool = False, ranges: Array | None = None) -> ReadPlan:
        """Plan how to read the blocks of `span`.

        Parameters
        ----------
        span : range
        skip : bool
            Whether to skip the first block, but leave room for it.
        ranges : ndarray of int64, shape (k, 2), optional
            First element, and one past the last, of each wanted range; ascending, disjoint, none empty. The plan reads
            the parts that hold them, if a part can be checked alone, else the blocks. By default it reads all blocks.
        """
        raise NotImplementedError

    def records_bytes(self, span: range) -> int:
        """Bytes of the records of the blocks in `span`; 0 if the codec has none."""
        return 0

    def note_records(self, block: int, data: Array, plan: ReadPlan, records: Array) -> None:
        """Copy the records of a block in `data`, if the codec has any, to its place in `records`."""

    def elements(self, first: int, last: int, data: Array, records: Array, plan: ReadPlan) -> EdgeArray:
        """Elements [first, last) of blocks that were read by `plan`; `first` must be a multiple of `unit`."""
        raise NotImplementedError

    def _check_once(self, block: int, stored: Array) -> None:
        """Check the contents of a block that has not been checked before against all constraints on its array."""
        raise NotImplementedError

    def _touched(self, span: range, ranges: Array) -> list[int]:
        """The blocks of a span that hold elements of any of the `ranges`."""
        counts = np.zeros(len(span) + 1, np.int64)
        np.add.at(counts, ranges[:, 0] // self.block_elements - span.start, 1)
        np.add.at(counts, (ranges[:, 1] - 1) // self.block_elements + 1 - span.start, -1)
        return (span.start + np.flatnonzero(np.cumsum(counts[:-1]))).tolist()

    def _adjoining(self, blocks: list[int]) -> Iterator[list[int]]:
        """Group `blocks` that are adjacent on their disk; the groups are ordered by their first block."""
        open_groups: dict[int, list[int]] = {}
        order: list[list[int]] = []
        for block in blocks:
            disk, group = int(self._disks[block]), open_groups.get(int(self._disks[block]))
            if group is not None:
                end = self._starts[group[-1]] + self._lengths[group[-1]]
                if end == self._starts[block] and end + self._lengths[block] - self._starts[group[0]] <= MERGED_BYTES:
                    group.append(block)
                    continue
            open_groups[disk] = [block]
            order.append(open_groups[disk])
        return iter(order)

    def _bounds_on_disk(self, group: list[int]) -> tuple[int, int, int]:
        """Begin and end of adjacent blocks in their data file, and the aligned offset at which their read begins."""
        begin, end = int(self._starts[group[0]]), int(self._starts[group[-1]] + self._lengths[group[-1]])
        return begin, end, begin // ALIGNMENT * ALIGNMENT

    def stored(self, block: int, data: Array, at: int) -> Array:
        """The stored bytes of a block that begins at `at` in `data`."""
        return data[at : at + int(self._lengths[block])]

    def place(self, read: ReadRequest, staged: Array, data: Array, plan: ReadPlan) -> None:
        """Copy blocks from the staging buffer `staged` to their places in `data`."""
        for block in read.blocks:
            begin = int(self._starts[block]) - read.offset
            self.stored(block, data, plan.at[block - plan.first])[:] = self.stored(block, staged, begin)

    def check(self, block: int, data: Array, at: int) -> None:
        """Compare a block with its checksum; the first time, also check its contents (`_check_once`).

        Raises
        ------
        Damage
        """
        stored = self.stored(block, data, at)
        self.reader.check(block, stored.data)
        if not self._checked[block]:
            self._check_once(block, stored)
            self._checked[block] = True

    def check_part(self, read: ReadRequest, data: Array) -> None:
        """Compare a part of a block in `data` with the checksums of its sectors, computed when the block was checked.

        Raises
        ------
        Damage
        """
        raise NotImplementedError

    def check_joints(self, first: int, last: int) -> None:
        """Check that each of the checked blocks [first, last) continues the previous one.

        Raises
        ------
        Damage
        """
        blocks = np.arange(max(first, 1), last)
        blocks = blocks[self._checked[blocks] & self._checked[blocks - 1]]
        before = self._ends[blocks - 1]
        if first == 0 < last and self._checked[0]:
            blocks, before = np.append(0, blocks), np.append(0, before)
        wrong, problem = broken_joints(self.array, self._continues[blocks], self._bases[blocks], before)
        if wrong.any():
            raise self.reader.damage(int(blocks[np.argmax(wrong)]), problem)


class RawArrayReader(ArrayReader):
    """A raw array on disk. Parts of its blocks can be read alone: see storage/sectors.py."""

    codec = RAW
    unit = 1

    def __init__(self, reader: BlockReader, rule: Rule, k: float = 1.0) -> None:
        super().__init__(reader, rule, k)
        aligned = self.array.block_bytes % SECTOR == 0 and not (self._starts % SECTOR).any()
        self._sectors = self.array.block_bytes // SECTOR if aligned else 0  # of a block; 0 if parts cannot be read
        self._sums = np.zeros(self.array.blocks * self._sectors, np.uint32)

    @property
    def nbytes(self) -> int:
        """Bytes of memory for the checksums of sectors."""
        return self._sums.nbytes

    def plan(self, span: range, skip: bool = False, ranges: Array | None = None) -> ReadPlan:
        blocks, parts = list(span[1:] if skip else span), list[ReadRequest]()
        first, size = (span.start if len(span) else 0), self.array.block_bytes
        if ranges is not None and self._sectors:
            blocks, parts = self._parts(ranges, first)
        elif ranges is not None:
            blocks = self._touched(span, ranges)
        reads = [self._read(group, first) for group in self._adjoining(blocks)] + parts
        return ReadPlan(first, span.stop, [k * size for k in range(len(span))], reads, size * len(span) + ALIGNMENT)

    def _parts(self, ranges: Array, first: int) -> tuple[list[int], list[ReadRequest]]:
        """What to read for `ranges`: whole blocks, and parts of other blocks. The buffer begins with block `first`.

        A block is read whole if it has not been checked yet, or all of its sectors are wanted.
        """
        width = self.dtype.itemsize
        parts = cut(np.stack((ranges[:, 0] * width // SECTOR, -(-ranges[:, 1] * width // SECTOR)), 1), self._sectors)
        blocks = parts[:, 0] // self._sectors
        whole = ~self._checked[blocks] | (parts[:, 1] - parts[:, 0] == self._sectors)
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

    def _read(self, group: list[int], first: int) -> ReadRequest:
        """Plan one read of adjacent blocks, each to its own place in a buffer that begins with block `first`."""
        begin, end, offset = self._bounds_on_disk(group)
        nbytes, size = -(-(end - offset) // ALIGNMENT) * ALIGNMENT, self.array.block_bytes
        pieces: list[tuple[int, int]] = []
        if size % ALIGNMENT == 0 and begin == offset:
            pieces = [((block - first) * size, size) for block in group[:-1]]
            pieces.append(((group[-1] - first) * size, nbytes - len(pieces) * size))
        return ReadRequest(int(self._disks[group[0]]), offset, nbytes, end - offset, group, pieces)

    def elements(self, first: int, last: int, data: Array, records: Array, plan: ReadPlan) -> RawArray:
        begin, size = plan.first * self.block_elements, self.dtype.itemsize
        return RawArray(data[(first - begin) * size : (last - begin) * size].view(self.dtype))

    def _check_once(self, block: int, stored: Array) -> None:
        elements, (first, _) = stored.view(self.dtype), self.array.bounds(block)
        if fault := self._rule.fault(first, elements):
            raise self.reader.damage(block, fault[1], element=fault[0])
        if self._rule.lists is not None:
            self._continues[block] = self._rule.lists.continues(first)
            self._bases[block], self._ends[block] = elements[0], elements[-1]
        if self._sectors:
            noted = sums(stored)
            self._sums[block * self._sectors :][: len(noted)] = noted

    def check_part(self, read: ReadRequest, data: Array) -> None:
        (block,), ((at, _),) = read.blocks, read.pieces
        within = read.offset - int(self._starts[block])
        found = sums(data[at : at + read.needed])
        wrong = self._sums[block * self._sectors + within // SECTOR :][: len(found)] != found
        if wrong.any():
            element = (within + int(np.argmax(wrong)) * SECTOR) // self.dtype.itemsize
            raise self.reader.damage(block, MISMATCH, element=element)


class PackedArrayReader(ArrayReader):
    """A packed array on disk. Its blocks are decoded in the buffer of the read; only their records are copied."""

    codec = PACKED
    unit = RUN

    def __init__(self, reader: BlockReader, rule: Rule, k: float = 1.0) -> None:
        super().__init__(reader, rule, k)
        blocks = PackedBlocks(self.array.name, self.dtype)
        self._words_at = blocks.words_at

    def plan(self, span: range, skip: bool = False, ranges: Array | None = None) -> ReadPlan:
        first = span.start if len(span) else 0
        blocks = list(span[1:] if skip else span) if ranges is None else self._touched(span, ranges)
        at, reads, place = [0] * len(span), [], 0
        if skip and len(span):
            place = -(-int(self._lengths[first]) // ALIGNMENT) * ALIGNMENT
        for group in self._adjoining(blocks):
            read = self._read(group, place)
            for block in group:
                at[block - first] = place + int(self._starts[block]) - read.offset
            reads.append(read)
            place += read.nbytes
        return ReadPlan(first, span.stop, at, reads, place + ALIGNMENT)

    def _read(self, group: list[int], place: int) -> ReadRequest:
        """Plan one read of adjacent blocks, to the position `place` in the buffer."""
        _, end, offset = self._bounds_on_disk(group)
        nbytes = -(-(end - offset) // ALIGNMENT) * ALIGNMENT
        return ReadRequest(int(self._disks[group[0]]), offset, nbytes, end - offset, group, [(place, nbytes)])

    def records_bytes(self, span: range) -> int:
        return len(span) * self.block_elements // RUN * RECORD.itemsize

    def note_records(self, block: int, data: Array, plan: ReadPlan, records: Array) -> None:
        place = block - plan.first
        first, found = place * self.block_elements // RUN, self.records(block, data, plan.at[place])
        records[first : first + len(found)] = found

    def records(self, block: int, data: Array, at: int) -> Array:
        """The records of a block that begins at `at` in `data`; their words count from the beginning of `data`."""
        begin, end = self.array.bounds(block)
        records = data[at : at + -(-(end - begin) // RUN) * RECORD.itemsize].view(RECORD).copy()
        records["first_word"] += (at + self._words_at(end - begin)) // 4
        return records

    def elements(self, first: int, last: int, data: Array, records: Array, plan: ReadPlan) -> Placed:
        begin = plan.first * self.block_elements
        own = records[(first - begin) // RUN : -(-(last - begin) // RUN)]
        return Placed(own, data[: plan.nbytes].view(np.uint32), last - first, self.dtype)

    def _check_once(self, block: int, stored: Array) -> None:
        piece = self.reader.decode(block, stored.data, None)
        assert piece is not None
        if problem := self._rule.excess(piece.most):
            raise self.reader.damage(block, problem)
        if piece.masks is not None and self._rule.lists is not None:
            begin, end = self.array.bounds(block)
            if not begins_where(self._rule.lists.offsets, begin, end, piece.masks):
                problem = f"its lists do not begin where {OFFSETS_OF[self.array.name]} says"
                raise self.reader.damage(block, problem)
        self._bases[block], self._continues[block], self._ends[block] = piece.base, piece.continues, piece.last


READERS: dict[str, type[ArrayReader]] = {reader.codec: reader for reader in (RawArrayReader, PackedArrayReader)}
"""Readers by codec. A codec has the same name as the encoding of its blocks (docs/format.md)."""


def array_reader(reader: BlockReader, rule: Rule, k: float = 1.0) -> ArrayReader:
    """Make the array whose blocks `reader` reads; see `ArrayReader`."""
    return READERS[reader.array.encoding[0]](reader, rule, k)
