"""Pages through the GPU over N streams (Garaph section 5.2): copies, kernels and write-backs overlap.

A transmission thread copies pages that are not there into buffers, each on its own stream; the calling thread, the
computation thread, launches kernels on the stream of a page's buffer, so that they begin when the copy ends. Neither
sleeps: they wait for events and a queue, without the GIL.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
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
    back : pycuda.driver.Stream
        For all copies to the host.
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

    def process(
        self,
        pages: Iterable[Page],
        source: PageSource,
        compute: Callable[[Page, Buffer], None],
        bring: Callable[[Page, Any], None],
    ) -> dict[int, int]:
        """For every page, ``compute(page, buffer)`` launches its kernels and ``bring(page, stream)`` copies to the host
        what they change; return when all have ended.

        Pages that the last iteration left in the streams' buffers come first, and are not copied again.

        Returns
        -------
        dict of int to int
            Bytes copied for each page that had to be.
        """
        copied: dict[int, int] = {}
        timeline = self.timeline
        # those with most vertices first: what they send back is hidden behind the others
        ordered = sorted(pages, key=lambda page: page.first_vertex - page.last_vertex)
        held = self._held({page.number for page in ordered})
        here: list[tuple[Page, Buffer]] = []
        coming: list[Page] = []
        for k, page in enumerate(ordered):
            if page.number < len(self._resident):
                buffer = self._resident[page.number]
                buffer.stream = self.compute[k % COMPUTE_STREAMS]
                here += [(page, buffer)] * (buffer.page == page.number)
                coming += [page] * (buffer.page != page.number)
            elif page.number in held:
                here.insert(0, (page, held[page.number]))  # first of all: others wait for its buffer
            else:
                coming.append(page)
        arrived: queue.SimpleQueue[tuple[Page, Buffer, int] | BaseException | None] = queue.SimpleQueue()
        thread = None
        if coming:
            task = (coming, source, arrived)
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
                while here or thread is not None:
                    if here and (thread is None or arrived.empty()):
                        launch(*here.pop(0))
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

    def _transmit(self, coming: list[Page], source: PageSource, arrived: Any) -> None:
        """The transmission thread."""
        account = self.transmission
        try:
            with self._device, failing(self._device.driver), account.running():
                for page in coming:
                    buffer: Buffer | None
                    if page.number < len(self._resident):
                        buffer = self._resident[page.number]
                    else:
                        with account.waiting():
                            buffer = self._free.get()
                            if buffer is None:
                                return
                            buffer.idle.synchronize()
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
