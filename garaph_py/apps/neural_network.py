"""Neural network: one layer a superstep."""

from __future__ import annotations

import numpy as np

from ..program import PerVertex
from ..program.monoids import add
from .checks import require_positive
from .floating import FloatProgram


class NeuralNetwork(FloatProgram):
    """Neural network simulation: ``x_v = tanh(sum over u -> v of w_uv x_u)``.

    Vertices are neurons, edge values weights (1 where the graph has none).

    Parameters
    ----------
    initial : per vertex
        Activation at the start.
    tolerance : float
        A neuron is active while it changes by more.
    dtype : dtype
        float64 or float32.

    References
    ----------
    .. [1] A. Bakhoda et al., "Analyzing CUDA workloads using a detailed GPU simulator", ISPASS 2009 (reference [3] of
       Garaph, whose section 6 runs it for 10 iterations).
    """

    initial: PerVertex = 0.5
    tolerance: float = 1e-6

    sum = add

    def init(self, initial):
        return initial

    def gather(self, src, edge):
        return edge * src

    def apply(self, acc):
        return np.tanh(acc)

    def activate(self, new, old):
        return abs(new - old) > self.tolerance

    def __post_init__(self) -> None:
        require_positive(self, "tolerance")
