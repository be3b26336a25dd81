"""Divides work (the edges of a page or of a vertex set, or all vertices) into runs, one for each call of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph.arrays import GraphArrays
from ...graph.place import pieces_within
from ...graph.vertex_set import BLOCK, WORD, VertexSet
from ...native import Kernel, trailing_zeros
from ...native.threads import bounds_of
from ...pages.layout import Page
from ...pages.source import PageSource
from .launch import Launcher
from .sets import COUNT_EDGES
from .walk import TO_THE_END

Array = npt.NDArray[Any]

WHOLE_PAGE: tuple[Any, ...] = (0, 0, 0, TO_THE_END)
"""One run with all edges of a set in a page: block, position, start and stop, as `Runs.of_set` returns them."""
MIN_RUN_EDGES = 1 << 12
"""Smallest size of a run, in edges or vertices: handing out a call costs about as much as visiting that many."""
VERTEX_EDGES = 4
"""Cost of a vertex in a pass over all edges, apart from its edges, in units of an edge: 2.9 ns and 0.67 ns (PageRank,
R-MAT of scale 21 in degree order, November 2026; docs/results has newer times of whole iterations only)."""
RANDOM_ACCESS_EDGES = 8
"""Cost of a random edge access (notify, push), which is a cache miss, in units of a sequential edge access. A guess: it
only says into how many runs work is divided."""
MAX_KEPT_CUTS = 1 << 12
"""Number of pages, or parts of pages, whose runs are kept for the next iteration. A guess."""
CUTS = "runs of pages"
"""Name of the kept runs among the derived arrays of a graph in memory, whose next run of a program finds them."""
MIN_RUNS = 64
"""Number of runs that a large amount of work is divided into; idle threads take the next run. A guess."""
FEW_BLOCKS = 1 << 14
"""Maximal number of blocks with active vertices with which pages may be merged: with more, each page has many lists to
read. A guess."""
SPARSE_EDGES, FEW_RANGES = 1 << 14, 1 << 15
"""Lists are read one by one if a page has at most one active list for every `SPARSE_EDGES` of its edges, and at most
`FEW_RANGES` of them, which take 3 MB to look for. In the time of one more read, a disk reads half of `SPARSE_EDGES` in
order."""
MAX_RUN_EDGES = 1 << 18
"""Size of a run, in edges, above which work is divided into more than `MIN_RUNS` runs. Not measured by itself."""


class Runs:
    """Divides work into runs of nearly equal cost.

    Parameters
    ----------
    arrays : GraphArrays
    launcher : Launcher
    one_per_thread : bool
        Make one run for each thread, as the paper does. Otherwise the runs are the same for any number of threads.
    """

    def __init__(self, arrays: GraphArrays, launcher: Launcher, one_per_thread: bool) -> None:
        self._arrays, self._launch = arrays, launcher
        self.one_per_thread = one_per_thread
        self._max_runs = launcher.pool.size if one_per_thread else None
        # By page, cost of a vertex, and number of runs; those of all vertices by their number.
        kept: Callable[[], dict[Hashable, tuple[Array, ...]]] = dict
        self._cuts = kept() if arrays.on_disk else arrays.derived.get(CUTS, kept, lambda cuts: 0)

    def count(self, edges: int) -> int:
        """How many runs to divide this number of edges or vertices into."""
        return piece_count(edges, self._max_runs)

    @property
    def may_cut(self) -> bool:
        """Whether a page's pull may have several runs, whose bounds cut vertices; else there are no sums to merge."""
        arrays = self._arrays
        return arrays.place is not None or self.count(arrays.m + VERTEX_EDGES * arrays.n) > 1

    def is_worth_sharing(self, edges: int) -> bool:
        """Whether this number of edges and vertices is worth more than one run."""
        return edges > MIN_RUN_EDGES

    def of_vertices(self, whole: bool = False) -> tuple[Array, Array]:
        """First and last vertices of equal runs of all vertices, or of one run if `whole`; runs begin at blocks."""
        n = self._arrays.n
        count = 1 if whole or n <= BLOCK else self.count(n)
        found = self._cuts.get(count)
        if found is None:
            bounds = bounds_of(-(-n // BLOCK), count) * BLOCK
            bounds[-1] = n
            found = self._keep(count, bounds[:-1], bounds[1:])
        return found[0], found[1]

    def _keep(self, key: Hashable, *found: Array) -> tuple[Array, ...]:
        """Keep runs under a `key` for later launches; nobody may change them, so that tables need not be filled
        again."""
        if len(self._cuts) >= MAX_KEPT_CUTS:
            self._cuts.clear()
        for bounds in found:
            bounds.flags.writeable = False
        self._cuts[key] = found
        return found

    def of_page(self, page: Page) -> tuple[Array, ...]:
        """Runs of a page's edges that cost the same: first and last edge of each run, and first and last of the
        vertices whose edges begin in it. As in the paper, one run for each thread has the same number of edges."""
        vertex_edges = 0 if self.one_per_thread else VERTEX_EDGES
        count, place = self.count(page.edges + vertex_edges * page.vertices), self._arrays.place
        key = page, vertex_edges, count
        found = self._cuts.get(key)
        if found is None:
            if place is None:
                bounds, cuts = pieces_of(self._arrays.in_edges.offsets, page, vertex_edges, count)
            else:
                edges, vertices = (page.first_edge, page.last_edge), (page.first_vertex, page.last_vertex)
                bounds, cuts = pieces_within(place.pieces, *zip(edges, vertices, strict=True)).T
                bounds, cuts = bounds.copy(), cuts.copy()
            found = self._keep(key, bounds[:-1], bounds[1:], cuts[:-1], cuts[1:])
        return found

    def of_set(
        self, prefix: Array, side: Any, edge_cost: int = 1, within: tuple[int, int] | None = None
    ) -> tuple[Array, Array, Array, Array]:
        """Equal runs of the edges of a set's vertices, laid end to end.

        Parameters
        ----------
        prefix : ndarray of int64
            Sums of the set's edges before each block, from `prefix_of`.
        side : {"left", "right"}
            As for `numpy.searchsorted`: the block in which a run begins whose first edge is also the first of a block.
        edge_cost : int
            Cost of an edge, in units of a sequential edge access.
        within : (int, int), optional
            Only the edges from one index to before the other.

        Returns
        -------
        block : ndarray
            The block that each run begins in.
        position : ndarray
            The index of that block's first edge.
        start, stop : ndarray
            The indices of the run's first edge and of the edge after its last.
        """
        first, last = within or (0, int(prefix[-1]))
        bounds = first + bounds_of(last - first, self.count(edge_cost * (last - first)))
        blocks = np.searchsorted(prefix[1:-1], bounds[:-1], side=side)
        return blocks, prefix[blocks], bounds[:-1], bounds[1:]

    def prefix_of(self, vertices: VertexSet, offsets: Array, first: int, last: int) -> tuple[int, Array]:
        """How many of `vertices` lie in [first, last), and prefix sums of their edges by block, with the total last.

        Vertex v has the edges from ``offsets[v]`` up to ``offsets[v + 1]``.
        """
        base, stop = first // BLOCK, (last - 1) // BLOCK + 1
        sums = np.zeros(stop - base + 1, np.int64)
        parts = self.count(last - first) if vertices.is_wide else 1
        key = base, stop, parts
        found = self._cuts.get(key)
        if found is None:
            bounds = base + bounds_of(stop - base, parts)
            found = self._keep(key, bounds[:-1], bounds[1:])
        counts = self._launch(
            COUNT_EDGES, parts, None, vertices=vertices.bits, vertices_blocks=vertices.blocks,
            offsets=offsets, first_vertex=first, last_vertex=last, edges_by_block=sums[1:],
            first_block=found[0], last_block=found[1],
        )  # fmt: skip
        return int(counts.sum()), np.cumsum(sums)

    def active_pages(self, active: VertexSet, source: PageSource, merges: bool = False) -> dict[Page, Array]:
        """The pages with out-edges of vertices in `active`, each with the prefix sums of these (`prefix_of`).

        First come those that are still in memory.

        If `merges`, pages of which few edges are needed may be merged (`PageSource.pages_for`).
        """
        pages = source.pages
        if len(pages) > 1:
            # Blocks with active vertices before each block.
            before = np.append(0, np.cumsum(active.blocks != 0)).tolist()
            if merges and before[-1] <= FEW_BLOCKS:
                every = Page(0, 0, self._arrays.n, 0, self._arrays.m)
                pages = source.pages_for(edge_ranges(active, self._arrays.out_edges.offsets, every))
            pages = source.held_first(
                page for page in pages if before[page.first_vertex // BLOCK] < before[-(-page.last_vertex // BLOCK)]
            )
        found: dict[Page, Array] = {}
        for page in pages:
            count, prefix = self.prefix_of(active, self._arrays.out_edges.offsets, page.first_vertex, page.last_vertex)
            if count and prefix[-1]:
                found[page] = prefix
        return found

    def prefetched(self, active: VertexSet, source: PageSource, values: bool = True) -> dict[Page, Array]:
        """As `active_pages` that may be merged; `source` starts to read the lists of `active`, and edge `values`."""
        pages = self.active_pages(active, source, merges=True)
        source.prefetch(pages, partial(edge_ranges, active, self._arrays.out_edges.offsets), values=values)
        return pages


def pieces_of(offsets: Array, page: Page, vertex_edges: int, count: int) -> tuple[Array, Array]:
    """The bounds of `count` pieces of a page that cost the same: the edge and the vertex with which each begins, and
    the page's ends. A vertex costs `vertex_edges`, and an edge 1."""
    costs = bounds_of(page.edges + vertex_edges * page.vertices, count)
    bounds, cuts = cut_lists(offsets[page.first_vertex : page.last_vertex + 1], vertex_edges, costs)
    cuts += page.first_vertex
    cuts[0], cuts[-1] = page.first_vertex, page.last_vertex
    return bounds, cuts


def piece_count(cost: int, most: int | None = None) -> int:
    """The number of pieces into which to divide work that costs as much as this number of edges; at most `most`, if
    given."""
    # A power of two: the launcher keeps memory for every number of runs that occurs.
    many = 1 << (cost // MAX_RUN_EDGES).bit_length() >> 1
    return max(1, min(most or max(MIN_RUNS, many), cost // MIN_RUN_EDGES))


def cut_lists(offsets: Array, vertex_edges: int, costs: Array) -> tuple[Array, Array]:
    """The places at which a pass over lists of edges has reached these costs, which ascend from 0 to the total.

    A vertex costs `vertex_edges`, after its edges, which cost 1 each. Returns, for each cost, the edge that comes next,
    and the next vertex whose edges have not begun.
    """
    last, wanted = len(offsets) - 1, costs + offsets[0]
    v, beyond = np.zeros_like(wanted), np.full_like(wanted, last + 1)
    while (beyond - v > 1).any():  # the last vertex that begins at this cost or before
        middle = (v + beyond) // 2
        begins = offsets[middle] + vertex_edges * middle <= wanted
        v, beyond = np.where(begins, middle, v), np.where(begins, beyond, middle)
    begun = wanted > offsets[v] + vertex_edges * v
    return np.minimum(wanted - vertex_edges * v, offsets[np.minimum(v + 1, last)]), v + begun


# wide: compiled code takes its arrays one by one
def find_ranges(bits, first_word, last_word, most, offsets, first_vertex, last_vertex, ranges):
    """Write the first and the last edge of the lists of each row of vertices in a word of the set; return their number.

    If there are more than `most` rows, each range has the lists of all vertices of a word that has any.
    """
    count, whole_words, word = 0, False, first_word
    while word < last_word:
        left = bits[word]
        while left != 0:
            begin, end = word * WORD, word * WORD + WORD
            if whole_words:
                left = np.uint64(0)
            else:
                begin += trailing_zeros(left)
                left |= left - np.uint64(1)  # the bits below the row, too
                if ~left != 0:
                    end = word * WORD + trailing_zeros(~left)
                left &= left + np.uint64(1)  # the bits above the row
            if count == most and not whole_words:
                count, whole_words, word = 0, True, first_word - 1
                break
            ranges[2 * count] = offsets[min(max(begin, first_vertex), last_vertex)]
            ranges[2 * count + 1] = offsets[min(max(end, first_vertex), last_vertex)]
            count += 1
        word += 1
    return count


FIND_RANGES = Kernel("u64* i64 i64 i64 i64* i64 i64 i64*", find_ranges)


def edge_ranges(vertices: VertexSet, offsets: Array, page: Page) -> Array:
    """First and last edge of the lists of those of a page's vertices that are in `vertices`, shape (k, 2).

    Lists that follow each other are one range. If there are many (`FEW_RANGES`), the range is all lists of a word: one
    read for the lists of 64 neighbouring vertices mostly takes no longer than a read for one list.
    """
    words, most = page.words, min(-(-page.edges // SPARSE_EDGES), FEW_RANGES)
    ranges = np.empty((max(words.stop - words.start, most), 2), np.int64)
    count = FIND_RANGES(
        vertices.bits, words.start, words.stop, most, offsets, page.first_vertex, page.last_vertex, ranges
    )
    return ranges[:count].copy()
