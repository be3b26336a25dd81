"""Neural network simulation."""

from __future__ import annotations

import numpy as np

from ..program import PerVertex
from ..program.monoids import add
from .checks import (
    finite_values,
    in_sums,
    require_finite_edges,
    require_finite_vertices,
    require_positive,
    require_settled,
)
from .floating import FloatProgram


class NeuralNetwork(FloatProgram):
    """Neural network simulation: ``x_v = tanh(sum over u -> v of w_uv x_u)``.

    Vertices are neurons. Edge values are weights, which are finite; 1 in a graph without edge values. An iteration
    computes one layer.

    Parameters
    ----------
    initial : per vertex
        Activation of each neuron at the start.
    tolerance : float
        A neuron stays active while its activation changes by more than this in an iteration.
    dtype : dtype
        Type of the activations: float64, or float32.

    Returns
    -------
    value : `dtype`
        x_v.

    References
    ----------
    .. [1] Bakhoda, A. et al., "Analyzing CUDA workloads using a detailed GPU simulator", ISPASS 2009 (reference [3] of
       Garaph, whose section 6 runs it for 10 iterations).

    Examples
    --------
    >>> graph = gp.from_edges([0, 1, 1], [2, 2, 0], weights=[1.0, -2.0, 0.0])
    >>> gp.run(gp.apps.NeuralNetwork(initial=0.5), graph, iterations=1).column().round(3)
    array([ 0.   ,  0.   , -0.462])
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

    def check_graph(self, graph):
        require_finite_edges(self, graph)
        require_finite_vertices(self, graph, "initial")

    def verify(self, graph, result):
        """Raise `VerificationError` if the run converged, and an activation is not the one that the others make."""
        activation = finite_values(self, graph, result)
        total = in_sums(graph, activation, weighted=True)
        size = in_sums(graph, activation, weighted=True, absolute=True)
        reach = in_sums(graph, np.ones(graph.n), weighted=True, absolute=True)  # tanh is nowhere steeper than 1
        require_settled(self, graph, result, np.tanh(total), reach, size)
