"""Parts of blocks: when to read some of an array's elements by themselves, and sums to hold such parts against."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from .disks import ALIGNMENT

Array = npt.NDArray[Any]

SECTOR = ALIGNMENT
REQUEST_BYTES = 1 << 17
"""What a disk reads on while Python makes, queues, reads and checks a request: 60 microseconds, at 2 GB/s."""


def access_bytes(k: float) -> int:
    """Bytes that a disk reads on in the time of one more read: 4 KiB at random take as long as k times as many in
    their order (`machine.Disk.k`)."""
    return int(k * SECTOR) + REQUEST_BYTES


def worth_reading(ranges: Array, access: int, elements: int) -> Array | None:
    """Runs of elements to read for those wanted, of a page of so many; None if all of it takes no longer.

    Each gap is read over, or begins another read, whichever takes less time; so no other choice of runs takes less. A
    page that is read whole spares the next one a block, which is worth what little is left out at its ends.

    Parameters
    ----------
    ranges : ndarray of int64, shape (k, 2)
        First and last element of what is wanted, ascending and apart.
    access : int
        Elements that are read on in the time of one more read.
    elements : int

    Returns
    -------
    ndarray of int64, shape (runs, 2), or None
    """
    ranges = ranges[ranges[:, 1] > ranges[:, 0]]
    ends = np.flatnonzero(ranges[1:, 0] - ranges[:-1, 1] >= access)
    firsts = ranges[np.append(0, ends + 1)[: len(ranges)], 0]
    lasts = ranges[np.append(ends, len(ranges) - 1)[: len(ranges)], 1]
    if int((lasts - firsts).sum()) + access * len(firsts) >= elements:
        return None
    return np.stack((firsts, lasts), axis=1)


def cut(runs: Array, step: int) -> Array:
    """Runs of sectors, cut where they pass a multiple of `step`; int64, shape (parts, 2)."""
    counts = (runs[:, 1] - 1) // step - runs[:, 0] // step + 1
    which = np.repeat(np.arange(len(runs)), counts)
    starts = (runs[which, 0] // step + np.arange(len(which)) - (np.cumsum(counts) - counts)[which]) * step
    return np.stack((np.maximum(starts, runs[which, 0]), np.minimum(starts + step, runs[which, 1])), axis=1)


def sums(stored: Array) -> Array:
    """A sum of each sector, uint32; the last one may be shorter."""
    bounds = range(0, len(stored), SECTOR)
    return np.array([xxhash.xxh3_64_intdigest(stored[at : at + SECTOR].data) & 0xFFFFFFFF for at in bounds], np.uint32)
