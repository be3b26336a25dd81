"""Pages through the GPU over N streams (Garaph section 5.2): copies, kernels and write-backs overlap.

A transmission thread copies pages that are not there into buffers, each on its own stream; the calling thread, the
computation thread, launches kernels on the stream of a page's buffer, so that they begin when the copy ends. Neither
sleeps: they wait for events and a queue, without the GIL.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ..events import Span
from ..pages.layout import Page
from ..pages.source import PageSource
from .device import Device, failing
from .edges import EdgeArrays, host_arrays, page_bytes, places
from .memory import DeviceMemory
from .residency import Residency
from .timeline import TO_DEVICE, TO_HOST, Timeline

Array = npt.NDArray[Any]

AHEAD = 4
"""Pages launched and not ended while more wait: what is not launched somebody else may take."""
COMPUTE_STREAMS = 3
"""For pages that stay: where one's kernel ends, the next one's fills the multiprocessors. With a stream a page, the
gathers of all would run before the first one's values could leave."""


@dataclass
class Buffer:
    """Device memory for a page's edges, and the stream that fills and reads it.

    Attributes
    ----------
    address : int
    stream : pycuda.driver.Stream
    idle : pycuda.driver.Event
        Recorded when what was launched on the buffer is to have ended.
    page : int or None
        Number of the page it holds.
    """

    address: int
    stream: Any
    idle: Any
    page: int | None = None


@dataclass
class ThreadTime:
    """Where a thread's seconds went: those neither waited nor used it spent waiting for the GIL, or for a core."""

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

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Waiting in compiled code, without the GIL; a driver that spins meanwhile uses nothing of ours."""
        wall, used = time.perf_counter(), time.thread_time()
        try:
            yield
        finally:
            self.waited += time.perf_counter() - wall
            self.used -= time.thread_time() - used


@dataclass
class Waiting:
    """Pages that nobody has taken yet. Each end of a deque may be popped by another thread.

    Attributes
    ----------
    held : deque of (Page, Buffer)
        Whose edges are left in a stream's buffer, for which other pages wait: nobody else may take these.
    here : deque of (Page, Buffer)
        Whose edges stay on the device.
    coming : deque of Page
        Whose edges have to be copied.
    """

    held: deque[tuple[Page, Buffer]]
    here: deque[tuple[Page, Buffer]]
    coming: deque[Page]

    @classmethod
    def of(cls, pages: Iterable[Page], held: Mapping[int, Buffer], here: Mapping[int, Buffer]) -> Waiting:
        """Of `pages` in the order in which they are best taken, those whose numbers are in `held` and `here` apart."""
        waiting = cls(deque(), deque(), deque())
        for page in pages:
            if page.number in here:
                waiting.here.append((page, here[page.number]))
            elif page.number in held:
                waiting.held.append((page, held[page.number]))
            else:
                waiting.coming.append(page)
        return waiting

    def next_here(self) -> tuple[Page, Buffer] | None:
        """The next page that need not be copied, or None."""
        try:
            return self.held.popleft() if self.held else self.here.popleft()
        except IndexError:
            return None

    @property
    def edges(self) -> int:
        """Of the pages that have to be copied."""
        return sum(page.edges for page in self.coming.copy())

    def last(self, everything: bool) -> Page | None:
        """What `steal` would take."""
        try:
            return self.coming[-1] if self.coming or not everything else self.here[-1][0]
        except IndexError:
            return None

    def steal(self, everything: bool) -> Page | None:
        """The last page to be copied, for another processor; of `everything`, else the last that is here. Or None."""
        try:
            return self.coming.pop() if self.coming or not everything else self.here.pop()[0]
        except IndexError:
            return None


class Streams:
    """The buffers of a `Residency` and the two threads' work on them. The device's context must be current.

    Parameters
    ----------
    arrays : EdgeArrays
        What a page's edges are there.

    Attributes
    ----------
    compute : list of pycuda.driver.Stream
        For the kernels of pages that stay, in turns.
    back, forth : pycuda.driver.Stream
        For all copies to the host, and for values from there.
    transmission, computation : ThreadTime
    timeline : Timeline or None
        Hears when the GPU copies and computes, after `trace`.
    """

    timeline: Timeline | None = None

    def __init__(self, device: Device, residency: Residency, arrays: EdgeArrays, memory: DeviceMemory) -> None:
        self._device, self._arrays = device, arrays
        self._offsets: dict[int, list[int]] = {}  # of a page's arrays in its buffer
        driver = device.driver
        self.compute, self.back = [driver.Stream() for _ in range(COMPUTE_STREAMS)], driver.Stream()
        self.forth = driver.Stream()
        streams = [driver.Stream() for _ in range(residency.streams)] if residency.buffer_bytes else []
        self._resident = [
            self._buffer(memory, f"page {page.number}", page_bytes(page, arrays), self.compute[0])
            for page in residency.pages[: residency.resident]
        ]
        self._free: queue.SimpleQueue[Buffer | None] = queue.SimpleQueue()  # whose page's kernels have been launched
        self._streams = [*self.compute, *streams]
        for k, stream in enumerate(streams):
            self._free.put(self._buffer(memory, f"stream {k}", residency.buffer_bytes, stream))
        self.transmission, self.computation = ThreadTime(), ThreadTime()

    def _buffer(self, memory: DeviceMemory, name: str, nbytes: int, stream: Any) -> Buffer:
        flags = self._device.driver.event_flags
        idle = self._device.driver.Event(flags.BLOCKING_SYNC | flags.DISABLE_TIMING)
        return Buffer(memory.allocate(name, nbytes), stream, idle)

    def trace(self, spans: list[Span]) -> None:
        """Add to `spans` from now on when each stream computes and each engine copies."""
        self.timeline = Timeline(self._device.driver, self._streams, spans)

    def resident(self, page: Page) -> Buffer:
        """The buffer of a page that stays."""
        return self._resident[page.number]

    def order(self, pages: Iterable[Page]) -> Waiting:
        """The pages of one `process`, as they are best taken.

        Those that the last one left in the streams' buffers come first, and are not copied again.
        """
        ordered = best_order(pages)
        resident = len(self._resident)
        for k, page in enumerate(ordered):
            if page.number < resident:
                self._resident[page.number].stream = self.compute[k % COMPUTE_STREAMS]
        here = {number: buffer for number, buffer in enumerate(self._resident) if buffer.page == number}
        return Waiting.of(ordered, self._held({page.number for page in ordered}), here)

    def process(
        self,
        waiting: Waiting,
        source: PageSource,
        compute: Callable[[Page, Buffer], None],
        bring: Callable[[Page, Any], None],
    ) -> dict[int, int]:
        """For every page, ``compute(page, buffer)`` launches its kernels and ``bring(page, stream)`` copies to the host
        what they change; return when all have ended.

        Returns
        -------
        dict of int to int
            The pages, and the bytes that had to be copied for each.
        """
        copied: dict[int, int] = {}
        launched: deque[Buffer] = deque()
        timeline = self.timeline
        arrived: queue.SimpleQueue[tuple[Page, Buffer, int] | BaseException | None] = queue.SimpleQueue()
        thread = None
        if waiting.coming:
            task = (waiting.coming, source, arrived)
            thread = threading.Thread(target=self._transmit, args=task, name="garaph-transmission", daemon=True)
            thread.start()

        def launch(page: Page, buffer: Buffer) -> None:
            with timeline.computing(page, buffer.stream) if timeline else nullcontext():
                compute(page, buffer)
            buffer.idle.record(buffer.stream)
            self.back.wait_for_event(buffer.idle)
            with timeline.copying(TO_HOST, page, self.back) if timeline else nullcontext():
                bring(page, self.back)
            if page.number >= len(self._resident):
                self._free.put(buffer)

        account = self.computation
        try:
            with account.running():
                while waiting.held or waiting.here or thread is not None:
                    if (waiting.held or waiting.here) and (thread is None or arrived.empty()):
                        if len(launched) == AHEAD:
                            with account.waiting():
                                launched.popleft().idle.synchronize()
                        if (taken := waiting.next_here()) is not None:
                            copied[taken[0].number] = 0
                            launch(*taken)
                            launched.append(taken[1])
                        continue
                    with account.waiting():
                        item = arrived.get()
                    if isinstance(item, BaseException):
                        raise item
                    if item is None:
                        assert thread is not None
                        thread.join()
                        thread = None
                        continue
                    copied[item[0].number] = item[2]
                    launch(item[0], item[1])
                with account.waiting():
                    self.back.synchronize()
            if timeline is not None:
                timeline.tell(self.back)
        finally:
            if thread is not None:
                self._free.put(None)  # an error here ends the other thread too
                thread.join()
        return copied

    def _held(self, wanted: set[int]) -> dict[int, Buffer]:
        """The streams' buffers in which a wanted page is left from before, by its number; they are no longer free."""
        buffers = [self._free.get() for _ in range(self._free.qsize())]
        held: dict[int, Buffer] = {}
        for buffer in buffers:
            if buffer is not None and buffer.page in wanted:
                held[buffer.page] = buffer
            elif buffer is not None:
                self._free.put(buffer)
        return held

    def _transmit(self, coming: deque[Page], source: PageSource, arrived: Any) -> None:
        """The transmission thread."""
        account = self.transmission
        try:
            with self._device, failing(self._device.driver), account.running():
                while first := peek(coming):
                    if first.number < len(self._resident):
                        free = None
                    else:  # a page is taken only when there is room for it
                        with account.waiting():
                            free = self._free.get()
                            if free is None:
                                return
                            free.idle.synchronize()
                    try:
                        page = coming.popleft()
                    except IndexError:  # somebody took the last one
                        if free is not None:
                            self._free.put(free)
                        break
                    buffer = self._resident[page.number] if free is None else free
                    timeline = self.timeline
                    with timeline.copying(TO_DEVICE, page, buffer.stream) if timeline else nullcontext():
                        copied = self._copy(page, source, buffer)
                    buffer.page = page.number
                    arrived.put((page, buffer, copied))
            arrived.put(None)
        except BaseException as error:
            arrived.put(error)

    def _copy(self, page: Page, source: PageSource, buffer: Buffer) -> int:
        """Start to copy a page's edges to where they stand in whole runs; how many bytes."""
        copied = 0
        # without the edge values, if the program does not read them
        for (array, into), place in zip(host_arrays(source.edges(page)), self.places(page, buffer), strict=False):
            if array.nbytes:
                self._device.driver.memcpy_htod_async(place + into, array, buffer.stream)
                copied += array.nbytes
        return copied

    def places(self, page: Page, buffer: Buffer) -> list[int]:
        """Addresses of the page's arrays in a buffer."""
        if page.number not in self._offsets:
            self._offsets[page.number] = places(self._arrays.sizes(page))[:-1]
        return [buffer.address + at for at in self._offsets[page.number]]


def best_order(pages: Iterable[Page]) -> list[Page]:
    """Those with most vertices first: what they send back is hidden behind the others."""
    return sorted(pages, key=lambda page: page.first_vertex - page.last_vertex)


def peek(pages: deque[Page]) -> Page | None:
    """The first, which others may take meanwhile only if it is the last as well."""
    try:
        return pages[0]
    except IndexError:
        return None
