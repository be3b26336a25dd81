"""Device memory by name, within a budget."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import numpy as np
import numpy.typing as npt

from .device import Device, failing
from .memory_plan import refused

Array = npt.NDArray[Any]

SPARE_BYTES = 1 << 30
"""Bytes of freed allocations that are kept for the next ones: the driver takes up to 0.3 ms to free or allocate."""


class DeviceMemory:
    """Allocations by name, within a budget. The device's context must be current.

    Parameters
    ----------
    device : Device
    budget : int
        Bytes that may be allocated at a time. `allocate` refuses more, even if the device has it.

    Attributes
    ----------
    used, spare : int
        Bytes of the allocations, and of freed ones that are kept for later ones of the same size.
    """

    def __init__(self, device: Device, budget: int) -> None:
        self.driver, self.budget, self.used, self.spare = device.driver, budget, 0, 0
        self._allocations: dict[str, tuple[Any, int]] = {}
        self._spares: list[tuple[Any, int]] = []  # the oldest first

    def allocate(self, name: str, nbytes: int, clear: bool = True) -> int:
        """Allocate `nbytes` bytes and return their address; they are zeros unless `clear` is False.

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
            self._allocations[name] = self._take_spare(nbytes) or self._new(nbytes), nbytes
            self.used += nbytes
        if clear:
            self.driver.memset_d8(self.at(name), 0, nbytes)
        return self.at(name)

    @property
    def held(self) -> int:
        """Bytes of all allocations, also of the spare ones."""
        return self.used + self.spare

    def _take_spare(self, nbytes: int) -> Any:
        """A spare allocation of exactly this size, the newest; None if there is none."""
        for k in reversed(range(len(self._spares))):
            if self._spares[k][1] == nbytes:
                self.spare -= nbytes
                return self._spares.pop(k)[0]
        return None

    def _new(self, nbytes: int) -> Any:
        """A new allocation; spare ones go if it would not fit otherwise."""
        self.trim(self.budget - self.used - nbytes)
        with failing(self.driver):
            try:
                return self.driver.mem_alloc(nbytes)
            except self.driver.MemoryError:
                if not self._spares:
                    raise
                self.trim(0)
                return self.driver.mem_alloc(nbytes)

    def trim(self, most: int) -> None:
        """Free spare allocations, the oldest first, until they take at most `most` bytes."""
        while self.spare > most and self._spares:
            allocation, nbytes = self._spares.pop(0)
            self.spare -= nbytes
            allocation.free()

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
        if name in self._allocations:
            spare = self._allocations.pop(name)
            self._spares.append(spare)
            self.used, self.spare = self.used - spare[1], self.spare + spare[1]
            self.trim(SPARE_BYTES)

    def retain(self, names: Container[str]) -> None:
        """Free all allocations except those with these `names`."""
        for name in [name for name in self._allocations if name not in names]:
            self.free(name)

    def close(self) -> None:
        """Free all allocations, also the spare ones."""
        self.retain(())
        self.trim(0)
