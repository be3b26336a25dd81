"""`load`: a graph for a run, from a graph directory or a file of edges."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .. import events
from ..errors import GraphError, ParameterError
from ..graph import Graph
from ..native.threads import ThreadPool
from ..storage import directory as store
from ..storage import fit
from ..system.urls import is_url
from .collect import BuildOptions
from .formats import USUAL, ColumnNames, ReadOptions, format_of, has_edges_suffix
from .read import LEAST_READING, check_file, is_graph_directory, read_graph


@dataclass(frozen=True)
class LoadOptions:
    """How to load a graph.

    Attributes
    ----------
    undirected : bool
        Each edge of a file counts in both directions.
    symmetrize : bool
        Make the graph undirected, as `Graph.symmetrized` does.
    format : str or None
        The format of a file; None if its name tells.
    encoding : {"auto", "raw", "packed"}
        How edges are held in memory; ``"auto"`` packs them if their raw arrays exceed `memory`.
    memory : int, str or None
        Bytes that graph and run may take (see `garaph_py.open`), and also reading a file, if this is given.
    columns : ColumnNames
        The columns of a table that hold the edges.
    weights : bool or None
        False: leave the edge values of a file out.
    """

    undirected: bool = False
    symmetrize: bool = False
    format: str | None = None
    encoding: str = fit.AUTO
    memory: int | str | None = None
    columns: ColumnNames = USUAL
    weights: bool | None = None


def load(
    path: Path,
    options: LoadOptions = LoadOptions(),
    threads: int | None = None,
    on_event: events.Listener = events.ignore,
) -> Graph:
    """The graph at `path`, a graph directory (it may be at a URL) or a file of edges.

    Raises
    ------
    GraphError
        If the edges of a graph directory exceed the memory and are to be symmetrized.
    FormatError
        If a file cannot be read, or making a graph of it takes more memory than allowed.
    ParameterError
        If an option does not go with a graph directory.
    """
    fit.check_encoding(options.encoding)
    limit = fit.memory_limit(options.memory)
    if (is_url(path) and not has_edges_suffix(path)) or is_graph_directory(path):
        if options.undirected or options.format is not None or options.columns or options.weights is False:
            raise ParameterError(
                f"{path} is a graph directory; --undirected, --no-weights, --format and names of columns are for files"
            )
        graph = store.open(path, encoding=options.encoding, memory=limit, threads=threads, on_event=on_event)
        if not options.symmetrize:
            return graph if options.memory is not None else fit.unbounded(graph, limit)
        if graph.on_disk:
            raise GraphError(
                f"--symmetrize: the edges of {path} stay on disk, and this takes all of them in memory; import them "
                "once more with --symmetrize, or allow more (--memory)"
            )
        graph = graph.symmetrized(threads)
    else:
        path, directed = check_file(path), False if options.undirected else None
        within = None if options.memory is None else max(limit, LEAST_READING)
        reading = ReadOptions(options.weights, directed, ThreadPool(threads).size, within, options.columns)
        building = BuildOptions(directed, options.symmetrize)
        graph = read_graph(path, format_of(path, options.format), reading, building, on_event)
    graph = fit.fitted(graph, path, options.encoding, limit, threads)
    return graph if options.memory is not None else fit.unbounded(graph, limit)
