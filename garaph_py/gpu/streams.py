"""Pages through the GPU over N streams (Garaph section 5.2): copies, kernels and write-backs overlap.

A transmission thread copies pages that are not there into buffers, each on its own stream; the calling thread, the
computation thread, launches kernels on the stream of a page's buffer, so that they begin when the copy ends. Neither
sleeps: they wait for events and a queue, without the GIL.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..pages.layout import Page
from ..pages.source import PageSource
from .device import Device, failing
from .memory import DeviceMemory
from .ranks import RUN
from .residency import Residency, page_bytes

Array = npt.NDArray[Any]


@dataclass
class Buffer:
    """Device memory for a page's edges, and the stream that fills and reads it.

    Attributes
    ----------
    addresses : list of int
        Of the sources, and of the edge values if the program reads them.
    stream : pycuda.driver.Stream
    idle : pycuda.driver.Event
        Recorded when what was launched on the buffer is to have ended.
    page : int or None
        Number of the page it holds.
    """

    addresses: list[int]
    stream: Any
    idle: Any
    page: int | None = None


@dataclass
class ThreadTime:
    """Where a thread's seconds went: those neither waited nor used were spent waiting for the GIL or a core."""

    wall: float = 0.0
    waited: float = 0.0
    used: float = 0.0

    @property
    def lost(self) -> float:
        return max(self.wall - self.waited - self.used, 0.0)


class Streams:
    """The buffers of a `Residency` and the two threads' work on them. The device's context must be current.

    Parameters
    ----------
    edge_bytes : tuple of int
        Bytes an edge of each array a page has.
    """

    def __init__(self, device: Device, residency: Residency, edge_bytes: tuple[int, ...], memory: DeviceMemory) -> None:
        self._device, self._edge_bytes = device, edge_bytes
        self._resident = residency.resident
        streams = [device.driver.Stream() for _ in range(residency.streams)]
        here = [device.driver.Stream() for _ in range(residency.streams)] if residency.resident else []
        self._buffers = [
            self._buffer(memory, f"page {page.number}", page_bytes(page, edge_bytes), here[k % len(here)])
            for k, page in enumerate(residency.pages[: residency.resident])
        ]
        self._passing = (
            [self._buffer(memory, f"stream {k}", residency.buffer_bytes, stream) for k, stream in enumerate(streams)]
            if residency.buffer_bytes
            else []
        )
        self._free: queue.SimpleQueue[Buffer | None] = queue.SimpleQueue()  # whose page has been launched
        for buffer in self._passing:
            self._free.put(buffer)
        self.all = streams + here
        self.transmission, self.computation = ThreadTime(), ThreadTime()

    def _buffer(self, memory: DeviceMemory, name: str, nbytes: int, stream: Any) -> Buffer:
        address, edges = memory.allocate(name, nbytes), nbytes // sum(self._edge_bytes)
        widths = [0, *self._edge_bytes[:-1]]
        return Buffer(
            [address + edges * sum(widths[: k + 1]) for k in range(len(widths))], stream, self._device.driver.Event()
        )

    def process(
        self, pages: Iterable[Page], source: PageSource, compute: Callable[[Page, Buffer], None]
    ) -> dict[int, int]:
        """Call ``compute(page, buffer)``, which launches a page's kernels, for every page; return when all have ended.

        Returns
        -------
        dict of int to int
            Bytes copied for each page that had to be.
        """
        began, cpu = time.perf_counter(), time.thread_time()
        here: list[Page] = []
        coming: list[Page] = []
        for page in pages:
            is_here = page.number < self._resident and self._buffers[page.number].page == page.number
            (here if is_here else coming).append(page)
        copied: dict[int, int] = {}
        arrived: queue.SimpleQueue[tuple[Page, Buffer, int] | BaseException | None] = queue.SimpleQueue()
        thread = None
        if coming:
            task = (coming, source, arrived)
            thread = threading.Thread(target=self._transmit, args=task, name="garaph-transmission", daemon=True)
            thread.start()
        waited = 0.0
        try:
            while here or thread is not None:
                if thread is None or (here and arrived.empty()):
                    page = here.pop(0)
                    self._compute(page, self._buffers[page.number], compute)
                    continue
                started = time.perf_counter()
                item = arrived.get()
                waited += time.perf_counter() - started
                if isinstance(item, BaseException):
                    raise item
                if item is None:
                    thread.join()
                    thread = None
                    continue
                page, buffer, nbytes = item
                copied[page.number] = nbytes
                self._compute(page, buffer, compute)
            started = time.perf_counter()
            for stream in self.all:
                stream.synchronize()
            waited += time.perf_counter() - started
        finally:
            if thread is not None:
                self._free.put(None)  # an error here ends the other thread too
                thread.join()
        self._add(self.computation, began, cpu, waited)
        return copied

    def _compute(self, page: Page, buffer: Buffer, compute: Callable[[Page, Buffer], None]) -> None:
        compute(page, buffer)
        buffer.idle.record(buffer.stream)
        if page.number >= self._resident:
            self._free.put(buffer)

    def _transmit(self, coming: list[Page], source: PageSource, arrived: Any) -> None:
        """The transmission thread."""
        began, cpu, waited = time.perf_counter(), time.thread_time(), 0.0
        try:
            with self._device, failing(self._device.driver):
                for page in coming:
                    if page.number < self._resident:
                        buffer = self._buffers[page.number]
                    else:
                        started = time.perf_counter()
                        free = self._free.get()
                        if free is None:
                            return
                        buffer = free
                        buffer.idle.synchronize()
                        waited += time.perf_counter() - started
                    copied = self._copy(page, source, buffer)
                    buffer.page = page.number
                    arrived.put((page, buffer, copied))
            arrived.put(None)
        except BaseException as error:
            arrived.put(error)
        self._add(self.transmission, began, cpu, waited)

    def _copy(self, page: Page, source: PageSource, buffer: Buffer) -> int:
        """Start to copy a page's edges to where they stand in whole runs; how many bytes."""
        edges, copied = source.edges(page), 0
        before = page.first_edge % RUN
        for array, address in zip((edges.sources, edges.values), buffer.addresses, strict=False):
            if array is not None and len(array):
                place = address + before * array.itemsize
                self._device.driver.memcpy_htod_async(place, array.view(np.uint8), buffer.stream)
                copied += array.nbytes
        return copied

    def _add(self, account: ThreadTime, began: float, cpu: float, waited: float) -> None:
        account.wall += time.perf_counter() - began
        account.waited += waited
        account.used += time.thread_time() - cpu
