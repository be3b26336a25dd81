"""Graphs from adjacency lists: one pass checks all edges; only lists that are not in order are sorted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import events
from ..errors import GraphError
from ..native import Kernel, prepare
from ..native.threads import ThreadPool, even_cuts, split
from ..system.arguments import check_listener, explained
from . import group
from .adjacency import Adjacency
from .arrays import GraphArrays
from .build import edge_values
from .generate import U32, mix
from .graph import Graph
from .ids import VertexIds, ids_of
from .transpose import reversed_edges, transposed

Array = npt.NDArray[Any]


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


def inspected(
    adjacency: Adjacency, pool: ThreadPool, listener: events.Listener, wrong: Callable[[int], Exception]
) -> Lists:
    """Check the neighbours of `adjacency`, whose offsets have been checked.

    ``wrong(edge)`` is the exception to raise if the neighbour of an edge is not below the number of vertices.
    """
    offsets, neighbours, values = adjacency.offsets, adjacency.neighbours, adjacency.values
    n, m = len(offsets) - 1, len(neighbours)
    width = 0 if values is None else values.dtype.itemsize
    raw = None if values is None else values.view(f"u{width}")
    inspect = inspect_kernel(width)
    prepare([inspect], listener)
    parts = pool.parts(m)
    cuts = even_cuts(offsets, parts).tolist()
    found = np.zeros((parts, 3), np.uint64)
    tasks = [(offsets, neighbours, raw, cuts[p], cuts[p + 1], n, found[p]) for p in range(parts)]
    bad = [edge for edge in pool.run(inspect, tasks) if edge >= 0]
    if bad:
        raise wrong(bad[0])
    unsorted, forth, back = (int(total) for total in found.sum(0, dtype=np.uint64))
    return Lists(adjacency, not unsorted, forth, back)


def undirected_graph(
    lists: Lists, ids: VertexIds, pool: ThreadPool, listener: events.Listener, wrong: Callable[[], Exception]
) -> Graph:
    """The undirected graph of lists that have every edge in both directions; if they have not, it raises `wrong()`."""
    if lists.forth != lists.back:
        raise wrong()
    adjacency = lists.adjacency if lists.ascending else transposed(lists.adjacency, pool, listener)
    return Graph(GraphArrays(adjacency, adjacency, ids))


def directed_graph(
    out: Lists,
    ids: VertexIds,
    pool: ThreadPool,
    listener: events.Listener,
    incoming: Lists | None = None,
    keep_values: bool = False,
) -> Graph:
    """The directed graph of out-lists and, if they are known, in-lists.

    The values of ascending out-lists are kept beside those of the in-edges if `keep_values`.
    """
    adjacency = out.adjacency
    into = incoming.adjacency if incoming and incoming.ascending else transposed(adjacency, pool, listener)
    if out.ascending:
        return Graph(GraphArrays(into, adjacency if keep_values else adjacency.without_values(), ids))
    prepare(group.kernels(0), listener)
    return Graph(GraphArrays(into, reversed_edges(into, len(ids), pool), ids))


@explained
def from_csr(
    indptr: Any,
    indices: Any,
    weights: Any = None,
    ids: Any = None,
    *,
    directed: bool = True,
    threads: int | None = None,
    on_event: events.Listener = events.ignore,
) -> Graph:
    """Build a graph from the arrays of a CSR matrix. Where they fit, the graph uses them without a copy.

    Row u has the edges ``indptr[u]`` to ``indptr[u + 1] - 1``: to the vertices in `indices`, with the values in
    `weights`. All offsets and indices are checked.

    Parameters
    ----------
    indptr : array-like of integers, shape (n + 1,)
        Offsets: they begin with 0, never fall, and end with m.
    indices : array-like of integers, shape (m,)
        Targets, from 0 to n - 1. Parallel edges and self-loops are kept.
    weights : array-like, shape (m,), optional
        Edge values, as for `from_edges`.
    ids : array-like, shape (n,), optional
        Distinct ids of the vertices, all integers or all strings. By default they are 0 to n - 1.
    directed : bool
        If False, the matrix must be symmetric, and entries (u, v) and (v, u) are one edge.
    threads : int, optional
        Number of CPU threads; by default all cores.
    on_event : callable, optional
        Receives `events.Step` records.

    Raises
    ------
    GraphError
        If an array has the wrong shape, type or range, if ids are not distinct, or if ``directed=False`` and the matrix
        is not symmetric.

    Notes
    -----
    The graph uses an array itself if it is contiguous, aligned, in the machine's byte order, and `indptr` is int64,
    `indices` uint32 or int32, and `weights` int32, uint32, int64, float32 or float64. It copies any other array. If the
    targets in a row do not ascend, it copies `indices` and `weights`, sorted. A directed graph also makes the in-edges,
    which are never the caller's arrays.

    The graph never changes the caller's arrays, which may be read-only or mapped from a file. The caller must not
    change them while the graph is in use: nothing would check them again.

    Examples
    --------
    >>> graph = gp.from_csr([0, 2, 2, 3], [1, 2, 0], ids=["a", "b", "c"])
    >>> graph.edges().to_pydict()
    {'source': ['c', 'a', 'a'], 'target': ['a', 'b', 'c']}
    """
    check_listener(on_event)
    with ThreadPool(threads) as pool:
        given = integers("indices", indices)
        m = len(given)
        offsets = checked_offsets(indptr, m, pool)
        n = len(offsets) - 1
        names = VertexIds(n) if ids is None else ids_of(ids)
        if len(names) != n:
            raise GraphError(f"{len(names)} ids, but indptr has {n + 1} offsets, that is {n} vertices")
        values = edge_values(weights, m)
        values = None if values is None else np.require(values, None, "A")

        def wrong(edge: int) -> GraphError:
            return GraphError(f"indices[{edge}] is {given[edge]}; vertices are 0 to {n - 1}")

        adjacency = Adjacency(offsets, internal_ids(given, n, pool, wrong), values)
        lists = inspected(adjacency, pool, on_event, wrong)
        if directed:
            return directed_graph(lists, names, pool, on_event, keep_values=True)
        return undirected_graph(lists, names, pool, on_event, asymmetric)


def asymmetric() -> GraphError:
    return GraphError("the matrix is not symmetric; leave directed=True, and symmetrize the graph if you like")


def integers(name: str, array: Any) -> Array:
    """`array` as a 1-d NumPy array of integers."""
    found = np.asarray(array)
    if found.ndim != 1 or (found.dtype.kind not in "iu" and found.size):
        raise GraphError(f"{name} is {found.ndim}-d {found.dtype}; give a 1-d array of integers")
    return found


def checked_offsets(indptr: Any, m: int, pool: ThreadPool) -> Array:
    """`indptr` as int64 offsets that never fall, from 0 to `m`."""
    given = integers("indptr", indptr)
    if not 1 <= len(given) <= 2**32 + 1:
        raise GraphError(f"indptr has {len(given)} offsets; give one for each of at most {2**32} vertices, and the end")
    if given[0] != 0 or given[-1] != m:
        raise GraphError(f"indptr runs from {given[0]} to {given[-1]}; {m} edges need offsets from 0 to {m}")
    offsets = np.require(given, np.int64, ["C", "A"])

    def fall(first: int, last: int) -> int:
        """The first of the vertices [first, last) whose list ends before it starts, else -1."""
        falls = offsets[first + 1 : last + 1] < offsets[first:last]
        return first + int(np.argmax(falls)) if falls.any() else -1

    for vertex in pool.run(fall, pairwise(split(len(offsets) - 1, pool.size))):
        if vertex >= 0:
            raise GraphError(f"indptr falls from {given[vertex]} to {given[vertex + 1]} after row {vertex}")
    return offsets


def internal_ids(given: Array, n: int, pool: ThreadPool, wrong: Callable[[int], Exception]) -> Array:
    """Integers as internal ids (uint32). They need not be below `n`, but none of them changes into one that is."""
    if given.dtype in (np.uint32, np.int32) and (given.dtype == np.uint32 or n <= 2**31):
        return np.require(given, None, ["C", "A"]).view(np.uint32)  # a negative number is then 2**31 or more
    out = np.empty(len(given), np.uint32)

    def convert(first: int, last: int) -> int:
        """Convert elements [first, last); the first that is no vertex, else -1."""
        part = given[first:last]
        out[first:last] = part.astype(np.uint32)
        outside = (part < 0) | (part >= n)
        return first + int(np.argmax(outside)) if outside.any() else -1

    for edge in pool.run(convert, pairwise(split(len(given), pool.size))):
        if edge >= 0:
            raise wrong(edge)
    return out
