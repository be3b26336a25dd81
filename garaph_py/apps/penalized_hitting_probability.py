"""Penalized hitting probability."""

from __future__ import annotations

import numpy as np

from ..program import VertexId
from ..program.monoids import add
from .checks import (
    finite_values,
    require_finite_edges,
    require_fraction,
    require_kept,
    require_positive,
    require_settled,
    weighted_mean,
)
from .floating import FloatProgram


class PenalizedHittingProbability(FloatProgram):
    """Nearness to a query vertex q: ``p_v = c * sum over u -> v of w_uv p_u / sum over u -> v of w_uv``, ``p_q = 1``.

    p_v is the probability that a random walk from v meets q. The walk moves to an in-neighbour, chosen in proportion to
    the edge value (finite; 1 in a graph without edge values), and survives each step with probability c. On an
    undirected graph this is the definition of [1].

    Parameters
    ----------
    query : vertex id
        The query vertex q.
    decay : float
        c, from 0 to below 1.
    tolerance : float
        A vertex stays active while its probability changes by more than this in an iteration.
    dtype : dtype
        Type of the probabilities: float64, or float32.

    Returns
    -------
    value : `dtype`
        p_v.

    References
    ----------
    .. [1] Guan, Z., J. Wu, Q. Zhang, A. Singh, X. Yan, "Assessing and ranking structural correlations in graphs",
       SIGMOD 2011.

    Examples
    --------
    >>> graph = gp.from_edges([0, 1], [1, 2])
    >>> gp.run(gp.apps.PenalizedHittingProbability(query=0, decay=0.5), graph).column()
    array([1.  , 0.5 , 0.25])
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

    check_graph = require_finite_edges

    def __post_init__(self) -> None:
        require_fraction(self, "decay")
        require_positive(self, "tolerance")

    def verify(self, graph, result):
        """Raise `VerificationError` if the query's is not 1 or, after the run has converged, the equation is wrong."""
        is_query = np.arange(graph.n) == graph.ids.index(self.query)
        require_kept(self, graph, result, np.where(is_query, 1.0, np.nan))
        mean, reach, size = weighted_mean(self, graph, finite_values(self, graph, result))
        right = np.where(is_query, np.nan, self.decay * mean)
        require_settled(self, graph, result, right, self.decay * reach, self.decay * size)
