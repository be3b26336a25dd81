"""Plots of an experiment: medians of the repeats, with error bars from the minimum to the maximum."""

from __future__ import annotations

import logging
import math
import statistics
from functools import partial
from pathlib import Path
from typing import Any

from ..system.files import write_whole
from .kinds import Row
from .spec import LINE, Plot, Spec

log = logging.getLogger("garaph_py")

Series = dict[str, dict[Any, list[float]]]


def draw(spec: Spec, rows: dict[str, list[Row]], folder: Path) -> list[Path]:
    """Draw the plots of a spec, and return their files. Without matplotlib it draws none, and logs a warning."""
    if not spec.plots:
        return []
    try:
        from matplotlib.figure import Figure
    except ImportError:
        log.warning("no plots: matplotlib is missing; pip install 'garaph_py[plots]', then --resume draws them")
        return []
    made = []
    for plot in spec.plots:
        panels = panels_of(plot, rows[plot.table])
        if not panels:
            log.warning("plot %s: nothing to draw, no measurement has %s and %s", plot.name, plot.x, plot.y)
            continue
        across = math.ceil(math.sqrt(len(panels)))
        down = -(-len(panels) // across)
        figure = Figure(figsize=(5.5 * across, 4 * down), layout="constrained")
        grid = list(figure.subplots(down, across, squeeze=False).flat)
        for axes, (title, series) in zip(grid, panels.items(), strict=False):
            (lines if plot.kind == LINE else bars)(axes, series)
            axes.set(xlabel=shown(plot.x), ylabel=shown(plot.y), title=title or plot.name)
            if "x" in plot.log:
                axes.set_xscale("log")
            if "y" in plot.log:
                axes.set_yscale("log")
            if plot.by:
                axes.legend(title=", ".join(map(shown, plot.by)))
        for axes in grid[len(panels) :]:
            axes.remove()
        made.append(folder / f"{plot.name}.png")
        write_whole(made[-1], partial(figure.savefig, format="png", dpi=120))
    return made


def panels_of(plot: Plot, rows: list[Row]) -> dict[str, Series]:
    """The measured ``y`` values by panel, by value of ``by`` and by value of ``x``, in the order of the spec."""
    panels: dict[str, Series] = {}
    for row in sorted(rows, key=lambda row: row["combination"]):
        x, y = row[plot.x], row[plot.y]
        if x is not None and y is not None:
            title, label = (", ".join(str(row[name]) for name in names) for names in (plot.panels, plot.by))
            panels.setdefault(title, {}).setdefault(label, {}).setdefault(x, []).append(y)
    return panels


def spread(values: list[list[float]]) -> tuple[list[float], list[list[float]]]:
    """The median of each list of values, and its distances to the minimum and to the maximum."""
    middle = [statistics.median(those) for those in values]
    below = [median - min(those) for median, those in zip(middle, values, strict=True)]
    above = [max(those) - median for median, those in zip(middle, values, strict=True)]
    return middle, [below, above]


def lines(axes: Any, series: Series) -> None:
    """Draw a line for each series."""
    for label, points in series.items():
        numeric = not any(isinstance(x, (str, bool)) for x in points)
        xs = sorted(points) if numeric else list(points)
        middle, errors = spread([points[x] for x in xs])
        axes.errorbar(xs if numeric else [str(x) for x in xs], middle, errors, label=label, marker="o", capsize=2)


def bars(axes: Any, series: Series) -> None:
    """Draw a row of bars for each series."""
    xs = list(dict.fromkeys(x for points in series.values() for x in points))
    width = 0.8 / len(series)
    for number, (label, points) in enumerate(series.items()):
        middle, errors = spread(list(points.values()))
        left = (number - (len(series) - 1) / 2) * width
        axes.bar([xs.index(x) + left for x in points], middle, width, yerr=errors, label=label, capsize=2)
    axes.set_xticks(range(len(xs)), [str(x) for x in xs], rotation=20, ha="right")


def shown(column: str) -> str:
    """A column's name as a label."""
    return column.replace("_", " ")
