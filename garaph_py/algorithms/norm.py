"""The Euclidean norm of the values of all vertices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def unit(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The values divided by their Euclidean norm, or as they are if all are 0."""
    with np.errstate(over="ignore", under="ignore"):  # squares may be too large, or too small
        size = float(np.linalg.norm(values))
    largest = float(np.abs(values).max(initial=0))
    if 0 < largest < np.inf and (size == np.inf or size == 0):
        return unit(values / largest)
    return values / (size or 1.0)
