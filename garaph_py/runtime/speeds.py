"""The speeds of this machine's hardware, measured as ``garaph devices`` measures them.

The ``garaph`` engine begins with the ratio of these speeds (Garaph section 5.1).
"""

from __future__ import annotations

import logging
import threading

from ..dispatch.rates import Speeds
from ..errors import DeviceError
from ..executor.cpu.measure import gather_rate
from ..executor.gpu import device as gpu_device
from ..executor.gpu.measure import measure
from ..native.threads import ThreadPool
from ..system.sizes import show_speed

log = logging.getLogger("garaph_py")

GATHERS = 1 << 22
"""Random reads of one measurement of the CPU: 16 ms with one thread (2 Xeon cores, 2026-11-26). ``garaph devices`` does
eight times as many."""
COPIED = 32 << 20
"""Bytes of a copy to the GPU, or within it, when these are measured: 0.7 ms over a link of 50 GB/s."""
GPU_EDGE_BYTES = 36
"""Bytes that a GPU moves to gather an edge: the source, 4 bytes, and the sector of 32 bytes that has its value."""

_lock = threading.Lock()
_known: dict[tuple[str, int], Speeds] = {}  # by the GPU's name and the number of threads


def measured(threads: int) -> Speeds | None:
    """The speeds of `threads` threads and of the GPU, measured once in a process; None if no GPU can be used."""
    try:
        device = gpu_device.find()
        with _lock:
            if (key := (device.name, threads)) not in _known:
                _known[key] = speeds_of(device, threads)
            return _known[key]
    except DeviceError:
        return None  # the run finds that out, too, and says so


def speeds_of(device: gpu_device.Device, threads: int) -> Speeds:
    """Measure the speeds; the CPU's take 0.1 seconds (2 Xeon cores, 2026-11-26)."""
    gpu = measure(device, COPIED)
    with ThreadPool(threads) as pool:
        found = Speeds(gather_rate(pool, count=GATHERS), gpu.copy / GPU_EDGE_BYTES, gpu.to_device)
    log.info(
        "this machine: the CPU gathers %s, the GPU %s, the link copies %s", show_speed(found.cpu, "E/s"),
        show_speed(found.gpu, "E/s"), show_speed(found.link),
    )  # fmt: skip
    return found
