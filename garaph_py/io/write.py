"""Write a graph to a file."""

from __future__ import annotations

import os
from pathlib import Path

from .. import events
from ..graph.arguments import check_graph_to_write
from ..graph.graph import Graph
from ..system.arguments import check_listener, check_path, explained
from .formats import writable


@explained
def write(
    graph: Graph,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    on_event: events.Listener = events.ignore,
) -> None:
    """Write a graph to a file for other programs; "Graph files" in the documentation says what each format keeps.

    Parameters
    ----------
    graph : Graph
    path : path-like
        The file to make or replace. If writing fails, the old file stays as it was.
    format : str, optional
        Default: by the suffix of `path`.
    on_event : callable, optional
        Receives `events.Step` records.

    Raises
    ------
    ParameterError
        If `graph` is no graph, the format is not known or cannot be written, or the file cannot be written.
    GraphError
        If the format cannot hold this graph.
    """
    check_graph_to_write(graph, path, "write")
    check_path(path, "write")
    check_listener(on_event)
    chosen = writable(Path(path), format)
    assert chosen.write is not None
    chosen.write(graph.unpacked(), Path(path), on_event)
