"""Pages of a graph whose edges are on disk: prefetched for the thread that works on them, within a memory budget.

A fixed set of pages is resident: they stay in memory once they have been read. The other pages are read into a few
frames, again in each iteration. Afterwards the frames hold the last of them, so the next iteration begins with these
(`held_first`). (In ascending order each page would be overwritten just before it is needed again, as in a
least-recently-used cache.) While little of a resident page is wanted, only that is read; once this has cost as much as
reading the page, the page is read. Two pages share the block in which one ends and the other begins: the later page
copies it from the frame of the earlier one, which may be its own.
"""

from __future__ import annotations

import copy
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from mmap import PAGESIZE
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.format import RECORD, RUN
from ..errors import DamagedGraphError
from ..storage.disks import Batch, Disk
from ..storage.reader import ArrayReader, PartReads, ReadRequest
from ..storage.sectors import SECTOR, access_bytes, worth_reading
from ..system import interrupts
from ..system.memory import on_own_pages
from .disk_frames import PageBuffer, PageFrame
from .disk_layout import DiskLayout, edges_of
from .layout import Page
from .source import PageEdges, Wanted

Array = npt.NDArray[Any]

TO_THE_END = 1 << 62
"""More edges than any page has."""
Plan = Callable[[], list[ReadRequest | PartReads]]
"""Plans reads into a buffer; see `PageBuffer.begin`."""
WIDEST = 4
"""Most bytes of a packed number."""
SPARSE = 8
"""If parts take at most 1/8 of the time of their page, no gaps are read: that takes hardly longer, and reads less."""
MOST_RECORD_BYTES = 1 << 21
"""Bytes that the records of merged pages may take beside the frames: a half of `memory.SPARE_BYTES`."""
PROMPTNESS = 0.1
"""Seconds between checks for Ctrl-C while a thread waits for a disk."""


OnBuffer = Callable[[Array], None]
"""A function that receives a buffer."""


def ignore(_: Array) -> None:
    """Do nothing with a buffer."""


class DiskPageSource:
    """`PageSource` over the disks that hold a graph directory. One thread at a time uses it; see `shared`.

    Parameters
    ----------
    arrays : sequence of ArrayReader
        The other endpoints, and the edge values if the program reads them.
    edges : int
        The number of edges on disk.
    layout : DiskLayout
        The pages, and those that stay.
    disks : list of Disk
        The disks that the arrays are on.
    on_allocate : callable
        Receives each buffer when it is allocated, in the thread that needs it.
    on_free : callable
        Receives a buffer before it is freed, unless all are.

    Attributes
    ----------
    pages : list of Page
    stays : list of bool
        Whether each page is resident.
    """

    takes_any_order = True
    is_in_memory = False

    def __init__(
        self, arrays: Sequence[ArrayReader], edges: int, layout: DiskLayout, disks: list[Disk],
        on_allocate: OnBuffer = ignore, on_free: OnBuffer = ignore,
    ) -> None:  # fmt: skip
        self._arrays, self._disks, self._on_allocate, self._on_free = arrays, disks, on_allocate, on_free
        self._shared = False
        density = max(edges, 1) / max(arrays[0].stored_bytes, 1)
        self._access, self._near = max(int(access_bytes(arrays[0].k) * density), 1), max(int(SECTOR * density), RUN)
        self._use(layout)
        self._staying, self._lock = dict[int, PageFrame](), Lock()
        buffers = max(len(layout.frames) * len(arrays), 1)
        self._record_pages = MOST_RECORD_BYTES // buffers // PAGESIZE  # of a merged page, for each array
        self._begin_with([self._frame(sizes, stays=False) for sizes in layout.frames])

    def _use(self, layout: DiskLayout) -> None:
        """Take the pages of a layout."""
        self.pages, self.stays, self._room_of, self._later = layout.pages, layout.stays, layout.room_of, layout.later
        self._firsts = [page.first_vertex for page in self.pages]

    def _begin_with(self, frames: list[PageFrame]) -> None:
        """Use these frames, and initialize the rest of the state of one thread."""
        self._frames, self._free = frames, deque(frames)
        self._ahead = deque[Page]()
        self._wanted: Wanted | None = None
        self._chosen = set[int]()  # the numbers of the pages that are prefetched together
        self._reads_values = True
        # The whole pages that are prefetched, and whether with values, as long as none has been used.
        self._begun: tuple[list[Page], bool] | None = None
        self._coming, self._given = dict[int, PageFrame](), dict[int, PageFrame]()
        self._latest: PageFrame | None = None  # the frame of the page that was begun last

    @property
    def can_be_shared(self) -> bool:
        """Whether there are frames for two threads, or none are needed."""
        return len(self._frames) != 1

    @contextmanager
    def shared(self) -> Iterator[DiskPageSource]:
        """A source of the same pages for another thread, which has half of the frames until the context ends.

        The threads share the resident pages. Both must have stopped when the context ends.
        """
        self._forget()
        other, half, frames = copy.copy(self), len(self._frames) // 2, self._frames
        try:
            for source, own in ((self, frames[half:]), (other, frames[:half])):
                source._begin_with(own)
                source._shared = True
            yield other
        finally:
            self._shared = other._shared = False
            other._forget()
            self._forget()
            self._begin_with(frames)

    @property
    def max_in_flight(self) -> int:
        """The number of pages that a thread may hold at once while the next one is still prefetched."""
        return max(len(self._frames) - 1, 1) if self._frames else len(self.pages)

    @property
    def bytes_read(self) -> int:
        """Bytes read from all disks since they were opened."""
        return sum(disk.bytes_read for disk in self._disks)

    def _frame(self, sizes: list[int], stays: bool) -> PageFrame:
        buffers = []
        for array, nbytes in zip(self._arrays, sizes, strict=True):
            buffers.append(PageBuffer(array, on_own_pages(nbytes, np.dtype(np.uint8))))
            self._on_allocate(buffers[-1].data)
        return PageFrame(buffers, stays)

    def pages_for(self, ranges: Array) -> Sequence[Page]:
        """See `PageSource`: to handle a page takes some 0.3 ms of Python, more than to read a few lists.

        The needed parts of a merged page are copied from loaded resident pages; the disks read the others.
        """
        if not self._frames or not all(array.reads_compactly for array in self._arrays):
            return self.pages
        frame = self._frames[0].buffers
        room = min(len(buffer.data) for buffer in frame) - SECTOR  # which plans leave
        before, records = (np.append(0, np.cumsum(column)) for column in self._costs(ranges))
        bounds = np.array([(page.first_edge, page.last_edge) for page in self.pages], np.int64).reshape(-1, 2)
        lows = np.searchsorted(ranges[:, 1], bounds[:, 0], "right").tolist()
        highs = np.searchsorted(ranges[:, 0], bounds[:, 1]).tolist()
        merged, low, closed = list[Page](), 0, True
        for page, own_low, high in zip(self.pages, lows, highs, strict=True):
            own = self._staying.get(page.number)
            fixed = self.stays[page.number] and not (own is not None and own.loaded)
            fits = not closed and before[high] - before[low] <= min(room, page.last_edge - merged[-1].first_edge)
            # The first of these ranges may share a page of records with one before, but of another page.
            if fixed or not fits or (high > low and records[high] - records[low] + 2 > self._record_pages):
                merged.append(page)
                low, closed = own_low, fixed
            else:
                merged[-1] = replace(merged[-1], last_vertex=page.last_vertex, last_edge=page.last_edge)
        return merged

    def _costs(self, ranges: Array) -> tuple[Array, Array]:
        """Upper bounds on the bytes of a frame, and on the memory pages of records, that each range of a merged page
        takes."""
        # A range takes the runs in which it begins and ends, and a gap that is read through; in each block that it
        # touches, sectors at both ends.
        firsts, ends = ranges[:, 0] // RUN * RUN, -(-ranges[:, 1] // RUN) * RUN
        following = np.append(firsts[1:], np.iinfo(np.int64).max)[: len(firsts)]
        ends = np.where(following - ends < self._access, np.maximum(following, ends), ends)
        each = min(array.block_elements for array in self._arrays)
        blocks = ends // each - firsts // each + 1
        # Ranges share pages of records. If blocks do not begin with a page, a row of pages takes another one.
        low, high = firsts // RUN * RECORD.itemsize // PAGESIZE, (ends // RUN * RECORD.itemsize - 1) // PAGESIZE
        before = np.append(-2, high)[: len(high)]
        shifted = any(array.records_bytes(range(1)) % PAGESIZE for array in self._arrays)
        records = high - np.maximum(low - 1, before) + shifted * (low > before + 1)
        return WIDEST * (ends - firsts) + 2 * SECTOR * blocks, records

    def held_first(self, pages: Iterable[Page]) -> list[Page]:
        """See `PageSource`. Then come the pages behind these, which copy the blocks that they share, and then those
        before."""
        held = [self.number_at(frame.holds.first_vertex) for frame in self._free if frame.holds is not None]
        first = held[0] if held else 0  # of the frame that has been free for longest

        def turn_of(page: Page) -> tuple[bool, bool]:
            number = self.number_at(page.first_vertex)
            return number not in held, number < first

        return sorted(pages, key=turn_of)

    def prefetch(self, pages: Iterable[Page], wanted: Wanted | None = None, values: bool = True) -> None:
        chosen = list(pages)
        if wanted is None and self._begun == (chosen, values):  # what an earlier call has begun goes on
            return
        self._forget()
        self._ahead, self._wanted, self._reads_values = deque(chosen), wanted, values
        self._chosen = {page.number for page in chosen}
        self._begun = (chosen, values) if wanted is None else None
        self._read_ahead()

    def prefetch_also(self, page: Page) -> None:
        """Read this page after those that are prefetched, in the same way."""
        self._begun = None
        if self._latest in self._free:  # its frame may be given to this page or to a later one
            self._latest = None
        self._ahead.append(page)
        self._read_ahead()

    def edges(self, page: Page) -> PageEdges:
        """The edges of the next prefetched page, or of a part of it; valid until `release`.

        Raises
        ------
        DamagedGraphError
            If a disk cannot read them, or they fail a check.
        """
        frame, self._begun = self._coming.pop(page.number), None
        self._given[page.number] = frame
        wait(frame)
        for number, each in ((page.number, frame), *self._coming.items()):
            self._go_on(number, each)
        wait(frame)
        if frame.before is not None:
            for buffer, other in zip(frame.buffers, frame.before.buffers, strict=True):
                if buffer.borrows:
                    buffer.borrow(other)
            before, frame.before = frame.before, None
            self._leave(before)
            self._read_ahead()
        if not frame.loaded:
            for buffer in frame.buffers:
                buffer.blocks.check_joints(buffer.plan.first, buffer.plan.last)
            is_whole = all(buffer.whole for buffer in frame.buffers)
            frame.loaded = frame.stays and is_whole
            if is_whole and not frame.stays and frame.holds is None:
                frame.holds = page
        return self.part(page, False)

    def part(self, page: Page, alone: bool) -> PageEdges:
        """The edges of a part of a page that `edges` has given and `release` has not taken back.

        If the page was read whole and `alone` is true, they come without bytes of other parts.
        """
        frame, first = self._given[page.number], page.first_edge // RUN * RUN
        lists, *values = (
            (buffer.alone if alone else buffer.elements)(first, page.last_edge) for buffer in frame.buffers
        )
        return PageEdges(first, lists, values[0] if values else None)

    def release(self, page: Page) -> None:
        """Free the page's frame, into which a later page is read."""
        self._leave(self._given.pop(page.number))
        self._read_ahead()

    def number_at(self, vertex: int) -> int:
        """The number of the page with this vertex."""
        return bisect_right(self._firsts, vertex) - 1

    def parts(self, page: Page) -> list[Page]:
        """Cut a page of another layout into pages of this one, or parts of them."""
        if page in self.pages[page.number : page.number + 1]:
            return [page]
        found = []
        for own in self.pages[self.number_at(page.first_vertex) :]:
            if own.first_vertex >= page.last_vertex:
                break
            cut: dict[str, int] = {}
            if own.first_vertex < page.first_vertex:
                cut |= {"first_vertex": page.first_vertex, "first_edge": page.first_edge}
            if own.last_vertex > page.last_vertex:
                cut |= {"last_vertex": page.last_vertex, "last_edge": page.last_edge}
            found.append(replace(own, **cut))
        return found

    def give_back(self) -> None:
        """Free the pages whose memory was lent: from now on they are read again in each iteration."""
        if self._later is None:
            return
        self._forget()
        before, frames = self.pages, self._staying
        self._use(self._later)
        numbers = {(page.first_vertex, page.last_vertex): page.number for page in self.pages if self.stays[page.number]}
        self._staying = dict[int, PageFrame]()
        for number, frame in frames.items():
            now = numbers.get((before[number].first_vertex, before[number].last_vertex))
            if now is not None:
                self._staying[now] = frame
                continue
            for buffer in frame.buffers:
                self._on_free(buffer.data)
        for buffer in (buffer for frame in self._frames for buffer in frame.buffers):
            buffer.loaded = []  # else these would keep others alive

    def close(self) -> None:
        """Stop reading, and free all memory, including the resident pages that other sources share."""
        self._drop([*self._frames, *self._staying.values()])
        self._forget()
        self._staying.clear()
        self._frames.clear()
        self._free.clear()

    def _leave(self, frame: PageFrame) -> None:
        """Remove one user of `frame`, and free the frame if that was the last one.

        The latest frame is not freed yet if there is another frame for the next page, which may share a block with the
        latest.
        """
        frame.users -= 1
        if frame.stays and not frame.users and not self._shared:
            frame.begun = frame.loaded
        is_kept = frame is self._latest and self._ahead and len(self._frames) > 1
        if not frame.stays and not frame.users and not is_kept:
            self._free.append(frame)

    def _read_ahead(self) -> None:
        """Start to read the next pages, as long as there are free frames."""
        while self._ahead and (self._free or self._stays(self._ahead[0])):
            page, before = self._ahead.popleft(), self._latest
            frame = self._frame_for(page)
            self._latest = self._coming[page.number] = frame
            frame.users += 1
            with self._lock:
                if not frame.begun:
                    self._begin(page, frame, None if frame.stays and (before is frame or self._shared) else before)
            if before is not None and before is not frame and not before.users and not before.stays:
                self._free.append(before)

    def _stays(self, page: Page) -> bool:
        """Whether `page` is resident, or a part of one that is. A merged page is not, if the others have any edges."""
        return self.stays[page.number] and not self._is_merged(page)

    def _frame_for(self, page: Page) -> PageFrame:
        if not self._stays(page):
            frame = min(self._free, key=lambda each: (not each.has(page), each.holds is not None))
            self._free.remove(frame)
            frame.begun = frame.has(page)
            return frame
        with self._lock:
            if page.number not in self._staying:
                self._staying[page.number] = self._frame(self._room_of[page.number], stays=True)
            return self._staying[page.number]

    def _begin(self, page: Page, frame: PageFrame, before: PageFrame | None) -> None:
        """Put the requests for a page, or for its wanted parts, in the disks' queues."""
        page = self.pages[page.number] if frame.stays else page
        frame.holds = None
        ranges, within = self._ranges(page, frame), self._loaded_within(page) if self._is_merged(page) else None
        plans = list[tuple[PageBuffer, Plan]]()
        for k, buffer in enumerate(frame.buffers):
            span, wanted = buffer.blocks.span(*edges_of(page)), ranges
            if k and not self._reads_values and (ranges is not None or not frame.stays):
                wanted = np.empty((0, 2), np.int64)
            other = None if before is None or wanted is not None else before.buffers[k]
            lends = other is not None and other.whole and len(span) > 0 and other.plan.last == span.start + 1
            loaded = None if within is None else [other.buffers[k] for other in within]
            plans.append((buffer, partial(buffer.begin, span, other if lends else None, wanted, loaded)))
        self._read(frame, page.number, plans, before)

    def _go_on(self, number: int, frame: PageFrame) -> None:
        """Begin to read the wanted parts of page `number` if their records have been read."""
        if frame.batch.ended.is_set() and frame.batch.error is None:
            plans = [(buffer, buffer.go_on) for buffer in frame.buffers if buffer.plan.rest is not None]
            if plans:
                self._read(frame, number, plans)

    def _read(
        self, frame: PageFrame, number: int, plans: Sequence[tuple[PageBuffer, Plan]], before: PageFrame | None = None
    ) -> None:
        """Put the reads that are planned for page `number` in the disks' queues."""
        try:
            reads = [(buffer, read) for buffer, plan in plans for read in plan()]
        except DamagedGraphError as error:  # in what it has copied: `edges` raises it
            frame.batch, frame.begun = Batch(1), True
            frame.batch.end(error)
            return
        if before is not None and any(buffer.borrows for buffer in frame.buffers):
            frame.before, before.users = before, before.users + 1
        batch = Batch(len(reads))
        requests = [(self._disks[read.disk], buffer.request(read, batch, number)) for buffer, read in reads]
        frame.batch, frame.begun = batch, True
        while requests:
            disk, request = requests[0]
            try:
                disk.put([request])
            except BaseException as error:  # the remaining requests reach no disk, so end them here
                for _ in requests:
                    batch.end(error)
                raise
            del requests[0]

    def _is_merged(self, page: Page) -> bool:
        return page.last_edge > self.pages[page.number].last_edge

    def _loaded_within(self, page: Page) -> list[PageFrame]:
        """The frames of loaded resident pages from which `page` is merged."""
        numbers = range(page.number, bisect_right(self._firsts, page.last_vertex - 1))
        frames = (self._staying[k] for k in numbers if k in self._staying)
        return [frame for frame in frames if frame.loaded]

    def _ranges(self, page: Page, frame: PageFrame) -> Array | None:
        """The edges of a page to read; None for all. Other threads must find a resident page complete."""
        if self._wanted is None or (frame.stays and self._shared):
            return None
        wanted = self._wanted(page)
        ranges = worth_reading(wanted, self._access, self._edges_if_whole(page))
        if ranges is None:
            return None
        cost = int((ranges[:, 1] - ranges[:, 0]).sum()) + self._access * len(ranges)
        if frame.stays:
            frame.spent += cost
            if frame.spent >= page.edges:
                return None
        return ranges if SPARSE * cost > page.edges else worth_reading(wanted, self._near, TO_THE_END)

    def _edges_if_whole(self, page: Page) -> int:
        """The edges that are read only for this page if it is read whole."""
        if self._is_merged(page):
            return TO_THE_END  # it has no room for all of them
        if {page.number - 1, page.number + 1} & self._chosen:  # they share the blocks in which the page begins and ends
            return page.edges
        first = self._arrays[0]
        return len(first.span(page.first_edge, page.last_edge)) * first.block_elements

    def _forget(self) -> None:
        """Drop pages that were prefetched but not used, except those that another thread may wait for."""
        self._drop([frame for frame in self._coming.values() if not (frame.stays and self._shared)])
        self._coming.clear()
        self._given.clear()
        self._latest = self._begun = None
        self._free.extend(frame for frame in self._frames if frame not in self._free)
        with self._lock:
            for frame in (*self._frames, *self._staying.values()):
                frame.before, frame.users = None, 0
            for frame in () if self._shared else self._staying.values():
                frame.begun = frame.loaded

    def _drop(self, frames: list[PageFrame]) -> None:
        """Cancel the queued requests of these frames, and wait for those in flight."""
        for disk in self._disks:
            disk.forget({frame.batch for frame in frames})
        for frame in frames:
            frame.batch.ended.wait()
            frame.begun = frame.loaded


def wait(frame: PageFrame) -> None:
    """Wait for the requests that read a page, and raise the first error."""
    while not frame.batch.ended.wait(PROMPTNESS):
        interrupts.check()
    if frame.batch.error is not None:
        raise frame.batch.error
