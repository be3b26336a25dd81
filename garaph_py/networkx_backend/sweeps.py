"""Searches from many vertices of a graph in memory, one after the other on each thread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..apps import BFS, SSSP
from ..graph import Graph
from ..graph.adjacency import Adjacency
from ..native import Kernel
from ..native.threads import ThreadPool, split
from .runs import run_on, threads_for

Array = npt.NDArray[Any]

EXACT = 1 << 53
"""The least integer whose successor float64 does not have: SciPy's distances are of that type."""
BLOCK = 1 << 22
"""Distances that SciPy computes at a time: 32 MiB."""


# wide: compiled code takes its arrays one by one
def search_each(offsets, targets, sources, first, last, level, queue, reached, farthest, total):  # type: ignore[no-untyped-def]
    """Search from each of ``sources[first:last]``.

    `level` must be -1 everywhere; it is left with the levels of the last search, whose vertices are in `queue` in the
    order in which it found them. Of search k, ``reached[k]`` receives the number of vertices, ``farthest[k]`` the
    greatest level, and ``total[k]`` the sum of the levels.
    """
    stop = 0
    for k in range(first, last):
        for place in range(stop):
            level[queue[place]] = -1
        source = sources[k]
        level[source], queue[0] = 0, source
        place, stop, depths = 0, 1, 0
        while place < stop:
            vertex = queue[place]
            depth = level[vertex]
            depths += depth
            for edge in range(offsets[vertex], offsets[vertex + 1]):
                target = targets[edge]
                if level[target] < 0:
                    level[target] = depth + 1
                    queue[stop] = target
                    stop += 1
            place += 1
        reached[k], farthest[k], total[k] = stop, level[queue[stop - 1]], depths
    return stop


SEARCH_EACH = Kernel("i64* u32* u32* i64 i64 i32* u32* i64* i64* i64*", search_each)


@dataclass(frozen=True)
class Sweep:
    """Of a search from each of some vertices: the number of vertices reached, the greatest level, the sum of levels."""

    reached: Array
    farthest: Array
    total: Array

    @classmethod
    def empty(cls, count: int) -> Sweep:
        return cls(*(np.zeros(count, np.int64) for _ in range(3)))

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        return self.reached, self.farthest, self.total


def sweep(graph: Graph, sources: Array) -> Sweep:
    """A search from each of some vertices. If the edges are on disk, it is a run of `BFS` each."""
    found, sources = Sweep.empty(len(sources)), np.asarray(sources, np.uint32)
    if graph.on_disk:
        for k, source in enumerate(sources.tolist()):
            level = run_on(graph, BFS(graph.ids[source])).values["level"]
            found.reached[k], found.farthest[k], found.total[k] = (level >= 0).sum(), level.max(), level.clip(0).sum()
        return found
    offsets, targets = graph._arrays.out_edges.offsets, graph._arrays.out_edges.neighbours
    with ThreadPool(threads_for(graph.m * len(sources))) as pool:
        tasks = [
            (offsets, targets, sources, *part, np.full(graph.n, -1, np.int32), np.empty(graph.n, np.uint32))
            for part in pairwise(split(len(sources), pool.size))
        ]
        pool.run(SEARCH_EACH, [(*task, *found.arrays) for task in tasks])
    return found


def distances_from_each(graph: Graph, sources: Array) -> Iterator[Array]:
    """The distances by edge values from each of some vertices in turn, as `SSSP` reports them.

    SciPy computes them if the edges are in memory and its float64 is exact; otherwise it is a run of `SSSP` each.
    """
    from scipy.sparse.csgraph import dijkstra

    if graph.m == 0 or graph.on_disk or graph.edge_dtype is None or not exact(graph):
        for source in sources.tolist():
            yield run_on(graph, SSSP(graph.ids[source])).values
        return
    with ThreadPool(threads_for(graph.m)) as pool:
        out = graph._arrays.valued_out_edges(pool)
    matrix = shortest_edges(out)
    report = whole if graph.edge_dtype.kind != "f" else np.asarray
    for block in np.array_split(sources, -(-len(sources) * graph.n // BLOCK) or 1):
        yield from map(report, dijkstra(matrix, indices=block))


def whole(distance: Array) -> Array:
    """Distances as int64, the largest of which stands for infinity."""
    far = np.isinf(distance)
    return np.where(far, np.iinfo(np.int64).max, np.where(far, 0, distance).astype(np.int64))


def shortest_edges(edges: Adjacency) -> Any:
    """The adjacency as SciPy's matrix, with the least of parallel edges, which SciPy would add up."""
    from scipy import sparse

    offsets, others, values, n = edges.offsets, edges.neighbours, edges.values, len(edges.offsets) - 1
    assert values is not None
    differs = np.ones(len(others), np.bool_)
    differs[1:] = others[1:] != others[:-1]
    differs[offsets[:-1][offsets[:-1] < len(others)]] = True
    first = np.flatnonzero(differs)
    return sparse.csr_array(
        (np.minimum.reduceat(values, first), others[first], np.searchsorted(first, offsets)), shape=(n, n)
    )


def exact(graph: Graph) -> bool:
    """Whether float64 holds the length of every path without a rounding that `SSSP` would not make."""
    assert graph.edge_dtype is not None
    if graph.edge_dtype.kind == "f":
        return graph.edge_dtype == np.float64
    return int(graph._arrays.value_limits.most) * graph.n < EXACT
