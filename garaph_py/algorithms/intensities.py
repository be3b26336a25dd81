"""The intensities of triangles: the geometric means of the weights of their edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..apps.checks import require_edges
from ..errors import GraphError
from ..executor.cpu.walk import bit_of
from ..graph import Graph
from ..graph.adjacency import Adjacency
from ..native import Kernel, PerCall, atomic_add
from .in_memory import Call
from .simple import COUNT_NEIGHBOURS
from .triangles import ORIENT, enter, oriented, sets_for

Array = npt.NDArray[Any]


# wide: a compiled function takes its arrays one by one.
def add_intensities(cuts, pieces, taken, offsets, others, roots, near, places, found, sums):
    """Add up the intensities of triangles at each of their vertices; threads take pieces of vertices in turn.

    `roots` are the cube roots of the weights, so that an intensity is the product of three. The other arrays are those
    of `count_triangles`. Returns the edges followed.
    """
    followed = np.int64(0)
    piece = atomic_add(taken, 0, 1)
    while piece < pieces:
        for u in range(cuts[piece], cuts[piece + 1]):
            begin, end = offsets[u], offsets[u + 1]
            enter(others, begin, end, near, places)
            total = np.float64(0)
            for e in range(begin, end):
                v = np.int64(others[e])
                closed = np.float64(0)
                for other in range(offsets[v], offsets[v + 1]):
                    w = np.int64(others[other])
                    if near[w >> 6] & bit_of(w):
                        amount = roots[e] * roots[other] * roots[begin + places[w]]
                        found[places[w]] += amount
                        closed += amount
                found[e - begin] += closed
                total += closed
                followed += offsets[v + 1] - offsets[v]
            for e in range(begin, end):
                v = np.int64(others[e])
                near[v >> 6] = 0
                sums[v] += found[e - begin]
                found[e - begin] = 0
            sums[u] += total
        piece = atomic_add(taken, 0, 1)
    return followed


ADD_INTENSITIES = Kernel("i64* i64 i64* i64* u32* f64* u64* u32* f64* f64*", add_intensities)
KERNELS = [COUNT_NEIGHBOURS, ORIENT, ADD_INTENSITIES]
"""What `intensity_sums` runs."""


def largest_weight(graph: Graph, function: str) -> float:
    """The largest edge value, by which a call of `function` divides all others.

    Raises
    ------
    GraphError
        If it is 0, or an edge value is not finite.
    """
    if not graph.m:
        return 1.0
    most = np.finfo(np.float64).max
    require_edges(function, graph, "finite edge values", -most, most)
    values: Any = graph._arrays.in_edges.values
    largest = float(values.max())
    if largest == 0:
        raise GraphError(f"{function} divides edge values by the largest, which is 0; give others, or weight=False")
    return largest


def roots_of(edges: Adjacency, largest: float | None) -> Array:
    """The cube roots of weights, which are edge values divided by the `largest`; without one, every weight is 1."""
    if largest is None:
        return np.ones(len(edges.neighbours))
    values: Any = edges.values
    roots: Array = np.cbrt(values / np.float64(largest))
    return roots


def intensity_sums(call: Call, edges: Adjacency, roots: Array) -> tuple[Array, Array, int]:
    """For each vertex the sum over its triangles, and its neighbours; and how many edges were visited.

    The edges are those of an undirected graph, and the roots those of their weights.
    """
    found, n, threads = oriented(call, edges, roots), call.graph.n, call.pool.size
    sums, near, places = np.zeros((threads, n)), *sets_for(call)
    followed = call.by_threads(
        ADD_INTENSITIES, found.cuts, len(found.cuts) - 1, np.zeros(1, np.int64), found.lists.offsets,
        found.lists.neighbours, found.lists.values, PerCall(near), PerCall(places),
        PerCall(np.zeros((threads, found.longest))), PerCall(sums),
    )  # fmt: skip
    return sums.sum(axis=0)[found.ranks], found.degrees, 3 * len(roots) + int(followed.sum())
