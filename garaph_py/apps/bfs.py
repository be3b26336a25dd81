"""Breadth-first search: levels and parents."""

from __future__ import annotations

import numpy as np

from ..errors import VerificationError
from ..pages.passes import listed
from ..program import VertexId, VertexProgram
from ..program.monoids import min as minimum


class BFS(VertexProgram):
    """Breadth-first search from `source`: ``level_v = 1 + min over u -> v of level_u``.

    Reports the ``level`` (-1 where the source does not reach) and the ``parent``: of the in-neighbours one level below,
    the one with the least internal id; the source is its own parent. Both are the same whatever ran them.

    Parameters
    ----------
    source : vertex id

    Notes
    -----
    Level and parent share one integer, ``level * 2**32 + parent``, whose minimum over the in-neighbours is the answer.
    Run synchronously, a vertex that has a level needs no further edge, and one without needs no more than the first
    in-neighbour that has one, since they stand in ascending order (the bottom-up step of [1]).

    References
    ----------
    .. [1] S. Beamer, K. Asanovic, D. Patterson, "Direction-optimizing breadth-first search", SC 2012.
    """

    source: VertexId

    value = np.int64
    sum = minimum
    reports = {"level": np.int32, "parent": VertexId}  # noqa: RUF012

    def init(self, id):
        return id if id == self.source else self.identity

    def frontier(self, id):
        return id == self.source

    def gather(self, src, src_id):
        return ((src >> 32) + 1 << 32) + src_id if src != self.identity else src

    def done(self, acc, old):
        return old != self.identity or acc != self.identity

    def result(self, value):
        return (value >> 32, value & 0xFFFFFFFF) if value != self.identity else (-1, -1)

    def verify(self, graph, result):
        verify_bfs(graph, graph.ids.index(self.source), result.values["level"], result.values["parent"])


def verify_bfs(graph, source, level, parent):
    """Raise `VerificationError` unless levels and parents (internal ids, -1 for none) are those of a BFS.

    The source alone has level 0; no edge from a reached vertex skips a level; every other reached vertex has a parent
    one level below over an edge of the graph.
    """
    reached = level >= 0
    if level[source] != 0 or parent[source] != source or (level == 0).sum() != 1:
        raise VerificationError("BFS: the source, and it alone, must have level 0 and be its own parent")
    has_tree_edge = np.zeros(graph.n, bool)
    for edges in listed(graph, values=False):
        u, v = edges.sources, edges.targets
        if (reached[u] & (~reached[v] | (level[v] > level[u] + 1))).any():
            raise VerificationError("BFS: an edge leaves a reached vertex and skips a level")
        has_tree_edge[v[u == parent[v]]] = True
    others = np.flatnonzero(reached & (np.arange(graph.n) != source))
    if (
        ((parent < 0) == reached).any()
        or (parent >= graph.n).any()
        or (level[parent[others]] + 1 != level[others]).any()
    ):
        raise VerificationError("BFS: a parent is missing or not one level below its child")
    if not has_tree_edge[others].all():
        raise VerificationError("BFS: a parent is no in-neighbour of its child")
