"""Reading parts of blocks: which sectors to read instead of whole blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .disks import ALIGNMENT

Array = npt.NDArray[Any]

SECTOR = ALIGNMENT
"""Bytes of a sector: the unit in which parts of blocks are read and checked."""
REQUEST_BYTES = 1 << 13
"""Fixed cost of a part: 4 us of processors, a third of them Python, as the bytes that a disk reads then at 2 GB/s."""


def access_bytes(k: float) -> int:
    """Cost of one more read, in bytes that a disk reads sequentially in the same time.

    A random read of 4 KiB takes as long as k times 4 KiB in sequence (`system.machine.Disk.k`), plus `REQUEST_BYTES`.
    """
    return int(k * SECTOR) + REQUEST_BYTES


def worth_reading(ranges: Array, access: int, elements: int) -> Array | None:
    """The cheapest runs of elements to read for the wanted ranges of a page; None if the whole page is as cheap.

    A gap between two ranges is read through if that takes less time than another read, so the choice is optimal. A page
    that is read whole saves the next page a block, which is worth more than the few elements left out at its ends.

    Parameters
    ----------
    ranges : ndarray of int64, shape (k, 2)
        First element, and one past the last, of each wanted range; ascending and disjoint.
    access : int
        Cost of one more read, in elements that the disk reads in sequence in the same time.
    elements : int
        Number of elements of the page.

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
    """Cut runs of sectors at the multiples of `step`; int64, shape (parts, 2)."""
    multiples, which = numbers_in(runs[:, 0] // step, -(-runs[:, 1] // step))
    starts = multiples * step
    return np.stack((np.maximum(starts, runs[which, 0]), np.minimum(starts + step, runs[which, 1])), axis=1)


def numbers_in(firsts: Array, lasts: Array) -> tuple[Array, Array]:
    """The numbers in each of the ranges [first, last), one range after the other, and which range each is in."""
    counts = lasts - firsts
    which = np.repeat(np.arange(len(counts)), counts)
    return firsts[which] + np.arange(len(which)) - (np.cumsum(counts) - counts)[which], which


def sectors_in(starts: Array, lengths: Array) -> Array:
    """The number of sectors that hold bytes of each of some blocks of a file."""
    found: Array = -(-(starts + lengths) // SECTOR) - starts // SECTOR
    return found
