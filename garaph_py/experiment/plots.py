"""Draws the figures of an experiment, as PNG and as SVG, and tables also as Markdown.

Below each it says what the medians are over, how sure they are, and what could not be measured.
"""

from __future__ import annotations

import logging
import math
import textwrap
from functools import partial
from pathlib import Path
from typing import IO, Any

from ..system.files import write_whole
from .figure import BAR, LINE, STACK, TABLE, Figure
from .grid import grids_of, markdown, put
from .kinds import Row
from .labels import shown
from .points import ABSENT, Point, Series, caption, known, panels_of
from .spec import RESULTS, Spec

log = logging.getLogger("garaph_py")

COLORS = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#000000", "#E69F00"
"""Those of Okabe and Ito (2008), which colour-blind people can tell apart; without yellow, which is faint on white."""
MARKERS, HATCHES = "osD^vPX*", ("", "//", "..", "xx", "\\\\", "oo", "--", "++")
"""What tells lines, and rows of bars, apart in black and white. There is one more than colours, so that both together
repeat after 56."""
SUFFIXES = "png", "svg"
DPI = 120
"""Dots per inch of a PNG: 660 across a panel."""
PANEL_INCHES = 5.5, 4.0
"""Width and height of a panel."""
LINE_INCHES, LABEL = 0.16, 30
"""Height of a line below a plot, and characters in a line of a legend."""
BESIDE_INCHES = 2.4, 0.18
"""Width of a legend beside its plot, and height of a line in it."""
STEPS, PARTS = (1, 2, 5), 4
"""Where a logarithmic axis that shows less than two powers of ten is numbered: at these multiples of them or, if it
shows less than two of these, in so many parts at most. Its labels are so wide that more would collide."""
SLANTED: dict[str, Any] = {"rotation": 20, "ha": "right"}
"""How words stand below an axis, in degrees and with their ends below the ticks: side by side, they would collide."""
SHARE = "share"
"""The axis of a stack."""
LETTERS = 75
"""Characters of a caption across a panel."""


def draw(spec: Spec, rows: dict[str, list[Row]], folder: Path) -> list[Path]:
    """Draw the figures of a spec, and return their files. Without matplotlib it writes tables, and logs a warning."""
    made: list[Path] = []
    is_missing = False
    for figure in spec.plots:
        panels = panels_of(figure, rows[figure.table])
        if not panels and rows[RESULTS] and all(row["error"] is not None for row in rows[RESULTS]):
            panels = {"": {}}  # the plot is empty, and its caption says why
        if not panels:
            what = f"{figure.x} and {' and '.join(figure.y)}"
            log.warning("plot %s: nothing to draw, no measurement has %s", figure.name, what)
            continue
        below = caption(figure, spec, rows)
        if figure.kind == TABLE:
            made.append(folder / f"{figure.name}.md")
            write_whole(made[-1], partial(write_text, markdown(grids_of(figure, panels), below)))
        try:
            made += pictures(figure, panels, below, folder)
        except ImportError:
            is_missing = True
    if is_missing:
        log.warning("no plots: matplotlib is missing; pip install 'garaph_py[plots]', then --resume draws them")
    return made


def write_text(text: str, file: IO[bytes]) -> None:
    file.write(text.encode())


def pictures(figure: Figure, panels: dict[str, Series], below: list[str], folder: Path) -> list[Path]:
    """Draw a figure, write its files, and return them."""
    import matplotlib

    drawn = table_of(figure, panels, below) if figure.kind == TABLE else plot_of(figure, panels, below)
    made = []
    with matplotlib.rc_context({"svg.hashsalt": f"figure {figure.name}"}):  # the same figure is the same file
        for suffix in SUFFIXES:
            made.append(folder / f"{figure.name}.{suffix}")
            more = {"metadata": {"Date": None}} if suffix == "svg" else {"dpi": DPI}
            write_whole(made[-1], partial(drawn.savefig, format=suffix, **more))
    return made


def table_of(figure: Figure, panels: dict[str, Series], below: list[str]) -> Any:
    """The picture of a table."""
    from matplotlib.figure import Figure as Picture

    grids = grids_of(figure, panels)
    width = max(grid.inches[0] for grid in grids)
    text = wrapped(below, int(width / PANEL_INCHES[0] * LETTERS))
    heights = [*(grid.inches[1] for grid in grids), LINE_INCHES * (text.count("\n") + 2)]
    drawn = Picture(figsize=(width, sum(heights)), layout="constrained")
    *every, last = drawn.subplots(len(heights), 1, squeeze=False, gridspec_kw={"height_ratios": heights}).flat
    for axes, grid in zip(every, grids, strict=True):
        put(axes, grid)
    last.axis("off")
    last.text(0, 1, text, fontsize=8, va="top", transform=last.transAxes)
    return drawn


def plot_of(figure: Figure, panels: dict[str, Series], below: list[str]) -> Any:
    """The picture of a plot."""
    from matplotlib.figure import Figure as Picture

    across = math.ceil(math.sqrt(len(panels)))
    down = -(-len(panels) // across)
    drawn = Picture(layout="constrained")
    grid = list(drawn.subplots(down, across, squeeze=False).flat)
    for axes, (title, series) in zip(grid, panels.items(), strict=False):
        {LINE: lines, BAR: bars, STACK: stack}[figure.kind](axes, series)
        axes.set(
            xlabel=shown(figure.x),
            ylabel=SHARE if figure.kind == STACK else shown(figure.y[0]),
            title=title or figure.name,
        )
        if any(known(points) for points in series.values()):
            axes.set(**{f"{axis}scale": "log" for axis in figure.log})  # which needs values
            number_axis(axes, series, figure)
        else:
            axes.set(yticks=[], **{"xticks": []} if figure.kind == LINE else {})
    for axes in grid[len(panels) :]:
        axes.remove()
    width, height = PANEL_INCHES[0] * across, PANEL_INCHES[1]
    if figure.by or figure.kind == STACK:
        beside, tallest = explain(grid[: len(panels)], across, ", ".join(one.replace("_", " ") for one in figure.by))
        width, height = width + beside, max(height, tallest)
    text = wrapped(below, LETTERS * across)
    drawn.set_size_inches(width, height * down + LINE_INCHES * (text.count("\n") + 1))
    drawn.supxlabel(text, x=0.02, ha="left", fontsize=8)
    return drawn


def explain(every: list[Any], across: int, title: str) -> tuple[float, float]:
    """Put legends beside plots, one for all plots if they have the same; return the inches that the legends of a row
    take together, and those that the tallest one needs."""
    named = [axes.get_legend_handles_labels() for axes in every]
    is_one = len({tuple(labels) for _, labels in named}) == 1
    tallest = 0.0
    for axes, (handles, labels) in zip(every, named, strict=True):
        if not labels or (is_one and axes is not every[across - 1]):
            continue
        wrapping = [textwrap.fill(label, LABEL) for label in labels]
        place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        axes.legend(handles, wrapping, fontsize=8, title=title or None, **place)
        tallest = max(tallest, BESIDE_INCHES[1] * (sum(label.count("\n") + 1 for label in wrapping) + 4))
    return (BESIDE_INCHES[0] * (1 if is_one else across) if tallest else 0.0), tallest


def wrapped(below: list[str], letters: int) -> str:
    return "\n".join(textwrap.fill(line, letters) for line in below)


def number_axis(axes: Any, series: Series, figure: Figure) -> None:
    """Number an axis of whole numbers, such as iterations, by whole numbers alone; a logarithmic one at few places."""
    from matplotlib.ticker import FixedLocator, LogFormatterSciNotation, MaxNLocator, NullFormatter

    kinds = {type(x) for points in series.values() for x in points}
    if figure.kind not in (LINE, STACK) or not kinds <= {int, float}:
        return
    if "x" not in figure.log:
        if kinds == {int}:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        return
    low, high = axes.get_xlim()
    powers = [10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)))]
    steps = [step * power for power in powers for step in STEPS if low <= step * power <= high]
    if sum(place in powers for place in steps) < 2:
        axes.xaxis.set_major_locator(FixedLocator(steps) if len(steps) > 1 else MaxNLocator(PARTS))
    axes.xaxis.set_major_formatter(LogFormatterSciNotation(minor_thresholds=(math.inf, math.inf)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def lines(axes: Any, series: Series) -> None:
    """Draw a line for each series; points of different graphs are not joined."""
    for number, (label, points) in enumerate(series.items()):
        measured = known(points)
        numeric = not any(isinstance(x, (str, bool)) for x in measured)
        xs = sorted(measured) if numeric else list(measured)
        places, own = [x if numeric else str(x) for x in xs], [measured[x] for x in xs]
        graphs = {frozenset(point.graphs) for point in own}
        joined = {"linestyle": "-" if len(graphs) < 2 and numeric else ""}
        look = {"marker": MARKERS[number % len(MARKERS)], "color": COLORS[number % len(COLORS)], "markersize": 5}
        label = label if own else f"{label} ({ABSENT})"
        middle, errors = whiskers(own)
        axes.errorbar(places, middle, errors, label=label, capsize=2, **joined, **look)
        mark_changes(axes, places, own, label)
        if not numeric:
            for word in axes.get_xticklabels():
                word.set(**SLANTED)


def mark_changes(axes: Any, places: list[Any], points: list[Point], label: str) -> None:
    """Ring the points of a line from which on the marked column has another value, and write the value there: above
    and below the line by turns, because two changes may be close together."""
    words = [point.marks.most_common(1)[0][0] if point.marks else "" for point in points]
    if set(words) <= {"", label}:
        return  # it is what the line's name says all along
    sides = {places[-1]: "right", places[0]: "left"}  # of a value at an end of the line, so that it stays in the plot
    changes = [row for row in zip(places, points, words, ["", *words], strict=False) if row[2] != row[3]]
    for number, (place, point, word, before) in enumerate(changes):
        at, way = (place, point.estimate.median), -1 if number % 2 else 1
        if before:
            axes.plot(*at, marker="o", markersize=13, markerfacecolor="none", markeredgecolor="black", zorder=3)
        box = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
        how = {"fontsize": 8, "ha": sides.get(place, "center"), "va": "bottom" if way > 0 else "top", "bbox": box}
        axes.annotate(word, at, (0, 11 * way), textcoords="offset points", **how)


def bars(axes: Any, series: Series) -> None:
    """Draw a row of bars for each series, and words where one is missing."""
    xs = list(dict.fromkeys(x for points in series.values() for x in points))
    width = 0.8 / max(len(series), 1)
    for number, (label, points) in enumerate(series.items()):
        measured = known(points)
        middle, errors = whiskers(list(measured.values()))
        left = (number - (len(series) - 1) / 2) * width
        look: dict[str, Any] = {"color": COLORS[number % len(COLORS)], "hatch": HATCHES[number % len(HATCHES)]}
        look |= {"edgecolor": "white", "linewidth": 0, "error_kw": {"elinewidth": 1}, "capsize": 2}
        axes.bar([xs.index(x) + left for x in measured], middle, width, yerr=errors, **look)
        axes.bar(0, math.nan, label=label, **look)  # for the legend, even if nothing was measured
        for x in points.keys() - measured.keys():
            place = {"rotation": 90, "ha": "center", "va": "bottom", "transform": axes.get_xaxis_transform()}
            axes.text(xs.index(x) + left, 0.02, ABSENT, fontsize=8, **place)
    axes.set_xlim(-0.5, max(len(xs), 1) - 0.5)
    axes.set_xticks(range(len(xs)), [str(x) for x in xs], **SLANTED)


def stack(axes: Any, series: Series) -> None:
    """Draw a bar at each place, with the share of each series in the sum of their medians."""
    medians = {
        label: {x: point.estimate.median for x, point in known(points).items()} for label, points in series.items()
    }
    xs = list(dict.fromkeys(x for own in medians.values() for x in own))
    sums = {x: math.fsum(own.get(x, 0.0) for own in medians.values()) for x in xs}
    below = dict.fromkeys(xs, 0.0)
    for number, (label, own) in enumerate(medians.items()):
        shares = {x: own.get(x, 0.0) / sums[x] if sums[x] else 0.0 for x in xs}
        look: dict[str, Any] = {"color": COLORS[number % len(COLORS)], "hatch": HATCHES[number % len(HATCHES)]}
        bottom = [below[x] for x in xs]
        axes.bar(xs, list(shares.values()), 0.9, bottom, label=label, edgecolor="white", linewidth=0, **look)
        below = {x: below[x] + share for x, share in shares.items()}
    axes.set_ylim(0, 1)


def whiskers(points: list[Point]) -> tuple[list[float], list[list[float]]]:
    """The median of each point, and its distances to the ends of its interval."""
    found = [point.estimate for point in points]
    middle = [one.median for one in found]
    return middle, [[one.median - one.low for one in found], [one.high - one.median for one in found]]
