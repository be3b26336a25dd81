"""The device memory that holds edges: which page's edges are in which buffer, and which pages need no copy."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...pages.layout import Page, joined
from ..modes import RESIDENT, ZERO_COPY
from .device_graph import DeviceGraph
from .edges import EdgeLayout, places
from .handles import event_flags
from .mapped import FarPages, MappedEdges
from .reorder import HubEdges
from .residency import Residency


@dataclass
class Buffer:
    """Device memory for the edges of a page, and the stream that copies the edges and runs the page's kernels.

    Attributes
    ----------
    addresses : list of int
        Where each of a resident page's arrays is. A stream's buffer has one address, where the first begins.
    stream : pycuda.driver.Stream
    copied, computed, idle : pycuda.driver.Event
        Recorded after the copy of the edges, after the kernels if new values are copied then, and after everything.
    page : Page or None
        The page whose edges are in the buffer, or are being copied to it.
    copied_bytes : int
        Bytes of edges copied since the page was last processed.
    found : tuple of bool
        Which of a resident page's arrays are there since an earlier run.
    rest : Rest or None
        Of all pages as one: the edges that are read from host memory.
    """

    addresses: list[int]
    stream: Any
    copied: Any
    computed: Any
    idle: Any
    page: Page | None = None
    copied_bytes: int = 0
    found: tuple[bool, ...] = ()
    rest: Rest | None = None


class Rest(NamedTuple):
    """The edges that are not on the device, in host memory.

    Attributes
    ----------
    mapped : MappedEdges
    here : Page or None
        The edges that are on the device, as one page; None if none are.
    """

    mapped: MappedEdges
    here: Page | None = None


class Buffers:
    """The buffers of a `Residency`: one for each page that stays, and those of the streams, which pages share.

    Parameters
    ----------
    residency : Residency
    arrays : EdgeLayout
        The layout of a page's edges in device memory.
    kept : DeviceGraph
        Holds the pages that are resident since earlier runs, and the memory of all buffers.
    stream : pycuda.driver.Stream
        Runs the kernels of pages that stay.
    there : HubEdges or MappedEdges or FarPages or None
        Edges that need no copy: of all pages on the device, or in host memory of those that are not resident, or of
        those that `read_far` names.
    at_once : bool
        Whether the kernels of several pages may be launched at once; if not, all is done page by page.

    Attributes
    ----------
    staying : list of Buffer
        The buffers of the pages that stay, which are the first pages: page k has buffer k.
    free : deque of Buffer
        The buffers of streams, which hold no page that is in flight.
    streams : list of pycuda.driver.Stream
        The streams of the buffers in `free`.
    far : dict of int to Buffer
        The pages that are read in host memory in the current iteration only, by number.
    """

    def __init__(
        self, residency: Residency, arrays: EdgeLayout, kept: DeviceGraph, stream: Any,
        there: HubEdges | MappedEdges | FarPages | None, at_once: bool,
    ) -> None:  # fmt: skip
        self._pages, self._arrays, self._there = residency.pages, arrays, there
        self._stream, self._at_once = stream, at_once
        self._offsets = dict[int, list[int]]()  # of arrays in a stream's buffer, by page
        self.far = dict[int, Buffer]()
        self._handles, self._event_flags = kept.handles, event_flags(kept.device.driver)
        self._resident_pages = [] if isinstance(there, HubEdges) else residency.here
        self._within = residency.within
        self._regions = arrays.regions(self._resident_pages, self._within)
        self.staying = self._resident_buffers(kept)
        if there is not None and not isinstance(there, FarPages):
            before, resident = self._resident_pages[0].number if self._resident_pages else 0, self.staying
            others = self._pages[:before], self._pages[before + len(resident) :]
            near, far = ([self._buffer(there.places(page), stream, page) for page in each] for each in others)
            self.staying = [*near, *resident, *far]
        self._far_buffers = dict[int, Buffer]()
        if isinstance(there, FarPages):  # now, because `read_far` may be called where no context is current
            for page in self._pages[len(self.staying) :]:
                self._far_buffers[page.number] = self._buffer(there.mapped.places(page), stream, page)
        count = residency.streams if residency.buffer_bytes else 0
        self.streams = [self._handles.stream() for _ in range(count)]
        self.free = deque(
            self._buffer([kept.memory.allocate(f"stream {k}", residency.buffer_bytes)], each)
            for k, each in enumerate(self.streams)
        )

    def _resident_buffers(self, kept: DeviceGraph) -> list[Buffer]:
        """The buffers of the resident pages, whose arrays may be there since an earlier run."""
        placed = [kept.place(region.name, region.nbytes, region.what) for region in self._regions]
        both = zip(placed, self._regions, strict=True)
        columns = [[at + begin for begin in region.begins] for (at, _), region in both]
        addresses, found = list(map(list, zip(*columns, strict=True))), tuple(is_there for _, is_there in placed)
        buffers = [self._buffer(each, self._stream) for each in addresses]
        for page, buffer in zip(self._resident_pages, buffers, strict=True):
            buffer.found, buffer.page = found, page if all(found) else None
        return buffers

    def _buffer(self, addresses: list[int], stream: Any, page: Page | None = None) -> Buffer:
        copied, computed, idle = (self._handles.event(self._event_flags) for _ in range(3))
        return Buffer(addresses, stream, copied, computed, idle, page)

    def keep(self, kept: DeviceGraph) -> None:
        """Keep the resident pages for later runs if the edges of all are on the device. All copies must have ended."""
        is_whole = all(buffer.page is not None for buffer in self.staying)
        if is_whole and self._within is None:  # else an earlier run keeps them, with other edges
            for region in self._regions:
                if region.what is not None:
                    kept.keep(region.name, region.what)

    def of(self, page: Page) -> Buffer | None:
        """The buffer that a page has for itself; None if it shares the buffers of streams with others."""
        return self.staying[page.number] if page.number < len(self.staying) else self.far.get(page.number)

    def read_far(self, pages: Iterable[Page]) -> None:
        """Until the next call, have kernels read these pages in host memory, and no others that are streamed."""
        self.far = {page.number: self._far_buffers[page.number] for page in pages}

    def has(self, page: Page) -> bool:
        """Whether a page's edges are on the device, being copied there, or read from host memory."""
        buffer = self.of(page)
        return buffer is not None and buffer.page is not None

    def missing(self) -> list[tuple[Page, Buffer]]:
        """The pages that stay but whose edges are neither on the device nor being copied there, with their buffers."""
        return [both for both in zip(self._pages, self.staying, strict=False) if both[1].page is None]

    def coming(self) -> list[tuple[Page, Buffer]]:
        """The pages that stay and are `missing` or being copied, with their buffers."""
        both = zip(self._pages, self.staying, strict=False)
        return [(page, buffer) for page, buffer in both if buffer.page is None or buffer.copied_bytes]

    def fill_by(self, write: Callable[[Page, list[int]], None]) -> None:
        """Have ``write(page, addresses)`` start to fill each page that is `missing`."""
        for page, buffer in self.missing():
            write(page, buffer.addresses)
            buffer.page = page

    def there(self, pages: list[Page]) -> list[tuple[Page, Buffer]] | None:
        """The pages and their buffers if the edges of all have been copied, and these may be launched at once."""
        buffers = map(self.of, pages)
        here = [buffer for buffer in buffers if buffer is not None and buffer.page and not buffer.copied_bytes]
        return list(zip(pages, here, strict=True)) if self._at_once and len(here) == len(pages) else None

    def in_one_piece(self, pages: list[Page]) -> tuple[Page, Buffer] | None:
        """Consecutive `pages` as one page, and its buffer, if no edges have to be copied, all adjoin each other, and
        these may be launched at once."""
        buffers = self.staying[pages[0].number : pages[-1].number + 1] if pages else []
        has_arrived = len(buffers) == len(pages) and all(b.page and not b.copied_bytes for b in buffers)
        if not buffers or not has_arrived or not self._at_once or self._arrays.apart:
            return None
        if isinstance(self._there, MappedEdges) and 0 < sum(map(self._is_resident, pages)) < len(pages):
            return None  # some are on the device, others in host memory
        return joined(pages[0], pages[-1]), buffers[0]

    def within_reach(self, mapped: MappedEdges | None) -> tuple[Page, Buffer] | None:
        """All pages as one, for kernels that read any vertex's list: edges that are not on the device are read where
        they are `mapped`. None if they are not."""
        if mapped is None:
            return self.in_one_piece(self._pages)
        whole, here = joined(self._pages[0], self._pages[-1]), self.in_one_piece(self._resident_pages)
        if here is None or self._arrays.encoding != mapped.layout.encoding:
            return whole, Buffer(mapped.places(whole), self._stream, None, None, None, rest=Rest(mapped))
        return whole, replace(here[1], rest=Rest(mapped, here[0]))

    def way_of(self, page: Page) -> str:
        """How the kernels get the edges of a page that is not copied."""
        reads_all = isinstance(self._there, MappedEdges)
        return ZERO_COPY if page.number in self.far or (reads_all and not self._is_resident(page)) else RESIDENT

    def _is_resident(self, page: Page) -> bool:
        """Whether a page's edges are, or will be, in device memory of their own; those of others in `staying` are in
        host memory."""
        pages = self._resident_pages
        return bool(pages) and pages[0].number <= page.number <= pages[-1].number

    def places(self, page: Page, buffer: Buffer) -> list[int]:
        """The addresses of a page's arrays in a buffer."""
        if self.of(page) is not None:
            return buffer.addresses
        if page.number not in self._offsets:
            whole = self._pages[page.number] if page.number < len(self._pages) else page  # another GPU's
            self._offsets[page.number] = places(self._arrays.sizes(whole))[:-1]
        return [buffer.addresses[0] + at for at in self._offsets[page.number]]

    def wanted(self, page: Page, buffer: Buffer) -> list[int | None]:
        """The addresses of a page's arrays in a buffer; None for those that are there."""
        addresses: list[int | None] = [*self.places(page, buffer)]
        if buffer.found:
            return [None if there else at for at, there in zip(addresses, buffer.found, strict=False)]
        return addresses
