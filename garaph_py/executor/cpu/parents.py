"""Finds the in-neighbour that gave each vertex its value, for programs whose `result` asks for it.

It is the one with the smallest id whose contribution is the value. Lists are in ascending order, so a vertex visits its
list up to there. A vertex that has kept its first value has no parent and visits nothing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...graph.arrays import GraphArrays
from ...native import no_unroll, reuse
from ...pages.layout import within
from ...pages.source import PageSource
from ..components import NO_VERTEX
from ..state import State
from .edges import PARTS_OF_LISTS, Reader, source_of
from .functions import Functions
from .launch import Launcher
from .records import RecordKernel
from .runs import Runs
from .walk import NOTHING, make_for_each_bit


def make_find_parent(f: Functions, reader: Reader):
    """Visit a list up to the first edge that contributes the vertex's value, and write its source to `parents`."""
    gather, load, edge = f.gather, f.value.load, f.edge_at

    # wide: a reader's walk calls it for each part of a list
    def segment(acc, begin, end, sources, base, last, before, edge_values, values_base, context):
        t, v, own = context
        for e in range(begin, end):
            no_unroll()
            source = source_of(sources, e - base, before)
            weight = edge(edge_values, e - values_base)
            if gather(t.parameters, load(t.values, source), weight, own, source) == own:
                t.parents[v] = source
                return acc, e - begin
        return acc, end - begin

    walk = reader.walk(segment, PARTS_OF_LISTS)

    def find_parent(acc, v, context):
        edges, t = context
        walk(NOTHING, t.in_offsets, v, t.in_offsets[v], t.in_offsets[v + 1], edges, (t, v, load(t.values, v)))
        return acc

    return find_parent


def make_find_parents(f: Functions, reader: Reader) -> RecordKernel:
    init, count, load, load_data, fetch = f.init, f.count, f.value.load, f.data.load, reader.fetch

    def fetch_list(acc, v, context):
        edges, t = context
        fetch(edges, t.in_offsets[v])
        return acc

    fetch_lists, find = make_for_each_bit(fetch_list), make_for_each_bit(make_find_parent(f, reader))

    def changed(w, first, last, edges, t):
        """The vertices of a word, in [first, last), whose value has changed since the start; prefetch their lists."""
        found = np.uint64(0)
        for v in range(max(first, w << 6), min(last, (w + 1) << 6)):
            in_degree = count(t.in_offsets[v + 1] - t.in_offsets[v])
            out_degree = count(t.degree_offsets[v + 1] - t.degree_offsets[v])
            value = init(t.parameters, v, count(t.n), in_degree, out_degree, load_data(t.vertex_data, v))
            t.parents[v] = NO_VERTEX
            found |= np.uint64(value != load(t.values, v)) << np.uint64(v & 63)
        fetch_lists(NOTHING, found, w, (edges, t))
        return found

    def find_parents(edges, t):
        """The parents of the vertices [first_vertex, last_vertex), whose lists are in `edges`."""
        first, last = t.first_vertex, t.last_vertex
        following = changed(first >> 6, first, last, edges, t)
        for w in range(first >> 6, ((last - 1) >> 6) + 1):
            remaining = following
            following = changed(w + 1, first, last, edges, t)
            find(NOTHING, remaining, w, (edges, t))
        return 0

    names = (
        "n", "in_offsets", "degree_offsets", "values", "parameters", "vertex_data", "first_vertex", "last_vertex",
        "parents",
    )  # fmt: skip
    return RecordKernel("find_parents", find_parents, names, f, reader)


class Parents:
    """Finds the parents of all vertices.

    Parameters
    ----------
    launcher : Launcher
    runs : Runs
    arrays : GraphArrays
    reader : Reader
        Reads the in-edges.
    """

    def __init__(self, launcher: Launcher, runs: Runs, arrays: GraphArrays, reader: Reader) -> None:
        self._launch, self._runs, self._arrays, self._reader = launcher, runs, arrays, reader

    def __call__(self, kernel: RecordKernel, state: State, source: PageSource) -> npt.NDArray[np.uint32]:
        """The parent of each vertex, `NO_VERTEX` for none; `kernel` is what `make_find_parents` made."""
        parents, pages = reuse.empty(self._arrays.n, np.uint32), within(source.pages, *self._arrays.own)
        self._launch.prepare(kernel)
        source.prefetch(pages)
        for page in pages:
            _, _, first_vertex, last_vertex = self._runs.of_page(page)
            self._launch.pool.about = {"page": page.number, "edges": page.edges}
            edges = self._launch.edges(self._reader, source.edges(page), len(first_vertex))
            self._launch(
                kernel, len(first_vertex), state, edges, parents=parents, first_vertex=first_vertex,
                last_vertex=last_vertex,
            )  # fmt: skip
            source.release(page)
        self._launch.pool.about = {}
        return parents
