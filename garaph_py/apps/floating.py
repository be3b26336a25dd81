"""The base of vertex programs on real numbers, which lets the user choose the precision."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from ..program import VertexProgram


class FloatProgram(VertexProgram):
    """A vertex program whose values are floats.

    Parameters
    ----------
    dtype : dtype
        float64 (the default), or float32 for half the memory traffic and about seven digits.
    """

    dtype: Any = field(default=np.float64, kw_only=True)

    def value(self, edge):
        return self.dtype
