"""Read a graph from a file."""

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
from .formats import EdgeList, ReadOptions, format_of
from .formats.format import check_memory


# wide: users' keyword arguments
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
    """Read a graph from a file.

    Parameters
    ----------
    path : path-like
        In any format that ``garaph formats`` lists: text edge lists (SNAP, CSV, TSV; plain, .gz, .xz or .zst), Parquet,
        Arrow, .npz, .npy, Matrix Market, METIS, Ligra, GAP, DIMACS, Galois, Graphalytics.
    directed : bool, optional
        False: every edge counts in both directions; the file has each edge once (a matrix: twice, symmetric).
        Default: what the file says, else True.
    format : str, optional
        A name that ``garaph formats`` lists. Default: by the file's suffix, or by its first bytes if it has no suffix.
    weights : bool, optional
        True: the file must have edge values. False: do not read them. Default: read them if there are any, that is a
        column named weight, value or w, else the third column if it is numeric.
    drop_self_loops, drop_parallel : bool
        Drop self-loops; of parallel edges, keep only the first. Default: keep all.
    order : {"none", "degree", "hub"}
        Internal order of the vertices: as in the file, by descending out-degree, or HyTGraph's hubs first (see
        `garaph_py.graph.order.vertex_order`). Results use the file's ids in any case.
    threads : int, optional
        Default: all cores that this process may use.
    on_event : callable, optional
        Receives `events.Step` records.

    Returns
    -------
    Graph

    Raises
    ------
    FormatError
        If the file cannot be read, is not of its format, or has no edges; for text, the message names the line.
    ParameterError
        If `format` is not known or `threads` is not valid.

    Notes
    -----
    In text, lines that begin with ``#`` or ``%`` are comments. The separator of columns is the first of tab, semicolon,
    comma and blank that occurs in the first data line; every line must have as many columns as that line. With commas
    or semicolons, fields may be in double quotes. A header line may name the columns (source and target, src and dst,
    or from and to). The first line below it decides the type of the ids: 64-bit integers, else strings. A name among
    integers is an error, because it is more likely a typing error than a vertex.
    """
    path = check_file(path)
    options = ReadOptions(weights, directed, ThreadPool(threads).size)
    chosen = format_of(path, format)
    changes: dict[str, Any] = {"drop_self_loops": drop_self_loops, "drop_parallel": drop_parallel, "order": order}
    try:
        edges = chosen.read(path, options, on_event)
        if arrow := sys.modules.get("pyarrow"):  # Arrow keeps the memory that parsing has freed; sorting needs it
            arrow.default_memory_pool().release_unused()
        if not isinstance(edges, Graph):
            undirected = directed is False or (directed is None and edges.directed is False)
            columns, ids = numbered_columns(path, edges, threads)
            del edges  # `build` frees the columns while it sorts them
            return build(columns, ids, directed=not undirected, **changes, threads=threads, on_event=on_event)
        if order == "none" and not (drop_self_loops or drop_parallel):
            return edges
        return rebuilt(edges, **changes, threads=threads, on_event=on_event)
    except GraphError as error:
        raise FormatError(path, str(error)) from error


def numbered_columns(path: Path, edges: EdgeList, threads: int | None) -> tuple[list[Any], VertexIds]:
    """Internal ids of sources and targets, edge values, and the ids of all vertices."""
    if edges.n is None and edges.vertices is None and not len(edges.sources):
        raise FormatError(path, "no edges; it is empty, or has nothing but comments or a header")
    values = edge_values(edges.weights, len(edges.sources))
    if edges.n is not None:
        check_memory(path, 16 * edges.n, f"the offsets of {edges.n:,} vertices")
        return [numbered(edges.sources, edges.n), numbered(edges.targets, edges.n), values], VertexIds(edges.n)
    sources, targets, ids = number_vertices(edges.sources, edges.targets, edges.vertices, threads=threads)
    check_listed(path, ids, edges.vertices)
    return [sources, targets, values], ids


def check_file(path: str | os.PathLike[str]) -> Path:
    """`path` as a `Path`; refuse directories and missing files."""
    path = Path(path)
    if path.is_dir():
        raise FormatError(path, "is a directory; open a graph directory with garaph_py.open")
    if not path.exists():
        raise FormatError(path, "no such file; check the name")
    return path


def check_listed(path: Path, ids: VertexIds, vertices: Any) -> None:
    """Refuse edges with vertices that are not in the file's list of vertices."""
    if vertices is not None and len(ids) > len(vertices):
        missing = np.setdiff1d(ids.array(), vertices)
        raise FormatError(path, f"an edge has vertex {missing[0]}, which the list of vertices lacks; add it there")
