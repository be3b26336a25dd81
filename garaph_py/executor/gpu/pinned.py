"""Host memory that a GPU copies from and to by itself: pinned in place, never a second copy.

PyCUDA's own `register_host_memory` fails under NumPy 2, so the driver is called through cuda-bindings.
"""

from __future__ import annotations

import logging
import mmap
import threading
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ...system import interrupts
from ...system.memory import on_own_pages

Array = npt.NDArray[Any]

log = logging.getLogger("garaph_py")

WORTH_PINNING = 1 << 20
OWN_PAGES = 1 << 25
"""Arrays from so many bytes on have pages of their own; smaller ones may share a page, which cannot be pinned twice."""
READ_ONLY = 8  # CU_MEMHOSTREGISTER_READ_ONLY

_lock = threading.Lock()
_pinned: dict[tuple[int, int], int] = {}  # address and bytes: by how many runs


class Pinned:
    """Arrays pinned while they are in use; arrays of several runs are pinned once."""

    def __init__(self) -> None:
        self._keys: list[tuple[int, int]] = []
        self._arrays: list[Array] = []  # what is pinned must not be freed: other memory would come to lie there

    @property
    def count(self) -> int:
        """Arrays that are pinned."""
        return len(self._keys)

    def pin(self, array: Array) -> None:
        """Pin the memory of `array`, if that is worth it; a failure costs speed only.

        The device's context must be current.
        """
        aligned = array.__array_interface__["data"][0] % mmap.PAGESIZE == 0
        if array.nbytes >= (WORTH_PINNING if aligned else OWN_PAGES):
            self._register(array)

    def _register(self, array: Array) -> None:
        from cuda.bindings import driver

        interrupts.check()  # gigabytes take seconds
        key = int(array.__array_interface__["data"][0]), int(array.nbytes)
        with _lock:
            if key not in _pinned:
                flags = 0 if array.flags.writeable else READ_ONLY
                (status,) = driver.cuMemHostRegister(key[0], key[1], flags)
                if status != driver.CUresult.CUDA_SUCCESS:
                    complain(f"{array.nbytes >> 20} MiB of host memory cannot be pinned ({status.name})")
                    return
                _pinned[key] = 0
            _pinned[key] += 1
        self._keys.append(key)
        self._arrays.append(array)

    def empty(self, shape: int, dtype: np.dtype[Any]) -> Array:
        """A new array on pages of its own, pinned."""
        array = on_own_pages(shape, dtype)
        self._register(array)
        return array

    def close(self) -> None:
        """Unpin everything. The device's context must be current."""
        from cuda.bindings import driver

        with _lock:
            for key in self._keys:
                _pinned[key] -= 1
                if not _pinned[key]:
                    del _pinned[key]
                    driver.cuMemHostUnregister(key[0])
        self._keys, self._arrays = [], []


@cache
def complain(problem: str) -> None:
    """Say it once a process."""
    log.warning("%s: copies to the GPU are slower", problem)
