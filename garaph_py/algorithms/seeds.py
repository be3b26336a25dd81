"""Random numbers by a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ParameterError
from ..system.arguments import is_count


def generator(seed: Any) -> np.random.Generator:
    """NumPy's generator for a seed, or a new one at random for None.

    Raises
    ------
    ParameterError
        If `seed` is neither None nor a whole number of 0 or more.
    """
    if seed is not None and not is_count(seed):
        raise ParameterError(f"seed={seed!r}: give a whole number, 0 or more")
    return np.random.default_rng(seed)
