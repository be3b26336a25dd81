"""Streams of pages, with a fake driver that copies at once, and work that notes what it is told."""

import time
import types

import numpy as np

from garaph_py.executor.gpu.edges import raw_layout
from garaph_py.executor.gpu.handles import Handles
from garaph_py.executor.gpu.ranks import RUN
from garaph_py.executor.gpu.residency import plan
from garaph_py.executor.gpu.streams import Streams
from garaph_py.pages.memory_source import MemoryPageSource
from tests.support import twins


class DriverError(Exception):
    """What a driver raises."""


class FakeDriver(types.SimpleNamespace):
    """A driver whose device memory is one array of bytes; `fails_at` is the number of a copy that fails."""

    Error, MemoryError = DriverError, type("MemoryError", (DriverError,), {})
    event_flags = types.SimpleNamespace(BLOCKING_SYNC=1, DISABLE_TIMING=2)
    Context = types.SimpleNamespace(synchronize=lambda: None)

    class Stream:
        def __init__(self, flags=0):
            self.blocks, self.awaited = not flags & 1, []

        def synchronize(self):
            pass

        def wait_for_event(self, event):
            assert event.recorded
            event.waited = True
            self.awaited.append(event)

    class Event:
        def __init__(self, flags=0):
            self.recorded, self.is_timed = False, not flags & 2

        def record(self, stream=None):
            self.recorded, self.stream, self.at = True, stream, time.perf_counter()

        def time_till(self, other):
            assert self.is_timed
            assert other.is_timed
            return (other.at - self.at) * 1e3

        def synchronize(self):
            time.sleep(1e-4)
            self.synchronized = True

        def query(self):
            """Some time after it was recorded."""
            return time.perf_counter() - self.at > 2e-4

    def memcpy_htod_async(self, place, array, stream):
        # memory is filled with zeros on the default stream, which may be later than this
        assert stream.blocks or stream.awaited[0].stream is None
        self.copies += 1
        if self.copies == self.fails_at:
            raise DriverError("cuMemcpyHtoDAsync failed: unspecified launch failure")
        self.memory[place : place + array.nbytes] = array


class FakeDevice:
    number = 0

    def __init__(self, fails_at=None):
        self.driver = FakeDriver(memory=np.zeros(1 << 22, np.uint8), copies=0, fails_at=fails_at)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class FakeMemory:
    used = 0

    def allocate(self, name, nbytes):
        self.used += nbytes
        return self.used - nbytes


class NothingKept:
    """The `DeviceGraph` of a first run."""

    def __init__(self, device):
        self.device, self.memory, self.handles = device, FakeMemory(), Handles(device.driver)

    def place(self, name, nbytes, what):
        return self.memory.allocate(name, nbytes), False


SKEWED = twins.skewed(3, 6000, 90000, "int32")


def streams_over(graph, share, fails_at=None, spans=None, kind=Streams):
    """Device, streams, and source of a graph with weights, a share of whose pages stay."""
    offsets, width = graph._arrays.in_edges.offsets, raw_layout(4)
    buffers = 3 * plan(offsets, width, 0, 1 << 19, 3, 4000).buffer_bytes
    residency = plan(offsets, width, 0, buffers + int(share * 8 * (graph.m + 64 * RUN)), 3, 4000)
    device = FakeDevice(fails_at)
    return (
        device,
        kind(device, residency, width, NothingKept(device), spans),
        MemoryPageSource(graph._arrays.in_edges, pages=residency.pages),
    )


def found_in(device, streams, page, buffer):
    """Sources and weights where a kernel would read them."""
    parts = []
    for address, kind in zip(streams.buffers.places(page, buffer), (np.uint32, np.int32), strict=True):
        start = address + 4 * (page.first_edge % RUN)
        parts.append(device.driver.memory[start : start + 4 * page.edges].view(kind).copy())
    return parts


class Work:
    """What is computed is `see`, for a page and its buffer; pages are told of in the order in which they land."""

    def __init__(self, see=lambda page, buffer: None):
        self.launch, self.brought, self.streams, self.copied = see, [], [], {}

    name, copies_to = "work", "copy to host"

    def copy_back(self, page, stream):
        self.brought.append(page)
        self.streams.append(stream)

    def on_complete(self, page, copied):
        self.copied[page] = copied
