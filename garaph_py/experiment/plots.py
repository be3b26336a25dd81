"""Plots of an experiment: medians of the repeats, with error bars from the minimum to the maximum.

Below each it says what else the medians are over, and what could not be measured.
"""

from __future__ import annotations

import logging
import math
import statistics
import textwrap
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from ..system.files import write_whole
from .kinds import Row
from .spec import LINE, MACHINE, RESULTS, Plot, Spec
from .summary import failures, shown_value

log = logging.getLogger("garaph_py")

Series = dict[str, dict[Any, list[float]]]
"""The values by label and by x; none where the measurements failed."""
ABSENT = "not measured"
LINE_INCHES, LABEL = 0.16, 30
"""Height of a line below a plot, and characters in a line of a legend."""


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
        if not panels and rows[RESULTS] and all(row["error"] is not None for row in rows[RESULTS]):
            panels = {"": {}}  # the plot is empty, and its caption says why
        if not panels:
            log.warning("plot %s: nothing to draw, no measurement has %s and %s", plot.name, plot.x, plot.y)
            continue
        across = math.ceil(math.sqrt(len(panels)))
        down = -(-len(panels) // across)
        below = "\n".join(textwrap.fill(line, 75 * across) for line in caption(plot, spec, rows))
        height = 4 * down + LINE_INCHES * (below.count("\n") + 1)
        figure = Figure(figsize=(5.5 * across, height), layout="constrained")
        grid = list(figure.subplots(down, across, squeeze=False).flat)
        for axes, (title, series) in zip(grid, panels.items(), strict=False):
            (lines if plot.kind == LINE else bars)(axes, series)
            axes.set(xlabel=shown(plot.x), ylabel=shown(plot.y), title=title or plot.name)
            if any(values for points in series.values() for values in points.values()):
                axes.set(**{f"{axis}scale": "log" for axis in plot.log})  # which needs values
            if plot.by:
                handles, labels = axes.get_legend_handles_labels()
                wrapped = [textwrap.fill(label, LABEL) for label in labels]
                axes.legend(handles, wrapped, fontsize=8, title=", ".join(map(shown, plot.by)))
        for axes in grid[len(panels) :]:
            axes.remove()
        figure.supxlabel(below, x=0.02, ha="left", fontsize=8)
        made.append(folder / f"{plot.name}.png")
        write_whole(made[-1], partial(figure.savefig, format="png", dpi=120))
    return made


def panels_of(plot: Plot, rows: list[Row]) -> dict[str, Series]:
    """The measured ``y`` values by panel, by value of ``by`` and by value of ``x``, in the order of the spec."""
    panels: dict[str, Series] = {}
    for row in sorted(rows, key=lambda row: row["combination"]):
        x, y, has_failed = row[plot.x], row[plot.y], row.get("error") is not None
        if x is not None and (y is not None or has_failed):
            title, label = (", ".join(str(row[name]) for name in names) for names in (plot.panels, plot.by))
            values = panels.setdefault(title, {}).setdefault(label, {}).setdefault(x, [])
            values += [] if has_failed else [y]
    return panels


def caption(plot: Plot, spec: Spec, rows: dict[str, list[Row]]) -> list[str]:
    """What the medians are over, and what was not measured and why."""
    over = pooled(plot, spec, rows[plot.table])
    if settings := [what for what in over if what != "sources"]:
        advice = f"name {' and '.join(settings)} in x, by or panels to tell them apart"
        log.warning("plot %s: its medians are over %s; %s", plot.name, " and ".join(over.values()), advice)
    every = " and ".join([f"{spec.repeats} repeats", *over.values()])
    lines = [f"Medians over {every}; whiskers from the least to the most."]
    return lines + [f"{ABSENT.capitalize()}: {failure}" for failure in failures(spec, rows[RESULTS])]


def pooled(plot: Plot, spec: Spec, rows: Iterable[Row]) -> dict[str, str]:
    """What differs within a point besides the repeats, by name, and in words: settings, and random sources."""
    named = {plot.x, *plot.by, *plot.panels}
    settings = [name for name in (MACHINE, *spec.settings) if name not in named]
    points: dict[tuple[Any, ...], dict[tuple[Any, ...], set[int]]] = {}
    for row in sorted(rows, key=lambda row: row["combination"]):
        if row[plot.x] is not None and row[plot.y] is not None:
            point = points.setdefault(tuple(row[name] for name in (plot.x, *plot.by, *plot.panels)), {})
            point.setdefault(tuple(row[name] for name in settings), set()).add(row["combination"])
    found = {}
    for place, name in enumerate(settings):
        values = [list(dict.fromkeys(chosen[place] for chosen in point)) for point in points.values()]
        if any(len(those) > 1 for those in values):
            every = dict.fromkeys(value for those in values for value in those)
            found[name] = f"{shown(name)} ({', '.join(map(shown_value, every))})"
    picked = {combination.number for combination in spec.combinations if combination.picks}
    sources = max((len(numbers & picked) for point in points.values() for numbers in point.values()), default=0)
    return found | ({"sources": f"{sources} sources"} if sources > 1 else {})


def spread(values: list[list[float]]) -> tuple[list[float], list[list[float]]]:
    """The median of each list of values, and its distances to the minimum and to the maximum."""
    middle = [statistics.median(those) for those in values]
    below = [median - min(those) for median, those in zip(middle, values, strict=True)]
    above = [max(those) - median for median, those in zip(middle, values, strict=True)]
    return middle, [below, above]


def lines(axes: Any, series: Series) -> None:
    """Draw a line for each series."""
    for label, points in series.items():
        known = {x: values for x, values in points.items() if values}
        numeric = not any(isinstance(x, (str, bool)) for x in known)
        xs = sorted(known) if numeric else list(known)
        middle, errors = spread([known[x] for x in xs])
        label = label if known else f"{label} ({ABSENT})"
        axes.errorbar(xs if numeric else [str(x) for x in xs], middle, errors, label=label, marker="o", capsize=2)


def bars(axes: Any, series: Series) -> None:
    """Draw a row of bars for each series, and words where one is missing."""
    xs = list(dict.fromkeys(x for points in series.values() for x in points))
    width = 0.8 / max(len(series), 1)
    for number, (label, points) in enumerate(series.items()):
        known = {x: values for x, values in points.items() if values}
        middle, errors = spread(list(known.values()))
        left = (number - (len(series) - 1) / 2) * width
        places, color = [xs.index(x) + left for x in known], f"C{number}"
        axes.bar(places, middle, width, yerr=errors, label=label, capsize=2, color=color)
        for x in points.keys() - known.keys():
            place = {"rotation": 90, "ha": "center", "va": "bottom", "transform": axes.get_xaxis_transform()}
            axes.text(xs.index(x) + left, 0.02, ABSENT, fontsize=8, **place)
    axes.set_xlim(-0.5, max(len(xs), 1) - 0.5)
    axes.set_xticks(range(len(xs)), [str(x) for x in xs], rotation=20, ha="right")


def shown(column: str) -> str:
    """A column's name as a label."""
    return column.replace("_", " ")
