"""Pages of a graph in memory: slices of its arrays, without a copy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

from ..graph.adjacency import Adjacency
from ..graph.arrays import GraphArrays
from .layout import Page, layout
from .source import Array, PageEdges, Wanted

MEMORY_PAGE_EDGES = 1 << 28
"""Default bound on a page's edges if these need not be read: tens of milliseconds of work for sixteen cores. Between
two pages threads wait for each other and for half a millisecond of Python (BFS on 16 threads, November 2026)."""

IN_PAGES, OUT_PAGE = "pages of in-edges", "page of out-edges"
"""Names of what a graph keeps for its next run, among its derived arrays."""


class MemoryPageSource:
    """`PageSource` over edges in memory.

    Parameters
    ----------
    edges : Adjacency
    page_edges : int, optional
        Bound on a page's edges, if `pages` are not given; by default `MEMORY_PAGE_EDGES`.
    pages : sequence of Page, optional
        The layout; by default the source makes one.
    """

    takes_any_order = True
    is_in_memory = True

    def __init__(self, edges: Adjacency, page_edges: int | None = None, pages: Sequence[Page] | None = None) -> None:
        self._sources, self._values = edges.neighbour_array, edges.value_array
        self._unit = math.lcm(*[array.unit for array in edges.arrays()])
        self._pages = memory_layout(edges.offsets, page_edges) if pages is None else pages

    @property
    def pages(self) -> Sequence[Page]:
        return self._pages

    @property
    def max_in_flight(self) -> int:
        return max(len(self._pages), 1)

    @property
    def bytes_read(self) -> int:
        return 0

    def pages_for(self, ranges: Array) -> Sequence[Page]:
        return self._pages

    def held_first(self, pages: Iterable[Page]) -> list[Page]:
        return list(pages)

    def prefetch(self, pages: Iterable[Page], wanted: Wanted | None = None, values: bool = True) -> None:
        pass

    def release(self, page: Page) -> None:
        pass

    def close(self) -> None:
        pass

    def parts(self, page: Page) -> list[Page]:
        return [page]

    @property
    def can_be_shared(self) -> bool:
        return True

    def shared(self) -> AbstractContextManager[MemoryPageSource]:
        """This source: any number of threads may use it."""
        return nullcontext(self)

    def give_back(self) -> None:
        """Do nothing: no memory is lent."""

    def prefetch_also(self, page: Page) -> None:
        """Do nothing: all pages are in memory."""

    def edges(self, page: Page) -> PageEdges:
        unit, values = self._unit, self._values
        first, last = page.first_edge // unit * unit, -(-page.last_edge // unit) * unit  # whole units
        return PageEdges(first, self._sources.slice(first, last), None if values is None else values.slice(first, last))


def in_edges_of(arrays: GraphArrays) -> MemoryPageSource:
    """The in-edges in the usual pages, which the graph keeps."""
    return arrays.derived.get(IN_PAGES, lambda: MemoryPageSource(arrays.in_edges), lambda _: 0)


def out_edges_of(arrays: GraphArrays) -> MemoryPageSource:
    """The out-edges as one page, which the graph keeps."""

    def made() -> MemoryPageSource:
        return MemoryPageSource(arrays.out_edges, pages=[Page(0, 0, arrays.n, 0, arrays.m)])

    return arrays.derived.get(OUT_PAGE, made, lambda _: 0)


def memory_layout(offsets: Array, page_edges: int | None = None) -> Sequence[Page]:
    """The pages of edges in memory: at most `page_edges` edges each, by default `MEMORY_PAGE_EDGES`."""
    return layout(offsets, MEMORY_PAGE_EDGES if page_edges is None else page_edges)
