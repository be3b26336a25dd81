"""Asks a program's `converged`, in plain Python, whether a run ends after an iteration with a given total."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ProgramError
from .fields import TRUTHS
from .methods import call_method
from .vertex_program import VertexProgram


def has_converged(program: VertexProgram, total: npt.NDArray[np.generic] | None, vertices: int) -> bool:
    """Whether the program's `converged` ends the run; False without a total.

    Raises
    ------
    ProgramError
        If it fails, or does not return a truth value.
    """
    if total is None or program.converged is None:
        return False
    answer = call_method(program, "converged", readable(total), vertices)
    if not isinstance(answer, TRUTHS):
        raise ProgramError(
            f"{type(program).__name__}.converged returns {answer!r:.40}; return True to end the run, or else False"
        )
    return bool(answer)


def iterations_until(program: VertexProgram, totals: npt.NDArray[np.generic], vertices: int) -> int:
    """The number of iterations after which the program has converged, by their `totals`; all of them if it has not
    before the last. The caller asks about the last."""
    count = len(totals)
    return next((k for k in range(1, count) if has_converged(program, totals[k - 1 : k], vertices)), count)


def readable(total: npt.NDArray[Any]) -> object:
    """A copy of the total for `converged`, which may keep it: a number, or an object with the named fields."""
    names = total.dtype.names
    return SimpleNamespace(**dict(zip(names, total[0], strict=True))) if names else total[0].item()
