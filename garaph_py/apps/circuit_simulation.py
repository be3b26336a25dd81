"""Circuit simulation: potentials in a network of resistors."""

from __future__ import annotations

import numpy as np

from ..program import PerVertex
from ..program.monoids import add
from .checks import require_positive
from .floating import FloatProgram


class CircuitSimulation(FloatProgram):
    """Kirchhoff's current law: ``V_v = sum over u -> v of G_uv V_u / sum of G_uv``, but `fixed` where that is given.

    Edge values are conductances (1 where the graph has none). A vertex without conductance keeps its potential.

    Parameters
    ----------
    fixed : per vertex
        Potential of the vertices tied to a source; NaN (the default) elsewhere.
    tolerance : float
        A vertex is active while it changes by more.
    dtype : dtype
        float64 or float32.

    References
    ----------
    .. [1] F. Khorasani, K. Vora, R. Gupta, L. Bhuyan, "CuSha", HPDC 2014 (reference [16] of Garaph).
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
