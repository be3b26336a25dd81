"""In-edges in tiles: by blocks of 65,536 destinations, then of as many sources, then by source.

What a tile reads at random, the values of its sources, and what it adds to at random, the sums of its destinations,
both stay in a core's cache; and an edge is one 32-bit word. (Shards cut the destinations the same way, Garaph section
2.1; tiles cut the sources too.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..native import Each, Kernel
from ..threads import Team

if TYPE_CHECKING:
    from .graph import Graph

Array = npt.NDArray[Any]
BITS = 16
"""Of a vertex's place in its block; two such places make an edge's word."""


@dataclass(frozen=True)
class Tiles:
    """The in-edges of a graph, once more.

    Attributes
    ----------
    starts : ndarray of int64, shape (blocks**2 + 1,)
        Tile ``destination block * blocks + source block`` holds edges ``starts[tile]`` to ``starts[tile + 1]``.
    edges : ndarray of uint32, shape (m,)
        The destination's place in its block in the upper half, the source's in the lower.
    values : ndarray, shape (m,), or None
    """

    blocks: int
    starts: Array
    edges: Array
    values: Array | None


def count_tiles(targets, start, stop, counts):
    """Edges [start, stop) by block of their target."""
    for e in range(start, stop):
        counts[targets[e] >> BITS] += 1
    return 0


def make_place_tiles(has_values: bool):
    def place_tiles(offsets, targets, values, first, last, cursor, edges, out_values):
        """The out-edges of the vertices [first, last) to where the tiles' cursors point."""
        for u in range(first, last):
            low = np.uint32(u & ((1 << BITS) - 1))
            for e in range(offsets[u], offsets[u + 1]):
                target = targets[e]
                place = cursor[target >> BITS]
                cursor[target >> BITS] = place + 1
                edges[place] = np.uint32(target << BITS) | low
                if has_values:
                    out_values[place] = values[e]
        return 0

    return place_tiles


COUNT_TILES = Kernel("u32* i64 i64 i64*", count_tiles)


@cache
def place_tiles_kernel(width: int) -> Kernel:
    value = f"u{8 * width or 32}*"
    return Kernel(f"i64* u32* {value} i64 i64 i64* u32* {value}", make_place_tiles(width > 0))


def make_tiles(graph: Graph, weighted: bool, team: Team) -> Tiles:
    """The tiles of `graph`, with edge values or without; threads take blocks of sources, which share no tile."""
    n, out = graph.n, graph.out_edges
    blocks = -(-n >> BITS)
    first = np.arange(blocks) << BITS
    last = np.minimum(first + (1 << BITS), n)
    counts = np.zeros((blocks, blocks), np.int64)  # by source block
    team.launch(COUNT_TILES.rows(blocks, out.neighbours, out.offsets[first], out.offsets[last], Each(counts)))
    starts = np.zeros(blocks * blocks + 1, np.int64)
    np.cumsum(counts.T.ravel(), out=starts[1:])
    cursor = starts[:-1].reshape(blocks, blocks).T.copy()
    edges = np.empty(graph.m, np.uint32)
    values = graph.valued_out_edges(team).values if weighted else None
    width = 0 if values is None else values.dtype.itemsize
    raw = None if values is None else values.view(f"u{width}")
    out_raw = None if raw is None else np.empty_like(raw)
    place = place_tiles_kernel(width)
    team.launch(place.rows(blocks, out.offsets, out.neighbours, raw, first, last, Each(cursor), edges, out_raw))
    return Tiles(blocks, starts, edges, None if out_raw is None or values is None else out_raw.view(values.dtype))
