"""Whether a run uses tiles, and makes them unasked."""

from __future__ import annotations

import numpy as np

from ..codec.arrays import RAW
from ..executor.cpu.nearby import has_nearby_sources
from ..executor.memory import tile_bytes
from ..executor.modes import CPU
from ..graph import Graph
from ..graph.arrays import GraphArrays
from ..graph.tiles import destination_bounds
from ..program import BoundProgram
from .machine import Machine
from .options import RunOptions
from .reckoning import must_reverse

MAX_TILE_SKEW = 1.5
"""Limit on the load imbalance of tiles: the time that one thread takes for the tile row with the most edges, over the
time that all threads take for all edges."""
LEAST_TILED_ITERATIONS = 5
"""Iterations over all edges from which on a run makes tiles unasked: over kron 22 on 16 cores, making them takes 60 ms,
and each iteration then 15 instead of 29 (docs/results/cpu.md, "Making tiles")."""
LEAST_TILED_EDGES = 1 << 24
"""Stored edges of a graph from which on a run makes tiles unasked. An iteration over fewer takes a few milliseconds."""
TILES_SHARE = 1 / 16
"""Most that tiles made unasked may take of the memory that the process may use."""


def has_tiles(bound: BoundProgram, graph: Graph, options: RunOptions, machine: Machine, executor: str) -> bool:
    """Whether the graph has tiles that suit the run's threads, or the run should make them."""
    threads = options.threads or machine.cores
    if graph._arrays.has_tiles(bound.reads_edge_values):
        return suits_tiles(graph._arrays, bound.reads_edge_values, threads)
    return executor == CPU and pays_tiles(bound, graph, options, machine, threads)


def pays_tiles(bound: BoundProgram, graph: Graph, options: RunOptions, machine: Machine, threads: int) -> bool:
    """Whether a run on the CPU makes tiles unasked.

    It does if it is long, if all its iterations visit all edges, and if these are many, raw, and not in an order that
    keeps the values in the cache anyway. It does not if the user bounds the memory, or asks that the answer depend on
    nothing but the graph.
    """
    arrays = graph._arrays
    is_short = options.iterations is not None and options.iterations < LEAST_TILED_ITERATIONS
    if is_short or options.deterministic or not bound.updates_all_vertices or graph.m < LEAST_TILED_EDGES:
        return False
    if graph.memory is not None or graph.on_disk or graph.encoding != RAW or must_reverse(bound, graph):
        return False
    if has_nearby_sources(arrays) or tile_bytes(bound, graph) > TILES_SHARE * machine.memory():
        return False
    offsets = arrays.in_edges.offsets
    return is_even(int(np.diff(offsets[destination_bounds(offsets)]).max()), arrays.m, threads)


def suits_tiles(arrays: GraphArrays, weighted: bool, threads: int) -> bool:
    """Whether the graph has tiles, and their load imbalance is within `MAX_TILE_SKEW`."""
    tiles = arrays.made_tiles(weighted)
    return tiles is not None and is_even(tiles.edges_of_largest, arrays.m, threads)


def is_even(largest: int, edges: int, threads: int) -> bool:
    """Whether the load imbalance of tiles is within `MAX_TILE_SKEW`, if a block of destinations has `largest` edges."""
    return largest * threads <= MAX_TILE_SKEW * edges
