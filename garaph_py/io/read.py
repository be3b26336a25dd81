"""Read a graph from a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import events
from ..errors import FormatError, GraphError, ParameterError
from ..graph.arguments import MAKERS, kind_of
from ..graph.build import build, checked_flags, edge_values, numbered, rebuilt
from ..graph.graph import Graph
from ..graph.ids import VertexIds
from ..graph.number import number_names, number_vertices
from ..native.threads import ThreadPool
from ..storage.manifest import NAME as MANIFEST
from ..storage.partition import is_partition
from ..system.arguments import check_listener, explained
from ..system.files import NO_FILE, did_you_mean_file
from ..system.memory import release_unused
from ..system.sizes import show_bytes
from ..system.urls import is_url, shown
from .collect import MIN_SORT_BYTES, PARSING, PARSING_THREAD, READER_BYTES, BuildOptions, CollectedEdges
from .formats import ColumnNames, EdgeList, Format, ReadOptions, format_of, has_edges_suffix
from .formats.format import check_memory, malformed

LEAST_READING = 64 << 20
"""Bytes that reading a file and building its graph may take although less is allowed: about what libraries take."""
ELSEWHERE = "convert it to text, .npy or Parquet on another machine"
"""What to do if memory is too small for a file whose format cannot be read in parts."""


@explained
# wide: users' keyword arguments
def read(
    path: str | os.PathLike[str],
    *,
    directed: bool | None = None,
    format: str | None = None,
    source_column: str | None = None,
    target_column: str | None = None,
    weight_column: str | None = None,
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
    source_column, target_column, weight_column : str, optional
        The names of a table's columns: in Parquet, Arrow, text with a header, or a structured .npy array. Default: the
        columns with usual names in letters of any case (source and target, src and dst, from and to, u and v, source
        and destination; weight, weights, wgt, w, value). If there are just two columns, they are source and target.
    weights : bool, optional
        True: the file must have edge values. False: do not read them. Default: read them if there are any. In text
        without a header they are the third column.
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
        If the file cannot be read, is not of its format, or has no edges; for text, the message names the line. If a
        table lacks a column that you name, or if its names do not tell which columns are source and target, or which of
        further columns of numbers, if any, has the edge values; the message lists the columns.
    ParameterError
        If an argument is not valid, or the format does not have it.

    Notes
    -----
    In text, lines that begin with ``#`` or ``%`` are comments. The separator of columns is the first of tab, semicolon,
    comma and blank that occurs in the first data line; every line must have as many columns as that line. With commas
    or semicolons, fields may be in double quotes. A line is a header with the names of the columns if it has a usual
    pair of names, if it has no numbers where the lines below do, or if you name columns. The first line below it
    decides the type of the ids: 64-bit integers, else strings. A name among integers is an error, because it is more
    likely a typing error than a vertex.
    """
    flags = checked_flags(directed=directed, drop_self_loops=drop_self_loops, drop_parallel=drop_parallel)
    check_listener(on_event)
    path, columns = check_file(path), ColumnNames(source_column, target_column, weight_column)
    reading = ReadOptions(
        **checked_flags(weights=weights), directed=flags["directed"], threads=ThreadPool(threads).size, columns=columns
    )
    building = BuildOptions(order=order, **flags)
    return read_graph(path, format_of(path, format), reading, building, on_event)


def read_graph(
    path: Path, format: Format, reading: ReadOptions, building: BuildOptions, on_event: events.Listener
) -> Graph:
    """Read a graph from a file.

    Raises
    ------
    FormatError
        As `read`, and if that takes more than `reading.memory`.
    """
    format.check_options(path, reading)
    with naming(path):
        return built(path, read_edges(path, format, reading, building, on_event), building, reading.threads, on_event)


def read_edges(
    path: Path, format: Format, reading: ReadOptions, building: BuildOptions, on_event: events.Listener
) -> EdgeList | Graph:
    """The edges of a file, or its graph if it holds adjacency."""
    limit = reading.memory
    if limit is None:
        return format.read(path, reading, on_event)
    edges, beside = CollectedEdges(building), buffer_bytes(path, format, reading, limit)
    left = limit - beside
    if format.stream is not None:
        with closing(format.stream(path, reading, on_event)) as batches:
            fits, otherwise = edges.fill(batches, left), import_advice(format, reading.threads)
    else:
        check_size(path, format, left)
        found = format.read(path, replace(reading, memory=left), on_event)
        if isinstance(found, Graph):
            return found
        fits, otherwise = edges.fill([found], left), ELSEWHERE
    if not fits:
        needed = show_bytes(edges.peak() + beside, up=True)
        problem = f"making a graph of it takes {needed} of memory or more, and {show_bytes(limit)} may be used"
        always = " (reading may take so much in any case)" * (limit == LEAST_READING)
        raise FormatError(path, f"{problem}{always}; allow more (memory, --memory), or {otherwise}")
    return edges.joined()


def import_advice(format: Format, threads: int) -> str:
    """What to do if memory is too small for a file that can be read in parts."""
    least = MIN_SORT_BYTES + (READER_BYTES if format.streams_again else PARSING + threads * PARSING_THREAD)
    needs = f"needs {show_bytes(least, up=True)} or more, but not all edges in memory"
    return f"make a graph directory of it with garaph import, which {needs}"


def buffer_bytes(path: Path, format: Format, reading: ReadOptions, limit: int) -> int:
    """Bytes that reading a file takes beside its edges; raise `FormatError` if that is more than `limit`."""
    if format.buffers is None:
        return 0
    buffers = format.buffers(path, reading)
    buffers.check(path, limit)
    return buffers.nbytes


def check_size(path: Path, format: Format, limit: int) -> None:
    """Raise `FormatError` if a file that must fit in memory is larger than `limit` bytes."""
    with malformed(path, "not readable"):
        size = path.stat().st_size
    if size > limit:
        raise FormatError(
            path,
            f"{show_bytes(size)} long, and a file of format {format.name} must fit in the memory that may be used, "
            f"{show_bytes(limit)}; allow more (memory), or {ELSEWHERE}",
        )


def built(
    path: Path, edges: EdgeList | Graph, options: BuildOptions, threads: int | None, on_event: events.Listener
) -> Graph:
    """The graph of the edges of a file."""
    release_unused()  # sorting needs the memory that parsing has freed
    changes: dict[str, Any] = {
        "drop_self_loops": options.drop_self_loops,
        "drop_parallel": options.drop_parallel,
        "order": options.order,
        "threads": threads,
        "on_event": on_event,
    }
    if isinstance(edges, Graph):
        same = options.order == "none" and not (options.drop_self_loops or options.drop_parallel)
        graph = edges.symmetrized(threads) if options.symmetrize else edges
        return graph if same else rebuilt(graph, **changes)
    undirected = options.both_ways or (options.directed is None and edges.directed is False)
    columns, ids = numbered_columns(path, edges, threads)
    del edges  # `build` frees the columns while it sorts them
    graph = build(columns, ids, directed=not undirected, **changes)
    return graph.symmetrized(threads) if options.symmetrize else graph


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn a `GraphError` of the body into a `FormatError` about `path`."""
    try:
        yield
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
    if not isinstance(edges.sources, np.ndarray):
        sources, targets, ids = number_names(edges.sources, edges.targets)
        return [sources, targets, values], ids
    sources, targets, ids = number_vertices(edges.sources, edges.targets, edges.vertices, threads=threads)
    check_listed(path, ids, edges.vertices)
    return [sources, targets, values], ids


def check_file(path: str | os.PathLike[str]) -> Path:
    """`path` as a `Path`; refuse directories, missing files and names that cannot be one."""
    try:
        path = Path(path)
    except TypeError:
        maker = MAKERS.get(type(path).__module__.partition(".")[0])
        advice = f"; make a graph of it with gp.{maker}" if maker else ""
        problem = f"the path of a file is a string or a pathlib.Path, not {kind_of(path)}{advice}"
        raise ParameterError(problem) from None
    try:
        if path.is_dir():
            opens = is_graph_directory(path)
            advice = "; open it with garaph_py.open" if opens else " and not a graph directory; name a file in it"
            raise FormatError(path, f"is a {'graph ' * opens}directory{advice}")
        if not path.exists():
            if is_url(path):
                raise FormatError(shown(path), "files of edges cannot be read from URLs; download the file first")
            near = did_you_mean_file(path, "check the name", lambda it: has_edges_suffix(it) or is_graph_directory(it))
            raise FormatError(path, f"no such file; {near}")
        if not path.is_file():
            raise FormatError(path, NO_FILE)
    except OSError as error:  # a name that is too long, for one
        raise FormatError(path, f"{error.strerror}; check the name") from None
    return path


def is_graph_directory(path: Path) -> bool:
    """Whether `path` is a directory with a graph's manifest, also one that is being replaced, or a partition's."""
    return path.is_dir() and (any(path.glob(f"{MANIFEST}*")) or is_partition(path))


def check_listed(path: Path, ids: VertexIds, vertices: Any) -> None:
    """Refuse edges with vertices that are not in the file's list of vertices."""
    if vertices is not None and len(ids) > len(vertices):
        missing = np.setdiff1d(ids.array(), vertices)
        raise FormatError(path, f"an edge has vertex {missing[0]}, which the list of vertices lacks; add it there")
