"""In a vertex program ``float`` means the program's float type, so that one text serves float32 and float64."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ..native.references import rebuild


def with_real(function: types.FunctionType, real: np.dtype[Any] | None) -> types.FunctionType:
    """`function` with ``float`` converting to `real`, in it and in the functions it calls."""
    copy: types.FunctionType = function if real is None else rebuild(function, more_globals={"float": real.type})
    return copy
