"""Numbers that callers give to algorithms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GaraphError, ParameterError
from ..graph import Graph
from ..program.vertex_data import vertex_column
from ..system.arguments import is_count


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


def iterations_of(max_iter: Any, function: str, least: int = 0) -> int:
    """The number of iterations that the caller of `function` gave.

    Raises
    ------
    ParameterError
        If it is not a whole number from `least` on.
    """
    if not is_count(max_iter) or max_iter < least:
        raise ParameterError(f"{function}(max_iter={max_iter!r}): give a number of iterations, {least} or more")
    return int(max_iter)


def vertex_values(given: Any, graph: Graph, function: str, name: str) -> npt.NDArray[np.float64]:
    """A finite number for each vertex, which the caller of `function` gave as the argument `name`: shape (n,).

    Vertices that a mapping leaves out get 0.

    Raises
    ------
    ParameterError
        If they are something else, or not one for each vertex.
    UnknownVertexError
        If a mapping names a vertex that the graph lacks.
    """
    try:
        column = vertex_column(given, 0.0, graph, name)
        if np.iscomplexobj(column):
            raise TypeError("there are complex numbers")
        values = np.array(column, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, GaraphError):
            raise
        raise ParameterError(f"{function}({name}=...): {error}; give a mapping or an array of numbers") from None
    if values.shape != (graph.n,):
        raise ParameterError(f"{function}({name}=...) has shape {values.shape}, but the graph has {graph.n} vertices")
    if not np.isfinite(values).all():
        raise ParameterError(f"{function}({name}=...): give finite numbers")
    return values


def first_weights(nstart: Any, graph: Graph, function: str) -> npt.NDArray[np.float64]:
    """The `nstart` that the caller of `function` gave: `vertex_values` that are all 0 or more, and not all 0."""
    values = vertex_values(nstart, graph, function, "nstart")
    if graph.n and not (values.min() >= 0 and values.any()):
        raise ParameterError(f"{function}(nstart=...): give numbers of 0 or more, at least one above 0")
    return values


def cutoff_of(cutoff: Any, function: str) -> float | None:
    """The distance up to which a search goes, which the caller of `function` gave; None if it has no bound.

    Raises
    ------
    ParameterError
        If it is neither None nor a number of 0 or more.
    """
    if cutoff is None:
        return None
    number = checked(cutoff, lambda number: number >= 0, f"{function}(cutoff=", "a number of 0 or more")
    if number == np.inf:
        return None
    return int(cutoff) if isinstance(cutoff, (int, np.integer)) else number  # a float would round a large one
