"""What a run takes of a device's memory, known before any of it is allocated. Pure: sizes in, sizes or an error out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ...errors import DeviceMemoryError
from ...graph import Graph
from ...graph.vertex_set import WORD
from ...program import BoundProgram
from .edges import EdgeLayout
from .launch import Launcher, block_count
from .ranks import RUN, Ranks, starts_bytes
from .residency import PAGE_EDGES, VERTICES, Residency, plan, too_little
from .shards import ITEM_EDGES, MAX_SHARD_VERTICES

FREE_SHARE = 0.9
"""Share of the device's free memory that a run takes at most: the rest is left to other processes."""
DETERMINISTIC_SHARE = 0.8
"""Share of the device's whole memory that a deterministic run takes: its pages must not depend on what is free."""
HOST_PAGES = 8
"""Pages for each reader that fit the host's memory for edges on disk, where the plan chooses their size: half of them
are being read."""
SMALL_BYTES = 1 << 10
"""Bytes for the arrays that a program does not have, each of which is allocated as a few bytes."""
REPORT_VERTICES = 1 << 20
"""Vertices whose results are computed at a time."""


@dataclass(frozen=True)
class DeviceMemoryPlan:
    """How a run divides its budget of a device's memory.

    Attributes
    ----------
    budget : int
        Bytes that the run may take.
    arrays : dict of str to int
        Bytes of every array that is not edges and is allocated at the start.
    reserved : int
        Bytes for what is allocated as pages need it.
    """

    budget: int
    arrays: dict[str, int]
    reserved: int

    @property
    def fixed(self) -> int:
        """Bytes of everything that is not edges."""
        return sum(self.arrays.values()) + self.reserved

    @property
    def left(self) -> int:
        """Bytes that are left for edges.

        Raises
        ------
        DeviceMemoryError
            If the vertices alone take more than the budget.
        """
        if self.budget < self.fixed:
            raise too_little(self.fixed, 0, self.budget)
        return self.budget - self.fixed

    def residency(
        self, offsets: npt.NDArray[Any], edges: EdgeLayout, staging: int, streams: int, page_edges: int | None
    ) -> Residency:
        """The pages, and which of them stay: see `residency.plan`. `staging` are bytes to pack the edges with."""
        return plan(offsets, edges, self.fixed + staging, self.budget, streams, page_edges)


def wanted_bytes(asked: int | None, deterministic: bool, free: int, total: int) -> tuple[int, int]:
    """Bytes of device memory that a run wants, and those that it gets.

    Parameters
    ----------
    asked : int or None
        What the user asked for.
    deterministic : bool
    free, total : int
        Bytes of the device's memory that are free, and all of them.
    """
    available = int(FREE_SHARE * free)
    wanted = asked
    if wanted is None:
        wanted = int(DETERMINISTIC_SHARE * total) if deterministic else available
    return wanted, min(wanted, available)


def page_edges_from_disk(room: int, readers: int, width: float) -> int:
    """The bound on a page's edges where they come from disk through `room` bytes of the host's memory.

    `width` are the bytes of an edge.
    """
    return min(max(int(room / (HOST_PAGES * readers) / width), 1), PAGE_EDGES)


def refused(name: str, nbytes: int, used: int, budget: int) -> DeviceMemoryError:
    """The error for an allocation that would exceed the budget, of which so many bytes are used."""
    return DeviceMemoryError(
        f"{name} needs {nbytes:,} bytes of GPU memory, of which {max(budget - used, 0):,} of {budget:,} are left; "
        "allow more with gpu_memory, or use the CPU"
    )


def shortage(residency: Residency) -> str | None:
    """What a user should know of pages that are smaller, or streams that are fewer, than would be good."""
    if not residency.is_short:
        return None
    largest = max(page.edges for page in residency.pages)
    return (
        f"GPU memory is short: pages of {largest:,} edges at most, on {residency.streams} streams; allow more with "
        "gpu_memory, or use fewer streams"
    )


def array_sizes(bound: BoundProgram, graph: Graph, ranks: Ranks, synchronous: bool) -> dict[str, int]:
    """Bytes of every array that is not edges and is allocated at the start."""
    n = graph.n
    runs, words = -(-graph.m // RUN) + 1, -(-n // WORD) * WORD
    destinations = int(ranks.before[-1])
    arrays = {
        "in_offsets": 8 * (n + 1),
        "values": n * bound.value.itemsize,
        "sums": destinations * bound.accumulator.itemsize,
        "heads": runs * bound.accumulator.itemsize,
        "starts": starts_bytes(graph.m),
        "run_ranks": 4 * runs,
        "word_ranks": words // 8,
        "frontier": words // 8,
        "next_frontier": words // 8,
        "total": 0 if bound.total is None else bound.total.itemsize,
    }
    if graph.directed:
        arrays["out_offsets"] = 8 * (n + 1)
    if synchronous:
        arrays["next_values"] = n * bound.value.itemsize
    if bound.reads_dst:
        arrays["destinations"] = 4 * destinations
    if bound.vertex_data is not None:
        arrays["vertex_data"] = bound.vertex_data.nbytes
    return arrays


def reserve(bound: BoundProgram, graph: Graph, ranks: Ranks, launcher: Launcher, replicates: bool) -> int:
    """Bytes for what is allocated as pages need it: tallies, partial totals, work items, reported values.

    `replicates` says whether a page may be gathered with replicated sums.
    """
    n, tally = graph.n, launcher.layouts.tally
    copies = max(launcher.share // bound.accumulator.itemsize, 1)
    items = 2 * (32 * int(ranks.before[-1]) // copies + graph.m // ITEM_EDGES) + n // MAX_SHARD_VERTICES
    each = launcher.layouts.item.itemsize + 4 + tally["partial"].itemsize
    needed = (items + n // WORD // 64 + 64) * each if launcher.share and replicates else 0
    needed += min(n, REPORT_VERTICES) * bound.reports.itemsize + len(ranks.hubs) * launcher.layouts.hub.itemsize
    pages, blocks = n // VERTICES + 1, n // VERTICES + block_count(n) + 1
    return needed + pages * tally.itemsize + blocks * tally["partial"].itemsize + SMALL_BYTES
