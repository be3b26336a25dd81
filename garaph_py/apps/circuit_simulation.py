"""Circuit simulation."""

from __future__ import annotations

import numpy as np

from ..program import PerVertex
from ..program.monoids import add
from .checks import (
    finite_values,
    fixed_values,
    require_finite_edges,
    require_finite_vertices,
    require_positive,
    require_settled,
    weighted_mean,
)
from .floating import FloatProgram


class CircuitSimulation(FloatProgram):
    """Potentials in a network of resistors: ``V_v = sum over u -> v of G_uv V_u / sum over u -> v of G_uv``.

    This is Kirchhoff's current law. Edge values are conductances, which are finite; 1 in a graph without edge values. A
    vertex whose conductances add up to 0 keeps its potential.

    Parameters
    ----------
    fixed : per vertex
        Potential of each vertex that is tied to a voltage source; NaN (the default) for vertices that are not.
    tolerance : float
        A vertex stays active while its potential changes by more than this in an iteration.
    dtype : dtype
        Type of the potentials: float64, or float32.

    Returns
    -------
    value : `dtype`
        V_v, which is `fixed` where that is given.

    References
    ----------
    .. [1] Khorasani, F., K. Vora, R. Gupta, L. Bhuyan, "CuSha", HPDC 2014 (reference [16] of Garaph).

    Examples
    --------
    >>> graph = gp.from_edges([0, 1], [1, 2], directed=False)
    >>> gp.run(gp.apps.CircuitSimulation(fixed={0: 1.0, 2: 0.0}), graph).column()
    array([1. , 0.5, 0. ])
    """

    fixed: PerVertex = np.nan
    tolerance: float = 1e-6

    sum = add

    def accumulator(self, edge):
        return {"current": self.dtype, "conductance": self.dtype}

    def init(self, fixed):
        return float(0) if np.isnan(fixed) else fixed

    def gather(self, src, edge):
        return edge * src, edge

    def apply(self, old, acc, fixed):
        free = acc.current / acc.conductance if acc.conductance != 0 else old
        return free if np.isnan(fixed) else fixed

    def activate(self, new, old):
        return abs(new - old) > self.tolerance

    def __post_init__(self) -> None:
        require_positive(self, "tolerance")

    def check_graph(self, graph):
        require_finite_edges(self, graph)
        require_finite_vertices(self, graph, "fixed", or_nan=True)

    def verify(self, graph, result):
        """Raise `VerificationError` if a fixed potential has changed, or currents do not add up to 0 in the end."""
        fixed = fixed_values(self, graph, result)
        right, reach, size = weighted_mean(self, graph, finite_values(self, graph, result))
        require_settled(self, graph, result, np.where(np.isnan(fixed), right, np.nan), reach, size)
