"""The total of a program's `aggregate`: adds partial sums, and asks whether they are finite."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def sum_partials(partials: list[Array], dtype: np.dtype[Any]) -> Array:
    """Add all partial sums one by one in the given order, so that the bits are reproducible; shape (1,)."""
    if len(partials) == 1 and len(partials[0]) == 1:
        return partials[0]
    total, column = np.zeros(1, dtype), np.concatenate(partials)
    if not len(column):  # a graph without vertices
        return total
    if not dtype.names:
        total[0] = np.cumsum(column)[-1]
        return total
    for name in dtype.names:
        total[name] = np.cumsum(column[name])[-1]
    return total


def total_of(partials: list[Array], dtype: np.dtype[Any]) -> Array:
    """The total, of type `dtype` and shape (1,), that partial sums in this order make."""
    return sum_partials(partials, partials[0].dtype).astype(dtype)


def is_finite(total: Array | None) -> bool:
    """Whether there is no `total`, or all its numbers are finite: a test of a microsecond, for each iteration."""
    return total is None or all(map(math.isfinite, total.item() if total.dtype.names else total))
