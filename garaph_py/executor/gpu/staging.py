"""Copies arrays to the GPU by way of pinned buffers, which threads fill while the GPU copies from others.

It suits arrays that are copied once: pinning them takes three times as long as copying them (docs/decisions/gpu.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, islice, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ...native.threads import ThreadPool
from ...pages.source import PageEdges
from ...system import interrupts
from .device_graph import DeviceGraph
from .edges import host_arrays
from .pinned import Pinned
from .pinned_pool import PinnedPool

Array = npt.NDArray[Any]

PIECE = 1 << 23
"""Bytes that a thread copies to a buffer at a time: enough that handing them out does not matter."""
MOST_THREADS = 8
"""Threads that fill buffers. Each copies some 8 GB/s, so that eight are as fast as the link."""
LEAST_BYTES = 1 << 24
"""Edges or arrays of fewer bytes are not copied in this way: the driver copies 16 MiB that are not pinned in 2 ms."""
SETS = 2
"""Sets of buffers, one for each thread: while the GPU copies from one set, threads fill the other."""


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
        self._driver, self._stream = kept.device.driver, None
        with ThreadPool(threads) as available:
            self._threads = ThreadPool(min(available.size, MOST_THREADS))
        size = self._threads.size
        memory = pool.empty(SETS * size * PIECE, np.dtype(np.uint8)).reshape(SETS, size, PIECE)
        self._sets = [(buffers, kept.handles.event()) for buffers in memory]
        self._turns = count()

    def send(self, edges: PageEdges, addresses: Sequence[int | None], stream: Any) -> int:
        sent = 0
        for (array, offset), address in zip(host_arrays(edges), addresses, strict=False):
            if address is not None:
                self.copy(array, address + offset, stream)
                sent += array.nbytes
        return sent

    def copy(self, array: Array, address: int, stream: Any) -> None:
        """Start to copy an array of bytes, as many pieces at a time as there are threads."""
        self._stream = stream
        pieces = pairwise([*range(0, array.nbytes, PIECE), array.nbytes])
        while batch := list(islice(pieces, self._threads.size)):
            interrupts.check()
            buffers, copied = self._sets[next(self._turns) % SETS]
            copied.synchronize()
            parts = [(buffer[: end - begin], begin, end) for buffer, (begin, end) in zip(buffers, batch, strict=False)]
            self._threads.run(np.copyto, [(part, array[begin:end]) for part, begin, end in parts])
            for part, begin, _ in parts:
                self._driver.memcpy_htod_async(address + begin, part, stream)
            copied.record(stream)

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
