"""A pool of host memory for the arrays of values, which a result may keep; later runs need not pin memory again.

To pin new memory takes ten times as long as to copy to it, 60 ms for the 268 MB of a search over 33.6 M vertices. So
the memory of a large answer is pinned when it is used for the second time: a result that the user keeps never pays.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...system.memory import on_own_pages, total_memory
from .device import Device
from .pinned import Pinned

Array = npt.NDArray[Any]

IDLE_BYTES, IDLE_SHARE = 1 << 30, 1 / 16
"""Unused bytes that the pool keeps, or share of the machine's memory if that is more; beyond that, it frees the
oldest."""
WASTE = 2
"""A block of the pool serves arrays of at least a half of its bytes."""
LEAST_UNPINNED = 1 << 26
"""Bytes of the smallest answer whose memory is not pinned at first: as many as the buffers for its way take."""


class Answer(NamedTuple):
    """An array on the host for what a run reports, and whether it is pinned."""

    array: Array
    is_pinned: bool = True


class Block:
    """Memory of the pool, which may be pinned; the system may refuse to pin it."""

    def __init__(self, nbytes: int, pins: bool = True) -> None:
        self._pinned, kind = Pinned(), np.dtype(np.uint8)
        self.bytes = self._pinned.empty(nbytes, kind) if pins else on_own_pages(nbytes, kind)

    @property
    def is_pinned(self) -> bool:
        """Whether the memory is pinned."""
        return self._pinned.count > 0

    def pin(self) -> None:
        """Try to pin the memory if it is not pinned. The device's context must be current."""
        if not self.is_pinned:
            self._pinned.pin(self.bytes)

    def close(self, device: Device) -> None:
        """Unpin the memory, and free it."""
        with contextlib.suppress(Exception), device:  # also after the device has failed
            self._pinned.close()


class Loan:
    """A block that is in use as long as this object lives; NumPy's arrays over it keep it alive."""

    def __init__(self, block: Block) -> None:
        self.__array_interface__ = block.bytes.__array_interface__


class PinnedPool:
    """Memory for one device's copies, for arrays that outlive a run. Any thread may use it."""

    def __init__(self, device: Device) -> None:
        self._device, self._idle = device, list[Block]()
        self._lock = threading.RLock()  # the garbage collector may return a block in the thread that takes one

    def empty(self, shape: int, dtype: np.dtype[Any]) -> Array:
        """A pinned array with any contents. Its memory returns to the pool when nothing refers to it any more.

        The device's context must be current.
        """
        return self._lent(self._take(shape * dtype.itemsize) or Block(max(shape * dtype.itemsize, 1)), shape, dtype)

    def answer(self, shape: int, dtype: np.dtype[Any]) -> Answer:
        """The same for an answer, which is not pinned if it is large and its memory is new."""
        nbytes = shape * dtype.itemsize
        block = self._take(nbytes) or Block(max(nbytes, 1), nbytes < LEAST_UNPINNED)
        return Answer(self._lent(block, shape, dtype), block.is_pinned)

    def _lent(self, block: Block, shape: int, dtype: np.dtype[Any]) -> Array:
        """An array in the memory of a block."""
        loan = Loan(block)
        weakref.finalize(loan, self._give_back, block).atexit = False
        return np.asarray(loan)[: shape * dtype.itemsize].view(dtype)

    @property
    def idle_bytes(self) -> int:
        """Bytes of the blocks that no array uses."""
        with self._lock:
            return sum(block.bytes.nbytes for block in self._idle)

    def _take(self, nbytes: int) -> Block | None:
        """The smallest block that serves, pinned if there is a pinned one; None if there is none."""
        with self._lock:
            serving = [block for block in self._idle if nbytes <= block.bytes.nbytes <= WASTE * nbytes]
            if not serving:
                return None
            best = min(serving, key=lambda block: (not block.is_pinned, block.bytes.nbytes))
            self._idle.remove(best)
        best.pin()
        return best

    def _give_back(self, block: Block) -> None:
        with self._lock:
            self._idle.append(block)
            surplus = []
            while self.idle_bytes > IDLE_BYTES and self.idle_bytes > IDLE_SHARE * total_memory():
                surplus.append(self._idle.pop(0))
        for old in surplus:
            old.close(self._device)


_pools: dict[int, tuple[Device, PinnedPool]] = {}  # by the identity of the device, which the entry keeps


def pool_of(device: Device) -> PinnedPool:
    """The pool of a device, the same at each call."""
    return _pools.setdefault(id(device), (device, PinnedPool(device)))[1]
