"""Single-source widest paths."""

from __future__ import annotations

import numpy as np

from ..errors import VerificationError
from ..pages.passes import listed
from ..program import VertexId, VertexProgram
from ..program.monoids import max as maximum
from .checks import edge_numbers, reached_over, require_no_negative_edges


class SSWP(VertexProgram):
    """Single-source widest paths: ``b_v = max(b_v, max over u -> v of min(b_u, w_uv))``.

    A path is as wide as its narrowest edge. Edge values are widths of 0 or more, also infinity. In a graph without edge
    values every edge has width 1. Runs that are not synchronous process wide vertices first.

    Parameters
    ----------
    source : vertex id
        The vertex at which all paths start.

    Returns
    -------
    value : int64, or the float type of the edge values
        Width of a widest path from the source: 0 for vertices that the source does not reach, and the largest int64,
        or infinity, for the source itself.

    References
    ----------
    .. [1] Pollack, M., "The maximum capacity through a network", Operations Research 8, 1960.

    Examples
    --------
    >>> graph = gp.from_edges([0, 0, 1], [1, 2, 2], weights=[4, 1, 3])
    >>> gp.run(gp.apps.SSWP(source=0), graph).column()[1:]
    array([4, 3])
    """

    source: VertexId

    sum = maximum
    monotone = True
    unreached = 0

    def value(self, edge):
        return edge if edge is not None and edge.kind == "f" else np.int64

    def init(self, id, n):
        one = n // n  # 1 in the program's number type
        # `identity` is the smallest value of that type, so -1 - identity is the largest.
        return -one - self.identity if id == self.source else 0

    def frontier(self, id):
        return id == self.source

    def gather(self, src, edge):
        return min(src, edge)

    def priority(self, value):
        return -value

    check_graph = require_no_negative_edges

    def verify(self, graph, result):
        """Raise `VerificationError` unless the result holds the widest paths from the source.

        It checks three properties: the source has the largest width; no edge offers its target a wider path than was
        found; and the source reaches every vertex of width above 0 over edges that offer exactly the width found.
        """
        width, source = result.values, graph.ids.index(self.source)
        if width[source] != (np.inf if width.dtype.kind == "f" else np.iinfo(width.dtype).max):
            raise VerificationError("SSWP: the width of the source is not the largest there is")

        def offered(edges):
            return np.minimum(width[edges.sources], edge_numbers(edges).astype(width.dtype))

        # A vertex is supported if such an edge reaches it from a wider vertex: those edges cannot form a cycle.
        supported = np.arange(graph.n) == source
        for edges in listed(graph):
            ours, theirs = width[edges.targets], offered(edges)
            if (theirs > ours).any():
                raise VerificationError("SSWP: an edge offers a wider path than was found")
            supported[edges.targets[(theirs == ours) & (width[edges.sources] > ours)]] = True
        reached = reached_over(graph, supported, width != 0, lambda edges: offered(edges) == width[edges.targets])
        if ((width != 0) & ~reached).any():
            raise VerificationError("SSWP: no path from the source is as wide as a width says")
