"""Copies arrays to the GPU and back by way of pinned buffers, which threads fill or empty while the GPU copies others.

It suits arrays that are copied once: pinning them takes three times as long as copying them, and ten times if their
memory is new (docs/decisions/gpu.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import cycle, pairwise
from math import prod
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...native.threads import ThreadPool, split
from ...pages.source import PageSource
from ...system import interrupts
from .device import Device
from .device_graph import DeviceGraph
from .edges import HostArrays
from .handles import Handles, event_flags
from .pinned import Pinned
from .pinned_pool import PinnedPool
from .streams import Streams
from .transfer import byte_count, copies

Array = npt.NDArray[Any]

PIECE = 1 << 22
"""Bytes of a buffer: with 1 MiB, copying 2 GiB takes more than twice as long (docs/results/gpu.md, "Whole calls")."""
MOST_THREADS = 8
"""Threads that fill buffers. Each copies some 8 GB/s, so that eight are as fast as the link; more are no faster."""
LEAST_BYTES = 1 << 24
"""Edges or arrays of fewer bytes are not copied in this way: the driver copies 16 MiB that are not pinned in 2 ms."""
BUFFERS = 2
"""Buffers of each thread: the GPU copies one while the thread fills or empties the other."""
CopyBack = Callable[[Array, int, Any], None]
"""``copy(array, address, stream)`` starts to copy what is at an address on the device to an array of bytes."""


class HasHandles(Protocol):
    """What is kept on a device, with streams and events for its copies."""

    device: Device
    handles: Handles


class Staging:
    """Threads that copy, and their pinned buffers. The device's context must be current.

    Parameters
    ----------
    kept : HasHandles
        Makes the events.
    pool : PinnedPool
        Makes the buffers.
    threads : int or None
        CPU threads; None for one per available core.
    """

    def __init__(self, kept: HasHandles, pool: PinnedPool, threads: int | None) -> None:
        with ThreadPool(threads) as available:
            self._threads = ThreadPool(min(available.size, MOST_THREADS))
        shape = self._threads.size, BUFFERS, PIECE
        self._device, self._memory = kept.device, pool.empty(prod(shape), np.dtype(np.uint8)).reshape(shape)


class StagedTransfer(Staging):
    """A `Transfer` of arrays that are not pinned. Use it in ``with``."""

    def __init__(self, kept: HasHandles, pool: PinnedPool, threads: int | None) -> None:
        super().__init__(kept, pool, threads)
        self._stream = None
        self._buffers = [cycle([(buffer, kept.handles.event()) for buffer in buffers]) for buffers in self._memory]

    def send(self, arrays: HostArrays, addresses: Sequence[int | None], stream: Any) -> int:
        wanted = copies(arrays, addresses)
        for array, address in wanted:
            self.copy(array, address, stream)
        return byte_count(wanted)

    def copy(self, array: Array, address: int, stream: Any) -> None:
        """Start to copy an array of bytes, in as many pieces for each thread as for any other."""
        interrupts.check()
        self._stream, size = stream, self._threads.size
        pieces = list(pairwise(split(array.nbytes, -(-array.nbytes // (size * PIECE)) * size)))

        def fill(worker: int) -> None:
            """Copy every `size`-th piece."""
            with self._device:
                for begin, end in pieces[worker::size]:
                    buffer, copied = next(self._buffers[worker])
                    copied.synchronize()
                    part = buffer[: end - begin]
                    np.copyto(part, array[begin:end])
                    self._device.driver.memcpy_htod_async(address + begin, part, stream)
                    copied.record(stream)

        if pieces:
            self._threads.run(fill, [(worker,) for worker in range(size)])

    def __enter__(self) -> StagedTransfer:
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for the copies, after which others may use the buffers."""
        self._threads.close()
        if self._stream is not None:
            self._stream.synchronize()


class StagedReturn(Staging):
    """Copies from the device to arrays that are not pinned."""

    def __init__(self, kept: HasHandles, pool: PinnedPool, threads: int | None) -> None:
        super().__init__(kept, pool, threads)
        # Buffers and events of copies, and the parts of arrays for which they are: all that the threads share.
        self._free, self._filled = SimpleQueue[tuple[Array, Any]](), SimpleQueue[tuple[Array, Any, Array] | None]()
        for buffer in self._memory.reshape(-1, PIECE):
            self._free.put((buffer, kept.handles.event(event_flags(kept.device.driver))))

    def run(self, act: Callable[[CopyBack], None]) -> None:
        """Call ``act(copy)`` in this thread, while others empty buffers; return when all bytes have arrived."""
        size = self._threads.size

        def work(worker: int) -> None:
            with self._device:
                try:
                    if worker == 0:
                        act(self._copy)
                finally:
                    for _ in range(size if worker == 0 else 0):
                        self._filled.put(None)
                while (filled := self._filled.get()) is not None:
                    self._empty(*filled)

        with self._threads:
            self._threads.run(work, [(worker,) for worker in range(size)])

    def _copy(self, array: Array, address: int, stream: Any) -> None:
        for begin in range(0, array.nbytes, PIECE):
            part = array[begin : begin + PIECE]
            buffer, copied = self._next()
            self._device.driver.memcpy_dtoh_async(buffer[: part.nbytes], address + begin, stream)
            copied.record(stream)
            self._filled.put((buffer, copied, part))

    def _next(self) -> tuple[Array, Any]:
        """A free buffer, and its event. If there is none, this thread empties one, as the others may not have begun."""
        while True:
            try:
                return self._free.get_nowait()
            except Empty:
                pass
            try:
                filled = self._filled.get_nowait()
            except Empty:  # other threads have all buffers
                return self._free.get()
            assert filled is not None
            self._empty(*filled)

    def _empty(self, buffer: Array, copied: Any, part: Array) -> None:
        """Wait for a copy to a buffer, and move what has arrived to its place."""
        try:
            copied.synchronize()
            np.copyto(part, buffer[: part.nbytes])
        finally:
            self._free.put((buffer, copied))


def copy(array: Array, address: int, kept: DeviceGraph, pool: PinnedPool | Pinned, threads: int | None) -> None:
    """Copy an array to the device, by way of pinned buffers if it is large and the `pool` keeps them for later copies.

    The device's context must be current.
    """
    given = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
    with copying(given.nbytes, kept, pool, threads) as transfer:
        if transfer is not None:
            transfer.copy(given, address, kept.handles.stream())
        elif given.nbytes:
            kept.device.driver.memcpy_htod(address, given)


def copying(
    nbytes: int, kept: DeviceGraph, pool: PinnedPool | Pinned, threads: int | None
) -> AbstractContextManager[StagedTransfer | None]:
    """For copies of so many bytes in all: a transfer by way of pinned buffers, or None if the driver copies as fast, or
    the `pool` does not keep them."""
    if isinstance(pool, PinnedPool) and nbytes >= LEAST_BYTES:
        return StagedTransfer(kept, pool, threads)
    return nullcontext()


def prefetch(  # wide: what the way of the copies depends on
    streams: Streams, source: PageSource, missing: int, once: bool, kept: DeviceGraph, pool: PinnedPool | Pinned,
    threads: int | None,
) -> None:  # fmt: skip
    """Start to copy the resident pages, of which `missing` bytes are not on the device.

    If they are copied `once`, from memory that is not pinned, threads copy them by way of memory of the `pool`.
    """
    if not once or kept.pinned.count or missing < LEAST_BYTES:
        streams.prefetch(source)
        return
    assert isinstance(pool, PinnedPool)
    with StagedTransfer(kept, pool, threads) as transfer:
        streams.prefetch(source, transfer)
