"""Pages of a graph that is in memory: slices of its arrays, nothing is copied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..codec.format import RUN, Packed
from ..graph import PackedAdjacency
from ..graph.graph import PACKED, Edges
from .layout import Page, layout
from .source import PageEdges, Wanted


class MemoryPageSource:
    """`PageSource` over edges in memory, by `pages` where they have been laid out."""

    def __init__(self, edges: Edges, page_edges: int | None = None, pages: Sequence[Page] | None = None) -> None:
        self._edges = edges
        self._pages = layout(edges.offsets, page_edges) if pages is None else pages

    @property
    def pages(self) -> Sequence[Page]:
        return self._pages

    @property
    def max_in_flight(self) -> int:
        return max(len(self._pages), 1)

    @property
    def bytes_read(self) -> int:
        return 0

    def expect(self, pages: Iterable[Page], wanted: Wanted | None = None, values: bool = True) -> None:
        pass

    def release(self, page: Page) -> None:
        pass

    def close(self) -> None:
        pass

    def parts(self, page: Page) -> list[Page]:
        return [page]

    def edges(self, page: Page) -> PageEdges:
        edges = self._edges
        if isinstance(edges, PackedAdjacency):
            first, last = page.first_edge // RUN, -(-page.last_edge // RUN)
            run, packed_values = slice(first * RUN, last * RUN), edges.packed_values
            cut = packed_values.runs(first, last) if isinstance(packed_values, Packed) else packed_values
            values = cut[run] if isinstance(cut, np.ndarray) else cut
            return PageEdges(first * RUN, edges.packed.runs(first, last), values, PACKED)
        run = slice(page.first_edge, page.last_edge)
        return PageEdges(page.first_edge, edges.neighbours[run], None if edges.values is None else edges.values[run])
