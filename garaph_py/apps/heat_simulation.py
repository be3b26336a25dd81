"""Heat simulation."""

from __future__ import annotations

import numpy as np

from ..program import PerVertex
from ..program.monoids import add
from .checks import (
    finite_values,
    fixed_values,
    in_sums,
    require_finite_edges,
    require_finite_vertices,
    require_positive,
    require_settled,
)
from .floating import FloatProgram


class HeatSimulation(FloatProgram):
    """Heat flow: ``Q_v = Q_v + c * sum over u -> v of w_uv (Q_u - Q_v)``.

    Edge values are the conductivities w, which are finite; 1 in a graph without edge values. An iteration is an
    explicit Euler step, which is stable while ``c * sum over u -> v of w_uv <= 1`` for every vertex v.

    Parameters
    ----------
    initial : per vertex
        Heat at the start.
    fixed : per vertex
        Heat of each vertex that is kept at a given heat; NaN (the default) for vertices whose heat may change.
    conductivity : float
        c, the conductivity of all edges times the length of a time step.
    tolerance : float
        A vertex stays active while its heat changes by more than this in an iteration.
    dtype : dtype
        Type of the heat: float64, or float32.

    Returns
    -------
    value : `dtype`
        Q_v, which is `fixed` where that is given.

    References
    ----------
    .. [1] Khorasani, F., K. Vora, R. Gupta, L. Bhuyan, "CuSha", HPDC 2014 (reference [16] of Garaph).

    Examples
    --------
    >>> graph = gp.from_edges([0, 1], [1, 2], directed=False)
    >>> gp.run(gp.apps.HeatSimulation(fixed={0: 1.0}), graph, iterations=1).column()
    array([1. , 0.1, 0. ])
    """

    initial: PerVertex = 0.0
    fixed: PerVertex = np.nan
    conductivity: float = 0.1
    tolerance: float = 1e-6

    sum = add

    def init(self, initial, fixed):
        return initial if np.isnan(fixed) else fixed

    def gather(self, src, edge, dst):
        return edge * (src - dst)

    def apply(self, old, acc, fixed):
        return old + self.conductivity * acc if np.isnan(fixed) else fixed

    def activate(self, new, old):
        return abs(new - old) > self.tolerance

    def __post_init__(self) -> None:
        require_positive(self, "conductivity")
        require_positive(self, "tolerance")

    def check_graph(self, graph):
        require_finite_edges(self, graph)
        require_finite_vertices(self, graph, "initial")
        require_finite_vertices(self, graph, "fixed", or_nan=True)

    def verify(self, graph, result):
        """Raise `VerificationError` if a vertex is not at its fixed heat, or heat flows after the run has converged."""
        fixed = fixed_values(self, graph, result)
        heat = finite_values(self, graph, result)
        conducted = in_sums(graph, np.ones(graph.n), weighted=True)
        flow = self.conductivity * (in_sums(graph, heat, weighted=True) - conducted * heat)
        size, reach = (
            self.conductivity * in_sums(graph, each, weighted=True, absolute=True) for each in (heat, np.ones(graph.n))
        )
        right = np.where(np.isnan(fixed), heat + flow, np.nan)
        require_settled(self, graph, result, right, 1 + reach, np.abs(heat) * (1 + reach) + size)
