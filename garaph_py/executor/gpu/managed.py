"""Unified memory: arrays that the driver moves, page by page, to whichever processor reads them.

The driver is called through cuda-bindings, because PyCUDA knows neither its advice nor its prefetches.
"""

from __future__ import annotations

import ctypes
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import DeviceError, DeviceMemoryError
from ...native.threads import ThreadPool, split
from ...system.sizes import show_bytes
from .settings import ACCESSED_BY, PREFERRED, READ_MOSTLY

Array = npt.NDArray[Any]

ADVICE = {
    ACCESSED_BY: "CU_MEM_ADVISE_SET_ACCESSED_BY",
    PREFERRED: "CU_MEM_ADVISE_SET_PREFERRED_LOCATION",
    READ_MOSTLY: "CU_MEM_ADVISE_SET_READ_MOSTLY",
}


class ManagedArray:
    """An array in unified memory, until `close`. The device's context must be current.

    Parameters
    ----------
    array : ndarray
        What it holds; the host writes it, so that it begins in the host's memory.
    free : int
        Bytes of the device's memory that are free: the array may not exceed them.
    threads : int or None
        CPU threads that copy; None for one per available core.

    Attributes
    ----------
    address : int
        The same on the host and on the device.
    nbytes : int

    Raises
    ------
    DeviceMemoryError
        If it exceeds what is free.
    DeviceError
        If the driver or the system has no unified memory.
    """

    def __init__(self, array: Array, free: int, threads: int | None = None) -> None:
        from cuda.bindings import driver

        if array.nbytes > free:
            raise DeviceMemoryError(
                f"{show_bytes(array.nbytes, up=True)} of unified memory exceed the {show_bytes(free)} that the GPU has "
                "free, and pages would be moved to and fro; use engine='emogi', or engine='auto'"
            )
        self._driver, self.nbytes = driver, max(array.nbytes, 1)
        flags = driver.CUmemAttach_flags.CU_MEM_ATTACH_GLOBAL
        status, pointer = driver.cuMemAllocManaged(self.nbytes, flags.value)
        if status != driver.CUresult.CUDA_SUCCESS:
            raise DeviceError(f"no unified memory ({status.name}); use engine='emogi' or engine='auto'")
        self.address = int(pointer)
        place = np.ctypeslib.as_array((ctypes.c_uint8 * self.nbytes).from_address(self.address))
        try:
            copy_array(array, place[: array.nbytes].view(array.dtype), threads)
        except BaseException:
            self.close()
            raise

    def advise(self, hint: str) -> None:
        """Tell the driver that the GPU accesses the array, as `hint` says."""
        advice = getattr(self._driver.CUmem_advise, ADVICE[hint])
        self._check(self._driver.cuMemAdvise(self.address, self.nbytes, advice, self._location())[0], hint)

    def prefetch(self, first: int, last: int) -> None:
        """Have the bytes [first, last) moved to the GPU, and wait for them."""
        if last > first:
            moved = self._driver.cuMemPrefetchAsync(self.address + first, last - first, self._location(), 0, 0)
            self._check(moved[0], "prefetch")
            self._check(self._driver.cuCtxSynchronize()[0], "prefetch")

    def _location(self) -> Any:
        """The GPU, as the driver names places of memory."""
        location = self._driver.CUmemLocation()
        location.type = self._driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        _, location.id = self._driver.cuCtxGetDevice()
        return location

    def _check(self, status: Any, what: str) -> None:
        if status != self._driver.CUresult.CUDA_SUCCESS:
            raise DeviceError(f"unified memory: {what} has failed ({status.name}); use engine='emogi' or 'auto'")

    def close(self) -> None:
        if self.address:
            self._driver.cuMemFree(self.address)
            self.address = 0


def copy_array(source: Array, to: Array, threads: int | None) -> None:
    """Copy an array by `threads` threads; the numbers may be of different types."""
    with ThreadPool(threads) as pool:
        pool.run(np.copyto, [(to[a:b], source[a:b]) for a, b in pairwise(split(len(source), pool.size))])
