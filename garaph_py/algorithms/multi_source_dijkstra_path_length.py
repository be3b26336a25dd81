"""Distances from the nearest of several vertices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..apps import SSSP
from ..apps.sssp import verify_distances
from ..errors import ParameterError
from ..graph import Graph
from ..graph.arguments import check_graph
from ..graph.build import without_values
from ..output.result import Result
from ..program import PerVertex
from ..runtime.options import ANY
from ..runtime.run import run
from ..system.arguments import explained
from .numbers import cutoff_of

Array = npt.NDArray[Any]


class NearestSSSP(SSSP):
    """`SSSP` from the nearest of several vertices: those whose `starts` is not 0. `source` is one of them."""

    starts: PerVertex

    def init(self, starts):
        return 0 if starts != 0 else self.identity

    def frontier(self, starts):
        return starts != 0

    def verify(self, graph, result):
        verify_distances(graph, result.values, np.asarray(self.starts) != 0)


class CutSSSP(NearestSSSP):
    """The same for paths that are no longer than `cutoff`: an int if lengths are, since a float rounds large ones."""

    cutoff: Any

    def gather(self, src, edge):
        return src + edge if src <= self.identity - edge and src + edge <= self.cutoff else self.identity

    def verify(self, graph, result):
        verify_distances(graph, result.values, np.asarray(self.starts) != 0, self.cutoff)


@explained
def multi_source_dijkstra_path_length(
    graph: Graph, sources: Any, *, cutoff: float | None = None, weight: bool = True, device: str = ANY,
    threads: int | None = None,
) -> Result:  # fmt: skip
    """The distance of each vertex from the nearest of the sources: ``d_v = min over s of d(s, v)``.

    Parameters
    ----------
    graph : Graph
    sources : iterable
        The vertices at which paths start, one or more.
    cutoff : float, optional
        Find no paths that are longer. The search ends there.
    weight : bool
        Whether edge values, numbers of 0 or more, are lengths; otherwise, and in a graph without edge values, every
        edge has length 1: distances are then the levels of a breadth-first search from all sources at once.
    device : {"auto", "cpu", "gpu", "hybrid"}
        Where the vertex program runs, as for `garaph_py.run`.
    threads : int, optional
        By default every core that this process may use.

    Returns
    -------
    Result
        int64, or the float type of the edge values. For vertices that no source reaches, by paths up to the
        `cutoff`, it is the largest int64, or infinity.

    Raises
    ------
    ParameterError
        If there are no sources, or `cutoff` is not a number of 0 or more.
    UnknownVertexError
        If the graph lacks one of them.
    GraphError
        If an edge value is negative.
    DeviceError
        If `device` is ``"gpu"`` or ``"hybrid"``, and no GPU can be used.

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
    bound = cutoff_of(cutoff, "multi_source_dijkstra_path_length")
    found = distances_from(graph if weight else without_values(graph), places, bound, device, threads)
    return replace(found, program="multi_source_dijkstra_path_length")


def distances_from(graph: Graph, places: Array, cutoff: float | None, device: str, threads: int | None) -> Result:
    """The distance of each vertex from the nearest of some vertices, by internal ids, over paths up to a cutoff."""
    first, starts = graph.ids[int(places[0])], np.zeros(graph.n, np.int32)
    starts[places] = 1
    if cutoff is None:
        return run(NearestSSSP(first, starts), graph, device=device, threads=threads)
    has_floats = graph.edge_dtype is not None and graph.edge_dtype.kind == "f"
    bound = float(cutoff) if has_floats else min(int(cutoff), np.iinfo(np.int64).max - 1)
    return run(CutSSSP(first, starts, bound), graph, device=device, threads=threads)
