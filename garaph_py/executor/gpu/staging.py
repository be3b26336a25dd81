"""Copies arrays to the GPU by way of pinned buffers, which threads fill while the GPU copies from others.

It suits arrays that are copied once: pinning them takes three times as long as copying them (docs/decisions/gpu.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ...native.threads import ThreadPool, split
from ...pages.source import PageSource
from ...system import interrupts
from .device_graph import DeviceGraph
from .edges import HostArrays
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
"""Buffers of each thread: the GPU copies from one while the thread fills the other."""


class StagedTransfer:
    """A `Transfer` of arrays that are not pinned. The device's context must be current. Use it in ``with``.

    Parameters
    ----------
    kept : DeviceGraph
        Makes the events.
    pool : PinnedPool
        Makes the buffers.
    threads : int or None
        CPU threads; None for one per available core.
    """

    def __init__(self, kept: DeviceGraph, pool: PinnedPool, threads: int | None) -> None:
        self._device, self._stream = kept.device, None
        with ThreadPool(threads) as available:
            self._threads = ThreadPool(min(available.size, MOST_THREADS))
        size = self._threads.size
        memory = pool.empty(size * BUFFERS * PIECE, np.dtype(np.uint8)).reshape(size, BUFFERS, PIECE)
        self._buffers = [cycle([(buffer, kept.handles.event()) for buffer in buffers]) for buffers in memory]

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


def copy(array: Array, address: int, kept: DeviceGraph, pool: PinnedPool | Pinned, threads: int | None) -> None:
    """Copy an array to the device, by way of pinned buffers if it is large and the `pool` keeps them for later copies.

    The device's context must be current.
    """
    given = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
    if isinstance(pool, PinnedPool) and given.nbytes >= LEAST_BYTES:
        with StagedTransfer(kept, pool, threads) as transfer:
            transfer.copy(given, address, kept.handles.stream())
    elif given.nbytes:
        kept.device.driver.memcpy_htod(address, given)


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
