"""Chooses a shard's replication factor: how many copies of each accumulator it has in shared memory.

The choice follows equation 2 of Garaph section 3.2, or a cost model fitted to measured times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .ranks import WARP

Array = npt.NDArray[Any]

FACTORS = (1, 2, 4, 8, 16, 32)
"""The replication factors that are tried."""
MAX_EXPONENT = 5
"""Binary logarithm of the largest factor. With 32 copies, one per thread, the threads of a warp never collide, so more
copies could not help."""


@dataclass(frozen=True)
class Replication:
    """A rule from a shard's average degree to its replication factor.

    Attributes
    ----------
    bounds : ndarray of float64
        Ascending degrees.
    factors : ndarray of int64
        ``factors[k]`` is the factor of degrees that exceed k of the bounds; there is one more factor than bounds.
    all_vertices : bool
        A shard's degree is its edges divided by all of its vertices, and each of these counts in shared memory, as in
        the paper. False: those without in-edges do not count; they need no accumulator.
    """

    bounds: Array
    factors: Array
    all_vertices: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """What is the same for rules that choose the same factors."""
        return self.bounds.tobytes(), self.factors.tobytes(), self.all_vertices

    def of(self, degree: float) -> int:
        return int(self.factors[np.searchsorted(self.bounds, degree)])


def custom(all_vertices: bool = False) -> Replication:
    """Equation 2: ``R = 2 ** min(ceil(log2(|E| / |V|) - 0.5), 5)``, with the exponent at least 0.

    Without that lower bound, an average degree of 0.7 or less would give R < 1.
    """
    exponents = range(1, MAX_EXPONENT + 1)
    bounds, factors = [2 ** (k - 0.5) for k in exponents], [1 << k for k in (0, *exponents)]
    return Replication(np.array(bounds), np.array(factors), all_vertices)


def fixed(factor: int, all_vertices: bool = False) -> Replication:
    """The same factor for every shard."""
    return Replication(np.zeros(0), np.array([factor]), all_vertices)


DEGREE_BOUNDS = np.array([2 ** (k / 2) for k in range(28)])
"""Bounds between the classes of average degree for which `CostModel` chooses a factor."""


@dataclass(frozen=True)
class CostModel:
    """Equation 1 with a coefficient for every term, fitted to the cycles that work items took on a device.

    The paper's equation is ``T = R |V| t_l + |E| t_l + |E|^2 / (|V| R) t_a + |V| t_a log R``. In this model, a work
    item with V destinations, E edges, average degree d and factor R takes ``k0 + k1 R V + k2 E + k3 E min(d, 32) / R +
    k4 V log2 R + k5 V`` cycles.

    Attributes
    ----------
    coefficients : ndarray of float64, shape (6,)
    """

    coefficients: Array

    @classmethod
    def fit(cls, vertices: Array, edges: Array, degrees: Array, factors: Array, cycles: Array) -> CostModel:
        """Fit the model to measured `cycles`: least squares of the relative error, with no negative coefficient."""
        from scipy.optimize import nnls

        weights = 1 / np.maximum(cycles, 1)
        terms = cls.terms(vertices, edges, degrees, factors) * weights[:, None]
        scale = np.maximum(np.abs(terms).max(axis=0), 1e-300)
        return cls(nnls(terms / scale, cycles * weights)[0] / scale)

    @staticmethod
    def terms(vertices: Any, edges: Any, degrees: Any, factors: Any) -> Array:
        conflicts = edges * np.minimum(degrees, WARP) / factors  # no more than a warp's threads can collide
        columns = np.broadcast_arrays(
            1.0, factors * vertices, edges, conflicts, vertices * np.log2(factors), vertices
        )  # fmt: skip
        return np.stack(columns, axis=-1)

    def replication(self, copies: int, item_edges: int) -> Replication:
        """The rule that takes, for each class of degrees, the factor with the fewest cycles per edge.

        Shards have shared memory for `copies` accumulators.
        """
        middle = np.sqrt(np.append(DEGREE_BOUNDS, 2 * DEGREE_BOUNDS[-1]) * np.append(1, DEGREE_BOUNDS))[:, None]
        factors = np.array(FACTORS)
        vertices = np.maximum(copies // factors, 1)
        edges = vertices * middle
        pieces = np.maximum(np.ceil(edges / item_edges), 1)
        cycles = self.terms(vertices, edges / pieces, middle, factors) @ self.coefficients * pieces
        return Replication(DEGREE_BOUNDS, factors[np.argmin(cycles / edges, axis=1)])
