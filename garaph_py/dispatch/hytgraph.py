"""HyTGraph's choice of how the edges of each partition reach the GPU (Wang et al., ICDE 2023, section V). Pure.

A cost is a number of round trips over the link, each with `MOST_REQUESTS` requests of `REQUEST_BYTES`. Only comparisons
matter, so the time of a round trip is not needed.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from ..executor.modes import COMPACTED, COPIED, ZERO_COPY
from ..executor.partitions import EDGE_BYTES, PartitionCounts, TransferTask

Array = npt.NDArray[Any]

REQUEST_BYTES = 128
"""m: bytes of the largest request for host memory (section V-A)."""
MOST_REQUESTS = 256
"""MR: requests of one round trip (PCIe 3.0; section V-A)."""
FIXED_PART = 0.625
"""gamma: the share of a round trip's time that does not depend on the bytes that it moves (section V-A, after
EMOGI)."""
ALPHA, BETA = 0.8, 0.4
"""A partition is compacted if that costs less than ALPHA times a copy and BETA times zero copy (section V-A)."""
COMBINED = 4
"""k: adjacent partitions that one task copies, at most (section V-B)."""
HYBRID = COPIED, COMPACTED, ZERO_COPY
"""The ways among which HyTGraph selects."""


def copy_costs(counts: PartitionCounts) -> Array:
    """T_ef (equation 1): whole partitions are copied."""
    return round_trips(counts.edges * counts.edge_bytes)


def compaction_costs(counts: PartitionCounts) -> Array:
    """T_ec (equation 2) without its second term, the time of the CPU, which the selection leaves out."""
    return round_trips(counts.compacted_bytes)


def zero_copy_costs(counts: PartitionCounts) -> Array:
    """T_iz (equation 3): kernels read the active vertices' lists where they are."""
    part = counts.active_edges / np.maximum(counts.edges, 1)
    costs: Array = -(-counts.requests // MOST_REQUESTS) * (FIXED_PART + (1 - FIXED_PART) * part)
    return costs


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
    active = active[offsets[active + 1] > offsets[active]]
    begins, ends = offsets[active], offsets[active + 1]
    lines = (ends * edge_bytes - 1) // REQUEST_BYTES - begins * edge_bytes // REQUEST_BYTES + 1
    places = np.searchsorted(active, bounds)

    def sums(of_each: Array) -> Array:
        return np.diff(np.append(0, np.cumsum(of_each))[places])

    return PartitionCounts(np.diff(offsets[bounds]), np.diff(places), sums(ends - begins), sums(lines), edge_bytes)


def choose_transfers(
    counts: PartitionCounts, ways: tuple[str, ...] = HYBRID, alpha: float = ALPHA, beta: float = BETA
) -> list[str | None]:
    """The cheapest way for each partition (Algorithm 1, lines 2 to 13), or the only one; None if it has no active edge.

    At equal costs the algorithm chooses zero copy, as here, and the paper's text a copy.
    """
    is_active = counts.active_edges > 0
    if len(ways) == 1:
        return [ways[0] if active else None for active in is_active.tolist()]
    copy, compaction, zero_copy = copy_costs(counts), compaction_costs(counts), zero_copy_costs(counts)
    compacts = (compaction < alpha * copy) & (compaction < beta * zero_copy)
    chosen = np.select([~is_active, compacts, copy < zero_copy], [0, 1, 2], 3)
    return [(None, COMPACTED, COPIED, ZERO_COPY)[way] for way in chosen.tolist()]


def combine_tasks(chosen: list[str | None], combined: int = COMBINED) -> list[TransferTask]:
    """The tasks of an iteration: copies first, then the others, one task for each way (sections V-B and VI-B).

    A task copies up to `combined` adjacent partitions. (Algorithm 1 as it is printed leaves out each fifth one.)
    """
    tasks, first = list[TransferTask](), 0
    for way, group in groupby(chosen):
        last = first + len(list(group))
        if way == COPIED:
            pieces = (range(k, min(k + combined, last)) for k in range(first, last, combined))
            tasks += [TransferTask(COPIED, tuple(piece)) for piece in pieces]
        first = last
    others = {way for way in chosen if way not in (None, COPIED)}
    for other in sorted(others, reverse=True):  # zero copy before compaction
        partitions = tuple(number for number, one in enumerate(chosen) if one == other)
        tasks.append(TransferTask(str(other), partitions))
    return tasks


def by_change(tasks: list[TransferTask], counts: PartitionCounts) -> list[TransferTask]:
    """The same tasks, of which those that copy are in descending order of their vertices' deltas (section VI-A).

    Without deltas they stay in the order of vertices, in which hubs come first if the graph is in hub order.
    """
    if counts.change is None:
        return tasks
    change: list[float] = counts.change.tolist()
    copies = [task for task in tasks if task.transfer == COPIED]
    copies.sort(key=lambda task: -sum(change[number] for number in task.partitions))
    return copies + [task for task in tasks if task.transfer != COPIED]


def cut_last(tasks: list[TransferTask]) -> list[TransferTask]:
    """The same tasks, the last of which that copies is one for each partition.

    Nothing is copied while kernels process what the last copy has brought, so that should be little.
    """
    copies = sum(task.transfer == COPIED for task in tasks)
    if not copies:
        return tasks
    single = [TransferTask(COPIED, (number,)) for number in tasks[copies - 1].partitions]
    return tasks[: copies - 1] + single + tasks[copies:]
