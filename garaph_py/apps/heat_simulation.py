"""Heat simulation."""

from __future__ import annotations

import numpy as np

from ..program import PerVertex
from ..program.monoids import add
from .checks import require_positive
from .floating import FloatProgram


class HeatSimulation(FloatProgram):
    """Heat flow: ``Q_v += sum over u -> v of c w_uv (Q_u - Q_v)``, held at `fixed` where that is given.

    Edge values are conductivities (1 where the graph has none). Explicit Euler steps are stable while
    ``c * sum over u -> v of w_uv <= 1`` for every v.

    Parameters
    ----------
    initial : per vertex
        Heat at the start.
    fixed : per vertex
        Heat of vertices whose heat is given; NaN (the default) where it is free.
    conductivity : float
        c, the time step in it.
    tolerance : float
        A vertex is active while it changes by more.
    dtype : dtype
        float64 or float32.

    References
    ----------
    .. [1] F. Khorasani, K. Vora, R. Gupta, L. Bhuyan, "CuSha", HPDC 2014 (reference [16] of Garaph).
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
