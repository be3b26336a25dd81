"""Streams pages through the GPU on N CUDA streams (Garaph section 5.2): copies in, kernels and copies back overlap.

The kernels of a page are launched on the same stream as the copy of its edges, so they begin when the copy ends. Two
other streams copy new values to the host. One thread, the GPU thread, launches all of this; then it waits, without the
GIL, for the next copy or page to end. The paper uses two threads, one that copies and one that computes; so does
two_threads.py. In Python these wait longer for the GIL than for the GPU.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from ...events import Listener, Span, Step
from ...pages.layout import Page
from ...pages.queue import PageQueue, Split, device_order, take_buffered
from ...pages.source import PageSource
from ...system import interrupts
from ..modes import COPIED, RESIDENT, ZERO_COPY
from .device import Device
from .device_graph import DeviceGraph
from .edges import EdgeLayout, host_arrays, places
from .handles import NON_BLOCKING, event_flags
from .mapped import MappedEdges
from .pipeline import AWAIT_COPY, COPY_AND_LAUNCH, LAUNCH, MAX_COPIES, Pipeline
from .reorder import HubEdges
from .residency import Residency
from .thread_time import ThreadTime
from .timeline import MANY, TO_DEVICE, TO_HOST, Timeline
from .transfer import TRANSFERS, HostPages, Transfer, byte_count, copies

COMPUTE_STREAMS = 3
"""Streams for the kernels of resident pages, which use them in turn. With one stream, multiprocessors would idle while
the last blocks of a kernel run. With one stream per page, the GPU could copy back no values until nearly all gathers
have ended."""


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


Awaited = tuple[Any, ...]
"""An event, with `query` and `synchronize`, and what it stands for, in words; None if there is nothing to wait for."""
GO_ON: Awaited = (None,)
"""Nothing to wait for, but another GPU may have its turn."""


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


class Work(Protocol):
    """What an iteration does with each page."""

    @property
    def copies_back(self) -> bool:
        """Whether `copy_back` copies anything."""

    def launch(self, page: Page, buffer: Buffer) -> None:
        """Launch the kernels of a page on the stream of `buffer`, which holds its edges when they run."""

    def copy_back(self, page: Page, stream: Any) -> None:
        """Start to copy the page's new values to the host, on `stream`."""

    def on_complete(self, page: Page, copied: int) -> None:
        """Called when the page's new values are on the host; `copied` bytes of its edges were copied to the device."""


class Streams:
    """The streams of a device and the buffers of a `Residency`. The device's context must be current.

    Parameters
    ----------
    device : Device
    residency : Residency
    arrays : EdgeLayout
        The layout of a page's edges in device memory.
    kept : DeviceGraph
        Holds the pages that are resident since earlier runs.
    spans : list of Span, optional
        A span is appended for each copy and each computation.
    transfer : str
        How edges get to the device: a name in `TRANSFERS`.
    there : HubEdges or MappedEdges, optional
        Edges that need no copy: of all pages on the device, or in host memory of those that are not resident.

    Attributes
    ----------
    device : Device
    compute : list of pycuda.driver.Stream
        For the kernels of resident pages, in turn.
    back, back_early : pycuda.driver.Stream
        For copies of new values to the host: `back` for streamed pages, `back_early` for resident ones. With a single
        stream, the values of resident pages would wait for the copies of streamed ones.
    forth : pycuda.driver.Stream
        For copies of values from the host to the device.
    thread : ThreadTime
        How the GPU thread, which calls `process`, spends its time.
    timeline : Timeline or None
        Writes `spans`; None if there are none.
    """

    def __init__(
        self, device: Device, residency: Residency, arrays: EdgeLayout, kept: DeviceGraph,
        spans: list[Span] | None = None, transfer: str = COPIED, there: HubEdges | MappedEdges | None = None,
    ) -> None:  # fmt: skip
        self._there = there
        self.device, self._arrays, self._transfer = device, arrays, TRANSFERS[transfer](device)
        self._transfer_name, self._host = transfer, HostPages()
        self._pages, self._offsets = residency.pages, dict[int, list[int]]()  # offsets of arrays in a buffer, by page
        self._keeps, self._handles, self._event_flags = residency.keeps, kept.handles, event_flags(device.driver)
        handles = self._handles
        self.compute = [handles.stream() for _ in range(COMPUTE_STREAMS)]
        self.back, self.back_early, self.forth = (handles.stream() for _ in range(3))
        self._prefetch = handles.stream(NON_BLOCKING)
        streams = [handles.stream() for _ in range(residency.streams)] if residency.buffer_bytes else []
        self._kept_pages = [] if isinstance(there, HubEdges) else residency.here
        self._within = residency.within
        self._regions = arrays.regions(self._kept_pages, self._within)
        self._resident = self._resident_buffers(self._kept_pages, kept)
        if there is not None:
            before, kept_buffers = self._kept_pages[0].number if self._kept_pages else 0, self._resident
            others = self._pages[:before], self._pages[before + len(kept_buffers) :]
            near, far = ([self._buffer(there.places(page), self.compute[0], page) for page in each] for each in others)
            self._resident = [*near, *kept_buffers, *far]
        self._streams = [*self.compute, *streams]
        self._free = deque(
            self._buffer([kept.memory.allocate(f"stream {k}", residency.buffer_bytes)], stream)
            for k, stream in enumerate(streams)
        )
        self.thread = ThreadTime(f"GPU {device.number}'s thread" if device.number else "GPU's thread")
        self.timeline = None if spans is None else Timeline(device.driver, self._streams, spans, device.number)

    def _resident_buffers(self, pages: list[Page], kept: DeviceGraph) -> list[Buffer]:
        """The buffers of the resident pages, whose arrays may be there since an earlier run."""
        placed = [kept.place(region.name, region.nbytes, region.what) for region in self._regions]
        both = zip(placed, self._regions, strict=True)
        columns = [[at + begin for begin in region.begins] for (at, _), region in both]
        addresses, found = list(map(list, zip(*columns, strict=True))), tuple(is_there for _, is_there in placed)
        buffers = [self._buffer(each, self.compute[0]) for each in addresses]
        for page, buffer in zip(pages, buffers, strict=True):
            buffer.found, buffer.page = found, page if all(found) else None
        return buffers

    def keep(self, kept: DeviceGraph) -> None:
        """Keep the resident pages for later runs if the edges of all are on the device. All copies must have ended."""
        is_whole = all(buffer.page is not None for buffer in self._resident)
        if is_whole and self._within is None:  # else an earlier run keeps them, with other edges
            for region in self._regions:
                if region.what is not None:
                    kept.keep(region.name, region.what)

    def _buffer(self, addresses: list[int], stream: Any, page: Page | None = None) -> Buffer:
        copied, computed, idle = (self._handles.event(self._event_flags) for _ in range(3))
        return Buffer(addresses, stream, copied, computed, idle, page)

    def event(self) -> Any:
        """Another event, which can tell the time."""
        return self._handles.event()

    @property
    def heartbeats(self) -> list[ThreadTime]:
        """The watchdog's heartbeats of the threads that put work on the streams."""
        return [self.thread]

    def write_spans(self) -> None:
        """Write the spans of all copies and computations that have ended."""
        if self.timeline is not None:
            self.timeline.write_spans(self.back)

    def resident(self, page: Page) -> Buffer:
        """The buffer of a resident page."""
        return self._resident[page.number]

    def place_of(self, page: Page) -> Buffer | None:
        """The buffer in which a page stays; None if it shares the buffers of streams with others."""
        return self._resident[page.number] if page.number < len(self._resident) else None

    def in_one_piece(self, pages: list[Page]) -> tuple[Page, Buffer] | None:
        """Consecutive `pages` as one page, and its buffer, if no edges have to be copied, and all adjoin each other.

        None also if spans are wanted, which belong to single pages.
        """
        buffers = self._resident[pages[0].number : pages[-1].number + 1] if pages else []
        has_arrived = len(buffers) == len(pages) and all(b.page and not b.copied_bytes for b in buffers)
        if not buffers or not has_arrived or self.timeline is not None or self._arrays.apart:
            return None
        if isinstance(self._there, MappedEdges) and 0 < sum(map(self._is_kept, pages)) < len(pages):
            return None  # some are on the device, others in host memory
        return joined(pages[0], pages[-1]), buffers[0]

    def within_reach(self, mapped: MappedEdges | None) -> tuple[Page, Buffer] | None:
        """All pages as one, for kernels that read any vertex's list: edges that are not on the device are read where
        they are `mapped`. None if they are not."""
        if mapped is None:
            return self.in_one_piece(self._pages)
        whole, here = joined(self._pages[0], self._pages[-1]), self.in_one_piece(self._kept_pages)
        if here is None or self._arrays.encoding != mapped.layout.encoding:
            return whole, Buffer(mapped.places(whole), self.compute[0], None, None, None, rest=Rest(mapped))
        return whole, replace(here[1], rest=Rest(mapped, here[0]))

    def _is_kept(self, page: Page) -> bool:
        """Whether a page is resident, which others in `_resident` that need no copy are not."""
        return bool(self._kept_pages) and self._kept_pages[0].number <= page.number <= self._kept_pages[-1].number

    def has(self, page: Page) -> bool:
        """Whether a page's edges are on the device, being copied there, or read from host memory."""
        return page.number < len(self._resident) and self._resident[page.number].page is not None

    def way_of(self, page: Page, copied: int) -> str:
        """How a page's edges reached the GPU in an iteration for which `copied` bytes of them were copied."""
        if copied:
            return self._transfer_name
        is_mapped = isinstance(self._there, MappedEdges) and not self._is_kept(page)
        return ZERO_COPY if is_mapped else RESIDENT

    def fill_by(self, write: Callable[[Page, list[int]], None]) -> None:
        """Have ``write(page, addresses)`` start to fill each resident page whose edges are not on the device yet."""
        for page, buffer in zip(self._pages, self._resident, strict=False):
            if buffer.page is None:
                write(page, self.places(page, buffer))
                buffer.page = page

    def prefetch(self, source: PageSource, transfer: Transfer | None = None) -> None:
        """Start to copy the resident pages: one by one, or all at once by `transfer` if it is given.

        The copies may end after this call, and after `process` begins.

        The copies are on a stream of their own, so that work on the default stream, such as copies of values, does not
        wait for them.
        """
        filled = self._handles.event()
        filled.record()  # the default stream fills new buffers with zeros
        self._prefetch.wait_for_event(filled)
        missing = [both for both in zip(self._pages, self._resident, strict=False) if both[1].page is None]
        if transfer is not None and missing:
            self._copy_at_once(missing, source, transfer)
        else:
            for page, buffer in missing:
                buffer.stream = self._prefetch
                self.thread.doing = ("copying page", page.number)
                self.copy(page, buffer, source)
        self.thread.doing = ("idle",)

    def _copy_at_once(self, missing: list[tuple[Page, Buffer]], source: PageSource, transfer: Transfer) -> None:
        """Copy consecutive resident pages, which adjoin each other on the device too, as if they were one page."""
        (first, buffer), (last, _) = missing[0], missing[-1]
        whole = joined(first, last)
        began, self.thread.doing = time.perf_counter_ns(), ("copying pages", first.number, "to", last.number)
        wanted = self._wanted(whole, buffer)
        transfer.send(host_arrays(source.edges(whole)), wanted, self._prefetch)
        if self.timeline is not None:
            self.timeline.mark_end(TO_DEVICE, "copy", whole, began, self._prefetch)
        for page, buffer in missing:
            buffer.page, buffer.copied_bytes = page, byte_count(copies(host_arrays(source.edges(page)), wanted))
            buffer.copied.record(self._prefetch)

    def fill(self, source: PageSource, listener: Listener) -> None:
        """Copy the resident pages that are neither on the device nor being copied there, and wait for all copies."""
        both = list(zip(self._pages, self._resident, strict=False))
        missing = [page for page, buffer in both if buffer.page is None]
        coming = [(page, buffer) for page, buffer in both if buffer.page is None or buffer.copied_bytes]
        done, total = 0, sum(page.edges for page, _ in coming)
        source.prefetch(missing)
        for page, buffer in coming:
            listener(Step("copying to the GPU", done, total, "edges"))
            interrupts.check()
            is_missing = buffer.page is None
            if is_missing:
                self.thread.doing = ("copying page", page.number)
                self.copy(page, buffer, source)
            buffer.copied.synchronize()
            if is_missing:
                source.release(page)
            done += page.edges
        if coming:
            listener(Step("copying to the GPU", done, total, "edges"))
        self.thread.doing = ("idle",)

    def order(
        self, pages: Iterable[Page], shared: bool = False, split: Split | None = None,
        order: Sequence[int] | None = None,
    ) -> PageQueue[Buffer]:  # fmt: skip
        """The page queue for one call of `process`.

        If pages may stay, those that are still in the buffers of streams come first and are not copied again.

        Parameters
        ----------
        pages : iterable of Page
        shared : bool
            Whether other processors may steal pages.
        split : callable, optional
            If given, they may steal parts of pages; see `PageQueue`.
        order : sequence of int, optional
            The page numbers in the order that a policy has decided on.
        """
        ordered = device_order(pages, shared, order)
        for k, page in enumerate(ordered):
            if page.number < len(self._resident):
                self._resident[page.number].stream = self.compute[k % COMPUTE_STREAMS]
        resident = {buffer.page: buffer for buffer in self._resident if buffer.page is not None}
        buffered = take_buffered(self._free, set(ordered)) if self._keeps else {}
        return PageQueue.of(ordered, buffered, resident, split)

    def there(self, pages: list[Page]) -> list[tuple[Page, Buffer]] | None:
        """The pages and their buffers if the edges of all have been copied; None also if spans are wanted."""
        buffers = [self.place_of(page) for page in pages]
        here = [buffer for buffer in buffers if buffer is not None and buffer.page and not buffer.copied_bytes]
        return None if len(here) < len(pages) or self.timeline else list(zip(pages, here, strict=True))

    def launch(self, pieces: list[tuple[Page, Buffer]], work: Work) -> None:
        """Launch the kernels of pages that are `there`, and wait for none: `back_early` has nothing left to do then."""
        for page, buffer in pieces:
            buffer.stream = self.compute[page.number % COMPUTE_STREAMS]
            self._launch(page, buffer, work, self.back_early)
            work.on_complete(page, 0)
        self.thread.doing = ("idle",)

    def process(self, queue: PageQueue[Buffer], source: PageSource, work: Work) -> None:
        """Process every page of `queue` that no other processor steals; return when all new values are on the host.

        A page that is not on the device is copied there first.

        Parameters
        ----------
        queue : PageQueue
            A queue made by `order`; it is empty afterwards.
        source : PageSource
            Reads the pages' edges on the host.
        work : Work
        """
        try:
            with self.thread.running():
                for event, *what in self.steps(queue, source, work):
                    if event is not None:
                        with self.thread.waiting(*what):
                            event.synchronize()
        except BaseException:
            self.stop(queue)
            raise

    def stop(self, queue: PageQueue[Buffer]) -> None:
        """Drop the pages of `queue`, and wait for the GPU: after this call it does not write to the caller's arrays."""
        queue.clear()
        with suppress(self.device.driver.Error):
            self.device.driver.Context.synchronize()

    def steps(self, queue: PageQueue[Buffer], source: PageSource, work: Work) -> Generator[Awaited, None, None]:
        """`process` without its waits: before each further step, the caller waits for what this yields.

        The device's context must be current whenever the generator is used. A caller that does not take all steps
        closes the generator, and then calls `stop`.
        """
        try:
            queue.arrange(source.held_first)
            source.prefetch(queue.streamed_pages())
            yield from self._drive(queue, source, work)
            if self.timeline is not None:
                self.timeline.write_spans(self.back, MANY)
        finally:
            self.thread.doing = ("idle",)

    def _drive(self, queue: PageQueue[Buffer], source: PageSource, work: Work) -> Iterator[Awaited]:
        """Put all work on the streams."""
        thread = self.thread
        pipeline = Pipeline(queue, self._resident, self._free, min(MAX_COPIES, source.max_in_flight))
        while True:
            interrupts.check()
            self._poll(pipeline, source, work)
            if (step := pipeline.next()) is None:
                break
            action, page, buffer = step
            if action is COPY_AND_LAUNCH:
                thread.doing = ("copying page", page.number)
                self.copy(page, buffer, source)
                self._launch(page, buffer, work, self.back)
            elif action is LAUNCH:
                self._launch_on_device(page, buffer, work)
                yield GO_ON  # at the beginning there are some such pages, while other GPUs have nothing to do
            elif action is AWAIT_COPY:
                yield buffer.copied, "the copy of page", page.number
            else:
                yield buffer.idle, "page", page.number
        while left := pipeline.on_device or pipeline.streamed or pipeline.copies:
            page, buffer = left[0]
            yield buffer.idle, "page", page.number
            self._poll(pipeline, source, work)

    def _poll(self, pipeline: Pipeline[Buffer], source: PageSource, work: Work) -> None:
        """Ask the driver which copies and pages have ended, and report them."""
        copies = pipeline.copies
        while copies and copies[0][1].copied.query():
            source.release(pipeline.arrived())
        for launched in pipeline.on_device, pipeline.streamed:
            while launched and launched[0][1].idle.query():
                self._end(pipeline, launched, work)

    def _end(self, pipeline: Pipeline[Buffer], launched: deque[tuple[Page, Buffer]], work: Work) -> None:
        """Report the first page of `launched`, whose new values are on the host."""
        self._complete(*launched[0], work)
        pipeline.ended(launched)

    def _complete(self, page: Page, buffer: Buffer, work: Work) -> None:
        """Report a page whose new values are on the host."""
        work.on_complete(page, buffer.copied_bytes)
        buffer.copied_bytes = 0

    def _wanted(self, page: Page, buffer: Buffer) -> list[int | None]:
        """The addresses of a page's arrays in a buffer; None for those that are there."""
        places: list[int | None] = [*self.places(page, buffer)]
        if buffer.found:
            return [None if there else at for at, there in zip(places, buffer.found, strict=False)]
        return places

    def copy(self, page: Page, buffer: Buffer, source: PageSource) -> None:
        """Start to copy a page's edges, on its buffer's stream."""
        began = time.perf_counter_ns()
        copied = self._transfer.send(self._host.arrays(page, source), self._wanted(page, buffer), buffer.stream)
        if self.timeline is not None:
            self.timeline.mark_end(TO_DEVICE, "copy", page, began, buffer.stream)
        buffer.page, buffer.copied_bytes = page, copied
        buffer.copied.record(buffer.stream)

    def _launch_on_device(self, page: Page, buffer: Buffer, work: Work) -> None:
        """Launch the kernels of a page whose edges are on the device, or are being copied there by `prefetch`."""
        if buffer.copied_bytes:  # on another stream
            buffer.stream.wait_for_event(buffer.copied)
        self._launch(page, buffer, work, self.back_early)

    def _launch(self, page: Page, buffer: Buffer, work: Work, back: Any) -> None:
        """Launch the kernels of a page on its buffer's stream, and then the copies to the host on the stream `back`."""
        timeline, began, self.thread.doing = self.timeline, time.perf_counter_ns(), ("launching page", page.number)
        work.launch(page, buffer)
        if timeline is not None:
            timeline.mark_end(timeline.track_of(buffer.stream), "gather and apply", page, began, buffer.stream)
        if not work.copies_back:
            buffer.idle.record(buffer.stream)
            return
        buffer.computed.record(buffer.stream)
        back.wait_for_event(buffer.computed)
        work.copy_back(page, back)
        if timeline is not None:
            timeline.mark_end(TO_HOST, "copy", page, began, back)
        buffer.idle.record(back)

    def places(self, page: Page, buffer: Buffer) -> list[int]:
        """The addresses of a page's arrays in a buffer."""
        if page.number < len(self._resident):
            return buffer.addresses
        if page.number not in self._offsets:
            self._offsets[page.number] = places(self._arrays.sizes(self._pages[page.number]))[:-1]
        return [buffer.addresses[0] + at for at in self._offsets[page.number]]


def joined(first: Page, last: Page) -> Page:
    """The pages from `first` to `last` as one."""
    return Page(first.number, first.first_vertex, last.last_vertex, first.first_edge, last.last_edge)
