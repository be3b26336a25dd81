"""Pages through the GPU over N streams (Garaph section 5.2): copies, kernels and write-backs overlap.

A page's edges are copied into a buffer on the buffer's own stream, and its kernels launched behind the copy on the same
stream, so that they begin when it ends; streams of their own take new values back. All of that is put there by one
thread, which then waits, without the GIL, for the next that ends: the paper's two threads, one that copies and one
that computes, would wait for each other's Python more than for the GPU.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ...events import Span
from ...native.threads import available_cores
from ...pages.layout import Page
from ...pages.source import PageSource
from ...system import interrupts
from ...system.watchdog import Heartbeat
from .device import Device
from .edges import EdgeLayout, host_arrays, page_bytes, places
from .memory import DeviceMemory
from .residency import Residency
from .timeline import MANY, TO_DEVICE, TO_HOST, Timeline

Split = Callable[[Page, int], tuple[Page | None, Page]]

COPIES = 3
"""Copies that wait for each other: enough to keep the engine busy; what is not begun somebody else may take."""
AHEAD = 4
"""Pages that stay, launched and not ended, likewise."""
COMPUTE_STREAMS = 3
"""For pages that stay: where one's kernel ends, the next one's fills the multiprocessors. With a stream a page, the
gathers of all would run before the first one's values could leave."""
NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
FEW_CORES = 4
"""With no more, who waits for the GPU sleeps: that takes some 50 microseconds longer, but no core from who works."""


@dataclass
class Buffer:
    """Device memory for a page's edges, and the stream that fills and reads it.

    Attributes
    ----------
    address : int
    stream : pycuda.driver.Stream
    copied, computed, idle : pycuda.driver.Event
        Recorded when the copy into the buffer, the kernels on it, and the copies back are to have ended.
    page : Page or None
        What it holds.
    """

    address: int
    stream: Any
    copied: Any
    computed: Any
    idle: Any
    page: Page | None = None


@dataclass
class ThreadTime(Heartbeat):
    """What a thread is doing, and where its seconds went.

    Those neither waited nor used it spent waiting for the GIL, or for a core.
    """

    wall: float = 0.0
    waited: float = 0.0
    used: float = 0.0

    @property
    def lost(self) -> float:
        return self.wall - self.waited - self.used

    @contextmanager
    def running(self) -> Iterator[None]:
        wall, used = time.perf_counter(), time.thread_time()
        try:
            yield
        finally:
            self.wall += time.perf_counter() - wall
            self.used += time.thread_time() - used

    def waiting(self, *what: object) -> Wait:
        """Waiting for `what` in compiled code, without the GIL; a driver that spins meanwhile uses nothing of ours."""
        self.doing = "waiting for", *what
        return Wait(self)


class Wait:
    """A `ThreadTime` waits."""

    def __init__(self, thread: ThreadTime) -> None:
        self._thread = thread

    def __enter__(self) -> None:
        self._wall, self._used = time.perf_counter(), time.thread_time()

    def __exit__(self, *_: object) -> None:
        self._thread.waited += time.perf_counter() - self._wall
        self._thread.used -= time.thread_time() - self._used


@dataclass
class PageQueue:
    """Pages that nobody has taken yet. The two ends of `coming` belong to different threads.

    Attributes
    ----------
    held : deque of (Page, Buffer)
        Whose edges are left in a stream's buffer, for which other pages wait: nobody else may take these.
    here : deque of (Page, Buffer)
        Whose edges stay on the device.
    coming : deque of Page
        Whose edges have to be copied.
    split : callable or None
        ``split(page, edges)``: a page as two, the last with about so many edges (`pages.layout.cut`); where a part of a
        page can be processed as a whole one is.
    copying : int
        Edges on their way.
    """

    held: deque[tuple[Page, Buffer]]
    here: deque[tuple[Page, Buffer]]
    coming: deque[Page]
    split: Split | None
    copying: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(
        cls, pages: Iterable[Page], held: Mapping[Page, Buffer], here: Mapping[Page, Buffer], split: Split | None = None
    ) -> PageQueue:
        """Of `pages` in the order in which they are best taken, those that are `held` and `here` apart."""
        waiting = cls(deque(), deque(), deque(), split)
        for page in pages:
            if page in here:
                waiting.here.append((page, here[page]))
            elif page in held:
                waiting.held.append((page, held[page]))
            else:
                waiting.coming.append(page)
        return waiting

    def next_here(self) -> tuple[Page, Buffer] | None:
        """The next page that need not be copied, or None."""
        with self.lock:
            pages = self.held or self.here
            return pages.popleft() if pages else None

    @property
    def is_empty(self) -> bool:
        return not (self.held or self.here or self.coming)

    def first_coming(self) -> Page | None:
        """The next page to be copied, which others may take meanwhile only if it is the last as well; or None."""
        with self.lock:
            return self.coming[0] if self.coming else None

    def all_coming(self) -> list[Page]:
        """The pages to be copied, in their order."""
        with self.lock:
            return list(self.coming)

    def next_coming(self) -> Page | None:
        """The next page to be copied, or None; it counts as being copied until `arrived`."""
        with self.lock:
            if not self.coming:
                return None
            page = self.coming.popleft()
            self.copying += page.edges
            return page

    def arrived(self, page: Page) -> None:
        with self.lock:
            self.copying -= page.edges

    @property
    def edges(self) -> int:
        """Of the pages that have to be copied, or are being copied."""
        with self.lock:
            return self.copying + sum(page.edges for page in self.coming)

    def steal(self, most: int | None) -> Page | None:
        """See `Pages.steal`: about half of `most` edges, so that the rest can be shared again."""
        with self.lock:
            if most is None:
                return self.coming.pop() if self.coming else self.here.pop()[0] if self.here else None
            taken = None
            while self.coming and (left := most // 2 - (taken.edges if taken else 0)) > 0:
                page, rest = self.coming[-1], None
                if taken is not None and page.last_vertex != taken.first_vertex:
                    break
                if self.split is not None and page.edges > left:
                    rest, page = self.split(page, left)
                if page.edges > left + most // 2:
                    break
                if rest is None:
                    self.coming.pop()
                else:  # in place: whoever looks meanwhile must not find that nothing is left
                    self.coming[-1] = rest
                taken = (
                    page if taken is None else replace(page, last_vertex=taken.last_vertex, last_edge=taken.last_edge)
                )
            return taken

    def clear(self) -> None:
        """Nobody is to take any of them."""
        with self.lock:
            for pages in (self.held, self.here, self.coming):
                pages.clear()


class Work(Protocol):
    """What is done with every page; it is put on streams."""

    def compute(self, page: Page, buffer: Buffer) -> None:
        """Launch the kernels of a page whose edges are, or will be, in `buffer`, on its stream."""

    def bring(self, page: Page, stream: Any) -> None:
        """Copy to the host what they change."""

    def landed(self, page: Page, copied: int) -> None:
        """All of that has happened, after so many bytes of the page's edges were copied to the device."""


class Streams:
    """The buffers of a `Residency` and the work on them. The device's context must be current.

    Parameters
    ----------
    arrays : EdgeLayout
        What a page's edges are there.
    spans : list of Span, optional
        Where to tell when each stream computes and each engine copies.

    Attributes
    ----------
    compute : list of pycuda.driver.Stream
        For the kernels of pages that stay, in turns.
    back, back_early, forth : pycuda.driver.Stream
        For copies to the host: of pages that are copied, and of those that need not be, whose values would wait for
        these copies on the same stream; and for values from the host.
    thread : ThreadTime
        Of whoever calls `process`.
    timeline : Timeline or None
        Hears when the GPU copies and computes, if somebody wants to know.
    """

    def __init__(
        self, device: Device, residency: Residency, arrays: EdgeLayout, memory: DeviceMemory,
        spans: list[Span] | None = None,
    ) -> None:  # fmt: skip
        self._device, self._arrays = device, arrays
        self._pages, self._offsets = residency.pages, dict[int, list[int]]()  # of a page's arrays in its buffer
        driver = device.driver
        self.compute = [driver.Stream() for _ in range(COMPUTE_STREAMS)]
        self.back, self.back_early, self.forth = driver.Stream(), driver.Stream(), driver.Stream()
        self._ahead = driver.Stream(NON_BLOCKING)
        self._ahead_bytes = dict[int, int]()  # of pages that stay, copied and not yet processed
        streams = [driver.Stream() for _ in range(residency.streams)] if residency.buffer_bytes else []
        self._resident = [
            self._buffer(memory, f"page {page.number}", page_bytes(page, arrays), self.compute[0])
            for page in residency.pages[: residency.resident]
        ]
        self._streams = [*self.compute, *streams]
        self._free = deque(
            self._buffer(memory, f"stream {k}", residency.buffer_bytes, stream) for k, stream in enumerate(streams)
        )
        self.thread = ThreadTime("GPU's thread")
        self.timeline = None if spans is None else Timeline(driver, self._streams, spans)

    def _buffer(self, memory: DeviceMemory, name: str, nbytes: int, stream: Any) -> Buffer:
        driver = self._device.driver
        flags = driver.event_flags.DISABLE_TIMING
        if available_cores() <= FEW_CORES:
            flags |= driver.event_flags.BLOCKING_SYNC
        return Buffer(memory.allocate(name, nbytes), stream, *(driver.Event(flags) for _ in range(3)))

    def tell(self) -> None:
        """Tell what the trace has not been told yet."""
        if self.timeline is not None:
            self.timeline.tell(self.back)

    def resident(self, page: Page) -> Buffer:
        """The buffer of a page that stays."""
        return self._resident[page.number]

    def has(self, page: Page) -> bool:
        """Whether a page stays, and is there or on its way."""
        return page.number < len(self._resident) and self._resident[page.number].page is not None

    def prefetch(self, source: PageSource) -> None:
        """Start to copy the pages that stay. They need not have come when this returns, or when `process` begins.

        What is put on the default stream meanwhile, as values are, does not wait for them.
        """
        filled = self._device.driver.Event()
        filled.record()  # buffers are made by filling them with zeros, on the default stream
        self._ahead.wait_for_event(filled)
        for page, buffer in zip(self._pages, self._resident, strict=False):
            if buffer.page is None:
                buffer.stream = self._ahead
                self._ahead_bytes[page.number] = self._copy(page, buffer, source)
        self.thread.doing = ("idle",)

    def order(self, pages: Iterable[Page], shared: bool = False, split: Split | None = None) -> PageQueue:
        """The pages of one `process`, as they are best taken; others may steal some, if `shared`, and parts by `split`.

        Those that the last one left in the streams' buffers come first, and are not copied again.
        """
        ordered = best_order(pages, shared)
        for k, page in enumerate(ordered):
            if page.number < len(self._resident):
                self._resident[page.number].stream = self.compute[k % COMPUTE_STREAMS]
        here = {buffer.page: buffer for buffer in self._resident if buffer.page is not None}
        return PageQueue.of(ordered, self._held(set(ordered)), here, split)

    def _held(self, wanted: set[Page]) -> dict[Page, Buffer]:
        """The streams' buffers in which a wanted page is left from before; they are no longer free."""
        held: dict[Page, Buffer] = {}
        for _ in range(len(self._free)):
            buffer = self._free.popleft()
            if buffer.page is not None and buffer.page in wanted and buffer.page not in held:
                held[buffer.page] = buffer
            else:
                self._free.append(buffer)
        return held

    def process(self, waiting: PageQueue, source: PageSource, work: Work) -> None:
        """Copy the pages that wait, where they are not there, and have the `work` done with each, or with what nobody
        stole of it; return when all have landed."""
        copies: deque[tuple[Page, Buffer]] = deque()
        most = min(COPIES, source.max_in_flight)
        stayed, came = deque[tuple[Page, Buffer, int]](), deque[tuple[Page, Buffer, int]]()  # launched
        thread = self.thread
        try:
            source.prefetch(waiting.all_coming())
            with thread.running():
                while True:
                    interrupts.check()
                    while copies and copies[0][1].copied.query():
                        arrived = copies.popleft()[0]
                        waiting.arrived(arrived)
                        source.release(arrived)
                    for launched in (stayed, came):
                        while launched and launched[0][1].idle.query():
                            self._end(*launched.popleft(), work)
                    if len(copies) < most and (taken := self._room(waiting)):
                        copied = self._copy(*taken, source)
                        copies.append(taken)
                        came.append((*taken, copied))
                        self._launch(*taken, work, self.back)
                    elif len(stayed) < AHEAD and (taken := waiting.next_here()):
                        copied = self._ahead_bytes.pop(taken[0].number, 0)
                        if copied:
                            taken[1].stream.wait_for_event(taken[1].copied)
                        stayed.append((*taken, copied))
                        self._launch(*taken, work, self.back_early)
                    elif waiting.is_empty:
                        break
                    elif stayed:
                        with thread.waiting("page", stayed[0][0].number):
                            stayed[0][1].idle.synchronize()
                    elif len(copies) == most:
                        with thread.waiting("the copy of page", copies[0][0].number):
                            copies[0][1].copied.synchronize()
                    elif came:
                        with thread.waiting("page", came[0][0].number):
                            came[0][1].idle.synchronize()
                with thread.waiting("new values to be copied to the host"):
                    self.back_early.synchronize()
                    self.back.synchronize()
                for page, _ in copies:
                    source.release(page)
                for ended in (*stayed, *came):
                    self._end(*ended, work)
            if self.timeline is not None:
                self.timeline.tell(self.back, MANY)
        except BaseException:  # nothing writes to the caller's arrays after this call
            waiting.clear()
            with suppress(self._device.driver.Error):
                self._device.driver.Context.synchronize()
            raise
        finally:
            thread.doing = ("idle",)

    def _room(self, waiting: PageQueue) -> tuple[Page, Buffer] | None:
        """The next page to be copied, and the buffer for it, if there is one."""
        page = waiting.first_coming()
        if page is None or (page.number >= len(self._resident) and not self._free):
            return None
        taken = waiting.next_coming()
        if taken is None:  # somebody took the last one
            return None
        return taken, self._resident[taken.number] if taken.number < len(self._resident) else self._free.popleft()

    def _copy(self, page: Page, buffer: Buffer, source: PageSource) -> int:
        """Start to copy a page's edges to where they stand in whole runs; how many bytes."""
        copied, began, self.thread.doing = 0, time.perf_counter_ns(), ("copying page", page.number)
        # without the edge values, if the program does not read them
        for (array, into), place in zip(host_arrays(source.edges(page)), self.places(page, buffer), strict=False):
            if array.nbytes:
                self._device.driver.memcpy_htod_async(place + into, array, buffer.stream)
                copied += array.nbytes
        if self.timeline is not None:
            self.timeline.ends(TO_DEVICE, "copy", page, began, buffer.stream)
        buffer.page = page
        buffer.copied.record(buffer.stream)
        return copied

    def _launch(self, page: Page, buffer: Buffer, work: Work, back: Any) -> None:
        """Put the work with a page on the streams, what it changes on `back`."""
        timeline, began, self.thread.doing = self.timeline, time.perf_counter_ns(), ("launching page", page.number)
        work.compute(page, buffer)
        if timeline is not None:
            timeline.ends(timeline.stream(buffer.stream), "gather and apply", page, began, buffer.stream)
        buffer.computed.record(buffer.stream)
        back.wait_for_event(buffer.computed)
        work.bring(page, back)
        if timeline is not None:
            timeline.ends(TO_HOST, "copy", page, began, back)
        buffer.idle.record(back)

    def _end(self, page: Page, buffer: Buffer, copied: int, work: Work) -> None:
        """All of it has happened."""
        work.landed(page, copied)
        if page.number >= len(self._resident):
            self._free.append(buffer)

    def places(self, page: Page, buffer: Buffer) -> list[int]:
        """Addresses of the page's arrays in a buffer."""
        if page.number not in self._offsets:
            self._offsets[page.number] = places(self._arrays.sizes(self._pages[page.number]))[:-1]
        return [buffer.address + at for at in self._offsets[page.number]]


def best_order(pages: Iterable[Page], shared: bool) -> list[Page]:
    """Those with most vertices first: what they send back is hidden behind the others. Where others steal from the end,
    in the order of their vertices, so that what they take is one piece."""
    return sorted(pages, key=lambda page: page.number if shared else page.first_vertex - page.last_vertex)
