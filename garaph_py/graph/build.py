"""Builds graphs (CSC and CSR) from lists of edges, and from SciPy's and NetworkX's graphs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import events
from ..codec.format import LISTS, NUMBERS, Packed
from ..codec.pack import elements_of
from ..errors import GraphError
from ..native import prepare
from ..native.threads import ThreadPool, split
from ..system.memory import enough_memory
from . import group
from .graph import EDGE_DTYPES, Adjacency, Edges, Graph, PackedAdjacency
from .ids import VertexIds
from .number import number_vertices
from .order import check_order, vertex_order

Array = npt.NDArray[Any]

CHUNK = 1 << 20
"""How many edges `reversed_values` handles at a time: few enough for their columns to stay in the caches. It is a
multiple of `codec.format.RUN`."""


def from_edges(
    sources: Any,
    targets: Any,
    weights: Any = None,
    *,
    vertices: Any = None,
    directed: bool = True,
    drop_self_loops: bool = False,
    drop_parallel: bool = False,
    order: str = "none",
    threads: int | None = None,
    on_event: events.Listener = events.ignore,
) -> Graph:
    """Build a graph from two columns of vertex ids.

    Parameters
    ----------
    sources, targets : array-like, shape (m,)
        The endpoints of the edges: any 64-bit integers, or strings.
    weights : array-like, shape (m,), optional
        Edge values: integers or floats. Narrow integers are widened to int32.
    vertices : array-like, optional
        Further ids, for vertices without edges.
    directed : bool
        If False, every given edge stands for both directions.
    drop_self_loops, drop_parallel : bool
        Whether to drop self-loops, and all but the first of parallel edges. By default both are kept.
    order : {"none", "degree", "hub"}
        The internal order of the vertices, see `order.vertex_order`. Results use the user's ids in any case.
    threads : int, optional
        Number of CPU threads; by default all cores.
    on_event : callable, optional
        Receives `events.Step` records.

    Raises
    ------
    GraphError
        If the columns differ in length, or do not hold integers or strings.
    """
    if len(sources) != len(targets):
        raise GraphError(f"{len(sources)} sources but {len(targets)} targets; every edge has one of each")
    *columns, ids = number_vertices(sources, targets, vertices, threads=threads)
    return build(
        [*columns, edge_values(weights, len(sources))],
        ids,
        directed=directed,
        drop_self_loops=drop_self_loops,
        drop_parallel=drop_parallel,
        order=order,
        threads=threads,
        on_event=on_event,
    )


def from_numbered_edges(sources: Any, targets: Any, n: int, weights: Any = None, **options: Any) -> Graph:
    """Like `from_edges`, for ids that are numbers below `n`. The graph has `n` vertices, with or without edges."""
    columns = [numbered(sources, n), numbered(targets, n)]
    if len(columns[0]) != len(columns[1]):
        raise GraphError(f"{len(columns[0])} sources but {len(columns[1])} targets; every edge has one of each")
    return build([*columns, edge_values(weights, len(columns[0]))], VertexIds(n), **options)


def numbered(column: Any, n: int) -> Array:
    """Check that all ids in `column` are below `n`; return them as internal ids."""
    if not 0 <= n <= 2**32:
        raise GraphError(f"{n} vertices; 0 to {2**32} are possible: internal ids are 32 bits wide")
    array = np.asarray(column)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise GraphError(f"vertex numbers must be a 1-d integer array, not {array.ndim}-d {array.dtype}")
    if len(array) and (int(array.min()) < 0 or int(array.max()) >= n):
        raise GraphError(f"vertex numbers run from {array.min()} to {array.max()}, but there are {n} vertices")
    return np.ascontiguousarray(array, np.uint32)


def edge_values(weights: Any, m: int) -> Array | None:
    """`weights` as an array of one of `EDGE_DTYPES`."""
    if weights is None:
        return None
    array = np.ascontiguousarray(weights)
    if array.shape != (m,):
        raise GraphError(f"weights have shape {array.shape}, but there are {m} edges")
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype in EDGE_DTYPES:
        return array
    if array.dtype.kind in "iub" and array.dtype.itemsize <= 2:
        return array.astype(np.int32)
    if array.dtype == np.float16:
        return array.astype(np.float32)
    if array.dtype.kind == "u" and (not m or int(array.max()) <= np.iinfo(np.int64).max):
        return array.astype(np.int64)
    raise GraphError(
        f"weights of type {array.dtype} cannot be edge values; use int32, uint32, int64, float32 or float64"
    )


def build(
    columns: list[Any],
    ids: VertexIds,
    *,
    directed: bool = True,
    drop_self_loops: bool = False,
    drop_parallel: bool = False,
    order: str = "none",
    threads: int | None = None,
    on_event: events.Listener = events.ignore,
) -> Graph:
    """Build the CSC and CSR arrays of edges between internal ids. The in-edges of a vertex are sorted by source.

    Parameters
    ----------
    columns : list
        Sources and targets (uint32), and values or None. The list is emptied. If the caller keeps no other reference to
        the columns, they are freed as soon as they are sorted, and building needs about twice the graph's memory.
    ids : VertexIds
        The user's ids.
    directed, drop_self_loops, drop_parallel, order, threads, on_event
        As for `from_edges`.
    """
    n = ids.n
    sources, targets, values = columns
    columns.clear()
    if not directed:
        sources, targets, values = both_directions(sources, targets, values)
    if check_order(order) != "none":
        old = vertex_order(order, np.bincount(sources, minlength=n), np.bincount(targets, minlength=n))
        new = np.empty(n, np.uint32)
        new[old] = np.arange(n, dtype=np.uint32)
        sources, targets, ids = new[sources], new[targets], ids.reordered(old)
    total = 3 * len(sources)
    with ThreadPool(threads) as pool:
        prepare(group.kernels(0) + (group.kernels(values.dtype.itemsize) if values is not None else []), on_event)
        on_event(events.Step("sorting edges", 0, total, "edges"))
        columns[:] = sources, targets, values
        del sources, targets, values
        offsets, *columns[:] = group.group(columns, n, pool)
        on_event(events.Step("sorting edges", total // 3, total, "edges"))
        columns.insert(1, group.expand(offsets, pool))
        incoming = Adjacency(*group.group(columns, n, pool))
        if drop_self_loops or drop_parallel:
            incoming = simplified(incoming, pool, drop_self_loops, drop_parallel)
        on_event(events.Step("sorting edges", 2 * total // 3, total, "edges"))
        outgoing = reversed_edges(incoming, n, pool) if directed else incoming
        on_event(events.Step("sorting edges", total, total, "edges"))
    return Graph(incoming, outgoing, directed, ids)


def both_directions(sources: Array, targets: Array, values: Array | None) -> tuple[Array, Array, Array | None]:
    """The edges, each followed by its reverse. So parallel edges have the same order in both directions."""
    forth, back = np.stack([sources, targets], axis=1).ravel(), np.stack([targets, sources], axis=1).ravel()
    values = None if values is None else np.repeat(values, 2)
    loops = sources == targets
    if loops.any():  # a self-loop is its own reverse, and counts once
        keep = np.ones(len(forth), np.bool_)
        keep[1::2] = ~loops
        forth, back = forth[keep], back[keep]
        values = None if values is None else values[keep]
    return forth, back, values


def reversed_edges(adjacency: Edges, n: int, pool: ThreadPool) -> Adjacency:
    """The same edges grouped by their other endpoint, without values: makes CSR from CSC."""
    offsets, neighbours, _ = group.group([adjacency.neighbours, group.expand(adjacency.offsets, pool), None], n, pool)
    return Adjacency(offsets, neighbours)


def simplified(adjacency: Adjacency, pool: ThreadPool, self_loops: bool, parallel: bool) -> Adjacency:
    """The edges without self-loops, if `self_loops`, and without all but the first of parallel edges, if `parallel`."""
    owners = group.expand(adjacency.offsets, pool)
    keep = np.ones(len(owners), np.bool_)
    if self_loops:
        keep &= owners != adjacency.neighbours
    if parallel:
        keep[1:] &= (owners[1:] != owners[:-1]) | (adjacency.neighbours[1:] != adjacency.neighbours[:-1])
    kept_before = np.concatenate([[0], np.cumsum(keep, dtype=np.int64)])
    values = None if adjacency.values is None else adjacency.values[keep]
    return Adjacency(kept_before[adjacency.offsets], adjacency.neighbours[keep], values)


def transposed(adjacency: Edges, pool: ThreadPool, listener: events.Listener) -> Adjacency:
    """The same edges, with their values, grouped by their other endpoint and sorted within each group."""
    width = 0 if adjacency.values is None else adjacency.values.dtype.itemsize
    prepare(group.kernels(width), listener)
    columns = [adjacency.neighbours, group.expand(adjacency.offsets, pool), adjacency.values]
    return Adjacency(*group.group(columns, len(adjacency.offsets) - 1, pool))


def reversed_values(edges: Edges, offsets: Array, pool: ThreadPool) -> Array:
    """The values of `edges` in the order of the same edges grouped by their other endpoint.

    `offsets` are the offsets of those groups. Each thread owns a range of the groups and passes over all edges, in
    chunks of `CHUNK` edges. So no other array is as large as the result.

    Parameters
    ----------
    edges : Edges
        Edges with values.
    offsets : ndarray of int64, shape (n + 1,)
    pool : ThreadPool

    Raises
    ------
    GraphError
        If the groups do not have as many edges as `offsets` says, or there is too little memory.
    """
    others: Array | Packed
    values: Array | Packed | None
    if isinstance(edges, PackedAdjacency):
        others, values = edges.packed, edges.packed_values
    else:
        others, values = edges.neighbours, edges.values
    assert values is not None
    m, n, dtype = int(offsets[-1]), len(offsets) - 1, values.dtype
    with enough_memory("values of out-edges"):
        cursor, carried = offsets[:-1].copy(), np.empty(m, dtype)
    bits = np.dtype(f"u{dtype.itemsize}")
    parts = pool.size if m > 1 << 16 else 1
    owned = np.searchsorted(offsets, split(m, parts)).tolist()
    owned[0], owned[-1] = 0, n
    carry = group.carry_kernel(dtype.itemsize)
    for start in range(0, m, CHUNK):
        to = elements_of(others, LISTS, start, start + CHUNK, pool, edges.offsets)
        what = elements_of(values, NUMBERS, start, start + CHUNK, pool).view(bits)
        pool.run(carry, [(to, what, len(to), *part, cursor, carried.view(bits), m) for part in pairwise(owned)])
    if not np.array_equal(cursor, offsets[1:]):
        raise GraphError("the graph's out-edges are not its in-edges reversed; import it again")
    return carried


def symmetrize(graph: Graph, threads: int | None = None) -> Graph:
    """The directed `graph` with every edge in both directions; see `Graph.symmetrized`."""
    with ThreadPool(threads) as pool:
        targets = group.expand(graph.in_edges.offsets, pool)
    columns = [graph.in_edges.neighbours, targets, graph.in_edges.values]
    return build(columns, graph.ids, directed=False, threads=threads)


def rebuilt(graph: Graph, *, threads: int | None = None, **options: Any) -> Graph:
    """Build `graph` again with other `options` of `build`: without some edges, or in another order."""
    with ThreadPool(threads) as pool:
        targets = group.expand(graph.in_edges.offsets, pool)
    columns: list[Any] = [graph.in_edges.neighbours, targets, graph.in_edges.values]
    if not graph.directed:  # `build` takes each undirected edge once
        once = columns[0] <= targets
        columns = [None if column is None else column[once] for column in columns]
    return build(columns, graph.ids, directed=graph.directed, threads=threads, **options)


def from_scipy(matrix: Any, *, directed: bool = True, **options: Any) -> Graph:
    """Build a graph from a square SciPy sparse matrix or array. Entry (u, v) is the value of the edge u -> v.

    With ``directed=False`` the matrix must be symmetric, and entries (u, v) and (v, u) are one edge. Other `options`
    are those of `from_edges`.
    """
    rows, columns, values = matrix_entries(matrix, directed)
    return from_numbered_edges(rows, columns, matrix.shape[0], values, directed=directed, **options)


def matrix_entries(matrix: Any, directed: bool) -> tuple[Array, Array, Array]:
    """The rows, columns and values of a sparse matrix's entries; if undirected, only those on or above the diagonal."""
    from scipy import sparse

    if not sparse.issparse(matrix):
        raise GraphError(f"not a SciPy sparse matrix but {type(matrix).__name__}; scipy.sparse.csr_array makes one")
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphError(f"an adjacency matrix is square, not {' x '.join(map(str, matrix.shape))}")
    coo = matrix.tocoo()
    rows, columns, values = coo.row, coo.col, coo.data
    if directed:
        return rows, columns, values
    order, mirrored = np.lexsort((values, columns, rows)), np.lexsort((values, rows, columns))
    if any((a[order] != b[mirrored]).any() for a, b in ((rows, columns), (columns, rows), (values, values))):
        raise GraphError("the matrix is not symmetric; leave directed=True, or symmetrize it first")
    upper = rows <= columns
    return rows[upper], columns[upper], values[upper]


def from_networkx(graph: Any, *, weight: str = "weight", **options: Any) -> Graph:
    """Build a graph from a NetworkX graph. Directions and parallel edges are kept.

    If all nodes are integers, they are the vertex ids; otherwise the ids are the nodes as strings.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
    weight : str
        The edge attribute that holds the edge values. If an edge lacks it, the graph has no edge values.
    **options
        As for `from_edges`.
    """
    nodes = list(graph.nodes)
    integers = all(isinstance(node, (int, np.integer)) and not isinstance(node, bool) for node in nodes)
    if not integers and len(set(map(str, nodes))) < len(nodes):
        raise GraphError("two nodes have the same name as a string, such as 1 and '1'; relabel one of them")
    edges = list(graph.edges(data=weight))
    weights = [value for _, _, value in edges]
    name = int if integers else str
    kind: Any = None if integers else object

    def column(items: list[Any]) -> Array:
        return np.array([name(item) for item in items], dtype=kind if items else np.int64 if integers else object)

    return from_edges(
        column([u for u, _, _ in edges]),
        column([v for _, v, _ in edges]),
        np.array(weights) if weights and all(value is not None for value in weights) else None,
        vertices=column(nodes),
        directed=graph.is_directed(),
        **options,
    )
