"""Builds graphs from lists of edges, and from SciPy's matrices."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import events
from ..errors import GraphError, ParameterError
from ..native.threads import ThreadPool
from ..system.arguments import explained
from . import group
from .adjacency import EDGE_DTYPES, type_name
from .arrays import GraphArrays
from .compress import compress
from .graph import Graph
from .ids import VertexIds
from .number import number_vertices

Array = npt.NDArray[Any]


PAIR = (tuple, list, np.ndarray)
"""The types of a pair of ids, as users write it."""

BUILDING = ("drop_self_loops", "drop_parallel", "order", "threads", "on_event")
"""The arguments of `from_edges` that say how to build the graph, and not what is in it."""


@explained
# wide: a public function, whose options are keywords.
def from_edges(
    sources: Any,
    targets: Any = None,
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
        The endpoints of the edges: all 64-bit integers, or all strings. An integer and a string are never the same
        vertex, so a mixture is refused, and so are missing ids (None, NaN) and integers of more than 64 bits.
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
        If the columns differ in length, are no columns, or hold an id or a value that cannot be used; the message names
        it.
    ParameterError
        If another argument is not valid.
    """
    if targets is None and are_pairs(sources):
        raise ParameterError(
            "from_edges takes a column of sources and one of targets; with a list of pairs, write "
            "from_edges(*zip(*pairs))"
        )
    checked_flags(directed=directed, drop_self_loops=drop_self_loops, drop_parallel=drop_parallel)
    *columns, ids = number_vertices(sources, targets, vertices, threads=threads)
    return build(
        [*columns, edge_values(weights, len(columns[0]))],
        ids,
        directed=directed,
        drop_self_loops=drop_self_loops,
        drop_parallel=drop_parallel,
        order=order,
        threads=threads,
        on_event=on_event,
    )


def are_pairs(column: Any) -> bool:
    """Whether a column of ids is rather a list of pairs, or an array of them."""
    return isinstance(column, (list, tuple, np.ndarray)) and len(column) > 0 and isinstance(column[0], PAIR)


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
    try:
        array = np.asarray(weights)
    except ValueError:
        raise GraphError("weights are a nested list; give one number for each edge") from None
    if array.shape != (m,):
        raise GraphError(f"weights have shape {array.shape}, but there are {m} edges")
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
    if array.dtype in EDGE_DTYPES:
        return array
    if array.dtype.kind in "iub" and array.dtype.itemsize <= 2:
        return array.astype(np.int32)
    if array.dtype == np.float16:
        return array.astype(np.float32)
    if array.dtype.kind == "u" and (not m or int(array.max()) <= np.iinfo(np.int64).max):
        return array.astype(np.int64)
    raise GraphError(
        f"weights of type {type_name(array.dtype)} cannot be edge values; use int32, uint32, int64, float32 or float64"
    )


def checked_flags(**flags: Any) -> dict[str, Any]:
    """The `flags`, each True, False or None.

    Raises
    ------
    ParameterError
        If one is anything else: ``"no"`` would count as True.
    """
    for name, value in flags.items():
        if not isinstance(value, (bool, np.bool_, type(None))):
            raise ParameterError(f"{name}={value!r:.40}: give True or False")
    return {name: None if value is None else bool(value) for name, value in flags.items()}


def build(columns: list[Any], ids: VertexIds, *, directed: bool = True, **options: Any) -> Graph:
    """The graph of edges between internal ids: see `compress`, also for the `options`."""
    into, out, ids = compress(columns, ids, directed=directed, **options)
    return Graph(GraphArrays(into, out, ids))


def rebuilt(graph: Graph, *, threads: int | None = None, **options: Any) -> Graph:
    """Build `graph` again with other `options` of `build`: without some edges, or in another order."""
    edges = graph._arrays.in_edges
    with ThreadPool(threads) as pool:
        targets = group.expand(edges.offsets, pool)
    columns: list[Any] = [edges.neighbours, targets, edges.values]
    if not graph.directed:  # `build` takes each undirected edge once
        once = columns[0] <= targets
        columns = [None if column is None else column[once] for column in columns]
    return build(columns, graph.ids, directed=graph.directed, threads=threads, **options)


def without_values(graph: Graph) -> Graph:
    """The graph without its edge values; this graph itself if it has none."""
    return graph if graph.edge_dtype is None else Graph(graph._arrays.without_values(), graph.directory)


@partial(explained, options=BUILDING)
def from_scipy(matrix: Any, *, directed: bool = True, **options: Any) -> Graph:
    """Build a graph from a square SciPy sparse matrix or array. Entry (u, v) is the value of the edge u -> v.

    With ``directed=False`` the matrix must be symmetric, and entries (u, v) and (v, u) are one edge; NaN equals NaN.
    Other `options` are those of `from_edges`, except `weights` and `vertices`.

    Raises
    ------
    GraphError
        If `matrix` is no square sparse matrix of real numbers, or not symmetric although it must be.
    """
    checked_flags(directed=directed)
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
    same = [a[order] == b[mirrored] for a, b in ((rows, columns), (columns, rows), (values, values))]
    same[2] |= (values[order] != values[order]) & (values[mirrored] != values[mirrored])  # NaN, which equals nothing
    if not np.all(same):
        raise GraphError("the matrix is not symmetric; leave directed=True, or symmetrize it first")
    upper = rows <= columns
    return rows[upper], columns[upper], values[upper]
