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
    number = number_of(value)
    if not 0 < number < np.inf:
        raise ParameterError(f"{function}({name}={value!r:.60}): give a number above 0")
    return number


def finite(value: Any, function: str, name: str) -> float:
    """A finite number, which the caller of `function` gave as the argument `name`.

    Raises
    ------
    ParameterError
        If it is something else.
    """
    number = number_of(value)
    if not np.isfinite(number):
        raise ParameterError(f"{function}({name}={value!r:.60}): give a finite number")
    return number


def number_of(value: Any) -> float:
    """`value` if it is a real number, NaN if not; infinite if it is an integer that no float can hold."""
    if not isinstance(value, (int, float, np.integer, np.floating)):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf
