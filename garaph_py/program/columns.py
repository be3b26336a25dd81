"""Runs several programs of one class as one: a vertex's value becomes a row, with a column for each program.

One pass over the edges then serves all of them, and one access to memory finds the values of a source in all columns.
The programs' own functions are applied column by column (`program.column_functions`), so a column has the answer that
its program has alone in a synchronous run. A column stops by itself, when its program has converged or none of its
vertices is active: from then on its values stay as they are. What says so is a part of the total, `STOPPED`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .bind import BoundProgram
from .dtypes import scalars

Array = npt.NDArray[Any]
DType = np.dtype[Any]

MOST_COLUMNS = 16
"""The most columns of a row: 16 floats of 32 bits fill a cache line of 64 bytes."""
STOPPED = "stopped"
"""The field of the total that has bit c set once column c has stopped."""
SHARED = "shared"
"""The first part of the name of a parameter that has the same value in all columns."""


def may_join(bound: BoundProgram) -> bool:
    """Whether such programs can run as columns: not if they read `parent`, or define `prepare`."""
    return not ("prepare" in bound.arguments or bound.finds_parents)


def joined(columns: Sequence[BoundProgram]) -> BoundProgram:
    """One program that runs these, each as a column. They are compiled to the same code: they have one `key`."""
    first = columns[0]
    arguments = {name: asked for name, asked in first.arguments.items() if name not in ("done", "priority", "delta")}
    total = None
    if first.total is not None or "activate" in first.arguments:
        total, arguments["aggregate"] = total_row(first.total, len(columns)), arguments.get("aggregate", ())
    data = [column.vertex_data for column in columns if column.vertex_data is not None]
    return replace(
        first,
        value=row(first.value, len(columns)),
        accumulator=row(first.accumulator, len(columns)),
        total=total,
        reports=row(first.reports, len(columns)),
        parameters=records([column.parameters for column in columns]),
        vertex_data=records(data) if data else None,
        known=replace(first.known, arguments=arguments),
        columns=tuple(columns),
    )


def pushing_rows(bound: BoundProgram) -> BoundProgram:
    """`bound`, whose columns are relaxations, for a run on a processor that works alone and may push rows."""
    return bound.changed(pushes_rows=True)


def column_names(dtype: DType, column: int) -> list[str]:
    """The names in a row of the fields of one column, whose type is `dtype`."""
    return [f"c{column}_{name}" for name in dtype.names] if dtype.names else [f"c{column}"]


def active_name(column: int) -> str:
    """The name in the total of the number of a column's active vertices."""
    return f"active{column}"


def row(dtype: DType, count: int) -> DType:
    """The type of a row of `count` columns of type `dtype`."""
    kinds = scalars(dtype)
    fields = [pair for c in range(count) for pair in zip(column_names(dtype, c), kinds, strict=True)]
    return np.dtype(fields, align=True)


def total_row(dtype: DType | None, count: int) -> DType:
    """The type of the total of `count` columns, whose own totals are of type `dtype`, if they have any."""
    whole = np.dtype(np.int64)
    own = row(dtype, count) if dtype is not None else None
    fields = [] if own is None else [(name, own[name]) for name in own.names or ()]
    return np.dtype([*fields, *((active_name(c), whole) for c in range(count)), (STOPPED, whole)], align=True)


def has_even_rows(bound: BoundProgram) -> bool:
    """Whether each row of values, sums, totals or reports is an array of columns, laid out as those of single runs.

    It is, unless a column has fields of several sizes and does not fill a multiple of the largest.
    """
    if not bound.columns:
        return False
    first, count = bound.columns[0], len(bound.columns)
    pairs = [(bound.value, first.value), (bound.accumulator, first.accumulator), (bound.reports, first.reports)]
    if first.total is not None and bound.total is not None:
        pairs.append((bound.total, first.total))
    return all(is_array(row, column, count) for row, column in pairs)


def is_array(row: DType, column: DType, count: int) -> bool:
    """Whether a row begins with an array of `count` structures of type `column`."""
    offsets = [column.fields[name][1] for name in column.names] if column.names and column.fields else [0]
    return all(
        row.fields is not None and row.fields[name][1] == c * column.itemsize + offset
        for c in range(count)
        for name, offset in zip(column_names(column, c), offsets, strict=True)
    )


def records(columns: Sequence[Array]) -> Array:
    """Arrays of the columns' structures as one; a field that is the same in all columns is there once."""
    first = columns[0]
    fields: list[tuple[str, Array]] = []
    for name in first.dtype.names or ():
        if all(is_same(column[name], first[name]) for column in columns[1:]):
            fields.append((f"{SHARED}_{name}", first[name]))
        else:
            fields += [(f"c{c}_{name}", column[name]) for c, column in enumerate(columns)]
    if len(fields) == 1 and fields[0][1].flags.c_contiguous:
        name, part = fields[0]
        return part.view(np.dtype([(name, part.dtype)], align=True))
    made = np.zeros(len(first), np.dtype([(name, part.dtype) for name, part in fields], align=True))
    for name, part in fields:
        made[name] = part
    return made


def is_same(column: Array, first: Array) -> bool:
    """Whether two arrays of one type and shape have the same numbers; those that share their memory need no look."""
    return column.__array_interface__ == first.__array_interface__ or np.array_equal(column, first)


def column_of(rows: Array, dtype: DType, column: int) -> Array:
    """One column of `rows`, as an array of type `dtype`."""
    names = column_names(dtype, column)
    if not dtype.names:
        return np.ascontiguousarray(rows[names[0]])
    made = np.empty(rows.shape, dtype)
    for name, part in zip(dtype.names, names, strict=True):
        made[name] = rows[part]
    return made
