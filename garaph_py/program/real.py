"""In a vertex program, ``float`` stands for the program's float type, so that one text serves float32 and float64."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ..native.references import rebuild


def with_real(function: types.FunctionType, real: np.dtype[Any] | None) -> types.FunctionType:
    """A copy of `function` in which ``float(x)`` converts to the dtype `real`, as in the functions that it calls.

    For a program on integers (`real` is None) it is `function` itself.
    """
    copy: types.FunctionType = function if real is None else rebuild(function, more_globals={"float": real.type})
    return copy
