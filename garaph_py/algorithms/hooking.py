"""Weakly connected components by a vertex program, which a GPU may run.

Each vertex has a *parent* in its component, at first itself, and parents only decrease. In a round, a pass over
in-edges and one over out-edges find the least of the parents' parents at a vertex and its neighbours. The vertex's
parent and that parent's own parent become at most this number. That hooks trees to each other and makes them shallower,
so that a few rounds find all components of any graph [Zhang, Y., A. Azad, Z. Hu, "FastSV: a distributed-memory
connected component algorithm with fast convergence", SIAM PP 2020].
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import VerificationError
from ..pages.passes import listed
from ..program import PerVertex, VertexProgram
from ..program.monoids import min as minimum
from .runs import Runs

Array = npt.NDArray[Any]

VERTEX_BYTES = 20
"""Bytes of a vertex's parent, of the one before, of the parents' parents of two rounds, and of the least near it."""


class LeastNear(VertexProgram):
    """The least number that is `given` to a vertex or to a neighbour, in one iteration."""

    given: PerVertex

    value = np.uint32
    sum = minimum

    def init(self, given):
        return given

    def gather(self, src):
        return src

    def gather_out(self, src):
        return src

    def apply(self, old, acc, acc_out):
        return min(old, acc, acc_out)

    def verify(self, graph, result):
        """Raise `VerificationError` unless these are the least numbers."""
        given = np.broadcast_to(self.given, graph.n)
        least = given.astype(np.uint32)
        for edges in listed(graph, values=False):
            np.minimum.at(least, edges.targets, given[edges.sources])
            np.minimum.at(least, edges.sources, given[edges.targets])
        if (result.values != least).any():
            raise VerificationError("LeastNear: a value is not the least near the vertex")


def hooked(runs: Runs) -> Array:
    """The least vertex of the weakly connected component of each vertex: uint32, shape (n,).

    When no parent's parent has changed in a round, all vertices of a component have the same one. It is a vertex of the
    component, and none of the vertices is less than it, so it is the least.
    """
    parents = np.arange(runs.graph.n, dtype=np.uint32)
    above = parents.copy()
    while True:
        least = runs(LeastNear(above), iterations=1)
        np.minimum.at(parents, parents.copy(), least)
        np.minimum(parents, least, out=parents)
        before, above = above, parents[parents]
        if (above == before).all():
            return above
