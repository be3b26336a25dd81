"""Sort edges in several passes, each for the lists of some vertices, where a disk has no room for all keys at once."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...native import PerCall
from ...native.threads import ThreadPool, shares
from .adjacency import COUNT_CLASSES, OwnedPiece

Array = npt.NDArray[Any]

CLASSES = 1 << 16
"""Equal ranges of vertices at most, whose entries are counted before the first pass."""
PASSES = (1, 2, 4, 8, 16)
"""Numbers of passes that are tried. Each pass reads, or generates, all edges again."""


def has_room(needs: Mapping[Path, int], there: Mapping[Path, int]) -> bool:
    """Whether each disk has room for the bytes it `needs`, less those already `there`."""
    return all(needed - there.get(disk, 0) <= shutil.disk_usage(disk).free for disk, needed in needs.items())


def fewest_passes(needs_of: Callable[[int], Mapping[Path, int]], there: Mapping[Path, int]) -> int:
    """The least number of passes for which the disks have room; the most if not even these are enough."""
    return next((passes for passes in PASSES if has_room(needs_of(passes), there)), PASSES[-1])


def owner_ranges(owners: Iterable[Array], n: int, passes: int, pool: ThreadPool) -> tuple[list[range], float]:
    """Divide the vertices 0 to ``n - 1`` into ranges with about as many entries each.

    Parameters
    ----------
    owners : iterable of ndarray of uint32
        For each entry, the vertex in whose list it is.
    passes : int
        The most ranges.
    pool : ThreadPool

    Returns
    -------
    list of range
        In ascending order.
    float
        The part of all entries that the largest range has: a vertex with many is not divided.
    """
    shift = max((n - 1).bit_length() - (CLASSES - 1).bit_length(), 0)
    counts = np.zeros((pool.size, ((n - 1) >> shift) + 1), np.int64)
    for some in owners:
        pool.launch(COUNT_CLASSES.rows(pool.size, some, *shares(len(some), pool.size), shift, PerCall(counts)))
    before = np.append(0, np.cumsum(counts.sum(axis=0)))  # entries before each class
    entries = int(before[-1])
    cuts = np.searchsorted(before, entries * np.arange(1, passes) // passes, "right")
    bounds = [0, *sorted(set(cuts.tolist()) - {0, len(before) - 1, len(before)}), len(before) - 1]
    largest = float(np.diff(before[bounds]).max() / max(entries, 1))
    return [range(first << shift, min(last << shift, n)) for first, last in pairwise(bounds)], largest


def owned(pieces: Iterator[tuple[Array, Array | None]], first: int = 0) -> Iterator[OwnedPiece]:
    """The `pieces` of sorted keys, whose owners are counted from vertex `first`."""
    for keys, values in pieces:
        yield first, keys, values
        del keys, values  # see `AdjacencyBuilder.add`
