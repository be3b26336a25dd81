"""Breadth-first search (BFS)."""

from __future__ import annotations

import numpy as np

from ..errors import VerificationError
from ..pages.passes import listed
from ..program import VertexId, VertexProgram
from ..program.monoids import min as minimum


class BFS(VertexProgram):
    """Breadth-first search: ``level_v = 1 + min over u -> v of level_u``, with level 0 at the source.

    Parameters
    ----------
    source : vertex id
        The vertex at which the search starts.

    Returns
    -------
    level : int32
        Number of edges on a shortest path from the source; -1 for vertices that the source does not reach.
    parent : vertex
        The in-neighbour on the level below. If there are several, it is the one with the smallest internal id, so that
        every device and mode reports the same tree. The source is its own parent; unreached vertices have none.

    Notes
    -----
    A vertex's value is its level. In a synchronous run, a vertex that has a level gathers no edges, and a vertex
    without one stops at its first in-neighbour that has one (the bottom-up step of [1]).

    References
    ----------
    .. [1] Beamer, S., K. Asanovic, D. Patterson, "Direction-optimizing breadth-first search", SC 2012.

    Examples
    --------
    >>> graph = gp.from_edges([0, 1, 0], [1, 2, 3])
    >>> gp.run(gp.apps.BFS(source=0), graph).column("level")
    array([0, 1, 2, 1], dtype=int32)
    """

    source: VertexId

    value = np.int32
    sum = minimum
    monotone = True
    by_levels = True
    reports = {"level": np.int32, "parent": VertexId}  # noqa: RUF012
    unreached = -1

    def init(self, id):
        return 0 if id == self.source else self.identity

    def frontier(self, id):
        return id == self.source

    def gather(self, src):
        return src + 1 if src != self.identity else src

    def done(self, acc, old):
        return old != self.identity or acc != self.identity

    def result(self, value, id, parent):
        return (value if value != self.identity else -1, id if id == self.source else parent)

    def verify(self, graph, result):
        verify_bfs(graph, graph.ids.index(self.source), result.values["level"], result.values["parent"])


def verify_bfs(graph, source, level, parent):
    """Raise `VerificationError` unless `level` and `parent` are those of a BFS. Parents are internal ids, -1 for none.

    It checks three properties: only the source has level 0; no edge leads from a reached vertex more than one level
    up; and every other reached vertex has as its parent an in-neighbour on the level below.
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
