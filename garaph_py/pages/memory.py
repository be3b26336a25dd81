"""Pages of a graph that is in memory: slices of its arrays, nothing is copied."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import Graph
from .layout import Page, layout
from .source import PageEdges


class MemorySource:
    """`PageSource` over a `Graph`, by `pages` where they have been laid out."""

    def __init__(self, graph: Graph, page_edges: int | None = None, pages: Sequence[Page] | None = None) -> None:
        self._edges = graph.in_edges
        self._pages = layout(graph.in_edges.offsets, page_edges) if pages is None else pages

    @property
    def pages(self) -> Sequence[Page]:
        return self._pages

    def edges(self, page: Page) -> PageEdges:
        run = slice(page.first_edge, page.last_edge)
        values = self._edges.values
        return PageEdges(page.first_edge, self._edges.neighbours[run], None if values is None else values[run])
