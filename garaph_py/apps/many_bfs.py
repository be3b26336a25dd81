"""Breadth-first searches from many sources at once: one bit of a vertex's value for each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..graph import Graph
from ..pages.passes import listed
from ..program import VertexProgram
from ..program.monoids import bitwise_and
from .bfs import BFS, verify_bfs


class LevelBFS(BFS):
    """`BFS` without parents."""

    reports = {"level": np.int32}  # noqa: RUF012

    def result(self, value):
        return (value if value != self.identity else -1,)

    def verify(self, graph, result):
        verify_levels(graph, graph.ids.index(self.source), result.values["level"])


class ManyBFS(VertexProgram):
    """Which sources have not reached a vertex: ``left_v = left_v & and over u -> v of left_u``.

    A superstep reaches what is one edge farther from each source, so the number of supersteps until a bit is cleared is
    the vertex's level [1].

    At first nothing is reached, and no vertex is active. Who runs the program clears each source's bit at the source,
    and makes it active, because 64 places are written sooner than a number for each vertex.

    Parameters
    ----------
    everyone : int
        The bits of all sources.
    live : int
        The bits of searches that reach vertices still. A run that goes on may clear the others: where a search has
        ended, nothing is left to wait for.

    References
    ----------
    .. [1] Then, M. et al., "The More the Merrier: Efficient Multi-Source Graph Traversal", VLDB 2014.
    """

    everyone: int
    live: int

    value = np.int64
    sum = bitwise_and
    monotone = True

    def init(self):
        return self.everyone

    def frontier(self, value):
        return value != self.everyone

    def gather(self, src):
        return src

    def done(self, acc, old):
        return acc & old & self.live == 0


def verify_levels(graph: Graph, source: int, level: npt.NDArray[np.int32]) -> None:
    """Raise `VerificationError` unless `level` is that of a BFS: there must be parents with which it is one."""
    parent = np.full(graph.n, -1, np.int64)
    for edges in listed(graph, values=False):
        is_above = (level[edges.sources] >= 0) & (level[edges.sources] + 1 == level[edges.targets])
        parent[edges.targets[is_above]] = edges.sources[is_above]
    parent[source] = source
    verify_bfs(graph, source, level, parent)
