"""The power iteration with a symmetric matrix, with fewer steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..native import Kernel, PerCall
from ..native.threads import bounds_of
from .in_memory import Call

Array = npt.NDArray[Any]

PIECE = 1 << 14
"""Vertices whose numbers are added up in one call: the sums have the same bits for any number of threads."""
SUMS = 7
"""How many sums `compare` makes."""
ROUNDING = 1e-26
"""The square of 1e-13, some 450 times float64's epsilon: a smaller relative change consists of rounding errors."""


# wide: a compiled function takes its arrays one by one.
def compare(first, last, size, vector, image, vector_before, image_before, sums):
    """Add up for the vertices [first, last): the changes from `vector` to `image`, divided by its size, and the inner
    products of the vector x, of its image Ax, of x minus the vector before, and of that one's image.

    The sums are |change|, x * x, x * Ax, and with d = x - y for the vector y before: x * d, d * d, d * Ax, d * Ad.
    """
    for v in range(first, last):
        x, ax = vector[v], image[v]
        d, ad = x - vector_before[v], ax - image_before[v]
        sums[0] += abs(ax / size - x)
        sums[1] += x * x
        sums[2] += x * ax
        sums[3] += x * d
        sums[4] += d * d
        sums[5] += d * ax
        sums[6] += d * ad
    return 0


def combine(first, last, along, across, image, image_before, combined):
    """Write ``along * image + across * image_before`` for the vertices [first, last), but no less than 0."""
    for v in range(first, last):
        combined[v] = max(along * image[v] + across * image_before[v], 0.0)
    return 0


COMPARE = Kernel("i64 i64 f64 f64* f64* f64* f64* f64*", compare)
COMBINE = Kernel("i64 i64 f64 f64 f64* f64* f64*", combine)
KERNELS = [COMPARE, COMBINE]


class PowerIteration:
    """Finds the eigenvector x of the largest eigenvalue of a symmetric matrix A without negative elements.

    The power iteration goes on from x with Ax. This one goes on with A (x + t (x - y)), where y is the vector before,
    and t the number for which the Rayleigh quotient of x + t (x - y) is largest. The images of x and y are known, so a
    step takes one product, too. Elements below 0 become 0. The limit is the same if the largest eigenvalue has one
    eigenvector; if it has several, the limit may be another one.

    Parameters
    ----------
    call : Call
    multiply : callable
        ``multiply(x)`` returns Ax.
    size : callable
        ``size(x)`` is by what vectors are divided: a norm.
    least : float
        The iterations end when the absolute changes from x to Ax, both divided by their size, add up to less.
    """

    def __init__(
        self, call: Call, multiply: Callable[[Array], Array], size: Callable[[Array], float], least: float
    ) -> None:
        self._call, self._multiply, self._size, self._least = call, multiply, size, least

    def run(self, vector: Array, most: int) -> tuple[Array, bool]:
        """Do up to `most` iterations, and return Ax for the last x, divided by its size; and whether they were enough.

        `vector` is the first x, divided by its size.
        """
        before: tuple[Array, Array] | None = None
        for _ in range(most):
            image = self._multiply(vector)
            size = self._size(image) or 1.0
            change, along, across = self._compared(vector, image, size, before or (vector, image))
            if change < self._least:
                return image / size, True
            combined = np.empty_like(image)
            last = image if before is None else before[1]
            self._call.on_vertices(COMBINE, along, across, image, last, combined)
            before = vector, image
            vector = combined / (self._size(combined) or 1.0)
        return image / size, False

    def _compared(
        self, vector: Array, image: Array, size: float, before: tuple[Array, Array]
    ) -> tuple[float, float, float]:
        """The change, and by what the image, and the one before, have to be multiplied for the next vector."""
        bounds = bounds_of(len(vector), len(vector) // PIECE + 1)
        sums = np.zeros((len(bounds) - 1, SUMS))
        self._call.pool.launch(
            COMPARE.rows(len(sums), bounds[:-1], bounds[1:], size, vector, image, *before, PerCall(sums))
        )
        change, *products = sums.sum(axis=0).tolist()
        share = best_share(*products)
        return change, 1 + share, -share


# wide: six inner products.
def best_share(xx: float, xax: float, xd: float, dd: float, dax: float, dad: float) -> float:
    """The t for which x + t d has the largest Rayleigh quotient, by the inner products of x, d, Ax and Ad.

    It comes from the eigenvector (1, s) of the 2 x 2 matrix of A between x and the part of d that is orthogonal to x.
    """
    if not dd > ROUNDING * xx > 0:
        return 0.0
    part, value = xd / xx, xax / xx  # d has `part` times x in it
    coupled = dax - part * xax
    length = dd - part * xd
    apart = value * length - (dad - 2 * part * dax + part * part * xax)
    root = math.sqrt(apart * apart + 4 * coupled * coupled * length / xx)
    if not (length > 0 and apart + root > 0 and math.isfinite(root)):
        return 0.0
    s = 2 * coupled / (apart + root)
    return s / (1 - s * part) if s * part < 1 else 0.0
