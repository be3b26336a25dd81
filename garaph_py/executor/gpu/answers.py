"""Answers of runs that stay in a GPU's memory, until the host reads them or another run needs the memory."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import DeviceError
from ...program.elsewhere import Elsewhere
from .device import Device, failing
from .device_graph import remember
from .handles import Handles
from .pinned_pool import Answer, PinnedPool
from .staging import StagedReturn

Array = npt.NDArray[Any]


class DeviceAnswer(Elsewhere):
    """Memory on a GPU for an item of each of `size` vertices, in the order of the graph's ids.

    The device's context must be current. Its driver's `MemoryError` means that there is no room.

    Parameters
    ----------
    device : Device
    size : int
    dtype : dtype
    pool : PinnedPool or None
        Makes the array on the host; None if that is not to take memory of a pool.
    """

    is_in_use = False  # whoever wants to free the memory waits until it has been read

    def __init__(self, device: Device, size: int, dtype: np.dtype[Any], pool: PinnedPool | None) -> None:
        self.device, self.dtype, self.size, self._pool = device, dtype, size, pool
        self._nbytes = max(size * dtype.itemsize, 16)
        self._memory = device.driver.mem_alloc(self._nbytes)
        self._free = weakref.finalize(self, free, device, self._memory)
        self._free.atexit = False
        self.handles, self._lock = Handles(device.driver), threading.RLock()
        self._array: Array | None = None
        remember(self)

    @property
    def held(self) -> int:
        """Bytes of the device's memory."""
        return self._nbytes if self._free.alive else 0

    def columns(self) -> list[Elsewhere]:
        return [Column(self, name) for name in self.dtype.names] if self.dtype.names else [self]

    def give_up(self) -> None:
        """Have the host take the answer, so that the memory is free."""
        self.fetch()

    @contextlib.contextmanager
    def lent(self, device: Device) -> Iterator[int | None]:
        """The address of the answer, for work of `device` in the ``with`` block; None if it is not there."""
        with self._lock:
            is_there = self.device is device and self._free.alive
            if is_there:
                remember(self)
            yield int(self._memory) if is_there else None

    def fetch(self) -> Array:
        with self._lock:
            if self._array is None:
                try:
                    self._array = self._copied()
                except DeviceError as error:
                    raise DeviceError(
                        f"an answer that an earlier run left on the GPU (fetch=False) is lost: {error}"
                    ) from error
                self._free()
            return self._array

    def _copied(self) -> Array:
        """A copy on the host."""
        with self.device, failing(self.device.driver):
            to = Answer(np.empty(self.size, self.dtype), self.size == 0)
            if self._pool is not None:
                to = self._pool.answer(self.size, self.dtype)
            array, place = to.array.view(np.uint8), int(self._memory)
            if self._pool is None or to.is_pinned:
                if array.nbytes:
                    self.device.driver.memcpy_dtoh(array, place)
            else:
                StagedReturn(self, self._pool, None).run(lambda copy: copy(array, place, None))
            self.handles.close()
        return to.array


class Column(Elsewhere):
    """A field of an answer.

    Attributes
    ----------
    answer : DeviceAnswer
    offset : int
        Bytes from the beginning of a vertex's item to the field.
    """

    def __init__(self, answer: DeviceAnswer, name: str) -> None:
        assert answer.dtype.fields is not None
        self.answer, self._name, self.size = answer, name, answer.size
        self.dtype, self.offset = answer.dtype.fields[name][:2]

    def fetch(self) -> Array:
        found: Array = self.answer.fetch()[self._name]
        return found


def column_in(numbers: Elsewhere) -> tuple[DeviceAnswer, int] | None:
    """The answer that has `numbers`, and their offset in an item; None if no GPU has them."""
    if isinstance(numbers, Column):
        return numbers.answer, numbers.offset
    return (numbers, 0) if isinstance(numbers, DeviceAnswer) else None


def free(device: Device, memory: Any) -> None:
    """Free an allocation, also after the device has failed."""
    with contextlib.suppress(Exception), device:
        memory.free()
