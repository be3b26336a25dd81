"""Where a run's pages come from: the graph's memory, or disks and a budget."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from ..errors import GraphError
from ..events import Span
from ..graph import Graph, StoredAdjacency
from ..sizes import show_bytes
from .disks import Disk
from .layout import Page
from .memory import MemorySource
from .source import PageSource
from .stored import StoredSource
from .stored_blocks import StoredBlocks

OUT_SHARE = 5
"""A directed graph's out-edges, which only serve to notify, have this part of the memory for edges."""
AT_HAND = 1 << 22
"""Bytes that threads take to check what they read."""


@contextmanager
def sources(
    graph: Graph, reads_values: bool, vertices: int, page_edges: int | None = None, spans: list[Span] | None = None
) -> Iterator[tuple[PageSource, PageSource]]:
    """A graph's in-edges by pages, and its out-edges.

    Parameters
    ----------
    graph : Graph
    reads_values : bool
        Edge values are of interest.
    vertices : int
        Bytes of memory that the run takes beside edges.
    page_edges : int, optional
    spans : list of Span, optional
        Where to tell when a disk read.

    Raises
    ------
    GraphError
        If what the graph's memory leaves for edges is too little.
    """
    into, out = graph.in_edges, graph.out_edges
    if not isinstance(into, StoredAdjacency) or not isinstance(out, StoredAdjacency):
        whole = [Page(0, 0, graph.n, 0, graph.m)]
        yield MemorySource(into, page_edges), MemorySource(out, pages=whole)
        return
    room = into.memory - vertices - AT_HAND
    if room <= 0:
        raise GraphError(
            f"the run takes {show_bytes(vertices + AT_HAND)} of memory for the vertices alone, and may take "
            f"{show_bytes(into.memory)}; allow more when the graph is opened (memory, --memory)"
        )
    arrays = [array for array in (into.lists, into.numbers) if isinstance(array, StoredBlocks)][: 1 + reads_values]
    with ExitStack() as stack:
        disks = [Disk(str(path.parent), spans) for path in arrays[0].reader.paths]
        for disk in disks:
            stack.callback(disk.close)
        own = room if out is into else room - room // OUT_SHARE
        source = StoredSource(arrays, into.offsets, own, disks, page_edges)
        stack.callback(source.close)
        if out is into:
            yield source, source
            return
        lists = [array for array in (out.lists,) if isinstance(array, StoredBlocks)]
        behind = StoredSource(lists, out.offsets, room // OUT_SHARE, disks)
        stack.callback(behind.close)
        yield source, behind
