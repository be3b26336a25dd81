"""Decides when a run ends although vertices are active: its program, or each of its columns, has converged."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from ..program import BoundProgram
from ..program.columns import STOPPED, active_name, column_of
from ..program.converged import has_converged


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
