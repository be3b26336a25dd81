"""The parameters of a program that have a number for each vertex, as one array for kernels."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import GaraphError, ParameterError
from ..graph import Graph
from ..graph.adjacency import type_name
from .elsewhere import Elsewhere, HasNumbers
from .fields import NUMBERS
from .vertex_program import VertexProgram

Array = npt.NDArray[Any]
DType = np.dtype[Any]
Made = dict[tuple[Any, ...], tuple[list[Any], Array]]
"""What `vertex_data` has made: for names, type and identities of parameters, these parameters and their array."""


def vertex_data(
    program: VertexProgram, names: tuple[str, ...], graph: Graph, dtype: DType, made: Made | None = None,
    later: Collection[str] = (),
) -> Array | None:  # fmt: skip
    """The `PerVertex` parameters `names` as one array of structures of this `dtype`; None if there are none.

    A single parameter that is an array of the right type already is not copied. What is in `made` for the same
    parameters is returned, and what is not there yet is added. The fields of the parameters `later` hold anything.
    """
    if not names:
        return None
    given = [getattr(program, name) for name in names]
    key = (names, dtype, *map(id, given))
    if made is not None and key in made:
        return made[key][1]
    data = as_structures(program, names, graph, dtype, later)
    if made is not None:
        made[key] = given, data  # while `given` lives, no other object has its id
    return data


def as_structures(
    program: VertexProgram, names: tuple[str, ...], graph: Graph, dtype: DType, later: Collection[str]
) -> Array:
    """The `PerVertex` parameters `names` as numbers of type `dtype`, but for those of `later`."""
    kind = np.dtype([(name, dtype) for name in names])
    defaults = {field.name: field.default for field in dataclasses.fields(program)}  # type: ignore[arg-type]
    columns = {name: vertex_numbers(program, name, defaults[name], graph, dtype) for name in names if name not in later}
    if len(names) == len(columns) == 1:
        (first,) = columns.values()
        if first.dtype == dtype and first.shape and first.flags.c_contiguous:
            return first.view(kind)
    data = np.empty(graph.n, kind)
    for name, column in columns.items():
        with np.errstate(over="ignore"):
            data[name] = column
        narrows = column.dtype.kind == "f" and column.dtype.itemsize > dtype.itemsize
        if narrows and (np.isinf(data[name]) & np.isfinite(column)).any():
            raise ParameterError(
                f"{type(program).__name__}({name}=...): a number does not fit {dtype}, the type that the program "
                "computes in"
            )
    return data


def vertex_numbers(program: VertexProgram, name: str, elsewhere: Any, graph: Graph, dtype: DType) -> Array:
    """The `PerVertex` parameter `name` as numbers that `dtype` can stand for: of shape (n,), or () for all vertices.

    Vertices that a mapping leaves out get the number `elsewhere`.
    """
    where = f"{type(program).__name__}({name}=...)"
    try:
        column = vertex_column(getattr(program, name), elsewhere, graph, name)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, GaraphError):
            raise
        raise ParameterError(f"{where}: {error}; give a mapping, an array or a number") from None
    if column.shape not in ((), (graph.n,)):
        raise ParameterError(f"{where} has shape {column.shape}, but the graph has {graph.n} vertices")
    if column.dtype.kind not in "biuf" or (column.dtype.kind == "f" and dtype.kind == "i"):
        advice = "; give one number for each vertex, such as a field of a result: result.column('level')"
        raise ParameterError(
            f"{where} has type {type_name(column.dtype)}, but the program computes in {dtype}"
            + advice * (column.dtype.kind == "O")
        )
    return column


def vertex_column(given: Any, elsewhere: Any, graph: Graph, name: str) -> Array:
    """The `PerVertex` parameter `name` as an array: one number for each vertex, or one for all (shape ()).

    Vertices that the mapping `given` leaves out get the number `elsewhere`; if that is none, it must name all vertices.
    A pandas Series is a mapping too.
    """
    if isinstance(given, HasNumbers) and (numbers := given.numbers_of(graph.ids)) is not None:
        return numbers.fetch() if isinstance(numbers, Elsewhere) else numbers
    if not hasattr(given, "keys"):
        return np.asarray(given)
    given = dict(given)
    defaults = [elsewhere] if isinstance(elsewhere, NUMBERS) else []
    if not defaults and len(given) < graph.n:
        raise ParameterError(
            f"{name}={{...}} names {len(given):,} of {graph.n:,} vertices; declare a default for the others, "
            f"`{name}: gp.PerVertex = 0.0`, or give an array of {graph.n:,} numbers"
        )
    column = np.full(graph.n, defaults[0] if defaults else 0, np.asarray([*defaults, *given.values()]).dtype)
    for vertex, number in given.items():
        column[graph.ids.index(vertex)] = number
    return column
