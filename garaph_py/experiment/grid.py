"""`Grid`: a table of medians beside published figures, in Markdown and as a picture."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .figure import Figure
from .labels import number, published, shown
from .points import ABSENT, Series

UNKNOWN = "-"
"""In a cell: the source has no such figure."""
INCHES_A_LETTER, ROW_INCHES = 0.085, 0.24
"""Width of a letter and height of a row, in the font of `put`."""
FONT = 8
"""Size of that font in points."""


@dataclass(frozen=True)
class Grid:
    """One panel of a table: its title, the heads of its columns, and its rows, which begin with a name."""

    title: str
    heads: list[str]
    rows: list[list[str]]

    @property
    def widths(self) -> list[int]:
        """The letters of the widest cell of each column."""
        return [max(map(len, column)) + 2 for column in zip(self.heads, *self.rows, strict=True)]

    @property
    def inches(self) -> tuple[float, float]:
        """Width and height of the picture."""
        return sum(self.widths) * INCHES_A_LETTER, (len(self.rows) + 1) * ROW_INCHES + (2 * ROW_INCHES)


def grids_of(figure: Figure, panels: dict[str, Series]) -> list[Grid]:
    """The panels of a table. Published figures follow the measured ones, in the columns that have their names."""
    panels = panels | {one.panel: {} for one in figure.reference if one.panel and one.panel not in panels}
    return [grid_of(figure, title, series) for title, series in panels.items()]


def grid_of(figure: Figure, title: str, series: Series) -> Grid:
    """One panel of a table."""
    references = [one for one in figure.reference if one.panel in ("", title)]
    labels = {label: label or shown(figure.y[0]) for label in series}
    columns = list(dict.fromkeys([*labels.values(), *(name for one in references for name in one.columns)]))
    rows: dict[str, dict[str, str]] = {}
    for label, points in series.items():
        for x, point in points.items():
            cell = cell_of(point.estimate) if point.values else ABSENT
            rows.setdefault(str(x), {})[labels[label]] = cell
    for one in references:
        for name, values in one.rows.items():
            cells = [UNKNOWN if value is None else published(value) for value in values]
            rows.setdefault(name, {}).update(zip(one.columns, cells, strict=True))
    return Grid(
        title, [figure.x.replace("_", " "), *columns],
        [[name, *(cells.get(column, "") for column in columns)] for name, cells in rows.items()],
    )  # fmt: skip


def cell_of(estimate: Any) -> str:
    """A median with its interval."""
    middle = number(estimate.median)
    if estimate.low == estimate.high:
        return middle
    return f"{middle} [{number(estimate.low)}, {number(estimate.high)}]"


def markdown(grids: Iterable[Grid], caption: list[str]) -> str:
    """A table in Markdown."""
    parts = []
    for grid in grids:
        title = f"**{grid.title}**\n\n" if grid.title else ""
        lines = [grid.heads, ["---", *["---:"] * (len(grid.heads) - 1)], *grid.rows]
        parts.append(title + "\n".join(f"| {' | '.join(line)} |" for line in lines))
    return "\n\n".join([*parts, *caption]) + "\n"


def put(axes: Any, grid: Grid) -> None:
    """Draw a panel of a table on axes."""
    axes.axis("off")
    axes.set_title(grid.title, loc="left", fontsize=FONT + 2, fontweight="bold")
    if not grid.rows:
        return
    total = math.fsum(grid.widths)
    table = axes.table(
        [grid.heads, *grid.rows], loc="upper left", edges="horizontal", colWidths=[one / total for one in grid.widths],
        bbox=(0, 0, 1, 1),
    )  # fmt: skip
    table.auto_set_font_size(False)
    table.set_fontsize(FONT)
    for (row, column), cell in table.get_celld().items():
        cell.set_text_props(ha="left" if column == 0 else "right", fontweight="bold" if row == 0 else "normal")
        cell.set_linewidth(0.8 if row == 0 else 0.3)
        cell.PAD = 0.02
