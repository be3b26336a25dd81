"""Passes over all in-edges, page by page, as plain NumPy arrays, whether they are in memory or on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codec.codecs import decoded
from ..codec.format import LISTS, NUMBERS
from ..graph import Graph, group
from ..graph.arrays import OUT_WEIGHTS, array_bytes
from ..native.threads import ThreadPool, even_cuts
from .memory import MemoryNeeds, pass_bytes, pass_page_edges
from .provider import SourceFactory
from .source import PageSource

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class EdgeChunk:
    """All in-edges of the vertices [first_vertex, last_vertex), in the order of `GraphArrays.in_edges`.

    Attributes
    ----------
    first_vertex, last_vertex : int
    sources, targets : ndarray of uint32
    values : ndarray or None
        Edge values, if the graph has them and the caller wants them.
    """

    first_vertex: int
    last_vertex: int
    sources: Array
    targets: Array
    values: Array | None

    @property
    def first(self) -> Array:
        """Which edges have no parallel one before them: bool, shape (edges,)."""
        u, v = self.sources, self.targets
        return np.append(True, (u[1:] != u[:-1]) | (v[1:] != v[:-1]))[: len(u)]


def plain(
    source: PageSource, offsets: Array, pool: ThreadPool, values: bool = True
) -> Iterator[tuple[int, int, Array, Array | None]]:
    """For each page of `source`: its first vertex, the end of its vertices, its sources, and its edge values or None.

    The arrays are unpacked. The edge values are None if the graph has none or `values` is False.
    """
    source.prefetch(source.pages, values=values)
    for page in source.pages:
        given = source.edges(page)
        own = slice(page.first_edge - given.first_edge, page.last_edge - given.first_edge)
        neighbours = decoded(given.sources, LISTS, pool, offsets, given.first_edge)
        numbers = decoded(given.values, NUMBERS, pool)[own] if values and given.values is not None else None
        yield page.first_vertex, page.last_vertex, neighbours[own], numbers
        source.release(page)


def listed(graph: Graph, values: bool = True) -> Iterator[EdgeChunk]:
    """The edges of `graph`, page by page, with edge values if `values`.

    Raises
    ------
    GraphError
        If the graph's memory leaves too little for a page of edges on disk.
    DamagedGraphError
        If a disk cannot read the edges, or they fail a check.
    """
    offsets, degrees = graph._arrays.in_edges.offsets, graph.in_degrees
    with ThreadPool(1) as pool, SourceFactory(graph, values) as sources:
        sources.divide(MemoryNeeds(pass_bytes(graph)))
        source = sources.into(pass_page_edges(graph, sources.room))
        for first, last, neighbours, numbers in plain(source, offsets, pool, values):
            targets = np.repeat(np.arange(first, last, dtype=np.uint32), degrees[first:last])
            yield EdgeChunk(first, last, neighbours, targets, numbers)


def has_loops(graph: Graph) -> bool:
    """Whether the graph has self-loops; if its edges are on disk, this reads them.

    Raises
    ------
    GraphError, DamagedGraphError
        As `listed` does.
    """
    if not graph.on_disk:
        return graph._arrays.self_loops > 0
    return any((edges.sources == edges.targets).any() for edges in listed(graph, values=False))


def out_weights(graph: Graph, dtype: npt.DTypeLike = np.float64) -> Array:
    """The sum of the values of each vertex's out-edges, shape (n,). There must be values.

    It takes one pass over the in-edges, because out-edges often have no values. Each core owns a range of the vertices,
    so that every run gets the same sums. They are kept until `Graph.release`; of a graph with bounded memory, only as
    float64. Of other graphs, sums of a smaller type take the place of those as float64.
    """
    given = np.dtype(dtype)
    if given != np.float64:
        if graph.memory is not None:
            return out_weights(graph).astype(given)

        def narrowed() -> Array:
            sums = out_weights(graph).astype(given)
            graph._arrays.derived.release(OUT_WEIGHTS)  # float64 sums, which later runs in this type do not need
            return sums

        return graph._arrays.derived.get(f"{OUT_WEIGHTS}, {given}", narrowed, array_bytes)

    def make() -> Array:
        sums = np.zeros(graph.n)
        with ThreadPool() as pool:
            owned = even_cuts(graph._arrays.out_edges.offsets, pool.size).tolist()
            for edges in listed(graph):
                assert edges.values is not None
                weights = edges.values.astype(np.float64, copy=False)
                pool.run(
                    group.ADD_VALUES, [(edges.sources, weights, len(weights), *part, sums) for part in pairwise(owned)]
                )
        return sums

    return graph._arrays.derived.get(OUT_WEIGHTS, make, array_bytes)


def out_weight_limits(graph: Graph) -> tuple[float, float]:
    """The least of these sums that is not 0, and the largest of all; they are kept until `Graph.release`."""

    def make() -> tuple[float, float]:
        sums = out_weights(graph)
        return float(sums.min(where=sums != 0, initial=np.inf)), float(sums.max(initial=0))

    return graph._arrays.derived.get(f"limits of the {OUT_WEIGHTS}", make, lambda _: 0)
