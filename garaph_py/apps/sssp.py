"""Single-source shortest paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import VerificationError
from ..pages.passes import listed
from ..program import VertexId, VertexProgram
from ..program.monoids import min as minimum
from .checks import edge_numbers, reached_over, require_no_negative_edges


def verify_sssp(program, graph, result):
    """Raise `VerificationError` unless the result holds the shortest distances from the source."""
    verify_distances(graph, result.values, np.arange(graph.n) == graph.ids.index(program.source))


def has_distance(distance: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Which vertices a source reaches."""
    most = np.inf if distance.dtype.kind == "f" else np.iinfo(distance.dtype).max
    found: npt.NDArray[Any] = distance < most
    return found


def verify_distances(graph, distance, sources, cutoff=np.inf):
    """Raise `VerificationError` unless these are the shortest distances from the nearest of `sources`, a mask.

    Paths longer than `cutoff` count as no paths.

    It checks two properties: no edge u -> v gives v a shorter distance than it has; and the sources reach every
    vertex that has a distance over *tight* edges, that is edges with ``d_v == d_u + w_uv``.
    """
    reached = has_distance(distance)
    if distance[sources].any():
        raise VerificationError("SSSP: the distance of the source is not 0")

    def ways(edges):
        """Which edges lead on from reached vertices, and the length of the path over each."""
        through = distance[edges.sources] + edge_numbers(edges).astype(distance.dtype)
        passable = (through >= 0) & (through <= cutoff)  # a path too long for int64 wraps below 0
        return reached[edges.sources] & passable, through

    def tight(edges):
        passable, through = ways(edges)
        return passable & (distance[edges.targets] == through)

    # A vertex is supported if a tight edge reaches it from a nearer vertex: such edges cannot form a cycle.
    supported = sources.copy()
    for edges in listed(graph):
        passable, through = ways(edges)
        if (passable & (distance[edges.targets] > through)).any():
            raise VerificationError("SSSP: an edge leads to a vertex by a shorter way than its distance")
        farther = distance[edges.sources] < distance[edges.targets]
        supported[edges.targets[passable & farther & (distance[edges.targets] == through)]] = True
    if (reached & ~reached_over(graph, supported, reached, tight)).any():
        raise VerificationError("SSSP: no path from the source is as long as a distance says")


class SSSP(VertexProgram):
    """Single-source shortest paths: ``d_v = min(d_v, min over u -> v of d_u + w_uv)``, with 0 at the source.

    This is the Bellman-Ford iteration [1]. Runs that are not synchronous process near vertices first (delta-stepping
    [2]).

    Edge values are lengths of 0 or more, and no path uses an edge of infinite length. In a graph without edge values
    every edge has length 1.

    Parameters
    ----------
    source : vertex id
        The vertex at which all paths start.

    Returns
    -------
    value : int64, or the float type of the edge values
        Length of a shortest path from the source. For vertices that the source does not reach it is the largest int64,
        or infinity. A path too long for int64 counts as no path.

    References
    ----------
    .. [1] Bellman, R., "On a routing problem", Quarterly of Applied Mathematics 16, 1958.
    .. [2] Meyer, U., P. Sanders, "Delta-stepping: a parallelizable shortest path algorithm", J. Algorithms 49, 2003.

    Examples
    --------
    >>> graph = gp.from_edges([0, 0, 1], [1, 2, 2], weights=[1, 5, 2])
    >>> gp.run(gp.apps.SSSP(source=0), graph).column()
    array([0, 1, 3])
    """

    source: VertexId

    sum = minimum
    monotone = True

    def value(self, edge):
        return edge if edge is not None and edge.kind == "f" else np.int64

    def init(self, id):
        return 0 if id == self.source else self.identity

    def frontier(self, id):
        return id == self.source

    def gather(self, src, edge):
        return src + edge if src <= self.identity - edge else self.identity

    def priority(self, value):
        return value

    check_graph = require_no_negative_edges
    verify = verify_sssp
