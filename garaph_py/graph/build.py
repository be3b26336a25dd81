"""From lists of edges to CSC and CSR."""

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
"""Edges whose values are carried over at a time, a multiple of `RUN`: their columns stay in the caches."""


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
    """A graph from two columns of vertex ids.

    Parameters
    ----------
    sources, targets : array-like, shape (m,)
        The endpoints: any 64-bit integers, or strings.
    weights : array-like, shape (m,), optional
        Edge values: integers or floats; narrow integers are widened to int32.
    vertices : array-like, optional
        Further ids, for vertices that have no edge.
    directed : bool
        If False, every edge counts in both directions; give each once.
    drop_self_loops, drop_parallel : bool
        By default both kinds are kept. Of parallel edges the first stays.
    order : {"none", "degree", "hub"}
        How to number the vertices inside, see `order.vertex_order`; results stay in the user's ids.
    threads : int, optional
    on_event : callable, optional
        Receives `events.Step` records.

    Raises
    ------
    GraphError
        If the columns differ in length, or are not integers or strings.
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
    """Like `from_edges` for ids that are already 0..n-1: every one of the `n` vertices exists."""
    columns = [numbered(sources, n), numbered(targets, n)]
    if len(columns[0]) != len(columns[1]):
        raise GraphError(f"{len(columns[0])} sources but {len(columns[1])} targets; every edge has one of each")
    return build([*columns, edge_values(weights, len(columns[0]))], VertexIds(n), **options)


def numbered(column: Any, n: int) -> Array:
    """`column` as internal ids, each checked to be below `n`."""
    if not 0 <= n <= 2**32:
        raise GraphError(f"{n} vertices; 0 to {2**32} are possible: internal ids are 32 bits wide")
    array = np.asarray(column)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise GraphError(f"vertex numbers must be a 1-d integer array, not {array.ndim}-d {array.dtype}")
    if len(array) and (int(array.min()) < 0 or int(array.max()) >= n):
        raise GraphError(f"vertex numbers run from {array.min()} to {array.max()}, but there are {n} vertices")
    return np.ascontiguousarray(array, np.uint32)


def edge_values(weights: Any, m: int) -> Array | None:
    """`weights` as one of `EDGE_DTYPES`."""
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
    """CSC and CSR of edges between internal ids. Sources stand ascending within a destination.

    Parameters
    ----------
    columns : list
        Sources and targets (uint32) and values (or None). The list is emptied: where the caller keeps no other
        reference, the columns are freed as soon as they are sorted, which bounds memory to about twice the result.
    ids : VertexIds
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
    """Every edge followed by its reverse, so that parallel edges stand in the same order in both directions."""
    forth, back = np.stack([sources, targets], axis=1).ravel(), np.stack([targets, sources], axis=1).ravel()
    values = None if values is None else np.repeat(values, 2)
    loops = sources == targets
    if loops.any():  # a self-loop is one edge, not two
        keep = np.ones(len(forth), np.bool_)
        keep[1::2] = ~loops
        forth, back = forth[keep], back[keep]
        values = None if values is None else values[keep]
    return forth, back, values


def reversed_edges(adjacency: Edges, n: int, pool: ThreadPool) -> Adjacency:
    """The same edges grouped by their other endpoint, without values: CSR from CSC."""
    offsets, neighbours, _ = group.group([adjacency.neighbours, group.expand(adjacency.offsets, pool), None], n, pool)
    return Adjacency(offsets, neighbours)


def simplified(adjacency: Adjacency, pool: ThreadPool, self_loops: bool, parallel: bool) -> Adjacency:
    """Without self-loops and without all but the first of parallel edges, as asked."""
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
    """The same edges, with their values, grouped by their other endpoint; ascending whatever they were."""
    width = 0 if adjacency.values is None else adjacency.values.dtype.itemsize
    prepare(group.kernels(width), listener)
    columns = [adjacency.neighbours, group.expand(adjacency.offsets, pool), adjacency.values]
    return Adjacency(*group.group(columns, len(adjacency.offsets) - 1, pool))


def reversed_values(edges: Edges, offsets: Array, pool: ThreadPool) -> Array:
    """The values of `edges`, which have some, in the order of the same edges grouped by their other endpoint.

    `offsets` are those of the latter. Threads own vertices and pass over all edges, a chunk at a time, so that nothing
    is as large as these but the answer.
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
    """`Graph.symmetrized` of a directed graph."""
    with ThreadPool(threads) as pool:
        targets = group.expand(graph.in_edges.offsets, pool)
    columns = [graph.in_edges.neighbours, targets, graph.in_edges.values]
    return build(columns, graph.ids, directed=False, threads=threads)


def rebuilt(graph: Graph, *, threads: int | None = None, **options: Any) -> Graph:
    """`graph` with other `options` of `build`: without some edges, or in another order."""
    with ThreadPool(threads) as pool:
        targets = group.expand(graph.in_edges.offsets, pool)
    columns: list[Any] = [graph.in_edges.neighbours, targets, graph.in_edges.values]
    if not graph.directed:  # each edge once
        once = columns[0] <= targets
        columns = [None if column is None else column[once] for column in columns]
    return build(columns, graph.ids, directed=graph.directed, threads=threads, **options)


def from_scipy(matrix: Any, *, directed: bool = True, **options: Any) -> Graph:
    """A graph from a square SciPy sparse matrix or array: entry (u, v) is the edge u -> v with that value.

    With ``directed=False`` the matrix must be symmetric, and each pair of entries is one edge.
    """
    rows, columns, values = matrix_entries(matrix, directed)
    return from_numbered_edges(rows, columns, matrix.shape[0], values, directed=directed, **options)


def matrix_entries(matrix: Any, directed: bool) -> tuple[Array, Array, Array]:
    """Row, column and value of the entries of a square sparse matrix; of a symmetric one's upper half if undirected."""
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
    """A graph from a NetworkX one, directedness and parallel edges kept.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
    weight : str
        Edge attribute to take as value; used when every edge has it. Nodes that are all integers keep their type,
        others become strings.
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
