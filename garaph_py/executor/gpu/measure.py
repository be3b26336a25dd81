"""What a GPU has, and how fast data moves to it, from it and within it."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import DeviceMemoryError
from .device import FALLBACK, Device, failing, seconds
from .memory import DeviceMemory
from .pinned import Pinned

COPIED = 256 << 20
"""Bytes a copy, or less where that were more than an eighth of the free memory: there are two of them."""
LEAST_COPIED = 1 << 20
REPEATS = 5


@dataclass(frozen=True)
class Measured:
    """A GPU.

    Attributes
    ----------
    name : str
    compute_capability : str
        ``"9.0"`` and the like.
    memory, free : int
        Bytes of device memory, and of what nobody uses.
    multiprocessors : int
    block_memory, multiprocessor_memory : int
        Bytes of shared memory a block may use, and a multiprocessor has.
    driver : str
        Its version, and the version of CUDA it is made for.
    to_device, from_device : float
        Bytes a second between pinned host memory and the device's.
    pinned : bool
        False where the system did not let host memory be pinned: copies are slower then.
    copy : float
        Bytes a second of a copy within device memory, read and written bytes together.
    """

    name: str
    compute_capability: str
    memory: int
    free: int
    multiprocessors: int
    block_memory: int
    multiprocessor_memory: int
    driver: str
    to_device: float
    from_device: float
    pinned: bool
    copy: float


def measure(device: Device) -> Measured:
    """Copy up to 256 MiB, five times each way, and take the medians.

    Raises
    ------
    DeviceError
        If the device fails, or has next to no free memory.
    """
    driver, free = device.driver, device.free_memory()
    size = min(COPIED, free // 8)
    if size < LEAST_COPIED:
        raise DeviceMemoryError(
            f"{device.name} has {free >> 20} MiB free; look at nvidia-smi for who uses it, {FALLBACK}"
        )
    pinned, memory = Pinned(), DeviceMemory(device, free // 4)
    with device, failing(driver):
        try:
            host = pinned.empty(size, np.dtype(np.uint8))
            host[:] = 1
            here, there = memory.allocate("from", size), memory.allocate("to", size)
            stream = driver.Stream()
            to_device = median(driver, stream, lambda: driver.memcpy_htod_async(here, host, stream))
            copy = median(driver, stream, lambda: driver.memcpy_dtod_async(there, here, size, stream))
            from_device = median(driver, stream, lambda: driver.memcpy_dtoh_async(host, there, stream))
            is_pinned = pinned.count > 0
        finally:
            pinned.close()
            memory.close()
        version = driver_version(driver.get_driver_version())
    return Measured(
        device.name, compute_capability(device.architecture), device.memory, free, device.multiprocessors,
        device.shared_memory, device.multiprocessor_memory, version, size / to_device, size / from_device, is_pinned,
        2 * size / copy,
    )  # fmt: skip


def host_to_device_bandwidth(device: Device) -> float:
    """Bytes a second from pinned host memory, as `measure` finds it."""
    return measure(device).to_device


def median(driver: Any, stream: Any, work: Callable[[], None]) -> float:
    """Seconds that `work`, put on `stream`, takes there: the median of `REPEATS`."""
    return statistics.median(seconds(driver, stream, work) for _ in range(REPEATS))


def compute_capability(architecture: str) -> str:
    """``"9.0"`` for ``"sm_90"``."""
    digits = architecture.removeprefix("sm_")
    return f"{digits[:-1]}.{digits[-1]}"


def driver_version(cuda: int, file: Path = Path("/proc/driver/nvidia/version")) -> str:
    """``"580.65.06, CUDA 13.0"``; the first part is in `file`, which some containers lack."""
    told = f"CUDA {cuda // 1000}.{cuda % 1000 // 10}"
    try:
        found = re.search(r"\b\d{3,}\.\d+(\.\d+)?\b", file.read_text())
    except OSError:
        found = None
    return f"{found[0]}, {told}" if found else told
