"""Connected components by union-find, and the sum of the values of each (Afforest; Sutton et al., IPDPS 2018).

`..components` describes the method.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...graph.arrays import GraphArrays
from ...native import compare_and_swap
from ...pages.layout import Page
from ...pages.source import PageSource
from ..components import FIRST_EDGES, NO_VERTEX, SAMPLE
from ..protocol import PageResult
from ..state import State
from .edges import Reader, source_of
from .functions import Functions
from .launch import Launcher
from .push import make_relax
from .records import RecordKernel
from .runs import Runs
from .walk import NOTHING

Array = npt.NDArray[Any]


def link(parents, u, v):
    """Join the trees of u and v: the larger root becomes a child of the smaller one, or of a vertex below it."""
    a, b = np.int64(parents[u]), np.int64(parents[v])
    while a != b:
        high, low = max(a, b), min(a, b)
        parent = np.int64(parents[high])
        if parent == low:
            break
        if parent == high and compare_and_swap(parents, high, np.uint32(high), np.uint32(low)):
            break
        a, b = np.int64(parents[parents[high]]), np.int64(parents[low])


def make_link_edges(reader: Reader) -> RecordKernel:
    # wide: a reader's walk calls it for each part of a list
    def link_list(acc, begin, end, sources, base, last, before, edge_values, values_base, context):
        parents, v = context
        for e in range(begin, end):
            link(parents, source_of(sources, e - base, before), v)
        return acc, end - begin

    walk = reader.walk(link_list, False)

    def link_edges(edges, t):
        """Link the edges [first_edge, last_edge), in which the lists of [first_vertex, last_vertex) begin, except those
        of vertices in the largest tree; return how many were linked."""
        first, start, stop = t.first_vertex, t.first_edge, t.last_edge
        linked = NOTHING
        for v in range(first - np.int64(start < stop and t.in_offsets[first] > start), t.last_vertex):
            if t.parents[v] != t.largest[0]:
                begin, end = max(t.in_offsets[v], start), min(t.in_offsets[v + 1], stop)
                if t.samples:
                    end = min(end, t.in_offsets[v] + FIRST_EDGES)
                if begin < end:
                    _, visited = walk(NOTHING, t.in_offsets, v, begin, end, edges, (t.parents, v))
                    linked += visited
        return linked

    names = (
        "in_offsets", "parents", "largest", "samples", "first_edge", "last_edge", "first_vertex", "last_vertex",
    )  # fmt: skip
    return RecordKernel("link_edges", link_edges, names, reader=reader)


def plant(t):
    """Make a tree of each vertex in [first_vertex, last_vertex)."""
    for v in range(t.first_vertex, t.last_vertex):
        t.parents[v] = np.uint32(v)
    return 0


def flatten(t):
    """Make the root of its tree the parent of each vertex in [first_vertex, last_vertex)."""
    for v in range(t.first_vertex, t.last_vertex):
        parent = t.parents[v]
        while parent != t.parents[parent]:
            parent = t.parents[parent]
        t.parents[v] = parent
    return 0


OF_TREES = ("parents", "first_vertex", "last_vertex")
PLANT, FLATTEN = RecordKernel("plant", plant, OF_TREES), RecordKernel("flatten", flatten, OF_TREES)


def make_sum_trees(f: Functions) -> RecordKernel:
    relax = make_relax(f)

    def sum_trees(t):
        """Add the values of the vertices [first_vertex, last_vertex) to those of their roots."""
        for v in range(t.first_vertex, t.last_vertex):
            root = t.parents[v]
            if root != v:
                relax(t.parameters, t.values, root, t.values[v])
        return 0

    return RecordKernel("sum_trees", sum_trees, (*OF_TREES, "values", "parameters"), f)


def make_spread_sums(f: Functions) -> RecordKernel:
    def spread_sums(t):
        """Give each vertex in [first_vertex, last_vertex) the value of its root."""
        for v in range(t.first_vertex, t.last_vertex):
            t.values[v] = t.values[t.parents[v]]
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
        """Do all of it; the results say how many edges of each page were linked."""
        kernels = self._kernels
        self._launch.prepare(PLANT, kernels.link_edges, FLATTEN, kernels.sum_trees, kernels.spread_sums)
        parents, largest = np.empty(self._arrays.n, np.uint32), np.full(1, NO_VERTEX)
        self._on_vertices(PLANT, None, parents)
        linked = np.zeros(len(source.pages), np.int64)
        for samples in [0] if self._arrays.on_disk else [1, 0]:
            source.prefetch(source.pages)
            trees = {"parents": parents, "largest": largest, "samples": samples}
            linked += [self._link(page, source, trees) for page in source.pages]
            self._on_vertices(FLATTEN, None, parents)
            largest[0] = most_frequent(parents)
        self._on_vertices(kernels.sum_trees, state, parents)
        self._on_vertices(kernels.spread_sums, state, parents)
        return [PageResult(edges, 0, 0, 0, None) for edges in linked.tolist()]

    def _link(self, page: Page, source: PageSource, trees: dict[str, Any]) -> int:
        """Link edges of a page; return how many."""
        first_edge, last_edge, first_vertex, last_vertex = self._runs.of_page(page)
        self._launch.pool.about = {"page": page.number, "edges": page.edges}
        edges = self._launch.edges(self._reader, source.edges(page), len(first_edge))
        linked = self._launch(
            self._kernels.link_edges, len(first_edge), None, edges, **trees, first_edge=first_edge,
            last_edge=last_edge, first_vertex=first_vertex, last_vertex=last_vertex,
        )  # fmt: skip
        source.release(page)
        self._launch.pool.about = {}
        return int(linked.sum())

    def _on_vertices(self, kernel: RecordKernel, state: State | None, parents: Array) -> None:
        """Run a kernel over all vertices."""
        first, last = self._runs.of_vertices()
        self._launch(kernel, len(first), state, parents=parents, first_vertex=first, last_vertex=last)


def most_frequent(parents: Array) -> np.uint32:
    """The most frequent of the parents of `SAMPLE` vertices, evenly spaced."""
    roots, counts = np.unique(parents[np.linspace(0, len(parents) - 1, SAMPLE).astype(np.int64)], return_counts=True)
    found: np.uint32 = roots[counts.argmax()]
    return found
