"""Measures how fast data moves from one GPU of a host to another."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

from . import peers
from .device import Device, failing
from .memory import DeviceMemory

COPIED = 256 << 20
"""Bytes per copy, or an eighth of the free memory of a GPU if that is less. Each GPU's memory holds two such arrays."""
REPEATS = 5
"""Copies in each direction; the median counts."""


@dataclass(frozen=True)
class Link:
    """The connection between two GPUs, with measured speeds in bytes per second.

    Attributes
    ----------
    first, second : int
        The GPUs' numbers.
    is_direct : bool
        Each reaches the other's memory; otherwise copies go through the host.
    forth, back : float
        From the first to the second, and from there.
    both : float
        In both directions at once, together.
    """

    first: int
    second: int
    is_direct: bool
    forth: float
    back: float
    both: float


def measure_links(devices: Sequence[Device], most: int = COPIED) -> list[Link]:
    """Copy up to `most` bytes between every two of the devices, five times each way, and take the medians.

    Raises
    ------
    DeviceError
        If a device fails.
    """
    return [measured(first, second, most) for first, second in combinations(devices, 2)]


def measured(first: Device, second: Device, most: int = COPIED) -> Link:
    """The way between two GPUs, measured."""
    is_direct = peers.reaches(first, second) and peers.reaches(second, first)
    size = min(most, *(device.free_memory() // 8 for device in (first, second)))
    ends = [End(device, size) for device in (first, second)]
    try:
        forth, back = partial(ends[0].send, ends[1]), partial(ends[1].send, ends[0])
        times = [seconds(ends, sends) for sends in ([forth], [back], [forth, back])]
    finally:
        for end in ends:
            end.close()
    speeds = [size * count / taken for count, taken in zip((1, 1, 2), times, strict=True)]
    return Link(first.number, second.number, is_direct, *speeds)


class End:
    """Two arrays in a GPU's memory, one to send and one to receive, and a stream."""

    def __init__(self, device: Device, size: int) -> None:
        self.device, self._size = device, size
        with device, failing(device.driver):
            self._memory = DeviceMemory(device, 2 * size)
            self.sent, self.received = (self._memory.allocate(name, size) for name in ("sent", "received"))
            self.stream: Any = device.driver.Stream()

    def send(self, other: End) -> None:
        """Start to copy to another GPU."""
        with self.device, failing(self.device.driver):
            peers.copy(other.device, other.received, self.device, self.sent, self._size, self.stream)

    def wait(self) -> None:
        """Wait for the copy."""
        with self.device, failing(self.device.driver):
            self.stream.synchronize()

    def close(self) -> None:
        """Free the memory. PyCUDA can destroy the stream only while the device's context is current."""
        with self.device:
            self._memory.close()
            del self.stream


def seconds(ends: Sequence[End], sends: Sequence[Callable[[], None]]) -> float:
    """The time that the copies of all `sends` take at once: the median of `REPEATS` measurements, after one more."""
    times = []
    for _ in range(REPEATS + 1):
        started = time.perf_counter()
        for send in sends:
            send()
        for end in ends:
            end.wait()
        times.append(time.perf_counter() - started)
    return statistics.median(times[1:])
