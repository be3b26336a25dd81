"""Pages: runs of destination vertices with a bounded number of in-edges (Garaph section 2.1).

A layout is an index computed at run time over the graph's arrays; nothing on disk depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ParameterError
from ..graph.vertex_set import WORD
from ..system.arguments import is_count

PAGE_EDGES = 1 << 26
"""Default bound on a page's edges: tens of milliseconds of work for a few cores, so that the gap between two pages
hardly matters."""
PART_PAGES = 4
"""Most pages of a part in memory: while a worker computes one, it sends the new values of those before."""
LEAST_PART_PAGE = 1 << 20
"""Fewest edges of such a page on average: 5 ms of work for a thread (at 2e8 edges/s), as long as some messages take."""


@dataclass(frozen=True)
class Page:
    """Vertices [first_vertex, last_vertex) with their in-edges [first_edge, last_edge)."""

    number: int
    first_vertex: int
    last_vertex: int
    first_edge: int
    last_edge: int

    def __hash__(self) -> int:  # a thread that streams pages looks each up several times in every iteration
        return self.last_vertex

    @property
    def vertices(self) -> int:
        return self.last_vertex - self.first_vertex

    @property
    def edges(self) -> int:
        return self.last_edge - self.first_edge

    @property
    def words(self) -> slice:
        """The words of a bitmap that hold the page's vertices.

        If pages begin at multiples of 64 vertices, these words hold no other vertices.
        """
        return slice(self.first_vertex // WORD, -(-self.last_vertex // WORD))


def joined(first: Page, last: Page) -> Page:
    """The pages from `first` to `last` as one."""
    return Page(first.number, first.first_vertex, last.last_vertex, first.first_edge, last.last_edge)


def cut(offsets: npt.NDArray[Any], page: Page, edges: int, multiple: int = 1) -> tuple[Page | None, Page]:
    """Cut a page in two: return the first part, and the last part with about `edges` edges.

    The first part is None if the page cannot be cut. Both parts keep the page's number. The cut is at a multiple of
    `multiple` vertices, as in `layout`.
    """
    span = offsets[page.first_vertex : page.last_vertex]
    vertex = page.first_vertex + int(np.searchsorted(span, page.last_edge - edges))
    vertex = min(-(-vertex // multiple) * multiple, (page.last_vertex - 1) // multiple * multiple)
    if vertex <= page.first_vertex:
        return None, page
    edge = int(offsets[vertex])
    return replace(page, last_vertex=vertex, last_edge=edge), replace(page, first_vertex=vertex, first_edge=edge)


def commit_plan(processed: Sequence[Page], skipped: Sequence[Page]) -> tuple[Sequence[Page], bool]:
    """How to commit an iteration: the pages to copy between the arrays of current and new values, and whether to swap
    the arrays afterwards.

    If the `skipped` pages have at most as many vertices as the `processed` ones, their old values are copied to the
    array of new values, and the arrays are swapped. Otherwise the new values of the processed pages are copied.
    """
    swaps = not skipped or sum(page.vertices for page in skipped) <= sum(page.vertices for page in processed)
    return (skipped, True) if swaps else (processed, False)


def check_page_edges(page_edges: int) -> int:
    """Return `page_edges` if it is valid.

    Raises
    ------
    ParameterError
        If it is not a positive int.
    """
    if not is_count(page_edges) or page_edges < 1:
        raise ParameterError(f"page_edges={page_edges!r}: give a positive number of edges")
    return int(page_edges)


def part_layout(offsets: npt.NDArray[Any], pieces: npt.NDArray[Any]) -> list[Page]:
    """The pages of a part of a graph in memory. They end where a piece of work ends (`Place.pieces`) that cuts no list,
    so that sums have the bits of the undivided graph."""
    edges, vertices = pieces.T
    n, m = len(offsets) - 1, int(offsets[-1])
    ends = np.unique(vertices[offsets[vertices] == edges])
    count = min(PART_PAGES, m // LEAST_PART_PAGE)
    wanted = np.searchsorted(offsets[ends], [m * k // count for k in range(1, count)])
    bounds = np.unique([0, *ends[wanted], n]).tolist()
    return [Page(k, a, b, int(offsets[a]), int(offsets[b])) for k, (a, b) in enumerate(pairwise(bounds))]


def within(pages: Sequence[Page], first: int, last: int) -> Sequence[Page]:
    """The pages with vertices in [first, last), without their other vertices, which must have no in-edges."""
    if not pages or (pages[0].first_vertex >= first and pages[-1].last_vertex <= last):
        return pages
    cut = [replace(page, first_vertex=max(page.first_vertex, first), last_vertex=min(page.last_vertex, last))
           for page in pages]  # fmt: skip
    return [page for page in cut if page.vertices > 0]


def layout(offsets: npt.NDArray[Any], page_edges: int | None = None, multiple: int = 1, first: int = 0) -> list[Page]:
    """Cut the vertices into pages of at most `page_edges` in-edges; a vertex with more has a page of its own.

    Parameters
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        CSC offsets.
    page_edges : int, optional
        By default `PAGE_EDGES`.
    multiple : int
        Cut only at multiples of this many vertices. A page of that many vertices may have more than `page_edges` edges.
    first : int
        The vertex with which the first page begins.
    """
    limit = PAGE_EDGES if page_edges is None else check_page_edges(page_edges)
    pages: list[Page] = []
    n = len(offsets) - 1
    while first < n:
        start = int(offsets[first])
        last = int(offsets.searchsorted(start + limit, side="right")) - 1
        last = min(max(last // multiple * multiple, first + multiple), n) if last < n else n
        pages.append(Page(len(pages), first, last, start, int(offsets[last])))
        first = last
    return pages
