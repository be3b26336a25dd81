"""Single-source shortest paths."""

from __future__ import annotations

import numpy as np

from ..errors import VerificationError
from ..program import VertexId, VertexProgram
from ..program.monoids import min as minimum
from .checks import edge_numbers, require_no_negative_edges, targets


class SSSP(VertexProgram):
    """Shortest distances from `source`: ``d_v = min(d_v, min over u -> v of d_u + w_uv)`` (Bellman-Ford).

    Edge values are lengths, 0 or more; without them every edge has length 1. Distances are int64 for integer lengths,
    else of the edges' float type; where the source does not reach, the largest int64, or infinity.

    Parameters
    ----------
    source : vertex id

    References
    ----------
    .. [1] R. Bellman, "On a routing problem", Quarterly of Applied Mathematics 16, 1958.
    """

    source: VertexId

    sum = minimum

    def value(self, edge):
        return edge if edge is not None and edge.kind == "f" else np.int64

    def init(self, id):
        return 0 if id == self.source else self.identity

    def frontier(self, id):
        return id == self.source

    def gather(self, src, edge):
        return src + edge if src != self.identity else src

    def apply(self, old, acc):
        return min(old, acc)

    def check_graph(self, graph):
        require_no_negative_edges(self, graph)

    def verify(self, graph, result):
        verify_sssp(graph, graph.ids.index(self.source), result.values)


def verify_sssp(graph, source, distance):
    """Raise `VerificationError` unless no edge is shorter than the distances it joins and each distance is tight."""
    reached = np.isfinite(distance) if distance.dtype.kind == "f" else distance != np.iinfo(distance.dtype).max
    if distance[source] != 0:
        raise VerificationError("SSSP: the distance of the source is not 0")
    u, v, length = graph.in_edges.neighbours, targets(graph), edge_numbers(graph)
    over = reached[u]
    through = distance[u[over]] + length[over].astype(distance.dtype)
    if (distance[v[over]] > through).any():
        raise VerificationError("SSSP: an edge leads to a vertex by a shorter way than its distance")
    tight = np.zeros(graph.n, bool)
    tight[source] = True
    tight[v[over][distance[v[over]] == through]] = True
    if not tight[reached].all():
        raise VerificationError("SSSP: a distance is not reached over any edge")
