"""How many copies of an accumulator a shard has in shared memory: Garaph section 3.2, and a table measured instead."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FACTORS = (1, 2, 4, 8, 16, 32)
LARGEST_EXPONENT = 5
"""A copy for every thread of a warp: with more, no two could meet less often."""


@dataclass(frozen=True)
class Replication:
    """A rule from a shard's average degree to its replication factor.

    Attributes
    ----------
    bounds : ndarray of float64
        Ascending degrees.
    factors : ndarray of int64, one more
        ``factors[k]`` where k bounds lie below the degree.
    """

    bounds: Array
    factors: Array

    def of(self, degree: float) -> int:
        return int(self.factors[np.searchsorted(self.bounds, degree)])


def custom() -> Replication:
    """Equation 2: ``R = 2 ** min(ceil(log2(|E| / |V|) - 0.5), 5)``, with the exponent at least 0.

    (An average degree of 0.7 and less would give R < 1.)
    """
    exponents = range(1, LARGEST_EXPONENT + 1)
    return Replication(np.array([2 ** (k - 0.5) for k in exponents]), np.array([1 << k for k in (0, *exponents)]))


def fixed(factor: int) -> Replication:
    """The same factor everywhere."""
    return Replication(np.zeros(0), np.array([factor]))


def gather_time(vertices: float, edges: float, factor: int, load: float, atomic: float) -> float:
    """Equation 1: the paper's model of a shard's gather, in the unit of `load` and `atomic`.

    Parameters
    ----------
    vertices, edges : float
        |V| and |E| of the shard.
    factor : int
        R.
    load, atomic : float
        t_l, t_a: an access to global memory, an atomic operation in shared memory.
    """
    conflicts = edges * edges / (vertices * factor)
    return factor * vertices * load + edges * load + conflicts * atomic + vertices * atomic * math.log2(factor)


DEGREE_BOUNDS = np.array([2 ** (k - 0.5) for k in range(0, 14)])
"""Classes of average degree whose factors are measured apart."""


def calibrated(seconds: Array, edges: Array) -> Replication:
    """The factor that was fastest in each class of degrees.

    Parameters
    ----------
    seconds, edges : ndarray of float64, shape (len(FACTORS), len(DEGREE_BOUNDS) + 1)
        What shards of each class took with each factor, and how many edges they had; 0 where there was none.
    """
    known = edges > 0
    cost = np.where(known, seconds / np.where(known, edges, 1), np.inf)
    overall = int(
        np.argmin(np.where(edges.sum(axis=1) > 0, seconds.sum(axis=1) / np.maximum(edges.sum(axis=1), 1), np.inf))
    )
    best = np.where(known.any(axis=0), np.argmin(cost, axis=0), overall)
    return Replication(DEGREE_BOUNDS, np.array(FACTORS)[best])
