"""Divides the edges of a page, of a set of vertices, or all vertices, into runs: one run for each call of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph import Graph
from ...graph.adjacency import Adjacency
from ...graph.vertex_set import BLOCK, WORD, VertexSet
from ...native.threads import split
from ...pages.layout import Page
from ...pages.source import PageSource
from .launch import Launcher
from .sets import COUNT_EDGES
from .walk import TO_THE_END

Array = npt.NDArray[Any]

WHOLE_PAGE: tuple[Any, ...] = (0, 0, 0, TO_THE_END)
"""One run with all the edges of a set in a page: block, position, start and stop, as `Runs.of_set` has them."""
MIN_RUN_EDGES = 1 << 12
"""Edges or vertices: a run is not made smaller. To hand out a call costs about as much as visiting so many."""
RANDOM_ACCESS_EDGES = 8
"""Cost of an edge along which a vertex notifies or pushes, in edges that are read in order: each is a cache miss."""
MAX_KEPT_CUTS = 1 << 12
"""Pages, or parts of pages, whose runs are kept for the next iteration."""
MIN_RUNS = 64
"""Runs that a large amount of work is divided into; a thread that is free takes the next one."""
MAX_RUN_EDGES = 1 << 18
"""Edges of a run above which there are more than `MIN_RUNS` runs."""


class Runs:
    """Divides work into runs of nearly equal cost.

    Parameters
    ----------
    graph : Graph
    launcher : Launcher
    one_per_thread : bool
        Make one run for each thread, as the paper does. Otherwise the runs are the same for any number of threads.
    """

    def __init__(self, graph: Graph, launcher: Launcher, one_per_thread: bool) -> None:
        self._graph, self._launch = graph, launcher
        self._max_runs = launcher.pool.size if one_per_thread else None
        self._cuts: dict[Page, tuple[Array, ...]] = {}

    def count(self, edges: int) -> int:
        """How many runs to make of so many edges or vertices."""
        # A power of two, as the launcher keeps memory for every number of runs that it meets.
        many = 1 << (edges // MAX_RUN_EDGES).bit_length() >> 1
        most = self._max_runs or max(MIN_RUNS, many)
        return max(1, min(most, edges // MIN_RUN_EDGES))

    def is_worth_sharing(self, edges: int) -> bool:
        """Whether so many edges and vertices are worth more than one run."""
        return edges > MIN_RUN_EDGES

    def of_vertices(self, whole: bool = False) -> tuple[Array, Array]:
        """First and last vertices of equal runs of all vertices, or of one run; runs begin where blocks do."""
        n = self._graph.n
        bounds = np.array([0, n] if whole else split(-(-n // BLOCK), self.count(n))) * BLOCK
        bounds[-1] = n
        return bounds[:-1], bounds[1:]

    def of_page(self, page: Page) -> tuple[Array, ...]:
        """Equal runs of a page's edges: their first and last edges, and first and last of the vertices that begin in
        them."""
        if page not in self._cuts:
            if len(self._cuts) >= MAX_KEPT_CUTS:
                self._cuts.clear()
            bounds = page.first_edge + np.array(split(page.edges, self.count(page.edges)), np.int64)
            offsets = self._graph.in_edges.offsets[page.first_vertex : page.last_vertex]
            cuts = np.searchsorted(offsets, bounds) + page.first_vertex
            cuts[0], cuts[-1] = page.first_vertex, page.last_vertex
            self._cuts[page] = bounds[:-1], bounds[1:], cuts[:-1], cuts[1:]
        return self._cuts[page]

    def of_set(self, prefix: Array, side: Any, edge_cost: int = 1) -> tuple[Array, Array, Array, Array]:
        """Equal runs of the edges of a set's vertices, laid end to end.

        Parameters
        ----------
        prefix : ndarray of int64
            Sums of the set's edges before each block, from `prefix_of`.
        side : {"left", "right"}
            Which block a run begins in, where its first edge is also a block's first: as for `numpy.searchsorted`.
        edge_cost : int
            Cost of an edge, in edges that are read in order.

        Returns
        -------
        block : ndarray
            The block that each run begins in.
        position : ndarray
            The place of that block's first edge.
        start, stop : ndarray
            Places of the run's first edge and of the edge after its last.
        """
        edges = int(prefix[-1])
        bounds = np.array(split(edges, self.count(edge_cost * edges)), np.int64)
        blocks = np.searchsorted(prefix[1:-1], bounds[:-1], side=side)
        return blocks, prefix[blocks], bounds[:-1], bounds[1:]

    def prefix_of(self, vertices: VertexSet, adjacency: Adjacency, first: int, last: int) -> tuple[int, Array]:
        """How many of `vertices` lie in [first, last), and sums of their edges before each block, and in all."""
        base, stop = first // BLOCK, (last - 1) // BLOCK + 1
        sums = np.zeros(stop - base + 1, np.int64)
        parts = self.count(last - first) if vertices.is_wide else 1
        blocks = base + np.array(split(stop - base, parts))
        counts = self._launch(
            COUNT_EDGES, parts, None, vertices=vertices.bits, vertices_blocks=vertices.blocks,
            offsets=adjacency.offsets, first_vertex=first, last_vertex=last, edges_by_block=sums[1:],
            first_block=blocks[:-1], last_block=blocks[1:],
        )  # fmt: skip
        return int(counts.sum()), np.cumsum(sums)

    def active_pages(self, active: VertexSet, source: PageSource) -> dict[Page, Array]:
        """The pages of out-edges in which a vertex of `active` has any, each with `prefix_of` these vertices."""
        found: dict[Page, Array] = {}
        for page in source.pages:
            count, prefix = self.prefix_of(active, self._graph.out_edges, page.first_vertex, page.last_vertex)
            if count and prefix[-1]:
                found[page] = prefix
        return found


def edge_ranges(vertices: VertexSet, offsets: Array, page: Page) -> Array:
    """First and last edge of every word of a page's vertices that holds some of `vertices`, shape (words, 2).

    The lists of 64 neighbouring vertices are mostly read in the time of one of them.
    """
    first = (page.words.start + np.flatnonzero(vertices.bits[page.words])) * WORD
    ranges: Array = offsets[np.clip(np.stack((first, first + WORD), 1), page.first_vertex, page.last_vertex)]
    return ranges
