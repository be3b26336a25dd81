"""Decides when a run ends although vertices are active: its program, or each of its columns, has converged."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ProgramError
from ..program import BoundProgram, VertexProgram
from ..program.columns import STOPPED, active_name, column_of
from ..program.fields import TRUTHS
from ..program.methods import call_method


class Convergence:
    """Asks a run's program after each iteration whether it has converged; if it has columns, asks for each column.

    Parameters
    ----------
    bound : BoundProgram
    vertices : int
        Number of vertices of the graph.
    """

    def __init__(self, bound: BoundProgram, vertices: int) -> None:
        self._bound, self._vertices = bound, vertices
        self._stopped = 0  # bit c is set once column c has stopped

    def ends(self, total: npt.NDArray[Any] | None) -> bool:
        """Whether the run ends after an iteration with this `total`, in which it notes the columns that stop."""
        columns = self._bound.columns
        if not columns or total is None:
            return has_converged(self._bound.program, total, self._vertices)
        self._stopped |= int(total[STOPPED][0])  # of a state that a device has left
        for c, column in enumerate(columns):
            if not self._stopped >> c & 1 and self._stops(c, column, total):
                self._stopped |= 1 << c
        total[STOPPED] = self._stopped
        return self._stopped == (1 << len(columns)) - 1

    def _stops(self, c: int, column: BoundProgram, total: npt.NDArray[Any]) -> bool:
        """Whether a column has converged, or no vertex has become active in it."""
        own = None if column.total is None else column_of(total, column.total, c)
        return not total[active_name(c)][0] or has_converged(column.program, own, self._vertices)


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


def readable(total: npt.NDArray[Any]) -> object:
    """A copy of the total for `converged`, which may keep it: a number, or an object with the named fields."""
    names = total.dtype.names
    return SimpleNamespace(**{name: total[name][0] for name in names}) if names else total[0].item()
