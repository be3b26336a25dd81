"""The limits of the control group (Linux, version 2) in which this process runs, including those of its parents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

OWN = Path("/proc/self/cgroup")
"""The file that names the group of this process."""
BASE = Path("/sys/fs/cgroup")
"""Where the system describes all groups."""
NONE = float("inf")
"""The limit where there is none."""


def folders() -> Iterator[Path]:
    """The folders that describe the group and each of its parents."""
    try:
        group = OWN.read_text().splitlines()[-1].split(":", 2)[2].strip("/")  # a name may have colons
    except (OSError, IndexError):
        return
    for folder in (BASE / group, *(BASE / group).parents):
        if not folder.is_relative_to(BASE):
            return
        yield folder


def cores() -> float:
    """The number of cores that the CPU quotas allow, at least 1."""
    best = NONE
    for folder in folders():
        try:
            quota, period = (folder / "cpu.max").read_text().split()
            best = min(best, float(quota) / float(period)) if quota != "max" else best
        except (OSError, ValueError):
            continue
    return max(best, 1.0)


def memory() -> tuple[float, float]:
    """The bytes of memory that the limits allow, and how many of them are free.

    Memory that caches files counts as free, because the system can take it back.
    """
    most = left = NONE
    for folder in folders():
        try:
            limit = float((folder / "memory.max").read_text().replace("max", "inf"))
            used = int((folder / "memory.current").read_text())
            lines = map(str.split, (folder / "memory.stat").read_text().splitlines())
            cached = sum(int(count) for name, count in lines if name in ("active_file", "inactive_file"))
        except (OSError, ValueError):
            continue
        most, left = min(most, limit), min(left, max(0.0, limit - used + cached))
    return most, left
