"""HyTGraph's choice of how the edges of each partition reach the GPU (Wang et al., ICDE 2023, section V). Pure.

A cost is a number of round trips over the link, each with `MOST_REQUESTS` requests of `REQUEST_BYTES`. Only comparisons
matter, so the time of a round trip is not needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from ..executor.modes import COMPACTED, COPIED, ZERO_COPY

Array = npt.NDArray[Any]

REQUEST_BYTES = 128
"""m: bytes of the largest request for host memory (section V-A)."""
MOST_REQUESTS = 256
"""MR: requests of one round trip (PCIe 3.0; section V-A)."""
FIXED_PART = 0.625
"""gamma: the part of a round trip's time that does not depend on the bytes that it moves (section V-A, after EMOGI)."""
COPY_SHARE, REQUESTS_SHARE = 0.8, 0.4
"""alpha and beta: edges are compacted if that costs less than these parts of a copy and of zero copy (section V-A)."""
COMBINED = 4
"""k: adjacent partitions that one task copies, at most (section V-B)."""
EDGE_BYTES, INDEX_BYTES = 4, 8
"""d1, of an edge without a value, and d2: bytes of an edge, and of an entry of the index over compacted lists."""


@dataclass(frozen=True)
class PartitionCounts:
    """What is known of each partition before an iteration: arrays of int64, shape (partitions,).

    Attributes
    ----------
    edges : ndarray
        Its edges.
    active_vertices, active_edges : ndarray
        Its active vertices, and their edges.
    requests : ndarray
        Lines of `REQUEST_BYTES` that hold edges of an active vertex, counted for each vertex by itself.
    edge_bytes : int
        d1: bytes of an edge, with its value if the program reads it.
    """

    edges: Array
    active_vertices: Array
    active_edges: Array
    requests: Array
    edge_bytes: int = EDGE_BYTES

    @property
    def compacted_bytes(self) -> Array:
        """Bytes of the active vertices' lists, laid end to end, and of the index over them."""
        nbytes: Array = self.active_edges * self.edge_bytes + self.active_vertices * INDEX_BYTES
        return nbytes

    @property
    def copy_costs(self) -> Array:
        """T_ef (equation 1): whole partitions are copied."""
        return round_trips(self.edges * self.edge_bytes)

    @property
    def compaction_costs(self) -> Array:
        """T_ec (equation 2) without its second term, the time of the CPU, which the selection leaves out."""
        return round_trips(self.compacted_bytes)

    @property
    def zero_copy_costs(self) -> Array:
        """T_iz (equation 3): kernels read the active vertices' lists where they are."""
        part = self.active_edges / np.maximum(self.edges, 1)
        costs: Array = -(-self.requests // MOST_REQUESTS) * (FIXED_PART + (1 - FIXED_PART) * part)
        return costs


@dataclass(frozen=True)
class TransferTask:
    """What is launched at once: partitions whose edges reach the GPU in the same way.

    Attributes
    ----------
    transfer : str
        ``"copied"``, ``"zero-copy"`` or ``"compacted"``.
    partitions : tuple of int
    """

    transfer: str
    partitions: tuple[int, ...]


def round_trips(nbytes: Array) -> Array:
    """The round trips that move so many bytes in saturated requests."""
    trips: Array = -(-nbytes // (REQUEST_BYTES * MOST_REQUESTS))
    return trips


def count_partitions(bounds: Array, offsets: Array, active: Array, edge_bytes: int = EDGE_BYTES) -> PartitionCounts:
    """Count what each partition has.

    Parameters
    ----------
    bounds : ndarray of int64, shape (partitions + 1,)
        The first vertex of each partition, and the number of vertices.
    offsets : ndarray of int64, shape (n + 1,)
        Where each vertex's edges begin. Edge 0 begins a line.
    active : ndarray of int64
        The active vertices, in ascending order.
    edge_bytes : int
        Bytes of an edge.
    """
    begins, ends = offsets[active], offsets[active + 1]
    lines = (ends * edge_bytes - 1) // REQUEST_BYTES - begins * edge_bytes // REQUEST_BYTES + 1
    places = np.searchsorted(active, bounds)

    def sums(of_each: Array) -> Array:
        return np.diff(np.append(0, np.cumsum(of_each))[places])

    requests = sums(np.where(ends > begins, lines, 0))
    return PartitionCounts(np.diff(offsets[bounds]), np.diff(places), sums(ends - begins), requests, edge_bytes)


def choose_transfers(counts: PartitionCounts) -> list[str | None]:
    """The cheapest way for each partition (Algorithm 1, lines 2 to 13); None if it has no active edge.

    At equal costs the algorithm chooses zero copy, as here, and the paper's text a copy.
    """
    copy, compaction, zero_copy = counts.copy_costs, counts.compaction_costs, counts.zero_copy_costs
    compacts = (compaction < COPY_SHARE * copy) & (compaction < REQUESTS_SHARE * zero_copy)
    ways = np.select([counts.active_edges == 0, compacts, copy < zero_copy], [0, 1, 2], 3)
    return [(None, COMPACTED, COPIED, ZERO_COPY)[way] for way in ways.tolist()]


def combine_tasks(chosen: list[str | None]) -> list[TransferTask]:
    """The tasks of an iteration: copies first, then zero copy and compaction, one task each (sections V-B and VI-B).

    A task copies up to `COMBINED` adjacent partitions. (Algorithm 1 as it is printed leaves out each fifth one.)
    """
    tasks, first = list[TransferTask](), 0
    for way, group in groupby(chosen):
        last = first + len(list(group))
        if way == COPIED:
            pieces = (range(k, min(k + COMBINED, last)) for k in range(first, last, COMBINED))
            tasks += [TransferTask(COPIED, tuple(piece)) for piece in pieces]
        first = last
    for way in ZERO_COPY, COMPACTED:
        partitions = tuple(number for number, one in enumerate(chosen) if one == way)
        if partitions:
            tasks.append(TransferTask(way, partitions))
    return tasks
