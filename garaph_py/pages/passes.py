"""All in-edges once, a page at a time as plain arrays: for what looks at each in Python, in memory or on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.codecs import decoded
from ..codec.format import LISTS, NUMBERS
from ..graph import Graph
from ..native.threads import ThreadPool
from .layout import PAGE_EDGES
from .provider import SourceFactory
from .source import PageSource

Array = npt.NDArray[Any]

PASS_EDGES = 1 << 17
"""Edges of a page, where memory is short: what is made of them beside fits what a run has at hand."""
EDGE_BYTES = 64
"""Of the room for edges, a page takes so many for each: a small part of it."""
VERTEX_BYTES = 64
"""Of memory for each vertex, for what looks at the edges."""


@dataclass(frozen=True)
class EdgeChunk:
    """Some of the edges, in the order of `Graph.in_edges`; all those of the vertices that they lead to.

    Attributes
    ----------
    first_vertex, last_vertex : int
        Those vertices.
    sources, targets : ndarray of uint32
    values : ndarray or None
        Edge values, if the graph has them and they are of interest.
    """

    first_vertex: int
    last_vertex: int
    sources: Array
    targets: Array
    values: Array | None


def pass_bytes(graph: Graph) -> int:
    """Bytes of memory that a pass and what it is for take beside edges."""
    return graph.nbytes + graph.ids.nbytes + VERTEX_BYTES * graph.n


def few_edges(room: int) -> int:
    """Of a page in a pass over edges on disk, for which there are so many bytes of memory."""
    return min(PASS_EDGES, max(room // EDGE_BYTES, 1))


def page_bound(graph: Graph, sources: SourceFactory) -> int | None:
    """Of the edges of a page in a pass; None for the usual one."""
    if graph.on_disk:
        return few_edges(sources.room)
    if graph.memory is None:
        return None
    return min(max((graph.memory - pass_bytes(graph)) // EDGE_BYTES, PASS_EDGES), PAGE_EDGES)


def plain(
    source: PageSource, offsets: Array, pool: ThreadPool, values: bool = True
) -> Iterator[tuple[int, int, Array, Array | None]]:
    """First and last vertex of each page of `source`, its edges unpacked, and their values if there are some and
    `values` are of interest."""
    source.prefetch(source.pages, values=values)
    for page in source.pages:
        given = source.edges(page)
        own = slice(page.first_edge - given.first_edge, page.last_edge - given.first_edge)
        neighbours = decoded(given.sources, LISTS, pool, offsets, given.first_edge)
        numbers = decoded(given.values, NUMBERS, pool)[own] if values and given.values is not None else None
        yield page.first_vertex, page.last_vertex, neighbours[own], numbers
        source.release(page)


def listed(graph: Graph, values: bool = True) -> Iterator[EdgeChunk]:
    """The edges of `graph`, with their `values` or without, page by page.

    Raises
    ------
    GraphError
        If the graph's memory leaves too little for a page of edges on disk.
    DamagedGraphError
        If a disk does not give them, or what it gives cannot be believed.
    """
    offsets, degrees = graph.in_edges.offsets, graph.in_degrees
    with ThreadPool(1) as pool, SourceFactory(graph, values) as sources:
        sources.divide(pass_bytes(graph))
        source = sources.into(page_bound(graph, sources))
        for first, last, neighbours, numbers in plain(source, offsets, pool, values):
            targets = np.repeat(np.arange(first, last, dtype=np.uint32), degrees[first:last])
            yield EdgeChunk(first, last, neighbours, targets, numbers)
