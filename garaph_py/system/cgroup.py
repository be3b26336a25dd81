"""Limits of the control group (Linux, version 2) that this process runs in; a parent's limits bind its children."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

OWN = Path("/proc/self/cgroup")
BASE = Path("/sys/fs/cgroup")
NONE = float("inf")


def folders() -> Iterator[Path]:
    """Where the group is described, and each of its parents."""
    try:
        group = OWN.read_text().splitlines()[-1].rpartition(":")[2].strip("/")
    except (OSError, IndexError):
        return
    for folder in (BASE / group, *(BASE / group).parents):
        if not folder.is_relative_to(BASE):
            return
        yield folder


def cores() -> float:
    """Cores that the quotas allow."""
    best = NONE
    for folder in folders():
        try:
            quota, period = (folder / "cpu.max").read_text().split()
            best = min(best, float(quota) / float(period)) if quota != "max" else best
        except (OSError, ValueError):
            continue
    return max(best, 1.0)


def memory() -> tuple[float, float]:
    """Bytes of memory that the limits allow, and what is left of them; cached files can be given up, and count as
    left."""
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
