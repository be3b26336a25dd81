"""A graph from a file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from .. import events
from ..errors import FormatError, GraphError
from ..graph.build import build, edge_values, numbered, rebuilt
from ..graph.graph import Graph
from ..graph.ids import VertexIds
from ..graph.number import number_vertices
from ..native.threads import ThreadPool
from .formats import ReadOptions, format_of
from .formats.format import check_memory


def read(
    path: str | os.PathLike[str],
    *,
    directed: bool | None = None,
    format: str | None = None,
    weights: bool | None = None,
    drop_self_loops: bool = False,
    drop_parallel: bool = False,
    order: str = "none",
    threads: int | None = None,
    on_event: events.Listener = events.ignore,
) -> Graph:
    """A graph from a file of edges.

    Parameters
    ----------
    path : path-like
        In any format that ``garaph formats`` lists: text edge lists (SNAP, CSV, TSV; plain, .gz, .xz or .zst), Parquet,
        Arrow, .npz, .npy, Matrix Market, METIS, Ligra, GAP, DIMACS, Galois, Graphalytics.
    directed : bool, optional
        If False, every edge counts in both directions; the file gives each once (a matrix: twice, symmetric).
        By default what the file says, else True.
    format : str, optional
        A name that ``garaph formats`` lists; by default told by the file's suffix, or by its beginning if it has none.
    weights : bool, optional
        True: the file must have edge values. False: do not read them. By default they are read if there are some: a
        column named weight, value or w, else the third column if it is numeric.
    drop_self_loops, drop_parallel : bool
        By default both kinds are kept. Of parallel edges the first stays.
    order : {"none", "degree", "hub"}
        How to number the vertices inside: as the file does, by descending out-degree, or HyTGraph's hubs first (see
        `garaph_py.graph.order.vertex_order`). Results stay in the file's ids.
    threads : int, optional
        By default all cores this process may use.
    on_event : callable, optional
        Receives `events.Step` records.

    Returns
    -------
    Graph

    Raises
    ------
    FormatError
        If the file cannot be read, is not what it claims to be, or has no edges; says at which line of a text.
    ParameterError
        If `format` or `threads` cannot be used.

    Notes
    -----
    In text, lines that begin with ``#`` or ``%`` are comments. Columns are separated by the first of tab, semicolon,
    comma and blank that occurs in the first data line, and every line has as many as that one. With commas or
    semicolons a field may stand in double quotes. A header line may name the columns (source and target, src and dst,
    or from and to). The first line below it decides on the type of the ids: 64-bit integers, else strings; a name among
    integers is then an error, since it is likelier to be a typing error than a vertex.
    """
    path = check_file(path)
    options = ReadOptions(weights, directed, ThreadPool(threads).size)
    chosen = format_of(path, format)
    try:
        edges = chosen.read(path, options, on_event)
        if arrow := sys.modules.get("pyarrow"):  # it keeps what the parser has freed, which the sorting needs now
            arrow.default_memory_pool().release_unused()
        if isinstance(edges, Graph):
            as_it_is = order == "none" and not (drop_self_loops or drop_parallel)
            again = {"drop_self_loops": drop_self_loops, "drop_parallel": drop_parallel, "order": order}
            return edges if as_it_is else rebuilt(edges, **again, threads=threads, on_event=on_event)
        if edges.n is None and edges.vertices is None and not len(edges.sources):
            raise FormatError(path, "no edges; it is empty, or has nothing but comments or a header")
        directed = edges.directed is not False if directed is None else directed
        values = edge_values(edges.weights, len(edges.sources))
        ids: VertexIds
        if edges.n is None:
            sources, targets, ids = number_vertices(edges.sources, edges.targets, edges.vertices, threads=threads)
            check_listed(path, ids, edges.vertices)
        else:
            check_memory(path, 16 * edges.n, f"the offsets of {edges.n:,} vertices")
            sources, targets = numbered(edges.sources, edges.n), numbered(edges.targets, edges.n)
            ids = VertexIds(edges.n)
        columns = [sources, targets, values]
        del edges, sources, targets, values  # build frees the columns as it sorts them
        return build(
            columns,
            ids,
            directed=directed,
            drop_self_loops=drop_self_loops,
            drop_parallel=drop_parallel,
            order=order,
            threads=threads,
            on_event=on_event,
        )
    except GraphError as error:
        raise FormatError(path, str(error)) from error


def check_file(path: str | os.PathLike[str]) -> Path:
    """`path`, if it may be a file of edges."""
    path = Path(path)
    if path.is_dir():
        raise FormatError(path, "is a directory; open a graph directory with garaph_py.open")
    if not path.exists():
        raise FormatError(path, "no such file; check the name")
    return path


def check_listed(path: Path, ids: VertexIds, vertices: Any) -> None:
    """Refuse edges of vertices that the list of all vertices lacks."""
    if vertices is not None and len(ids) > len(vertices):
        missing = np.setdiff1d(ids.array(), vertices)
        raise FormatError(path, f"an edge has vertex {missing[0]}, which the list of vertices lacks; add it there")
