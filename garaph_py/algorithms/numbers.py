"""Numbers that callers give to algorithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ParameterError


def positive(value: Any, function: str, name: str) -> float:
    """A finite number above 0, which the caller of `function` gave as the argument `name`.

    Raises
    ------
    ParameterError
        If it is something else.
    """
    if not isinstance(value, (int, float, np.number)) or not 0 < value < np.inf:
        raise ParameterError(f"{function}({name}={value!r:.60}): give a number above 0")
    return float(value)


def finite(value: Any, function: str, name: str) -> float:
    """A finite number, which the caller of `function` gave as the argument `name`.

    Raises
    ------
    ParameterError
        If it is something else.
    """
    if not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
        raise ParameterError(f"{function}({name}={value!r:.60}): give a finite number")
    return float(value)
