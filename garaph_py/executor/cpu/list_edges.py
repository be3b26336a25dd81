"""Lists the out-edges of some vertices as sources, targets and values, for a GPU that lacks their lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...graph.vertex_set import BLOCK, VertexSet
from ...pages.source import PageSource
from ..edge_list import EdgeBuffers
from .edges import WHOLE_LISTS, Reader, source_of
from .functions import Functions
from .launch import Launcher
from .out_edges import OutEdges
from .push import make_fetch_ahead
from .records import RecordKernel
from .runs import RANDOM_ACCESS_EDGES, Runs
from .sets import COUNT_EDGES
from .walk import LISTS, make_for_each_list

COLUMNS = "listed_sources", "listed_targets", "listed_values"
"""Arguments of the kernel: the arrays of an edge list, of which the last may be missing."""


# wide: a reader's walk calls it for each part of a list
def list_ends(acc, begin, end, targets, base, last, before, values, values_base, context):
    t, v = context
    for e in range(begin, end):
        t.listed_sources[acc + e - begin] = v
        t.listed_targets[acc + e - begin] = source_of(targets, e - base, before)
    return acc + end - begin, end - begin


# wide: as above
def list_ends_and_values(acc, begin, end, targets, base, last, before, values, values_base, context):
    for e in range(begin, end):
        context[0].listed_values[acc + e - begin] = values[e - values_base]
    return list_ends(acc, begin, end, targets, base, last, before, values, values_base, context)


def vertices_of(t):
    return t.vertices


def make_list_edges(f: Functions, reader: Reader) -> RecordKernel:
    walk = reader.walk(list_ends_and_values if reader.reads_values else list_ends, WHOLE_LISTS)

    def list_vertex(acc, v, begin, end, cut_before, cut_after, context):
        edges, t = context
        if begin < end:
            acc, _ = walk(acc, t.out_offsets, v, begin, end, edges, (t, v))
        return acc

    for_each_list = make_for_each_list(list_vertex, begin_word=make_fetch_ahead(reader, vertices_of))

    def list_edges(edges, t):
        """List the run's edges, which are out-edges of the page's vertices in the set; return where the list ends."""
        run = t.first_vertex, t.last_vertex, t.block, t.position, t.start, t.stop
        return for_each_list(np.int64(t.place), t.vertices, t.vertices_blocks, t.out_offsets, run, (edges, t))

    names = ("out_offsets", "vertices", "vertices_blocks", "place", *COLUMNS[: 2 + reader.reads_values], *LISTS)
    return RecordKernel("list_edges", list_edges, names, f, reader)


class ListEdges:
    """Runs the kernel over the pages of out-edges.

    Parameters
    ----------
    launcher : Launcher
    runs : Runs
    edges : OutEdges
    kernels_of : callable
        ``kernels_of(reader)``: the program's `Kernels` for edges that `reader` reads.
    """

    def __init__(self, launcher: Launcher, runs: Runs, edges: OutEdges, kernels_of: Callable[[Reader], Any]) -> None:
        self._launch, self._runs = launcher, runs
        self._edges, self._kernels_of = edges, kernels_of

    def __call__(self, vertices: VertexSet, out_source: PageSource, to: EdgeBuffers) -> int:
        """List all out-edges of `vertices`, and send each buffer when it is full, or at the end; return their
        number."""
        reader, source = self._edges.reader, self._edges.source(out_source)
        kernel = self._kernels_of(reader).list_edges
        self._launch.prepare(kernel, COUNT_EDGES)
        pages = self._runs.prefetched(vertices, source)
        filled, columns = 0, dict[str, Any]()
        for page, prefix in pages.items():
            edges, first, last = source.edges(page), 0, int(prefix[-1])
            while first < last:
                if not filled:
                    columns = dict(zip(COLUMNS, to.next(), strict=False))
                end = min(first + to.edges - filled, last)
                block, position, start, stop = self._runs.of_set(prefix, "right", RANDOM_ACCESS_EDGES, (first, end))
                self._launch(
                    kernel, len(start), None, self._launch.edges(reader, edges, len(start)), vertices=vertices.bits,
                    vertices_blocks=vertices.blocks, first_vertex=page.first_vertex, last_vertex=page.last_vertex,
                    block=page.first_vertex // BLOCK + block, position=position, start=start, stop=stop,
                    place=filled + start - first, **columns,
                )  # fmt: skip
                filled, first = filled + end - first, end
                if filled == to.edges:
                    to.send(filled)
                    filled = 0
            source.release(page)
        if filled:
            to.send(filled)
        return sum(int(prefix[-1]) for prefix in pages.values())
