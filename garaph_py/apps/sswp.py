"""Single-source widest paths."""

from __future__ import annotations

import numpy as np

from ..errors import VerificationError
from ..pages.passes import listed
from ..program import VertexId, VertexProgram
from ..program.monoids import max as maximum
from .checks import edge_numbers, reached_over, require_no_negative_edges


class SSWP(VertexProgram):
    """Widest paths from `source`: ``b_v = max(b_v, max over u -> v of min(b_u, w_uv))``.

    A path is as wide as its narrowest edge. Edge values are widths, 0 or more; without them every edge has width 1.
    Wide vertices go first where the order is free.
    Widths are int64 for integer edge values, else of the edges' float type. The source's own is the largest int64, or
    infinity; where it does not reach, 0.

    Parameters
    ----------
    source : vertex id

    References
    ----------
    .. [1] M. Pollack, "The maximum capacity through a network", Operations Research 8, 1960.
    """

    source: VertexId

    sum = maximum
    monotone = True

    def value(self, edge):
        return edge if edge is not None and edge.kind == "f" else np.int64

    def init(self, id, n):
        one = n // n  # in the program's own type; the largest value is one below minus the least, the identity of max
        return -one - self.identity if id == self.source else 0

    def frontier(self, id):
        return id == self.source

    def gather(self, src, edge):
        return min(src, edge)

    def priority(self, value):
        return -value

    check_graph = require_no_negative_edges

    def verify(self, graph, result):
        """The source is as wide as can be, no edge offers more than the width it leads to, and the source reaches every
        width over edges that offer it."""
        width, source = result.values, graph.ids.index(self.source)
        if width[source] != (np.inf if width.dtype.kind == "f" else np.iinfo(width.dtype).max):
            raise VerificationError("SSWP: the width of the source is not the largest there is")

        def offered(edges):
            return np.minimum(width[edges.sources], edge_numbers(edges).astype(width.dtype))

        supported = np.arange(graph.n) == source  # so are who an edge leads to from a wider one
        for edges in listed(graph):
            ours, theirs = width[edges.targets], offered(edges)
            if (theirs > ours).any():
                raise VerificationError("SSWP: an edge offers a wider path than was found")
            supported[edges.targets[(theirs == ours) & (width[edges.sources] > ours)]] = True
        reached = reached_over(graph, supported, width != 0, lambda edges: offered(edges) == width[edges.targets])
        if ((width != 0) & ~reached).any():
            raise VerificationError("SSWP: no path from the source is as wide as a width says")
