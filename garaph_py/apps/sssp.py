"""Single-source shortest paths."""

from __future__ import annotations

import numpy as np

from ..errors import VerificationError
from ..pages.passes import listed
from ..program import VertexId, VertexProgram
from ..program.monoids import min as minimum
from .checks import edge_numbers, reached_over, require_no_negative_edges


def verify_sssp(program, graph, result):
    """Raise `VerificationError` unless no edge is shorter than the distances it joins, and the source reaches every
    vertex that has a distance over tight edges, those exactly as long as the distances they join."""
    source, distance = graph.ids.index(program.source), result.values
    reached = np.isfinite(distance) if distance.dtype.kind == "f" else distance != np.iinfo(distance.dtype).max
    if distance[source] != 0:
        raise VerificationError("SSSP: the distance of the source is not 0")

    def ways(edges):
        """Where edges can be passed, and how long the way over them is."""
        through = distance[edges.sources] + edge_numbers(edges).astype(distance.dtype)
        return reached[edges.sources] & (through >= 0), through  # a way too long for int64 wraps around

    def tight(edges):
        passable, through = ways(edges)
        return passable & (distance[edges.targets] == through)

    supported = np.arange(graph.n) == source  # so are who are farther than who a tight edge leads from
    for edges in listed(graph):
        passable, through = ways(edges)
        if (passable & (distance[edges.targets] > through)).any():
            raise VerificationError("SSSP: an edge leads to a vertex by a shorter way than its distance")
        farther = distance[edges.sources] < distance[edges.targets]
        supported[edges.targets[passable & farther & (distance[edges.targets] == through)]] = True
    if (reached & ~reached_over(graph, supported, reached, tight)).any():
        raise VerificationError("SSSP: no path from the source is as long as a distance says")


class SSSP(VertexProgram):
    """Shortest distances from `source`: ``d_v = min(d_v, min over u -> v of d_u + w_uv)`` (Bellman-Ford).

    Near vertices go first (delta-stepping [2]) where the order is free.

    Edge values are lengths, 0 or more; without them every edge has length 1. Distances are int64 for integer lengths,
    else of the edges' float type; where the source does not reach, the largest int64, or infinity. Paths too long for
    int64 count as none.

    Parameters
    ----------
    source : vertex id

    References
    ----------
    .. [1] R. Bellman, "On a routing problem", Quarterly of Applied Mathematics 16, 1958.
    .. [2] U. Meyer, P. Sanders, "Delta-stepping: a parallelizable shortest path algorithm", J. Algorithms 49, 2003.
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
