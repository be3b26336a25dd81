"""Memory for pages that are read from disk: buffers and frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.arrays import EdgeArray
from ..codec.format import RECORD
from ..errors import GraphError
from ..storage.aio import Scatter
from ..storage.disks import Batch, Request
from ..storage.reader import ArrayReader, PartReads, ReadPlan, ReadRequest
from ..system.memory import on_own_pages
from .layout import Page

Array = npt.NDArray[Any]


@dataclass(eq=False)
class PageBuffer:
    """Memory for a page's part of one array.

    Attributes
    ----------
    blocks : ArrayReader
        The array.
    data : ndarray of uint8
        The memory: blocks at its beginning, records at its end.
    records : ndarray of RECORD
        The records of packed blocks, in order: a part of `data`, or separate if pages were merged.
    plan : ReadPlan
        How the blocks in the buffer were read, or are being read.
    whole : bool
        Whether all blocks of the plan are read completely.
    borrows : bool
        Whether the first block is still to be copied from the buffer of the previous page.
    room : int
        Bytes of `data` that the blocks may take.
    loaded : list of PageBuffer
        Has blocks of a merged page, which are copied from there.
    """

    blocks: ArrayReader
    data: Array
    records: Array = field(default_factory=lambda: np.empty(0, RECORD))
    plan: ReadPlan = field(default_factory=lambda: ReadPlan(0, 0, [], [], [], 0))
    whole: bool = False
    borrows: bool = False
    room: int = 0
    loaded: list[PageBuffer] = field(default_factory=list)

    def begin(
        self, span: range, lender: PageBuffer | None, ranges: Array | None, loaded: Sequence[PageBuffer] | None = None
    ) -> list[ReadRequest | PartReads]:
        """Plan how to read the blocks of `span`, or only the parts that hold elements of `ranges`; return the reads.

        The first block is not read if it is the last one of the `lender`: it is copied from there, at once if the
        lender is this buffer.

        Of a merged page, parts of blocks that are in one of the buffers `loaded` are copied from there. If the plan has
        a `rest`, these reads are of records, and `go_on` follows when they have ended.

        Raises
        ------
        DamagedGraphError
            If what was copied fails a check.
        """
        records = self.blocks.records_bytes(span)
        own = lender.last_block().copy() if lender is self else None
        self.whole, self.borrows = ranges is None, lender is not None and own is None
        if loaded is not None:
            self.records, self.room = on_own_pages(records // RECORD.itemsize, RECORD, sparse=True), len(self.data)
        else:
            self.room = len(self.data) - records
            self.records = self.data[self.room :].view(RECORD)
            if ranges is not None:
                self.records.view(np.uint8).fill(0)  # the records of blocks that are not read stay 0
        self.loaded = [other for other in loaded or () if other.plan.last > other.plan.first]  # pages may have no edges
        reads = self._follow(self.blocks.plan(span, lender is not None, ranges))
        if own is not None:
            self._put_first(own)
        return reads

    def go_on(self) -> list[ReadRequest | PartReads]:
        """Plan the reads of the parts whose records have been read; see `begin`."""
        assert self.plan.rest is not None
        return self._follow(self.plan.rest(self.records))

    def _follow(self, plan: ReadPlan) -> list[ReadRequest | PartReads]:
        """Copy the parts that other buffers hold; return the reads of all other parts."""
        if not self.whole and plan.nbytes > self.room:  # small blocks read one by one can need more room than all
            plan, self.whole = self.blocks.plan(range(plan.first, plan.last)), True
        if plan.nbytes > self.room:  # what it takes to read parts was given up after pages had been merged
            problem = "another run over this graph has changed what is kept of it in memory"
            raise GraphError(f"{self.blocks.reader.paths[0]}: {problem}; do one run after the other")
        self.plan = plan
        parts = [self._copy_parts(self.loaded, some) for some in plan.parts] if self.loaded else plan.parts
        return [*plan.reads, *(some for some in parts if len(some.blocks))]

    def _copy_parts(self, loaded: Sequence[PageBuffer], parts: PartReads) -> PartReads:
        """Copy and check those of the `parts` whose blocks are in any of the `loaded` buffers; return the others, which
        are to be read.

        The buffers `loaded` are in the order of their blocks.
        """
        ends = np.array([other.plan.last for other in loaded])
        number = np.searchsorted(ends, parts.blocks, "right")  # of the first buffer that ends behind the block
        firsts = np.array([*(other.plan.first for other in loaded), np.iinfo(np.int64).max])
        has = parts.blocks >= firsts[number]
        for k in np.flatnonzero(has).tolist():
            other, block = loaded[number[k]], int(parts.blocks[k])
            self.blocks.copy_part(parts, k, self.data, other.data, other.plan.at[block - other.plan.first])
        if has.any():
            self.blocks.take_parts(parts.only(has), self.data, self.plan, self.records)
        return parts.only(~has)

    def request(self, read: ReadRequest | PartReads, batch: Batch, number: int) -> Request:
        """Turn `read` into a request to its disk, for page `number`."""
        path = self.blocks.reader.paths[read.disk]
        if isinstance(read, PartReads):
            parts = Scatter(self.data, read.offsets, read.nbytes, read.places, read.needed)
            check = partial(self.blocks.take_parts, read, self.data, self.plan, self.records)
            return Request(path, int(read.offsets[0]), [], 0, check, batch, number, parts)
        views, staged = [self.data[at : at + nbytes].data for at, nbytes in read.pieces], None
        if not views:
            staged = on_own_pages(read.nbytes, np.dtype(np.uint8))
            views = [staged.data]

        def take() -> None:
            if staged is not None:
                self.blocks.place(read, staged, self.data, self.plan)
            self.take(read.blocks)

        return Request(path, read.offset, views, read.needed, take, batch, number)

    def take(self, blocks: list[int]) -> None:
        """Check blocks that have been read."""
        self.blocks.check(blocks, self.data, [self.plan.at[block - self.plan.first] for block in blocks])
        for block in blocks:
            self.blocks.note_records(block, self.data, self.plan, self.records)

    def borrow(self, other: PageBuffer) -> None:
        """Copy the first block from `other`, the buffer of the previous page, where it is the last block."""
        self._put_first(other.last_block())

    def last_block(self) -> Array:
        """The stored bytes of the last block."""
        block = self.plan.last - 1
        return self.blocks.stored(block, self.data, self.plan.at[block - self.plan.first])

    def _put_first(self, stored: Array) -> None:
        """Put the first block in its place."""
        at = self.plan.at[0]
        self.data[at : at + len(stored)] = stored
        self.blocks.note_records(self.plan.first, self.data, self.plan, self.records)

    def elements(self, first: int, last: int) -> EdgeArray:
        """Elements [first, last) of the array; `first` must be a multiple of `RUN`."""
        return self.blocks.elements(first, last, self.data, self.records, self.plan)

    def alone(self, first: int, last: int) -> EdgeArray:
        """The same without the data of other elements (`ArrayReader.alone`)."""
        return self.blocks.alone(first, last, self.data, self.records, self.plan)


@dataclass(eq=False)
class PageFrame:
    """Memory for one page.

    Attributes
    ----------
    buffers : list of PageBuffer
        One for each array.
    stays : bool
        Whether the page is resident: it stays in memory once it has been read.
    batch : Batch
        The requests that read the page.
    before : PageFrame or None
        The frame of the previous page, until the blocks that both pages share have been copied from it.
    users : int
        The number of users of its contents: the thread that works on the page, and the frame of the next page.
    begun : bool
        Whether reading the page has begun.
    loaded : bool
        Whether the page is resident and has been read completely.
    spent : int
        What reading parts of a resident page has cost, in edges that the disk reads in sequence in the same time.
    holds : Page or None
        The page that is not resident, but that it still holds: read completely, and checked.
    """

    buffers: list[PageBuffer]
    stays: bool
    batch: Batch = field(default_factory=Batch)
    before: PageFrame | None = None
    users: int = 0
    begun: bool = False
    loaded: bool = False
    spent: int = 0
    holds: Page | None = None

    def has(self, page: Page) -> bool:
        """Whether it holds all edges of `page`."""
        held = self.holds
        return held is not None and held.first_edge <= page.first_edge and page.last_edge <= held.last_edge
