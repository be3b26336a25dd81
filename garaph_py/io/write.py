"""A graph into a file."""

from __future__ import annotations

import os
from pathlib import Path

from .. import events
from ..graph.graph import Graph
from .formats import writable


def write(
    graph: Graph,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    on_event: events.Listener = events.ignore,
) -> None:
    """Write a graph as a file that other programs read; docs/formats.md says what each format keeps.

    Parameters
    ----------
    graph : Graph
    path : path-like
        The file to make or replace; a failure leaves what was there.
    format : str, optional
        By default told by the suffix of `path`.
    on_event : callable, optional
        Receives `events.Step` records.

    Raises
    ------
    ParameterError
        If the format is not known or cannot be written, or the file cannot be.
    GraphError
        If the format cannot hold this graph.
    """
    chosen = writable(Path(path), format)
    assert chosen.write is not None
    chosen.write(graph.unpacked(), Path(path), on_event)
