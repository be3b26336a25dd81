"""Streams pages through the GPU on N CUDA streams (Garaph section 5.2): copies in, kernels and copies back overlap.

The kernels of a page are launched on the same stream as the copy of its edges, so they begin when the copy ends. Two
other streams copy new values to the host. One thread, the GPU thread, launches all of this; then it waits, without the
GIL, for the next copy or page to end. The paper uses two threads, one that copies and one that computes; so does
two_threads.py. In Python these wait longer for the GIL than for the GPU.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Protocol

from ...events import Listener, Span, Step
from ...pages.layout import Page, joined
from ...pages.queue import PageQueue, Split, device_order, take_buffered
from ...pages.source import PageSource
from ...system import interrupts
from ..decision import PageDecision
from ..modes import COPIED
from .buffers import Buffer, Buffers
from .device import Device
from .device_graph import DeviceGraph
from .edges import EdgeLayout, host_arrays
from .handles import NON_BLOCKING
from .mapped import FarPages, MappedEdges
from .named import named_pages
from .pipeline import AWAIT_COPY, COPY_AND_LAUNCH, LAUNCH, MAX_COPIES, Pipeline
from .reorder import HubEdges
from .residency import Residency
from .thread_time import ThreadTime
from .timeline import MANY, TO_DEVICE, Timeline
from .transfer import TRANSFERS, HostPages, Transfer, byte_count, copies

COMPUTE_STREAMS = 3
"""Streams for the kernels of resident pages, which use them in turn. With one stream, multiprocessors would idle while
the last blocks of a kernel run. With one stream per page, the GPU could copy back no values until nearly all gathers
have ended."""


Awaited = tuple[Any, ...]
"""An event, with `query` and `synchronize`, and what it stands for, in words; None if there is nothing to wait for."""
GO_ON: Awaited = (None,)
"""Nothing to wait for, but another GPU may have its turn."""


class Work(Protocol):
    """What an iteration does with each page."""

    @property
    def name(self) -> str:
        """What the kernels do, as the spans of a trace name it."""

    @property
    def copies_to(self) -> str | None:
        """The track of the copies that `copy_back` makes; None if it makes none."""

    def launch(self, page: Page, buffer: Buffer) -> None:
        """Launch the kernels of a page on the stream of `buffer`, which holds its edges when they run."""

    def copy_back(self, page: Page, stream: Any) -> None:
        """Start to copy the page's new values to the host, or to other GPUs, on `stream`."""

    def on_complete(self, page: Page, copied: int) -> None:
        """Called when the page's new values are on the host; `copied` bytes of its edges were copied to the device."""


class Streams:
    """The streams of a device, and what they do with the pages of a `Residency`. The device's context must be current.

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
    there : HubEdges or MappedEdges or FarPages, optional
        Edges that need no copy (`Buffers`).

    Attributes
    ----------
    device : Device
    buffers : Buffers
        Which page's edges are where.
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
        spans: list[Span] | None = None, transfer: str = COPIED,
        there: HubEdges | MappedEdges | FarPages | None = None,
    ) -> None:  # fmt: skip
        self.device, self._transfer = device, TRANSFERS[transfer](device)
        self._transfer_name, self._host = transfer, HostPages()
        self._keeps, self._handles = residency.keeps, kept.handles
        self.compute = [self._handles.stream() for _ in range(COMPUTE_STREAMS)]
        self.back, self.back_early, self.forth = (self._handles.stream() for _ in range(3))
        self._prefetch = self._handles.stream(NON_BLOCKING)
        self.buffers = Buffers(residency, arrays, kept, self.compute[0], there, at_once=spans is None)
        self.thread = ThreadTime(f"GPU {device.number}'s thread" if device.number else "GPU's thread")
        self.timeline = (
            None
            if spans is None
            else Timeline(device.driver, [*self.compute, *self.buffers.streams], spans, device.number)
        )

    def event(self) -> Any:
        """Another event, which can tell the time."""
        return self._handles.event()

    @property
    def heartbeats(self) -> list[ThreadTime]:
        """The watchdog's heartbeats of the threads that put work on the streams."""
        return [self.thread]

    def write_spans(self, least: int = 1) -> None:
        """Write the spans of all copies and computations that have ended, if there are at least so many marks."""
        if self.timeline is not None:
            self.timeline.write_spans(self.back, least)

    def way_of(self, page: Page, copied: int) -> str:
        """How a page's edges reached the GPU in an iteration for which `copied` bytes of them were copied."""
        if copied:
            return self._transfer_name
        return self.buffers.way_of(page)

    def prefetch(self, source: PageSource, transfer: Transfer | None = None) -> None:
        """Start to copy the resident pages: one by one, or all at once by `transfer` if it is given.

        The copies may end after this call, and after `process` begins.

        The copies are on a stream of their own, so that work on the default stream, such as copies of values, does not
        wait for them.
        """
        filled = self._handles.event()
        filled.record()  # the default stream fills new buffers with zeros
        self._prefetch.wait_for_event(filled)
        missing = self.buffers.missing()
        if transfer is not None and missing:
            self._copy_at_once(missing, source, transfer)
        else:
            for page, buffer in missing:
                self.thread.doing = ("copying page", page.number)
                self.copy(page, buffer, source, self._prefetch)
        self.thread.doing = ("idle",)

    def _copy_at_once(self, missing: list[tuple[Page, Buffer]], source: PageSource, transfer: Transfer) -> None:
        """Copy consecutive resident pages, which adjoin each other on the device too, as if they were one page."""
        (first, buffer), (last, _) = missing[0], missing[-1]
        whole = joined(first, last)
        began, self.thread.doing = time.perf_counter_ns(), ("copying pages", first.number, "to", last.number)
        wanted = self.buffers.wanted(whole, buffer)
        transfer.send(host_arrays(source.edges(whole)), wanted, self._prefetch)
        self.mark("copy", began, self._prefetch, TO_DEVICE, whole)
        for page, buffer in missing:
            buffer.page, buffer.copied_bytes = page, byte_count(copies(host_arrays(source.edges(page)), wanted))
            buffer.copied.record(self._prefetch)

    def fill(self, source: PageSource, listener: Listener) -> None:
        """Copy the resident pages that are neither on the device nor being copied there, and wait for all copies."""
        missing, coming = [page for page, _ in self.buffers.missing()], self.buffers.coming()
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
        order: Sequence[int] | None = None, named: Mapping[int, PageDecision] = MappingProxyType({}),
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
        named : mapping of int to PageDecision
            Its decisions for single pages. Nobody steals those for the device. Those that are to be copied are, also if
            they are still in the buffers of streams.
        """
        ordered = device_order(pages, shared, order)
        own, copied, far = named_pages(ordered, named)
        self.buffers.read_far([page for page in far if page.number >= len(self.buffers.staying)])
        for k, page in enumerate(ordered):
            if (buffer := self.buffers.of(page)) is not None:
                buffer.stream = self.compute[k % COMPUTE_STREAMS]
        in_place = (*self.buffers.staying, *self.buffers.far.values())
        resident = {buffer.page: buffer for buffer in in_place if buffer.page is not None}
        buffered = take_buffered(self.buffers.free, {*ordered}.difference(copied, far)) if self._keeps else {}
        return PageQueue.of(ordered, buffered, resident, split, own)

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
            self.write_spans(MANY)
        finally:
            self.buffers.read_far(())
            self.thread.doing = ("idle",)

    def _drive(self, queue: PageQueue[Buffer], source: PageSource, work: Work) -> Iterator[Awaited]:
        """Put all work on the streams."""
        thread = self.thread
        pipeline = Pipeline(queue, self.buffers.of, self.buffers.free, min(MAX_COPIES, source.max_in_flight))
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
                if queue.others is not None and not queue.streamed:
                    yield GO_ON  # before this GPU steals another page of theirs
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

    def copy(self, page: Page, buffer: Buffer, source: PageSource, on: Any = None) -> None:
        """Start to copy a page's edges, on its buffer's stream or another one.

        The buffer keeps its own stream in any case. Kernels over all edges are launched there, so it must be one for
        which the default stream waits; `prefetch` copies on a stream for which it does not.
        """
        began, stream = time.perf_counter_ns(), buffer.stream if on is None else on
        copied = self._transfer.send(self._host.arrays(page, source), self.buffers.wanted(page, buffer), stream)
        self.mark("copy", began, stream, TO_DEVICE, page)
        buffer.page, buffer.copied_bytes = page, copied
        buffer.copied.record(stream)

    def _launch_on_device(self, page: Page, buffer: Buffer, work: Work) -> None:
        """Launch the kernels of a page whose edges are on the device, or are being copied there by `prefetch`."""
        if buffer.copied_bytes:  # on another stream
            buffer.stream.wait_for_event(buffer.copied)
        self._launch(page, buffer, work, self.back_early)

    def _launch(self, page: Page, buffer: Buffer, work: Work, back: Any) -> None:
        """Launch the kernels of a page on its buffer's stream, and then the copies to the host on the stream `back`."""
        began, self.thread.doing = time.perf_counter_ns(), ("launching page", page.number)
        work.launch(page, buffer)
        self.mark(work.name, began, buffer.stream, page=page)
        if work.copies_to is None:
            buffer.idle.record(buffer.stream)
            return
        buffer.computed.record(buffer.stream)
        back.wait_for_event(buffer.computed)
        work.copy_back(page, back)
        self.mark("copy", began, back, work.copies_to, page)
        buffer.idle.record(back)

    def mark(self, name: str, began: int, stream: Any, track: str | None = None, page: Page | None = None) -> None:
        """Mark the end of the work that was put on `stream` since `began`, if spans are wanted: for a page, or for all
        edges that it needed. The track is by default that of a stream that computes."""
        if self.timeline is not None:
            self.timeline.mark_end(track or self.timeline.track_of(stream), name, page, began, stream)
