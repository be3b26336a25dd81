"""`Figure`: what a spec says of a plot or of a table, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from . import toml
from .kinds import Row

KEYS = ("name", "table", "kind", "x", "y", "by", "panels", "log", "caption", "marks", "correlate", "reference")
REFERENCE_KEYS = ("panel", "columns", "rows")
KINDS = LINE, BAR, STACK, TABLE = "line", "bar", "stack", "table"
REFUSED = {
    LINE: ("reference",),
    BAR: ("reference",),
    STACK: ("log", "marks", "correlate", "reference", "by"),
    TABLE: ("log", "marks", "correlate"),
}
"""Keys that do not go with a kind."""
UNFINISHED = "-"
"""In a reference: a measurement that its source does not have."""


@dataclass(frozen=True)
class Reference:
    """Figures that others have published, beside the measured ones in a table.

    Attributes
    ----------
    panel : str
        The panel that they belong to.
    columns : tuple of str
        The columns of the table.
    rows : dict
        The values in these columns by row, None where there is none.
    """

    panel: str
    columns: tuple[str, ...]
    rows: dict[str, list[float | None]]


@dataclass(frozen=True)
class Figure:
    """A plot or a table: medians of the column `y` over column `x`.

    It has a panel for each value of the columns `panels`. Each panel has a line, a row of bars or a column for each
    value of the columns `by`. A table has a row for each value of `x`, and may have several `y`, a column for each. A
    stack shows the share of each `y` in their sum.

    Attributes
    ----------
    marks : str or None
        The column whose changes along a line are marked.
    correlate : str or None
        The column whose correlation with `y` the caption says.
    """

    name: str
    table: str
    kind: str
    x: str
    y: tuple[str, ...]
    by: tuple[str, ...]
    panels: tuple[str, ...]
    log: str = ""
    caption: str = ""
    marks: str | None = None
    correlate: str | None = None
    reference: tuple[Reference, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that tell points apart."""
        return (self.x, *self.by, *self.panels)


def figure(given: Any, where: str, number: int, tables: Mapping[str, Mapping[str, type]]) -> Figure:
    """The plot or table that a table of the spec describes; `tables` has the types of the columns of each table.

    Raises
    ------
    ParameterError
        If a key or a value is not allowed; the message begins with `where`.
    """
    if not isinstance(given, dict):
        raise ParameterError(f"{where}: write [[plots]] and below it x and y")
    toml.known(given, KEYS, f"{where}: ")
    table = toml.chosen(f"{where}: table", given.get("table", next(iter(tables))), tuple(tables))
    kind = toml.chosen(f"{where}: kind", given.get("kind", LINE), KINDS)
    for key in REFUSED[kind]:
        if key in given:
            raise ParameterError(f"{where}: {key} does not go with kind={kind!r}; leave it out")
    if "marks" in given and kind != LINE:
        raise ParameterError(f"{where}: marks are along lines; leave them out, or take kind={LINE!r}")
    columns = tuple(tables[table])
    x = toml.chosen(f"{where}: x", given.get("x"), columns)
    y, by, panels = (
        tuple(toml.chosen(f"{where}: {key}", column, columns) for column in toml.listed(given.get(key, otherwise)))
        for key, otherwise in (("y", None), ("by", []), ("panels", []))
    )
    if len(y) != 1 and (kind not in (STACK, TABLE) or by or not y):
        raise ParameterError(
            f"{where}: y={list(y)}: give one column; only a stack, and a table without `by`, may have several"
        )
    for column in y:
        if tables[table][column] is str:
            raise ParameterError(f"{where}: y={column!r} holds words; choose a column of numbers")
    marks, correlate = (
        toml.chosen(f"{where}: {key}", given[key], columns) if key in given else None for key in ("marks", "correlate")
    )
    if correlate and tables[table][correlate] is str:
        raise ParameterError(f"{where}: correlate={correlate!r} holds words; choose a column of numbers")
    log = toml.chosen(f"{where}: log", given.get("log", ""), ("", "x", "y", "xy"))
    return Figure(
        file_name(given.get("name", f"plot{number}"), where), table, kind, x, y, by, panels, log,
        toml.string(given, "caption", f"{where}: ") if "caption" in given else "", marks, correlate,
        tuple(reference(one, f"{where}: reference: ") for one in toml.tables(given, "reference")),
    )  # fmt: skip


def file_name(name: Any, where: str) -> str:
    """The name of a figure's files, without the suffix."""
    if not isinstance(name, str) or not name or Path(name).name != name:
        raise ParameterError(f"{where}: name={name!r}: give the name of a file, without folder and suffix")
    return name


def reference(given: Row, where: str) -> Reference:
    """The published figures that a table of the spec gives."""
    toml.known(given, REFERENCE_KEYS, where)
    columns, rows = given.get("columns"), toml.table(given, "rows")
    if not isinstance(columns, list) or not columns or not all(isinstance(one, str) for one in columns):
        raise ParameterError(f"{where}columns={columns!r}: give the names of columns of the table")
    for name, values in rows.items():
        fits = isinstance(values, list) and len(values) == len(columns)
        if not fits or not all(toml.is_number(value) or value == UNFINISHED for value in values):
            raise ParameterError(
                f'{where}{name}={values!r}: give {len(columns)} numbers, one for each column, or "{UNFINISHED}"'
            )
    panel = toml.string(given, "panel", where) if "panel" in given else ""
    values_of = {name: [None if one == UNFINISHED else float(one) for one in values] for name, values in rows.items()}
    return Reference(panel, tuple(columns), values_of)
