"""Pages of a graph whose edges stay on disk: read ahead of whoever works on them, within a budget of memory.

A fixed part of the pages stays in memory once it has been read, and the others go through a few buffers: every
iteration passes over the pages in the same order, in which least-recently-used would throw out each page just before it
comes again. Two pages share the block in which one ends and the other begins: the later one takes it from the other.
"""

from __future__ import annotations

import copy
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.arrays import EdgeArray
from ..codec.format import RECORD, RUN
from ..errors import GraphError
from ..storage.disks import Batch, Disk, Request
from ..storage.reader import ArrayReader, ReadPlan, ReadRequest
from ..storage.sectors import access_bytes, worth_reading
from ..system import interrupts
from ..system.memory import on_own_pages
from ..system.sizes import show_bytes
from .layout import Page, layout
from .source import PageEdges, Wanted

Array = npt.NDArray[Any]

BUFFERS = 4
"""One page that is worked on, and others on their way."""
PAGE_SHARE = 10
"""A page takes this part of the memory that there is for edges, between the two bounds."""
LEAST_PAGE_BYTES, MOST_PAGE_BYTES = 1 << 20, 1 << 25
PROMPTNESS = 0.1
"""Seconds between looks for an interrupt, while a disk is waited for."""


@dataclass(eq=False)
class PageBuffer:
    """Memory for one array's part of a page.

    Attributes
    ----------
    blocks : ArrayReader
        The array.
    data : ndarray of uint8
        Blocks from its beginning on, and at its end the records.
    records : ndarray of RECORD
        Of packed blocks, one after the other.
    plan : ReadPlan
        Of the blocks that are in it, or are being read to it.
    whole : bool
        Whether it gets all blocks of the plan, all of each.
    borrows : bool
        Whether the first block is copied from the buffer of the page before.
    """

    blocks: ArrayReader
    data: Array
    records: Array = field(default_factory=lambda: np.empty(0, RECORD))
    plan: ReadPlan = field(default_factory=lambda: ReadPlan(0, 0, [], [], 0))
    whole: bool = False
    borrows: bool = False

    def begin(self, span: range, borrows: bool, ranges: Array | None) -> list[ReadRequest]:
        """Make room for the blocks of a span; return what to read: all of them, or what holds elements of `ranges`."""
        room = len(self.data) - self.blocks.records_bytes(span)
        self.plan = self.blocks.plan(span, borrows, ranges)
        if ranges is not None and self.plan.nbytes > room:  # small blocks apart take more than all together
            self.plan, ranges = self.blocks.plan(span), None
        assert self.plan.nbytes <= room
        self.whole, self.borrows = ranges is None, borrows
        self.records = self.data[room:].view(RECORD)
        self.records[:] = 0  # for blocks that are not read
        return self.plan.reads

    def request(self, read: ReadRequest, batch: Batch, page: Page) -> Request:
        """`read` as a request to its disk."""
        views, staged = [self.data[at : at + nbytes].data for at, nbytes in read.pieces], None
        if not views:
            staged = on_own_pages(read.nbytes, np.dtype(np.uint8))
            views = [staged.data]

        def check() -> None:
            if staged is not None:
                self.blocks.place(read, staged, self.data, self.plan)
            if read.is_part:
                self.blocks.check_part(read, self.data)
            else:
                for block in read.blocks:
                    self.take(block)

        path = self.blocks.reader.paths[read.disk]
        return Request(path, read.offset, views, read.needed, check, batch, page.number)

    def take(self, block: int) -> None:
        """Check a block that has been read."""
        self.blocks.check(block, self.data, self.plan.at[block - self.plan.first])
        self.blocks.note_records(block, self.data, self.plan, self.records)

    def borrow(self, other: PageBuffer) -> None:
        """Copy the first block from the buffer of the page before, where it is the last one."""
        block = self.plan.first
        stored = self.blocks.stored(block, other.data, other.plan.at[block - other.plan.first])
        at = self.plan.at[0]
        self.data[at : at + len(stored)] = stored
        self.blocks.note_records(block, self.data, self.plan, self.records)

    def elements(self, first: int, last: int) -> EdgeArray:
        """Elements [first, last) of the array, `first` a multiple of `RUN`."""
        return self.blocks.elements(first, last, self.data, self.records, self.plan)


@dataclass(eq=False)
class PageFrame:
    """Room for a page.

    Attributes
    ----------
    areas : list of Area
    batch : Batch
        What is being read.
    before : Slot or None
        Who has the blocks that this page begins in, and what of it is not read therefore.
    users : int
        Who needs what is in it: whoever works on the page, and the slot of the next one.
    stays, begun, loaded : bool
        Whether it is kept, is being read or has been, and holds all of its page already.
    """

    areas: list[PageBuffer]
    stays: bool
    batch: Batch = field(default_factory=Batch)
    before: PageFrame | None = None
    users: int = 0
    begun: bool = False
    loaded: bool = False


class RoomError(GraphError):
    """There is too little memory for the pages of a source; `least` bytes would do."""

    def __init__(self, least: int) -> None:
        super().__init__(f"a page of edges takes {show_bytes(least)} of memory, more than there are")
        self.least = least


class Sizes:
    """The memory that pages take, of which `readers` hold one each.

    Attributes
    ----------
    of_pages : list of list of int
        Bytes of each page in the area of each array.
    totals : list of int
        Bytes of each page.
    largest : list of int
        Bytes that any page takes in the area of each array.
    buffer : int
        Bytes for any page for each reader.
    """

    def __init__(self, arrays: Sequence[ArrayReader], pages: Sequence[Page], readers: int) -> None:
        self.pages = pages
        self.of_pages: list[list[int]] = [[room_of(array, page) for array in arrays] for page in pages]
        self.totals: list[int] = [sum(sizes) for sizes in self.of_pages]
        self.largest = [max(column) for column in zip(*self.of_pages, strict=True)] or [0] * len(arrays)
        self.buffer: int = readers * sum(self.largest)

    def least(self, elsewhere: int = 0) -> int:
        """Bytes with which the pages can be read: those of a buffer, or of all pages if none is `elsewhere`."""
        return self.buffer if elsewhere else min(self.buffer, sum(self.totals))


def room_of(array: ArrayReader, page: Page) -> int:
    """Bytes that a page takes in the area of an array."""
    first = page.first_edge // RUN * RUN
    return array.room(first, page.last_edge) + array.records_bytes(array.span(first, page.last_edge))


def block_edges(arrays: Sequence[ArrayReader]) -> int:
    """A bound on the edges of a page below which it takes no less memory: as a rule parts of two blocks."""
    return min(array.block_elements for array in arrays)


def least_room(arrays: Sequence[ArrayReader], offsets: Array, readers: int = 1) -> int:
    """Bytes of memory with which a `DiskPageSource` over so much can be made."""
    return Sizes(arrays, layout(offsets, block_edges(arrays)), readers).least()


class DiskPageSource:
    """`PageSource` over the disks that hold a graph directory. Of one thread; `clone_for_thread` is for another one.

    Parameters
    ----------
    arrays : list of StoredBlocks
        The lists, and the edge values if they are of interest.
    offsets : ndarray of int64, shape (n + 1,)
    room : int
        Bytes of memory for edges.
    disks : list of Disk
        Those that the arrays are on.
    page_edges : int, optional
    pages : sequence of Page, optional
        By default laid out here, by `page_edges`.
    elsewhere : int
        So many of the first pages do not stay: whoever asks for them keeps them.
    on_allocate : callable
        Receives each buffer when it is allocated, in the thread that needs it.
    readers : int
        So many sources share the room: this one, and those that `clone_for_thread` makes.

    Attributes
    ----------
    pages : list of Page
    stays : list of bool
        Which of them stay in memory: spread evenly, so that the disks have work while others are worked on.

    Raises
    ------
    RoomError
        If `room` is too small for one page, also if pages are as small as they can be where they are laid out here.
    """

    def __init__(
        self, arrays: Sequence[ArrayReader], offsets: Array, room: int, disks: list[Disk],
        page_edges: int | None = None, pages: Sequence[Page] | None = None, elsewhere: int = 0,
        on_allocate: Callable[[Array], None] = lambda array: None, readers: int = 1,
    ) -> None:  # fmt: skip
        self._arrays, self._disks, self._on_allocate, self._shared = arrays, disks, on_allocate, readers > 1
        edges = max(int(offsets[-1]), 1)
        self._access = max(int(access_bytes(arrays[0].k) * edges / max(arrays[0].stored_bytes, 1)), 1)
        if page_edges is None:
            width = max(sum(array.stored_bytes for array in arrays) / edges, 1e-3)
            wanted = min(max(room / PAGE_SHARE, min(LEAST_PAGE_BYTES, room / BUFFERS)), MOST_PAGE_BYTES)
            page_edges = max(int(wanted / width), 1)
        sizes = Sizes(arrays, layout(offsets, page_edges) if pages is None else pages, readers)
        if pages is None and sizes.least(elsewhere) > room:  # which were to grow with the room
            sizes = Sizes(arrays, layout(offsets, min(page_edges, block_edges(arrays))), readers)
        if sizes.least(elsewhere) > room:
            raise RoomError(sizes.least(elsewhere))
        self.pages: Sequence[Page] = sizes.pages
        self._firsts = [page.first_vertex for page in self.pages]
        buffers = 0 if sum(sizes.totals) <= room and not elsewhere else min(room // max(sizes.buffer, 1), BUFFERS)
        self.stays = [False] * elsewhere + spread(sizes.totals[elsewhere:], room - buffers * sizes.buffer)
        self._room_of, largest = sizes.of_pages, sizes.largest
        self._staying, self._lock = dict[int, PageFrame](), Lock()
        self._begin_to_read([largest] * buffers)

    def _begin_to_read(self, buffers: list[list[int]]) -> None:
        """Make `buffers` of such sizes, and all else that belongs to one thread."""
        self._buffers = [self._slot(sizes, stays=False) for sizes in buffers]
        self._free = deque(self._buffers)
        self._ahead = deque[Page]()
        self._wanted: Wanted | None = None
        self._reads_values = True
        self._coming, self._given = dict[int, PageFrame](), dict[int, PageFrame]()
        self._latest: PageFrame | None = None  # of the page that was last begun to be read

    def clone_for_thread(self) -> DiskPageSource:
        """The same pages for another thread: with buffers of its own, and those that stay are there for both."""
        other = copy.copy(self)
        other._begin_to_read([[len(area.data) for area in slot.areas] for slot in self._buffers])
        return other

    @property
    def max_in_flight(self) -> int:
        """So many pages may be given out and not released, and the next one is still read."""
        return max(len(self._buffers) - 1, 1) if self._buffers else len(self.pages)

    @property
    def bytes_read(self) -> int:
        """From all disks, since the beginning."""
        return sum(disk.bytes_read for disk in self._disks)

    def _slot(self, sizes: list[int], stays: bool) -> PageFrame:
        areas = []
        for array, nbytes in zip(self._arrays, sizes, strict=True):
            areas.append(PageBuffer(array, on_own_pages(nbytes, np.dtype(np.uint8))))
            self._on_allocate(areas[-1].data)
        return PageFrame(areas, stays)

    def prefetch(self, pages: Iterable[Page], wanted: Wanted | None = None, values: bool = True) -> None:
        self._forget()
        self._ahead, self._wanted, self._reads_values = deque(pages), wanted, values
        self._read_ahead()

    def edges(self, page: Page) -> PageEdges:
        """The edges of a page that is expected next, or of a part of it; valid until `release`.

        Raises
        ------
        DamagedGraphError
            If a disk does not give them, or what it gives cannot be believed.
        """
        slot = self._coming.pop(page.number)
        self._given[page.number] = slot
        while not slot.batch.ended.wait(PROMPTNESS):
            interrupts.check()
        if slot.batch.error is not None:
            raise slot.batch.error
        if slot.before is not None:
            for area, other in zip(slot.areas, slot.before.areas, strict=True):
                if area.borrows:
                    area.borrow(other)
            before, slot.before = slot.before, None
            self._leave(before)
            self._read_ahead()
        if not slot.loaded:
            for area in slot.areas:
                area.blocks.check_joints(area.plan.first, area.plan.last)
            slot.loaded = slot.stays
        first = page.first_edge // RUN * RUN
        lists, *values = (area.elements(first, page.last_edge) for area in slot.areas)
        return PageEdges(first, lists, values[0] if values else None)

    def release(self, page: Page) -> None:
        """Nobody needs the page's edges any more; what is next is read to where they were."""
        self._leave(self._given.pop(page.number))
        self._read_ahead()

    def parts(self, page: Page) -> list[Page]:
        """A page of another layout as pages of this one, or parts of these."""
        if page in self.pages[page.number : page.number + 1]:
            return [page]
        found = []
        for own in self.pages[bisect_right(self._firsts, page.first_vertex) - 1 :]:
            if own.first_vertex >= page.last_vertex:
                break
            cut: dict[str, int] = {}
            if own.first_vertex < page.first_vertex:
                cut |= {"first_vertex": page.first_vertex, "first_edge": page.first_edge}
            if own.last_vertex > page.last_vertex:
                cut |= {"last_vertex": page.last_vertex, "last_edge": page.last_edge}
            found.append(replace(own, **cut))
        return found

    def close(self) -> None:
        """Stop reading, and give memory back: also that of pages which others share."""
        self._drop([*self._buffers, *self._staying.values()])
        self._forget()
        self._staying.clear()
        self._buffers.clear()
        self._free.clear()

    def _leave(self, slot: PageFrame) -> None:
        """One user less. The latest slot is kept for the next page, if there is another one for that."""
        slot.users -= 1
        if not slot.stays and not slot.users and not (slot is self._latest and self._ahead and len(self._buffers) > 1):
            self._free.append(slot)

    def _read_ahead(self) -> None:
        """Begin to read what comes next, while there is room."""
        while self._ahead and (self._free or self.stays[self._ahead[0].number]):
            page, before = self._ahead.popleft(), self._latest
            slot = self._slot_for(page)
            self._latest = self._coming[page.number] = slot
            slot.users += 1
            with self._lock:
                if not slot.begun:
                    self._begin(page, slot, None if before is slot or (slot.stays and self._shared) else before)
            if before is not None and before is not slot and not before.users and not before.stays:
                self._free.append(before)

    def _slot_for(self, page: Page) -> PageFrame:
        if not self.stays[page.number]:
            slot = self._free.popleft()
            slot.begun = False
            return slot
        with self._lock:
            if page.number not in self._staying:
                self._staying[page.number] = self._slot(self._room_of[page.number], stays=True)
            return self._staying[page.number]

    def _begin(self, page: Page, slot: PageFrame, before: PageFrame | None) -> None:
        """Put what is to be read of a page in the disks' queues; all of one that stays."""
        page = self.pages[page.number] if slot.stays else page
        ranges = None
        if self._wanted is not None and not slot.stays:
            ranges = worth_reading(self._wanted(page), self._access, page.edges)
        reads = list[tuple[PageBuffer, ReadRequest]]()
        for k, area in enumerate(slot.areas):
            span, wanted = area.blocks.span(page.first_edge // RUN * RUN, page.last_edge), ranges
            if k and not self._reads_values and not slot.stays:
                wanted = np.empty((0, 2), np.int64)
            other = None if before is None or wanted is not None else before.areas[k]
            borrows = other is not None and other.whole and len(span) > 0 and other.plan.last == span.start + 1
            reads += [(area, read) for read in area.begin(span, borrows, wanted)]
        if before is not None and any(area.borrows for area in slot.areas):
            slot.before, before.users = before, before.users + 1
        batch = Batch(len(reads))
        requests = [(self._disks[read.disk], area.request(read, batch, page)) for area, read in reads]
        slot.batch, slot.begun = batch, True
        while requests:
            disk, request = requests[0]
            try:
                disk.put([request])
            except BaseException as error:  # nobody else will end these
                for _ in requests:
                    batch.end(error)
                raise
            del requests[0]

    def _forget(self) -> None:
        """What was read ahead, and nobody asked for, is not needed, unless another thread may wait for it."""
        self._drop([slot for slot in self._coming.values() if not (slot.stays and self._shared)])
        self._coming.clear()
        self._given.clear()
        self._latest, self._free = None, deque(self._buffers)
        with self._lock:
            for slot in (*self._buffers, *self._staying.values()):
                slot.before, slot.users = None, 0

    def _drop(self, slots: list[PageFrame]) -> None:
        """Do not read what still waits of these."""
        for disk in self._disks:
            disk.forget({slot.batch for slot in slots})
        for slot in slots:
            slot.batch.ended.wait()
            slot.begun = slot.loaded


def spread(sizes: Sequence[int], room: int) -> list[bool]:
    """Which of pages of such sizes stay within `room`: the same part of any run of them."""
    stays, share, passed, used = [], room / max(sum(sizes), 1), 0, 0
    for size in sizes:
        passed += size
        stays.append(used + size <= min(passed * share, room))
        used += size * stays[-1]
    return stays
