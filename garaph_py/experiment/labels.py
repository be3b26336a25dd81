"""How figures call columns and values: with units, and graphs without the folders of their files."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from .graphs import GENERATORS
from .kinds import Row

NAMES = {
    "f": "f, the share of edges that leave active vertices",
    "active": "active vertices",
    "edges": "edges visited",
    "graph_edges": "edges of the graph",
    "to_device": "bytes to the device",
    "transfer_over_edges": "bytes to the device over the bytes of the edges",
    "from_device": "bytes from the device",
    "from_disk": "bytes from the disk",
    "average_degree": "average degree, edges per vertex",
    "largest_in_degree": "largest in-degree, edges",
    "largest_out_degree": "largest out-degree, edges",
    "mean_factor": "mean replication factor",
}
"""Columns whose name does not say the unit, as `seconds` and `stored_bytes` do."""


def shown(column: str) -> str:
    """A column's name as the label of an axis."""
    return NAMES.get(column, column.replace("_", " "))


def short(graph: str) -> str:
    """The name of a graph without the folders and the suffixes of its file."""
    kind, *flags = graph.split(":")
    return graph if kind in GENERATORS else ":".join([PurePath(kind).name.split(".")[0], *flags])


def value_of(row: Row, column: str) -> Any:
    """The value of a column as figures have it."""
    value = row[column]
    return short(value) if column == "graph" else value


def label_of(row: Row, columns: tuple[str, ...]) -> str:
    """The values of some columns, as a label."""
    return ", ".join(word_of(row, column) for column in columns)


def word_of(row: Row, column: str) -> str:
    """The value of a column in a label; with the column's name if the value alone says nothing."""
    value, name = value_of(row, column), column.replace("_", " ")
    if value is None:
        return f"default {name}"
    return f"{name} {'yes' if value else 'no'}" if isinstance(value, bool) else str(value)


def number(value: float) -> str:
    """A measured number in a table: whole from 100 on, so that counts are in full; others with three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 or (value == int(value) and abs(value) >= 10) else f"{value:.3g}"


def published(value: float) -> str:
    """A number in a table that others have published: with all the digits that they give."""
    return f"{value:,.15g}"
