"""Graphs from adjacency lists in a file: one pass checks all edges; only lists that are not in order are sorted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from ... import events
from ...errors import FormatError
from ...graph import group
from ...graph.adjacency import Adjacency
from ...graph.generate import U32, mix
from ...graph.graph import Graph
from ...graph.ids import VertexIds
from ...graph.transpose import reversed_edges, transposed
from ...native import Kernel, prepare
from ...native.threads import ThreadPool, split


@dataclass(frozen=True)
class Lists:
    """Adjacency whose offsets and neighbours have been checked.

    Attributes
    ----------
    adjacency : Adjacency
    ascending : bool
        Whether the neighbours of every vertex are in ascending order.
    forth, back : int
        Sums of a 64-bit hash over all (vertex, neighbour, value), and over all (neighbour, vertex, value). If the sums
        of two lists are equal, they have the same edges, except with negligible probability.
    """

    adjacency: Adjacency
    ascending: bool
    forth: int
    back: int


def make_inspect(has_values: bool):
    def inspect(offsets, neighbours, values, first, last, n, found):
        """The first edge in the lists of vertices [first, last) that leads to no vertex below `n`, else -1.

        `found` receives 1 if some list is not in ascending order, then `Lists.forth` and `Lists.back`.
        """
        forth = back = np.uint64(0)
        for vertex in range(first, last):
            previous = np.int64(0)
            for edge in range(offsets[vertex], offsets[vertex + 1]):
                other = np.int64(neighbours[edge])
                if other >= n:
                    return edge
                if other < previous:
                    found[0] = np.uint64(1)
                previous = other
                out = mix(np.uint64(vertex) << U32 | np.uint64(other))
                into = mix(np.uint64(other) << U32 | np.uint64(vertex))
                if has_values:
                    out, into = mix(out + np.uint64(values[edge])), mix(into + np.uint64(values[edge]))
                forth += out
                back += into
        found[1], found[2] = forth, back
        return -1

    return inspect


@cache
def inspect_kernel(width: int) -> Kernel:
    """`make_inspect` for edge values of `width` bytes (0: none)."""
    return Kernel(f"i64* u32* u{8 * width or 32}* i64 i64 i64 u64*", make_inspect(bool(width)))


def checked(
    path: Path, adjacency: Adjacency, place: int, width: int, pool: ThreadPool, listener: events.Listener
) -> Lists:
    """Check the neighbours of `adjacency`, whose offsets have been checked.

    Parameters
    ----------
    place, width : int
        Offset of the first neighbour in the file, and bytes of each: for messages.

    Raises
    ------
    FormatError
        If a neighbour is not below the number of vertices.
    """
    offsets, neighbours, values = adjacency.offsets, adjacency.neighbours, adjacency.values
    n, m = len(offsets) - 1, len(neighbours)
    value_width = 0 if values is None else values.dtype.itemsize
    raw = None if values is None else values.view(f"u{value_width}")
    inspect = inspect_kernel(value_width)
    prepare([inspect], listener)
    parts = pool.size if m > 1 << 16 else 1
    cuts = np.searchsorted(offsets[:-1], split(m, parts)).tolist()
    cuts[0], cuts[-1] = 0, n
    found = np.zeros((parts, 3), np.uint64)
    tasks = [(offsets, neighbours, raw, cuts[p], cuts[p + 1], n, found[p]) for p in range(parts)]
    bad = [edge for edge in pool.run(inspect, tasks) if edge >= 0]
    if bad:
        problem = f"edge {bad[0]} leads to vertex {neighbours[bad[0]]}, but there are {n}"
        raise FormatError(path, problem, offset=place + width * bad[0])
    unsorted, forth, back = (int(total) for total in found.sum(0, dtype=np.uint64))
    return Lists(adjacency, not unsorted, forth, back)


def undirected_graph(path: Path, lists: Lists, ids: VertexIds, pool: ThreadPool, listener: events.Listener) -> Graph:
    """The undirected graph of lists that have every edge in both directions.

    Raises
    ------
    FormatError
        If they have not.
    """
    if lists.forth != lists.back:
        raise FormatError(
            path,
            "not an undirected graph: not every edge is there in both directions, with equal values; read it with "
            "directed=True, and symmetrize it if you like",
        )
    adjacency = lists.adjacency if lists.ascending else transposed(lists.adjacency, pool, listener)
    return Graph(adjacency, adjacency, False, ids)


def directed_graph(
    out: Lists, ids: VertexIds, pool: ThreadPool, listener: events.Listener, incoming: Lists | None = None
) -> Graph:
    """The directed graph of out-lists and, if the file has them, in-lists."""
    adjacency = out.adjacency
    into = incoming.adjacency if incoming and incoming.ascending else transposed(adjacency, pool, listener)
    if out.ascending:
        return Graph(into, Adjacency(adjacency.offsets, adjacency.neighbours), True, ids)
    prepare(group.kernels(0), listener)
    return Graph(into, reversed_edges(into, len(ids), pool), True, ids)


def graph_of(path: Path, out: Lists, directed: bool, pool: ThreadPool, listener: events.Listener) -> Graph:
    """The directed or undirected graph of out-lists; vertices are 0 to n - 1."""
    ids = VertexIds(len(out.adjacency.offsets) - 1)
    if directed:
        return directed_graph(out, ids, pool, listener)
    return undirected_graph(path, out, ids, pool, listener)


def weighted_out_edges(graph: Graph) -> Adjacency:
    """The out-edges with their values, for writers; a directed graph has values at its in-edges only."""
    if not graph.directed:
        return graph.in_edges
    with ThreadPool() as pool:
        return transposed(graph.in_edges, pool, events.ignore)
