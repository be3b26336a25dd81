"""Measures how fast data moves to a GPU, from it and within it."""

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
from .memory_plan import FREE_SHARE
from .pinned import Pinned

COPIED = 256 << 20
"""Bytes per copy, or an eighth of the free device memory if that is less. Device memory holds two such arrays."""
LEAST_COPIED = 1 << 20
"""Bytes per copy below which the device counts as full."""
REPEATS = 5
"""Copies in each direction; the median counts."""


@dataclass(frozen=True)
class Measured:
    """A GPU's properties and measured speeds.

    Attributes
    ----------
    name : str
    compute_capability : str
        ``"9.0"`` and the like.
    memory, free : int
        Bytes of device memory in total, and bytes that no process used before the measurement.
    multiprocessors : int
    block_memory, multiprocessor_memory : int
        Bytes of shared memory that a block may use, and that a multiprocessor has.
    driver : str
        The driver's version, and the version of CUDA that it supports.
    to_device, from_device : float
        Bytes per second between pinned host memory and device memory.
    pinned : bool
        False if the system refused to pin host memory; the copies were then slower.
    copy : float
        Bytes per second of a copy within device memory; bytes read and bytes written both count.
    graphs : int
        Bytes that a run, and graphs that stay from one run to the next, may take together by default.
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
    graphs: int


def measure(device: Device, most: int = COPIED) -> Measured:
    """Copy up to `most` bytes, five times each way, and take the medians.

    Raises
    ------
    DeviceError
        If the device fails, or has less than 8 MiB of free memory.
    """
    driver, free = device.driver, device.free_memory()
    size = min(most, free // 8)
    if size < LEAST_COPIED:
        raise DeviceMemoryError(
            f"{device.name} has {free >> 20} MiB free; look at nvidia-smi for the processes that use it, {FALLBACK}"
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
        2 * size / copy, int(FREE_SHARE * free),
    )  # fmt: skip


def host_to_device_bandwidth(device: Device) -> float:
    """Bytes per second from pinned host memory to the device, as `measure` measures it."""
    return measure(device).to_device


def median(driver: Any, stream: Any, work: Callable[[], None]) -> float:
    """Seconds that the copies which `work` puts on `stream` take there: the median of `REPEATS` measurements."""
    return statistics.median(seconds(driver, stream, work) for _ in range(REPEATS))


def compute_capability(architecture: str) -> str:
    """``"9.0"`` for ``"sm_90"``."""
    digits = architecture.removeprefix("sm_")
    return f"{digits[:-1]}.{digits[-1]}"


def driver_version(cuda: int, file: Path = Path("/proc/driver/nvidia/version")) -> str:
    """The driver's version and CUDA's, such as ``"580.65.06, CUDA 13.0"``.

    The first part is read from `file`; it is left out in containers that lack the file.
    """
    told = f"CUDA {cuda // 1000}.{cuda % 1000 // 10}"
    try:
        found = re.search(r"\b\d{3,}\.\d+(\.\d+)?\b", file.read_text())
    except OSError:
        found = None
    return f"{found[0]}, {told}" if found else told
