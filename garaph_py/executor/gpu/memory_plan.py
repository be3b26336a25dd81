"""Computes the sizes of a run's arrays in device memory before any of them is allocated. It allocates nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...codec.arrays import RAW
from ...errors import DeviceMemoryError
from ...graph import Graph
from ...graph.vertex_set import WORD
from ...program import BoundProgram
from ...program.columns import has_even_rows
from ...program.part import reads_numbers
from .edges import EdgeLayout
from .header import CHAIN_LENGTH, CLASSES, FEW_BLOCKS, FEW_EDGES, FEW_LISTS, FEW_THREADS, MOST_SUPERSTEPS, PIECE
from .launch import Launcher, block_count
from .offsets import begins_bytes
from .parts import Part
from .ranks import RUN, Ranks, starts_bytes
from .residency import VERTICES, Residency, plan, too_little
from .settings import SHADOWS, ListPush
from .shards import ITEM_EDGES, MAX_SHARD_VERTICES
from .task import LIST_PIECE, SHADOW, SUPERSTEP, layout

FREE_SHARE = 0.9
"""Maximal share of the device's free memory that a run takes. The rest is left to other processes."""
DETERMINISTIC_SHARE = 0.8
"""Share of the device's total memory that a deterministic run takes, because its pages must not depend on how much
memory is free."""
SMALL_BYTES = 1 << 10
"""Bytes for all arrays that a program does not use; `DeviceMemory` allocates 16 bytes for each."""
REPORT_VERTICES = 1 << 20
"""Vertices whose reported values the GPU computes at a time."""

MOST_EXCHANGED = 1 << 20
"""Vertices that a GPU sends at a time. What it sends takes 12 MB at most, 30 microseconds over a link between GPUs."""
LEAST_EXCHANGED = 1 << 14
"""If a GPU has room for fewer, GPUs do not push: they would wait for each other too often."""
UNLISTED = ("next_queues", "supersteps", "least", "destinations")
"""Arrays that runs which only push along lists do not need (`push_from_lists`)."""


@dataclass(frozen=True)
class DeviceMemoryPlan:
    """How a run divides its budget of a device's memory.

    Attributes
    ----------
    budget : int
        Bytes that the run may take.
    arrays : dict of str to int
        Bytes of every array, except edges, that is allocated at the start.
    reserved : int
        Bytes for allocations that are made later, when pages need them.
    """

    budget: int
    arrays: dict[str, int]
    reserved: int

    @property
    def fixed(self) -> int:
        """Bytes of everything except edges."""
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
        self, offsets: npt.NDArray[Any], edges: EdgeLayout, staging: int, streams: int, page_edges: int | None,
        resident_pages: int, part: Part | None,
    ) -> Residency:  # fmt: skip
        """The pages, and which of them are resident (see `residency.plan`).

        `staging` is the size of the buffers for packing, in bytes.
        """
        return plan(offsets, edges, self.fixed + staging, self.budget, streams, page_edges, resident_pages, part)


def wanted_bytes(asked: int | None, deterministic: bool, free: int, total: int) -> tuple[int, int]:
    """Bytes of device memory that a run wants, and bytes that it gets.

    Parameters
    ----------
    asked : int or None
        Bytes that the user asked for.
    deterministic : bool
    free, total : int
        Bytes of the device's memory that are free, and bytes in total.
    """
    available = int(FREE_SHARE * free)
    wanted = asked
    if wanted is None:
        wanted = int(DETERMINISTIC_SHARE * total) if deterministic else available
    return wanted, min(wanted, available)


def refused(name: str, nbytes: int, used: int, budget: int) -> DeviceMemoryError:
    """The error for an allocation that would exceed the `budget`, of which `used` bytes are in use."""
    return DeviceMemoryError(
        f"{name} needs {nbytes:,} bytes of GPU memory, but only {max(budget - used, 0):,} of {budget:,} are left; "
        "allow more with gpu_memory, or use the CPU"
    )


def shortage(residency: Residency) -> str | None:
    """A warning for the user if pages are smaller or streams fewer than would be fast; None if they are not."""
    if not residency.is_short:
        return None
    largest = max(page.edges for page in residency.elsewhere)  # resident ones are joined
    return (
        f"GPU memory is short: pages of {largest:,} edges at most, on {residency.streams} streams; allow more with "
        "gpu_memory, or use fewer streams"
    )


def array_sizes(
    bound: BoundProgram, graph: Graph, destinations: int, synchronous: bool, components: bool = False,
    deltas: bool = False, by_runs: bool = True,
) -> dict[str, int]:  # fmt: skip
    """Bytes of every array, except edges, that is allocated at the start.

    `destinations` vertices have in-edges. `components` says whether the run finds connected components, `deltas`
    whether iterations may push deltas. If `by_runs` is False, all kernels take edges by the lists of vertices.
    """
    n = graph.n
    runs, words = -(-graph.m // RUN) + 1, -(-n // WORD) * WORD
    most = graph.m if bound.place is None else graph._arrays.largest_offset
    arrays = {
        "in_begins": begins_bytes(n, most),
        "values": n * bound.value.itemsize,
        "sums": destinations * bound.accumulator.itemsize * by_runs,
        "frontier": words // 8,
        "next_frontier": words // 8,
        "total": 0 if bound.total is None else bound.total.itemsize,
    }
    if by_runs:
        arrays |= {
            "heads": runs * bound.accumulator.itemsize, "starts": starts_bytes(graph.m), "run_ranks": 4 * runs,
            "word_ranks": words // 8,
        }  # fmt: skip
    if graph.directed:
        arrays["out_begins"] = begins_bytes(n, most)
    if synchronous:
        arrays["next_values"] = n * bound.value.itemsize
    if components:
        arrays |= {"parents": 4 * n, "largest": 4}
    if deltas:
        arrays |= {"kept_sums": n * bound.accumulator.itemsize, "notified": words // 8}
    if deltas or can_push(bound, graph):
        # `queue` is in the memory of `sums`, which a push does not need.
        arrays["sums"] = max(arrays["sums"], 4 * n)
        # A list that is cut has PIECE edges or more, and two pieces more than whole ones at most.
        arrays["pieces"] = layout(LIST_PIECE).itemsize * (3 * graph.m // PIECE)
        # Room for two small frontiers, or for all to which the edges of one lead.
        arrays["next_queues"] = 4 * FEW_BLOCKS * FEW_THREADS * (FEW_EDGES if deltas else 2 * FEW_LISTS)
        arrays["supersteps"] = layout(SUPERSTEP).itemsize * (MOST_SUPERSTEPS + 1)
        arrays["least"] = 3 * bound.value.itemsize
    if bound.finds_parents:
        arrays["class_edges"] = 2 * 8 * CLASSES
        if not synchronous:  # otherwise the second array of values has them
            arrays["parents"] = 4 * n
    pushes_here = (deltas or can_push(bound, graph)) and not graph.on_disk
    reverses = graph.directed and pushes_here and bound.reads_edge_values
    if bound.reads_dst or components or reverses:
        arrays["destinations"] = 4 * destinations
    if bound.is_narrowed:
        arrays["lost"] = 4
    if bound.vertex_data is not None:
        arrays["vertex_data"] = bound.vertex_data.nbytes
    return arrays


def with_list_arrays(arrays: dict[str, int], lists: ListPush, n: int, m: int, relaxes: bool) -> dict[str, int]:
    """The `arrays` of a run whose iterations push along `lists`: those by which they divide lists, and none for others.

    A vertex has at most one shadow vertex with fewer edges than the degree limit.
    """
    arrays = {name: size for name, size in arrays.items() if name not in UNLISTED}
    if lists.division == SHADOWS:
        size = layout(SHADOW).itemsize
        arrays |= {"whole_shadows": size * (m // lists.degree_limit), "part_shadows": size * n}
    if lists.byte_map and relaxes:  # deltas notify whom they change
        arrays["updated"] = n
    return arrays


def with_hints(memory: DeviceMemoryPlan, n: int) -> DeviceMemoryPlan:
    """The plan of a run that also keeps, for each of `n` vertices, the in-neighbour at which its last gather ended."""
    return replace(memory, arrays=memory.arrays | {"hints": 4 * n})


def can_push(bound: BoundProgram, graph: Graph) -> bool:
    """Whether the GPU may push in a relaxation."""
    return bound.is_relaxation and has_lists(bound, graph)


def can_push_rows(bound: BoundProgram, graph: Graph) -> bool:
    """Whether a GPU that works alone may push rows (`program.columns`): along lists that its kernels can read."""
    return bound.columns_relax and has_even_rows(bound) and has_lists(bound, graph) and not graph.on_disk


def has_lists(bound: BoundProgram, graph: Graph) -> bool:
    """Whether there are lists for a GPU to push from: of in-edges if they are the out-edges too, else of out-edges.

    If the program reads edge values, those of out-edges must be known, unless the edges are raw and in memory.
    """
    if graph.on_disk:
        return graph._arrays.has_valued_out_edges or not bound.reads_edge_values
    gpu_orders = bound.undirected or graph.encoding == RAW
    return gpu_orders or not (bound.reads_edge_values and graph._arrays.bytes_to_reverse)


def reserve(bound: BoundProgram, graph: Graph, ranks: Ranks, launcher: Launcher, counted: int | None) -> int:
    """Bytes for the other allocations: tallies, partial totals, work items, reported values, and the numbers that a
    part's vertices have in the undivided graph.

    `counted` is the number of vertices that count in shards; None if the replicated gather will not be used.
    """
    n, tally = graph.n, launcher.layouts.tally
    copies = max(launcher.share // bound.accumulator.itemsize, 1)
    items = 2 * (32 * (counted or 0) // copies + graph.m // ITEM_EDGES) + n // MAX_SHARD_VERTICES
    each = launcher.layouts.item.itemsize + 4 + tally["partial"].itemsize
    needed = (items + n // WORD // 64 + 64) * each if launcher.share and counted is not None else 0
    needed += reported_bytes(bound, n) + len(ranks.hubs) * launcher.layouts.hub.itemsize
    needed += 4 * n if bound.place is not None and reads_numbers(bound) else 0
    return needed + tally_bytes(n, tally) + SMALL_BYTES


def reported_bytes(bound: BoundProgram, n: int) -> int:
    """Bytes for reported values: of so many of `n` vertices as the GPU computes at a time."""
    return (min(n, REPORT_VERTICES) + 2 * WORD) * max(bound.reports.itemsize, bound.value.itemsize)


def tally_bytes(n: int, tally: np.dtype[Any]) -> int:
    """Bytes for the tallies of the most pages that `n` vertices may have, and for their blocks' partial totals."""
    pages, blocks = n // VERTICES + 1, n // VERTICES + block_count(n) + 1
    return (pages + CHAIN_LENGTH + 1) * tally.itemsize + blocks * tally["partial"].itemsize


class ExchangePlan(NamedTuple):
    """Device memory in which a GPU exchanges with others what pushes change (exchange.py).

    Attributes
    ----------
    most : int
        Vertices that a GPU receives at a time from each other one.
    senders : int
        How many others there are.
    listed : int
        Bytes for the values of the vertices that it sends; 0 if they are in `next_values`.
    value_bytes : int
        Bytes of a value.
    """

    most: int
    senders: int
    listed: int
    value_bytes: int

    @property
    def nbytes(self) -> int:
        return self.listed + self.senders * self.most * (4 + self.value_bytes) + SMALL_BYTES


def plan_exchange(n: int, value_bytes: int, senders: int, synchronous: bool, left: int) -> ExchangePlan | None:
    """What the exchange takes of the `left` bytes of a device's memory; None if that is too little."""
    listed = 0 if synchronous else n * value_bytes  # a synchronous push uses `next_values` for the queue's values only
    most = min(MOST_EXCHANGED, n, (left - listed - SMALL_BYTES) // (senders * (4 + value_bytes)))
    return ExchangePlan(most, senders, listed, value_bytes) if most >= max(min(LEAST_EXCHANGED, n), 1) else None
