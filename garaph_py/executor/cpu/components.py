"""Connected components by union-find, and the sum of the values of each (Afforest; Sutton et al., IPDPS 2018).

`..components` describes the method.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph.arrays import GraphArrays
from ...graph.vertex_set import VertexSet
from ...native import compare_and_swap, prefetch_kept, reuse
from ...pages.layout import Page
from ...pages.source import PageSource
from ..components import FIRST_EDGES, SAMPLE
from ..results import PageResult
from ..state import State
from .edges import PARTS_OF_LISTS, Reader, source_of
from .functions import Functions
from .launch import Launcher
from .nearby import has_nearby_sources
from .push import make_relax
from .records import RecordKernel
from .runs import Runs, edge_ranges
from .walk import NOTHING, bit_of

Array = npt.NDArray[Any]

ALL, FIRST, HOOKED, ONCE = range(4)
"""Which edges are linked (`samples`): all; the first of each vertex; those of the first that are not hooked; or all
that are not hooked, each undirected edge once, in the list of its larger end."""
FEW_VERTICES = 64
"""In a graph of at most this many vertices (a guess), linking all edges takes less time than looking for the largest
tree."""
LISTS_AHEAD, PARENTS_AHEAD = 32, 16
"""While the first edges of vertex v are linked, those of v + `LISTS_AHEAD` are prefetched, and the parents of the
sources of v + `PARENTS_AHEAD` (docs/results/cpu.md, "Connected components")."""
SHORT = 16
"""Mean length of lists below which a pass over their first edges reads adjacent cache lines, of 16 sources each."""
OF_TREES = ("parents", "first_vertex", "last_vertex")
"""Arguments of a kernel over vertices and their parents."""


def root_of(parents, v):
    """The root of the tree of v. On the way, each vertex gets its grandparent as its parent, which shortens later ways
    to the root."""
    root = np.int64(parents[v])
    parent = np.int64(parents[root])
    while parent != root:
        parents[v] = np.uint32(parent)
        v, root = root, parent
        parent = np.int64(parents[root])
    return root


def find_root(parents, v):
    """The root of the tree of v, as `root_of`, but no vertex gets another parent.

    A thread that changes parents on its way may do so late: after the thread of such a vertex has made the root its
    parent. So that every vertex has its root in the end, the last pass over the parents must not use `root_of`.
    """
    root = np.int64(parents[v])
    while parents[root] != root:
        root = np.int64(parents[root])
    return root


def link(parents, u, v):
    """Join the trees of u and v: the larger root becomes a child of the smaller one, or of a vertex of its tree."""
    a, b = root_of(parents, u), root_of(parents, v)
    while a != b:
        high, low = max(a, b), min(a, b)
        if compare_and_swap(parents, high, np.uint32(high), np.uint32(low)):
            break
        a, b = root_of(parents, high), low


def make_is_hooked(reader: Reader):
    """Build ``is_hooked(edges, t, v)``: whether `hook_first` links the first edge of vertex v, which has some."""
    source_at = reader.source_at
    if source_at is None:
        return lambda edges, t, v: False

    def is_hooked(edges, t, v):
        return source_at(edges, t.in_offsets[v]) < v

    return is_hooked


def make_hook_first(reader: Reader) -> RecordKernel:
    source_at, is_hooked = reader.source_at, make_is_hooked(reader)

    def hook_first(edges, t):
        """Link the first edge of each vertex in [first_vertex, last_vertex) whose source is smaller: the parent becomes
        this source or, if it is in the range, the source's own parent. Others become roots."""
        for v in range(t.first_vertex, t.last_vertex):
            parent = v
            if t.in_offsets[v] < t.in_offsets[v + 1] and is_hooked(edges, t, v):
                parent = source_at(edges, t.in_offsets[v])
                if parent >= t.first_vertex:
                    parent = np.int64(t.parents[parent])
            t.parents[v] = np.uint32(parent)
        return 0

    return RecordKernel("hook_first", hook_first, ("in_offsets", *OF_TREES), reader=reader)


def make_look_ahead(reader: Reader):
    """Build ``look_ahead(edges, t, v)``, which prefetches what linking the first edges of later vertices will read: the
    edges, and, unless they are packed, parents."""
    fetch, source_at = reader.fetch, reader.source_at

    def look_ahead(edges, t, v):
        last = t.last_edge - 1
        fetch(edges, min(t.in_offsets[min(v + LISTS_AHEAD, t.last_vertex)], last))
        if source_at is not None:
            first = t.in_offsets[min(v + PARENTS_AHEAD, t.last_vertex)]
            for k in range(FIRST_EDGES):
                prefetch_kept(t.parents, source_at(edges, min(first + k, last)))

    return look_ahead


def make_link_edges(reader: Reader, once: bool = False) -> RecordKernel:
    """Make the kernel; with `once`, it links edges for which `samples` is `ONCE`."""

    # wide: a reader's walk calls it for each part of a list
    def link_list(acc, begin, end, sources, base, last, before, edge_values, values_base, context):
        parents, v = context
        for e in range(begin, end):
            source = source_of(sources, e - base, before)
            if once and source >= v:
                return acc, e - begin
            link(parents, source, v)
        return acc, end - begin

    walk, is_hooked = reader.walk(link_list, PARTS_OF_LISTS), make_is_hooked(reader)
    look_ahead = make_look_ahead(reader)

    def link_edges(edges, t):
        """Link the edges [first_edge, last_edge), in which the lists of [first_vertex, last_vertex) begin: those of the
        vertices in a set, or a sample of those of all vertices. Returns how many were linked."""
        first, start, stop = t.first_vertex, t.first_edge, t.last_edge
        linked = NOTHING
        for v in range(first - np.int64(start < stop and t.in_offsets[first] > start), t.last_vertex):
            if not once and t.samples == FIRST and start < stop:
                look_ahead(edges, t, v)
            if once or t.samples or t.vertices[v >> 6] & bit_of(v):
                begin, end = max(t.in_offsets[v], start), min(t.in_offsets[v + 1], stop)
                if t.samples and not once:
                    end = min(end, t.in_offsets[v] + FIRST_EDGES)
                hooks = once or t.samples == HOOKED
                if hooks and begin == t.in_offsets[v] and begin < end and is_hooked(edges, t, v):
                    begin, linked = begin + 1, linked + 1
                if begin < end:
                    _, visited = walk(NOTHING, t.in_offsets, v, begin, end, edges, (t.parents, v))
                    linked += visited
        return linked

    names = (
        "in_offsets", "parents", "vertices", "samples", "first_edge", "last_edge", "first_vertex", "last_vertex",
    )  # fmt: skip
    return RecordKernel("link_once" if once else "link_edges", link_edges, names, reader=reader)


def plant(t):
    """Make a tree of each vertex in [first_vertex, last_vertex)."""
    for v in range(t.first_vertex, t.last_vertex):
        t.parents[v] = np.uint32(v)
    return 0


def flatten(t):
    """Make the root of its tree the parent of each vertex in [first_vertex, last_vertex)."""
    for v in range(t.first_vertex, t.last_vertex):
        t.parents[v] = np.uint32(root_of(t.parents, v))
    return 0


def find_outside(t):
    """After `flatten`, find the vertices in [first_vertex, last_vertex) that have edges and are outside the largest
    tree."""
    for w in range(t.first_vertex >> 6, ((t.last_vertex - 1) >> 6) + 1):
        word = np.uint64(0)
        for v in range(w << 6, min((w + 1) << 6, t.last_vertex)):
            is_outside = (t.parents[v] != t.largest[0]) & (t.in_offsets[v] < t.in_offsets[v + 1])
            word |= np.uint64(is_outside) << np.uint64(v & 63)
        t.vertices[w] = word
    return 0


PLANT, FLATTEN = RecordKernel("plant", plant, OF_TREES), RecordKernel("flatten", flatten, OF_TREES)
FIND_OUTSIDE = RecordKernel("find_outside", find_outside, (*OF_TREES, "in_offsets", "vertices", "largest"))


def make_sum_trees(f: Functions) -> RecordKernel:
    relax = make_relax(f)

    def sum_trees(t):
        """Make the root the parent of each vertex in [first_vertex, last_vertex), and add its value to the root's."""
        for v in range(t.first_vertex, t.last_vertex):
            root = root_of(t.parents, v)
            t.parents[v] = np.uint32(root)
            relax(t.parameters, t.values, root, t.values[v])  # changes nothing if v is the root
        return 0

    return RecordKernel("sum_trees", sum_trees, (*OF_TREES, "values", "parameters"), f)


def make_spread_sums(f: Functions) -> RecordKernel:
    def spread_sums(t):
        """Give each vertex in [first_vertex, last_vertex) the value of its root, which need not be its parent."""
        for v in range(t.first_vertex, t.last_vertex):
            t.values[v] = t.values[find_root(t.parents, v)]
        return 0

    return RecordKernel("spread_sums", spread_sums, (*OF_TREES, "values"), f)


class Components:
    """Finds the connected components of an undirected graph, and gives each vertex the sum over its own.

    Parameters
    ----------
    launcher : Launcher
    runs : Runs
    arrays : GraphArrays
    reader : Reader
        Reads the in-edges.
    kernels : Kernels
        The program's kernels.
    """

    def __init__(self, launcher: Launcher, runs: Runs, arrays: GraphArrays, reader: Reader, kernels: Any) -> None:
        self._launch, self._runs, self._arrays, self._reader, self._kernels = launcher, runs, arrays, reader, kernels

    def __call__(self, state: State, source: PageSource) -> list[PageResult]:
        """Find the components and their sums; the results say how many edges of each page were linked."""
        kernels = self._kernels
        parents, vertices = reuse.empty(self._arrays.n, np.uint32), state.notified
        linked = np.zeros(len(source.pages), np.int64)
        samples = self._plant(parents, source)
        link = kernels.link_once if samples == ONCE else kernels.link_edges
        self._launch.prepare(link, FLATTEN, FIND_OUTSIDE, kernels.sum_trees, kernels.spread_sums)
        trees = {"parents": parents, "vertices": vertices.bits}
        if self._arrays.on_disk or self._arrays.n <= FEW_VERTICES:
            vertices.fill(self._arrays.n)
        elif samples != ONCE:
            self._link(link, source.pages, source, linked, samples=samples, **trees)
            self._leave_out_largest(parents, vertices)
        wanted = partial(edge_ranges, vertices, self._arrays.in_edges.offsets)
        for number, pages in enumerate(batches(source.pages) if self._arrays.on_disk else [source.pages]):
            if number:
                self._leave_out_largest(parents, vertices)
            source.prefetch(pages, wanted)
            self._link(link, pages, source, linked, samples=ALL, **trees)
        self._on_vertices(kernels.sum_trees, state, parents=parents)
        self._on_vertices(kernels.spread_sums, state, parents=parents)
        return [PageResult(edges, 0, 0, 0, None) for edges in linked.tolist()]

    def _plant(self, parents: Array, source: PageSource) -> int:
        """Make the first trees; return which edges are to be linked next.

        First edges are hooked where lists are so short that all edges can be linked at once, or where they are short
        and sources nearby. Elsewhere, reading them takes as long as linking them.
        """
        pages, arrays = source.pages, self._arrays
        is_whole = len(pages) == 1 and pages[0].vertices == arrays.n > FEW_VERTICES and not arrays.on_disk
        is_short = is_whole and self._reader.in_place and arrays.m < SHORT * arrays.n
        links_all = is_short and arrays.m <= 2 * first_edges(arrays)
        if not links_all and not (is_short and has_nearby_sources(arrays)):
            self._launch.prepare(PLANT)
            self._on_vertices(PLANT, None, parents=parents)
            return FIRST
        kernel, (first, last) = self._kernels.hook_first, self._runs.of_vertices()
        self._launch.prepare(kernel)
        edges = self._launch.edges(self._reader, source.edges(pages[0]), len(first))
        self._launch(kernel, len(first), None, edges, parents=parents, first_vertex=first, last_vertex=last)
        source.release(pages[0])
        return ONCE if links_all else HOOKED

    def _link(
        self, kernel: RecordKernel, pages: Sequence[Page], source: PageSource, linked: Array, **trees: Any
    ) -> None:
        """Link edges of some pages, and count them in `linked`."""
        for page in pages:
            first_edge, last_edge, first_vertex, last_vertex = self._runs.of_page(page)
            self._launch.pool.about = {"page": page.number, "edges": page.edges}
            edges = self._launch.edges(self._reader, source.edges(page), len(first_edge))
            counts = self._launch(
                kernel, len(first_edge), None, edges, **trees, first_edge=first_edge,
                last_edge=last_edge, first_vertex=first_vertex, last_vertex=last_vertex,
            )  # fmt: skip
            linked[page.number] += counts.sum()
            source.release(page)
        self._launch.pool.about = {}

    def _leave_out_largest(self, parents: Array, vertices: VertexSet) -> None:
        """Make the trees flat, and leave only vertices outside the largest one in the set `vertices`."""
        self._on_vertices(FLATTEN, None, parents=parents)
        largest = most_frequent(parents)
        self._on_vertices(FIND_OUTSIDE, None, parents=parents, vertices=vertices.bits, largest=largest)
        vertices.loosen()

    def _on_vertices(self, kernel: RecordKernel, state: State | None, **arrays: Any) -> None:
        """Run a kernel over all vertices."""
        first, last = self._runs.of_vertices()
        self._launch(kernel, len(first), state, **arrays, first_vertex=first, last_vertex=last)


def first_edges(arrays: GraphArrays) -> float:
    """How many edges are among the first of their destination, estimated from a sample of the vertices."""
    vertices = np.linspace(0, arrays.n - 1, SAMPLE).astype(np.int64)
    degrees = arrays.in_edges.offsets[vertices + 1] - arrays.in_edges.offsets[vertices]
    return float(np.minimum(degrees, FIRST_EDGES).mean()) * arrays.n


def batches(pages: Sequence[Page]) -> Iterator[Sequence[Page]]:
    """Divide pages on disk into batches, each with as many pages as all batches before it.

    After each batch, the lists of vertices in the largest tree need not be read any more.
    """
    done = 0
    while done < len(pages):
        count = max(done, 1)
        yield pages[done : done + count]
        done += count


def most_frequent(parents: Array) -> Array:
    """The most frequent of the parents of `SAMPLE` vertices, evenly spaced; shape (1,)."""
    roots, counts = np.unique(parents[np.linspace(0, len(parents) - 1, SAMPLE).astype(np.int64)], return_counts=True)
    return roots[[counts.argmax()]]
