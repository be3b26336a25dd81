"""Numbers that callers give to algorithms."""

from __future__ import annotations

from collections.abc import Callable
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
    return checked(value, lambda number: 0 < number < np.inf, f"{function}({name}=", "a number above 0")


def finite(value: Any, function: str, name: str) -> float:
    """A finite number, which the caller of `function` gave as the argument `name`.

    Raises
    ------
    ParameterError
        If it is something else.
    """
    return checked(value, np.isfinite, f"{function}({name}=", "a finite number")


def checked(value: Any, is_fine: Callable[[float], Any], call: str, wanted: str) -> float:
    """The number that a caller gave in a `call`, if it `is_fine`; if not, an error that says what is `wanted`."""
    number = number_of(value)
    if not is_fine(number):
        raise ParameterError(f"{call}{value!r:.60}): give {wanted}")
    return number


def number_of(value: Any) -> float:
    """`value` if it is a real number, NaN if not; infinite if it is an integer that no float can hold."""
    if not isinstance(value, (int, float, np.integer, np.floating)):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf
