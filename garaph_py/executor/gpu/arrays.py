"""What a run keeps on the device beside edges, and how much: known before any of it is allocated."""

from __future__ import annotations

from ...graph import Graph
from ...graph.vertex_set import WORD
from ...program import BoundProgram
from .launch import Launcher, block_count
from .ranks import RUN, Ranks, starts_bytes
from .residency import VERTICES
from .shards import ITEM_EDGES, MAX_SHARD_VERTICES

LEAST_ALLOCATIONS = 1 << 10
"""Bytes of the arrays that a program does not have."""
REPORT_VERTICES = 1 << 20
"""Vertices whose results are made at a time."""


def array_sizes(bound: BoundProgram, graph: Graph, ranks: Ranks, synchronous: bool) -> dict[str, int]:
    """Bytes of every array that is not edges."""
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
    """Bytes for what is allocated as pages need it: tallies, partial totals, work items, reported values."""
    n, tally = graph.n, launcher.layouts.tally
    copies = max(launcher.share // bound.accumulator.itemsize, 1)
    items = 2 * (32 * int(ranks.before[-1]) // copies + graph.m // ITEM_EDGES) + n // MAX_SHARD_VERTICES
    each = launcher.layouts.item.itemsize + 4 + tally["partial"].itemsize
    needed = (items + n // WORD // 64 + 64) * each if launcher.share and replicates else 0
    needed += min(n, REPORT_VERTICES) * bound.reports.itemsize + len(ranks.hubs) * launcher.layouts.hub.itemsize
    pages, blocks = n // VERTICES + 1, n // VERTICES + block_count(n) + 1
    return needed + pages * tally.itemsize + blocks * tally["partial"].itemsize + LEAST_ALLOCATIONS
