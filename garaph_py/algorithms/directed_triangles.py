"""The triangles of directed graphs, each of whose edges has a direction."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..graph.adjacency import Adjacency
from ..graph.symmetrize import symmetrized, union_kernel
from ..native import Kernel
from . import intensities
from .in_memory import Call
from .intensities import intensity_sums, roots_of
from .simple import simple_degrees

Array = npt.NDArray[Any]


# wide: a compiled function takes its arrays one by one.
def add_direction(first, last, offsets, others, side_offsets, neighbours, roots, sums):
    """Add to the edges in the lists of [first, last) the roots of one side of the graph, of parallel edges the largest.

    The lists have all neighbours of this side, and others. All lists ascend.
    """
    for v in range(first, last):
        e, at, stop = offsets[v], side_offsets[v], side_offsets[v + 1]
        while at < stop:
            u, largest = neighbours[at], roots[at]
            while at < stop and neighbours[at] == u:
                largest = max(largest, roots[at])
                at += 1
            while others[e] < u:
                e += 1
            while e < offsets[v + 1] and others[e] == u:
                sums[e] += largest
                e += 1
    return 0


ADD_DIRECTION = Kernel("i64 i64 i64* u32* i64* u32* f64* f64*", add_direction)
KERNELS = [*intensities.KERNELS, union_kernel(0), ADD_DIRECTION]
"""What `directed_sums` runs."""


def undirected(call: Call, largest: float | None) -> tuple[Adjacency, Array]:
    """The neighbours of each vertex in any direction, and for each edge to one the sum of the roots of both directions.

    Where there is no edge, the root is 0.
    """
    arrays = call.arrays
    sides = arrays.in_edges, arrays.out_edges if largest is None else arrays.valued_out_edges(call.pool)
    edges = symmetrized(arrays.in_edges.without_values(), arrays.out_edges, call.pool)
    sums = np.zeros(len(edges.neighbours))
    for side in sides:
        call.on_vertices(
            ADD_DIRECTION, edges.offsets, edges.neighbours, side.offsets, side.neighbours, roots_of(side, largest),
            sums, offsets=edges.offsets,
        )  # fmt: skip
    return edges, sums


def directed_sums(call: Call, largest: float | None) -> tuple[Array, Array, int]:
    """For each vertex the sum over its directed triangles, and how many it could have; and how many edges were visited.

    A directed triangle has three vertices and, between each two of them, one edge in either direction. So the sum of
    the intensities of all that three vertices form, up to eight, is the product of three sums of roots. Without a
    `largest` weight, each counts 1. A vertex could have a directed triangle with each two of its edges, in either
    direction between their other ends, but not with the two to and from the same neighbour.
    """
    sums, neighbours, visited = intensity_sums(call, *undirected(call, largest))
    edges = simple_degrees(call, [call.arrays.in_edges, call.arrays.out_edges])
    passes = 8 * call.graph.m  # four over both sides: two for the union, one for the roots, one for the degrees
    return sums, edges * (edges - 1) - 2 * (edges - neighbours), passes + visited
