"""In a vertex program ``float`` means the program's float type, so that one text serves float32 and float64."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ..native.references import rebuild


def with_real(function: types.FunctionType, real: np.dtype[Any] | None) -> types.FunctionType:
    """`function` with ``float`` converting to `real`, in it and in the plain functions it calls."""
    if real is None:
        return function
    meaning = {} if "float" in function.__globals__ else {"float": real.type}

    def replace(value: Any) -> Any:
        plain = isinstance(value, types.FunctionType) and value is not function
        return with_real(value, real) if plain else value

    return rebuild(function, replace, meaning)
