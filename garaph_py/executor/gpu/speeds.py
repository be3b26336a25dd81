"""How fast the GPUs of this machine pull, relative to each other: their parts of a graph are in this proportion."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .device import Device

STEPS = 4
"""Speeds are multiples of 1/4 of the slowest GPU's. If parts changed a little from run to run, resident pages would be
copied again."""
LEAST_SECONDS = 1e-3
"""The shortest pull (s) that says something about a GPU's speed: threads may be 0.1 ms late."""

_measured: dict[int, float] = {}  # seconds per edge in the last run of several GPUs, by the GPU's number


def learn(devices: Sequence[Device], edges: Sequence[int], seconds: Sequence[float]) -> None:
    """Learn from a run in which each device has pulled its `edges` in these `seconds`; infinite if it has not."""
    if len(edges) == len(devices) and all(edges) and min(seconds) >= LEAST_SECONDS and max(seconds) < math.inf:
        _measured.update({d.number: s / e for d, e, s in zip(devices, edges, seconds, strict=True)})


def of(devices: Sequence[Device]) -> list[float]:
    """The speed of each device in units of the slowest one's: as measured, or else by the number of multiprocessors."""
    if all(device.number in _measured for device in devices):
        found = [1 / _measured[device.number] for device in devices]
    else:
        found = [float(device.multiprocessors) for device in devices]
    return [round(STEPS * speed / min(found)) / STEPS for speed in found]
