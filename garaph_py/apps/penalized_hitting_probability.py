"""Penalized hitting probability: how near a vertex is to a query vertex."""

from __future__ import annotations

from ..program import VertexId
from ..program.monoids import add
from .checks import require_fraction, require_positive
from .floating import FloatProgram


class PenalizedHittingProbability(FloatProgram):
    """``p_q = 1``; elsewhere ``p_v = c sum over u -> v of w_uv p_u / sum over u -> v of w_uv``.

    The chance that a walk from v, stepping to an in-neighbour in proportion to the edge value (1 where the graph has
    none) and surviving each step with probability c, meets the query vertex q. On an undirected graph it is the
    definition of [1].

    Parameters
    ----------
    query : vertex id
        q.
    decay : float
        c, between 0 and 1.
    tolerance : float
        A vertex is active while it changes by more.
    dtype : dtype
        float64 or float32.

    References
    ----------
    .. [1] Z. Guan, J. Wu, Q. Zhang, A. Singh, X. Yan, "Assessing and ranking structural correlations in graphs",
       SIGMOD 2011.
    """

    query: VertexId
    decay: float = 0.8
    tolerance: float = 1e-9

    sum = add

    def accumulator(self, edge):
        return {"mass": self.dtype, "weight": self.dtype}

    def init(self, id):
        return float(1) if id == self.query else float(0)

    def frontier(self, id):
        return id == self.query

    def gather(self, src, edge):
        return edge * src, edge

    def apply(self, acc, id):
        if id == self.query:
            return float(1)
        return self.decay * acc.mass / acc.weight if acc.weight != 0 else float(0)

    def activate(self, new, old):
        return abs(new - old) > self.tolerance

    def __post_init__(self) -> None:
        require_fraction(self, "decay")
        require_positive(self, "tolerance")
