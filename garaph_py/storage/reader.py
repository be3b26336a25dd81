"""Arrays of edges on disk: plans which bytes to read for some elements, and checks what was read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from ..codec.arrays import EdgeArray
from ..codec.codecs import Limits
from ..codec.format import RECORD
from ..native import Kernel
from ..system.memory import on_own_pages
from .blocks import MISMATCH, BlockReader
from .check import Constraints as Rule
from .check import broken_joints
from .disks import ALIGNMENT, open_direct, read_into
from .sectors import SECTOR, sectors_in
from .sums import sums as sums_of
from .sums import wrong_part

Array = npt.NDArray[Any]

MERGED_BYTES = 1 << 21
"""One request reads adjacent blocks on a disk, up to this many bytes."""


@dataclass(frozen=True)
class ReadRequest:
    """One read of a disk: blocks that are adjacent there.

    Attributes
    ----------
    disk : int
        The number of the disk.
    offset, nbytes : int
        The bytes of the data file to read. Both are multiples of `ALIGNMENT`, so the read may exceed the blocks.
    needed : int
        Bytes from `offset` to the end of the last block.
    blocks : list of int
        Numbers of the blocks.
    pieces : list of (int, int)
        Consecutive destinations in the page's buffer: position and number of bytes. Empty if the alignment does not
        allow a direct read there; the read then needs a staging buffer.
    """

    disk: int
    offset: int
    nbytes: int
    needed: int
    blocks: list[int]
    pieces: list[tuple[int, int]]


@dataclass(frozen=True)
class PartReads:
    """Reads of parts of blocks whose sectors have known checksums, all on one disk.

    Attributes
    ----------
    disk : int
        The number of the disk.
    blocks : ndarray of int64, shape (k,)
        The block of each part.
    offsets, nbytes : ndarray of int64, shape (k,)
        The bytes of the data file to read, whole sectors.
    needed : ndarray of int64, shape (k,)
        Bytes from the offset to the end of the block, or of the last sector.
    places : ndarray of int64, shape (k,)
        The position of each part in the page's buffer.
    """

    disk: int
    blocks: Array
    offsets: Array
    nbytes: Array
    needed: Array
    places: Array

    def only(self, chosen: Array) -> Self:
        """Those of the parts that are `chosen`: bool, shape (k,)."""
        columns: dict[str, Any] = {k: v[chosen] for k, v in vars(self).items() if isinstance(v, np.ndarray)}
        return replace(self, **columns)


@dataclass(frozen=True)
class ReadPlan:
    """A plan to read the blocks [first, last) into a buffer.

    Attributes
    ----------
    first, last : int
    at : list of int
        The position in the buffer of the stored bytes of each block.
    reads : list of ReadRequest
    parts : list of PartReads
    nbytes : int
        Bytes of the buffer that the blocks take.
    rest : callable or None
        If these reads are of records alone: makes, from the records that they have led to, the plan to read what they
        are the records of.
    """

    first: int
    last: int
    at: list[int]
    reads: list[ReadRequest]
    parts: Sequence[PartReads]
    nbytes: int
    rest: Callable[[Array], ReadPlan] | None = None


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
    users : WeakSet
        Whoever reads the array now. One that is not alone must not have it give up what it keeps for parts.
    """

    codec: ClassVar[str]
    unit: ClassVar[int]
    on_disk: ClassVar[bool] = True
    buffers: ClassVar[tuple[Array, ...]] = ()

    def __init__(self, reader: BlockReader, rule: Rule, k: float = 1.0) -> None:
        self.reader, self._rule, self.k = reader, rule, k
        self.array, index = reader.array, reader.index
        self.block_elements = self.array.block_bytes // self.dtype.itemsize
        self.users: WeakSet[Any] = WeakSet()
        self._starts, self._lengths = index["offset"].astype(np.int64), index["length"].astype(np.int64)
        self._disks = index["disk"].astype(np.int64)
        self._rooms = dict[range, int]()  # what `room` has found, by the blocks
        self._checked = np.zeros(self.array.blocks, np.bool_)  # blocks whose contents have been checked
        sectors = sectors_in(self._starts, self._lengths)
        self._sums_at = np.append(0, np.cumsum(sectors))  # where the sums of each block's sectors begin
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
        """Bytes of memory that the array takes, besides `parts_nbytes`."""
        return 0

    @property
    def limits(self) -> Limits | None:
        """The limits of edge values, if the manifest has them."""
        return self.array.limits

    @property
    def kernels(self) -> list[Kernel]:
        """The compiled functions that check blocks."""
        raise NotImplementedError

    @property
    def reads_compactly(self) -> bool:
        """Whether parts of any block can be read, without room for the rest of the block."""
        return False

    @property
    def keeps_parts(self) -> bool:
        """Whether `keep_parts` has it keep anything."""
        return False

    @property
    def parts_nbytes(self) -> int:
        """Bytes of memory for what `keep_parts` keeps."""
        return 0

    @property
    def sums_nbytes(self) -> int:
        """Bytes of memory for what it keeps without records."""
        return 0

    def keep_parts(self, wanted: bool, records: bool = True) -> None:
        """Whether to keep in memory what it takes to read parts of blocks.

        It is read from files beside the array or, if there are none, noted of each block when that is checked. Without
        `records`, those of packed runs are read by sectors, each time before the runs.

        Raises
        ------
        Damage
        """

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
            self.check(read.blocks, data, [plan.at[block - plan.first] for block in read.blocks])
            for block in read.blocks:
                self.note_records(block, data, plan, records)
        self.check_joints(plan.first, plan.last)
        return self.elements(first, last, data, records, plan)

    def span(self, first: int, last: int) -> range:
        """The blocks that hold elements [first, last)."""
        return range(first // self.block_elements, -(-last // self.block_elements)) if last > first else range(0)

    def bytes_of(self, blocks: Array) -> int:
        """Bytes of these blocks, as stored."""
        return int(self._lengths[blocks].sum())

    def room(self, first: int, last: int) -> int:
        """Bytes of a buffer for the blocks with elements [first, last), whether or not the first one is skipped."""
        if (span := self.span(first, last)) not in self._rooms:
            # without its first block, the others are read in other groups
            self._rooms[span] = max(self.plan(span, skip).nbytes for skip in (False, True)) + 2 * ALIGNMENT
        return self._rooms[span]

    def most_read(self, first: int, last: int) -> int:
        """Bytes that it takes at most to read elements [first, last), by parts or by whole blocks."""
        span = self.span(first, last)
        whole = int(self._lengths[span.start : span.stop].sum()) + self.rounding(span)
        if not (self._starts % ALIGNMENT).any():  # parts are sectors of one block each
            return whole
        # Records may be read before the block. They, and what follows them, begin and end within sectors.
        return whole + self.records_bytes(span) + 3 * ALIGNMENT * len(span)

    def rounding(self, span: range) -> int:
        """Bytes that reading the blocks of `span`, with or without the first one, takes at most beside them: reads
        begin and end with whole sectors."""
        reads = (self.plan(span, skip).reads for skip in (False, True))
        return max(sum(read.nbytes - int(self._lengths[read.blocks].sum()) for read in some) for some in reads)

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

    def alone(self, first: int, last: int, data: Array, records: Array, plan: ReadPlan) -> EdgeArray:
        """The same in at most `room` bytes: without what belongs to other elements. All blocks must have been read."""
        return self.elements(first, last, data, records, plan)

    def _check_once(self, block: int, stored: Array) -> None:
        """Check the contents of a block against all constraints on its array."""
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

    def check(self, blocks: list[int], data: Array, places: list[int]) -> None:
        """Compare blocks in `data` with their checksums; the first time, also check their contents (`_check_new`).

        Raises
        ------
        Damage
        """
        for block, at in zip(blocks, places, strict=True):
            self.reader.check(block, self.stored(block, data, at).data)
        new = [(block, at) for block, at in zip(blocks, places, strict=True) if not self._checked[block]]
        if new:
            self._check_new([block for block, _ in new], data, [at for _, at in new])
            self._checked[[block for block, _ in new]] = True

    def _check_new(self, blocks: list[int], data: Array, places: list[int]) -> None:
        """Check the contents of blocks that have not been checked before against all constraints on their array."""
        for block, at in zip(blocks, places, strict=True):
            self._check_once(block, self.stored(block, data, at))

    def copy_part(self, parts: PartReads, k: int, data: Array, other: Array, at: int) -> None:
        """Copy part number `k` to `data` from its block, which begins at `at` in `other`."""
        begin, offset = int(self._starts[parts.blocks[k]]), int(parts.offsets[k])
        first, last = max(begin, offset), offset + int(parts.needed[k])
        place = int(parts.places[k]) - offset
        data[place + first : place + last] = other[at + first - begin : at + last - begin]

    def take_parts(self, parts: PartReads, data: Array, plan: ReadPlan, records: Array) -> None:
        """Compare parts of blocks in `data` with the checksums of their sectors; the first time, check their contents.

        Their records, if the codec has any, are written to their places in `records`.

        Raises
        ------
        Damage
        """
        raise NotImplementedError

    def _by_disk(self, blocks: Array, offsets: Array, ends: Array, places: Array) -> Iterator[tuple[PartReads, Any]]:
        """The reads of parts [offset, end) of data files, for each disk, and which of all parts they are."""
        needed = np.minimum(ends, self._starts[blocks] + self._lengths[blocks]) - offsets
        disks = self._disks[blocks]
        for disk in np.flatnonzero(np.bincount(disks)).tolist():
            own = disks == disk if len(self.reader.paths) > 1 else slice(None)
            columns = (column[own] for column in (blocks, offsets, ends - offsets, needed, places))
            yield PartReads(disk, *columns), own

    def _check_sums(self, parts: PartReads, data: Array, sums: Array) -> None:
        """Compare the sectors of `parts` with the checksums `sums`; those of block b begin with ``_sums_at[b]``.

        Raises
        ------
        Damage
        """
        starts = self._starts[parts.blocks]
        begins = np.maximum(parts.offsets, starts)
        bounds, shifts = np.column_stack((begins, parts.offsets + parts.needed)), parts.places - parts.offsets
        at = self._sums_at[parts.blocks] + begins // SECTOR - starts // SECTOR
        k = wrong_part(data, bounds, shifts, at, sums)
        if k is not None:
            begin, end = bounds[k].tolist()
            found = sums_of(data[begin + shifts[k] : end + shifts[k]], begin)
            sector = begin // SECTOR + int(np.argmax(found != sums[at[k] :][: len(found)]))
            element = (sector * SECTOR - int(starts[k])) // self.dtype.itemsize
            raise self.reader.damage(int(parts.blocks[k]), MISMATCH, element=element)

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
