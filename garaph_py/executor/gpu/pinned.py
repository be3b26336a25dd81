"""Pins host memory in place, so that the GPU copies from it and to it without a staging copy by the driver.

PyCUDA's own `register_host_memory` fails under NumPy 2, so the driver is called through cuda-bindings.
"""

from __future__ import annotations

import contextlib
import logging
import mmap
import threading
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import DeviceError
from ...system import interrupts
from ...system.memory import on_own_pages
from .device import Device

Array = npt.NDArray[Any]

log = logging.getLogger("garaph_py")

WORTH_PINNING = 1 << 20
"""Bytes of the smallest array that is pinned, if it begins at a page of memory."""
OWN_PAGES = 1 << 25
"""Bytes of the smallest array that is pinned wherever it begins. The allocator gives such an array pages of its own;
smaller arrays may share a page, and no page can be pinned twice."""
PORTABLE, READ_ONLY = 1, 8
"""CU_MEMHOSTREGISTER_PORTABLE of the CUDA driver, for memory that several GPUs copy from, and _READ_ONLY."""

_lock = threading.RLock()  # the garbage collector may close another `Pinned` in the thread that holds it
_pinned: dict[tuple[int, int], int] = {}  # number of `Pinned` objects that use each array, by its address and bytes


class Pinned:
    """Arrays that are pinned until `close`. An array that several such objects pin is pinned once."""

    def __init__(self) -> None:
        self._keys: list[tuple[int, int]] = []
        self._arrays: list[Array] = []  # keeps the arrays alive: pinned memory must not be freed and reused

    @property
    def count(self) -> int:
        """The number of arrays that are pinned."""
        return len(self._keys)

    def pin(self, array: Array) -> None:
        """Pin the memory of `array` if it is large enough. If the system refuses, copies are only slower.

        The device's context must be current.
        """
        aligned = array.__array_interface__["data"][0] % mmap.PAGESIZE == 0
        if array.nbytes >= (WORTH_PINNING if aligned else OWN_PAGES):
            self._register(array)

    def _register(self, array: Array) -> None:
        from cuda.bindings import driver

        interrupts.check()  # pinning gigabytes takes seconds
        key = int(array.__array_interface__["data"][0]), int(array.nbytes)
        with _lock:
            if key not in _pinned:
                flags = PORTABLE if array.flags.writeable else PORTABLE | READ_ONLY
                (status,) = driver.cuMemHostRegister(key[0], key[1], flags)
                if status != driver.CUresult.CUDA_SUCCESS:
                    complain(f"{array.nbytes >> 20} MiB of host memory cannot be pinned ({status.name})")
                    return
                _pinned[key] = 0
            _pinned[key] += 1
        self._keys.append(key)
        self._arrays.append(array)

    def unpin(self, array: Array) -> None:
        """Unpin an array that `pin` has been called for, before it is freed."""
        for k, own in enumerate(self._arrays):
            if own is array:
                _release(self._keys.pop(k))
                del self._arrays[k]
                return

    def map(self, array: Array) -> int | None:
        """Pin the memory of `array`, and return its address on the GPU; None if the system refuses.

        An array that is too small to be pinned in place is copied. The device's context must be current.
        """
        from cuda.bindings import driver

        before = self.count
        self.pin(array)
        if self.count == before:
            if array.nbytes >= OWN_PAGES:
                return None
            copy = self.empty(len(array), array.dtype)
            copy[:] = array
            array = copy
        status, address = driver.cuMemHostGetDevicePointer(array.__array_interface__["data"][0], 0)
        return int(address) if status == driver.CUresult.CUDA_SUCCESS else None

    def empty(self, shape: int, dtype: np.dtype[Any]) -> Array:
        """A new pinned array, on memory pages of its own."""
        array = on_own_pages(shape, dtype)
        self._register(array)
        return array

    def close(self) -> None:
        """Unpin everything. The device's context must be current."""
        for key in self._keys:
            _release(key)
        self._keys, self._arrays = [], []


def _release(key: tuple[int, int]) -> None:
    """End one use of a pinned array, and unpin it after the last one."""
    from cuda.bindings import driver

    with _lock:
        _pinned[key] -= 1
        if not _pinned[key]:
            del _pinned[key]
            driver.cuMemHostUnregister(key[0])


class PageBuffers:
    """Pins buffers of a page source, and unpins them, in the thread that needs them.

    That may be a CPU thread, which goes on if the GPU has failed. So errors of the device are ignored here.
    """

    def __init__(self, device: Device, pinned: Pinned) -> None:
        self._device, self._pinned = device, pinned

    def pin(self, array: Array) -> None:
        with contextlib.suppress(DeviceError), self._device:
            self._pinned.pin(array)

    def unpin(self, array: Array) -> None:
        with contextlib.suppress(DeviceError), self._device:
            self._pinned.unpin(array)


@cache
def complain(problem: str) -> None:
    """Log a warning, once per process for each `problem`."""
    log.warning("%s: copies to the GPU are slower", problem)
