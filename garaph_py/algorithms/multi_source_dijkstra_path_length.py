"""Distances from the nearest of several vertices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..apps import SSSP
from ..apps.sssp import verify_distances
from ..errors import ParameterError
from ..graph import Graph
from ..graph.arguments import check_graph
from ..graph.build import without_values
from ..output.result import Result
from ..program import PerVertex
from ..runtime.run import run
from ..system.arguments import explained


class NearestSSSP(SSSP):
    """`SSSP` from the nearest of several vertices: those whose `starts` is not 0. `source` is one of them."""

    starts: PerVertex

    def init(self, starts):
        return 0 if starts != 0 else self.identity

    def frontier(self, starts):
        return starts != 0

    def verify(self, graph, result):
        verify_distances(graph, result.values, np.asarray(self.starts) != 0)


@explained
def multi_source_dijkstra_path_length(
    graph: Graph, sources: Any, *, weight: bool = True, threads: int | None = None
) -> Result:
    """The distance of each vertex from the nearest of the sources: ``d_v = min over s of d(s, v)``.

    Parameters
    ----------
    graph : Graph
    sources : iterable
        The vertices at which paths start, one or more.
    weight : bool
        Whether edge values, numbers of 0 or more, are lengths; otherwise, and in a graph without edge values, every
        edge has length 1: distances are then the levels of a breadth-first search from all sources at once.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Result
        int64, or the float type of the edge values. For vertices that no source reaches it is the largest int64, or
        infinity.

    Raises
    ------
    ParameterError
        If there are no sources.
    UnknownVertexError
        If the graph lacks one of them.
    GraphError
        If an edge value is negative.

    Notes
    -----
    It runs the vertex program `garaph_py.apps.SSSP`, which starts at all sources. Edges may be on disk.

    References
    ----------
    .. [1] Dijkstra, E. W., "A note on two problems in connexion with graphs", Numerische Mathematik 1, 1959.

    Examples
    --------
    >>> graph = gp.from_edges(["a", "b", "c", "d"], ["b", "c", "d", "e"], weights=[1, 5, 2, 2])
    >>> dict(gp.algorithms.multi_source_dijkstra_path_length(graph, ["a", "d"]))
    {'a': 0, 'b': 1, 'c': 6, 'd': 0, 'e': 2}
    """
    check_graph(graph, "multi_source_dijkstra_path_length")
    places = graph.ids.indices(sources)
    if not len(places):
        raise ParameterError("sources is empty; give one vertex or more")
    starts = np.zeros(graph.n, np.int32)
    starts[places] = 1
    program = NearestSSSP(graph.ids[int(places[0])], starts)
    found = run(program, graph if weight else without_values(graph), threads=threads)
    return replace(found, program="multi_source_dijkstra_path_length")
