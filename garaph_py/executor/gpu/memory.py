"""Device memory by name, within a budget."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np
import numpy.typing as npt

from .device import Device, failing
from .memory_plan import refused

Array = npt.NDArray[Any]


class DeviceMemory:
    """Allocations by name, within a budget. The device's context must be current.

    Parameters
    ----------
    device : Device
    budget : int
        Bytes that may be allocated at a time. `allocate` refuses more, even if the device has it.
    """

    def __init__(self, device: Device, budget: int) -> None:
        self.driver, self.budget, self.used = device.driver, budget, 0
        self._allocations: dict[str, tuple[Any, int]] = {}

    def allocate(self, name: str, nbytes: int) -> int:
        """Allocate `nbytes` bytes of zeros and return their address.

        An allocation with the same name is used again if it is as large, and freed otherwise.

        Raises
        ------
        DeviceMemoryError
            If this exceeds the budget, or the device has too little free memory.
        """
        nbytes = max(nbytes, 16)
        if name not in self._allocations or self.size(name) != nbytes:
            self.free(name)
            if self.used + nbytes > self.budget:
                raise refused(name, nbytes, self.used, self.budget)
            with failing(self.driver):
                self._allocations[name] = self.driver.mem_alloc(nbytes), nbytes
            self.used += nbytes
        self.driver.memset_d8(self.at(name), 0, nbytes)
        return self.at(name)

    def at(self, name: str) -> int:
        """The address of an allocation."""
        return int(self._allocations[name][0])

    def size(self, name: str) -> int:
        """Bytes of an allocation; at least 16."""
        return self._allocations[name][1]

    def upload(self, name: str, array: Array) -> int:
        """Copy `array` to a new allocation and return its address."""
        address = self.allocate(name, array.nbytes)
        if array.nbytes:
            self.driver.memcpy_htod(address, np.ascontiguousarray(array).view(np.uint8))
        return address

    def download(self, name: str, count: int, dtype: np.dtype[Any], stream: Any) -> Array:
        """Wait until `stream` is idle, and return a copy of the first `count` items of an allocation."""
        out = np.empty(count, dtype)
        stream.synchronize()
        if count:
            self.driver.memcpy_dtoh(out.view(np.uint8), self.at(name))
        return out

    def free(self, name: str) -> None:
        allocation, nbytes = self._allocations.pop(name, (None, 0))
        if allocation is not None:
            allocation.free()
            self.used -= nbytes

    def retain(self, names: Container[str]) -> None:
        """Free all allocations except those with these `names`."""
        for name in [name for name in self._allocations if name not in names]:
            self.free(name)

    def close(self) -> None:
        """Free all allocations."""
        self.retain(())
