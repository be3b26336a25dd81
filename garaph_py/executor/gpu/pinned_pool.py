"""A pool of pinned host memory for the arrays of values, which a result may keep; later runs need not pin memory
again."""

from __future__ import annotations

import contextlib
import threading
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from ...system.memory import total_memory
from .device import Device
from .pinned import Pinned

Array = npt.NDArray[Any]

IDLE_BYTES = 1 << 30
IDLE_SHARE = 1 / 16
"""Unused bytes that the pool keeps, or share of the machine's memory if that is more; beyond that, it frees the
oldest."""
WASTE = 2
"""A block of the pool serves arrays of at least a half of its bytes."""


class Block:
    """Pinned memory of the pool."""

    def __init__(self, nbytes: int) -> None:
        self._pinned = Pinned()
        self.bytes = self._pinned.empty(nbytes, np.dtype(np.uint8))

    def close(self, device: Device) -> None:
        """Unpin the memory, and free it."""
        with contextlib.suppress(Exception), device:  # also after the device has failed
            self._pinned.close()


class Loan:
    """A block that is in use as long as this object lives; NumPy's arrays over it keep it alive."""

    def __init__(self, block: Block) -> None:
        self.__array_interface__ = block.bytes.__array_interface__


class PinnedPool:
    """Pinned memory of one device, for arrays that outlive a run. Any thread may use it."""

    def __init__(self, device: Device) -> None:
        self._device, self._idle = device, list[Block]()
        self._lock = threading.RLock()  # the garbage collector may return a block in the thread that takes one

    def empty(self, shape: int, dtype: np.dtype[Any]) -> Array:
        """An array with any contents. Its memory returns to the pool when nothing refers to it any more.

        The device's context must be current.
        """
        nbytes = max(shape * dtype.itemsize, 1)
        block = self._take(nbytes) or Block(nbytes)
        loan = Loan(block)
        weakref.finalize(loan, self._give_back, block).atexit = False
        return np.asarray(loan)[: shape * dtype.itemsize].view(dtype)

    @property
    def idle_bytes(self) -> int:
        """Bytes of the blocks that no array uses."""
        with self._lock:
            return sum(block.bytes.nbytes for block in self._idle)

    def _take(self, nbytes: int) -> Block | None:
        """The smallest block that serves; None if there is none."""
        with self._lock:
            serving = [block for block in self._idle if nbytes <= block.bytes.nbytes <= WASTE * nbytes]
            if not serving:
                return None
            best = min(serving, key=lambda block: block.bytes.nbytes)
            self._idle.remove(best)
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
