"""The Euclidean norm of the values of all vertices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def unit(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The values divided by their Euclidean norm, or as they are if all are 0."""
    return values / (float(np.linalg.norm(values)) or 1.0)
