"""The measurements of a figure, by panel, line and place; and what its caption says of them."""

from __future__ import annotations

import logging
import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .figure import Figure
from .interval import Estimate, described, estimate
from .kinds import Row
from .labels import label_of, shown, value_of
from .spec import MACHINE, RESULTS, Spec
from .summary import failures, shown_value

log = logging.getLogger("garaph_py")

ABSENT = "not measured"
LEAST_POINTS = 3
"""Points that a correlation takes, at least: that of two is always 1 or -1."""


@dataclass
class Point:
    """What was measured at one place of a figure.

    Attributes
    ----------
    values : dict
        The values by the number of their combination of settings; empty if the measurements failed.
    graphs, marks : Counter
        How often each graph, and each value of the column that is marked, occurred.
    others : list of float
        Values of the column that is correlated.
    """

    values: dict[int, list[float]] = field(default_factory=dict)
    graphs: Counter[str] = field(default_factory=Counter)
    marks: Counter[str] = field(default_factory=Counter)
    others: list[float] = field(default_factory=list)

    @property
    def sample(self) -> list[float]:
        """What the median is over: the repeats or, if several combinations are pooled, the median of each one's."""
        if len(self.values) == 1:
            return next(iter(self.values.values()))
        return [statistics.median(those) for those in self.values.values()]

    @property
    def estimate(self) -> Estimate:
        """The median, and the interval around it."""
        return estimate(self.sample)


Series = dict[str, dict[Any, Point]]
"""The points by label and by x."""


def panels_of(figure: Figure, rows: Iterable[Row]) -> dict[str, Series]:
    """The points by panel, by value of ``by`` and by value of ``x``, in the order of the spec."""
    panels: dict[str, Series] = {}
    for row in sorted(rows, key=lambda row: row["combination"]):
        has_failed = row.get("error") is not None
        for y in figure.y:
            if row[figure.x] is None or (row[y] is None and not has_failed):
                continue
            title, label = label_of(row, figure.panels), label_of(row, figure.by) if len(figure.y) == 1 else shown(y)
            series = panels.setdefault(title, {}).setdefault(label, {})
            point = series.setdefault(value_of(row, figure.x), Point())
            if has_failed:
                continue
            point.values.setdefault(row["combination"], []).append(row[y])
            point.graphs[row["graph"]] += 1
            if figure.marks:
                point.marks[str(row[figure.marks])] += 1
            if figure.correlate and row[figure.correlate] is not None:
                point.others.append(row[figure.correlate])
    return panels


def known(points: dict[Any, Point]) -> dict[Any, Point]:
    """The points that were measured."""
    return {x: point for x, point in points.items() if point.values}


def caption(figure: Figure, spec: Spec, rows: dict[str, list[Row]]) -> list[str]:
    """What a figure shows, what its medians are over, how sure they are, and what was not measured and why."""
    over = pooled(figure, spec, rows[figure.table])
    if settings := [what for what in over if what != "sources"]:
        advice = f"name {' and '.join(settings)} in x, by or panels to tell them apart"
        log.warning("plot %s: its medians are over %s; %s", figure.name, " and ".join(over.values()), advice)
    panels = panels_of(figure, rows[figure.table])
    sizes = [point.estimate.n for series in panels.values() for points in series.values()
             for point in known(points).values()]  # fmt: skip
    lines = [figure.caption] if figure.caption else []
    each = f", of the medians of each over {spec.repeats} repeats" if over else ""
    if sizes and (spec.repeats > 1 or over):
        lines.append(f"Medians over {' and '.join([*over.values()] or [f'{spec.repeats} repeats'])}{each}.")
        lines.append(described(sizes))
    lines += correlations(figure, panels) if figure.correlate else []
    return lines + [f"{ABSENT.capitalize()}: {failure}" for failure in failures(spec, rows[RESULTS])]


def correlations(figure: Figure, panels: dict[str, Series]) -> list[str]:
    """The correlation of each line's medians with those of another column."""
    found = []
    for title, series in panels.items():
        for label, points in series.items():
            both = [(point.estimate.median, statistics.median(point.others))
                    for point in points.values() if point.values and point.others]  # fmt: skip
            ys, others = ([pair[place] for pair in both] for place in (0, 1))
            if len(both) >= LEAST_POINTS and len(set(ys)) > 1 and len(set(others)) > 1:
                named = ", ".join(filter(None, (title, label)))
                found.append(f"{named or figure.y[0]}: {statistics.correlation(ys, others):.4f}")
    what = f"Correlation of {shown(figure.y[0])} and {shown(figure.correlate or '')}"
    return [f"{what}: {'; '.join(found)}."] if found else []


def pooled(figure: Figure, spec: Spec, rows: Iterable[Row]) -> dict[str, str]:
    """What differs within a point besides the repeats, by name, and in words: settings, and random sources."""
    settings = [name for name in (MACHINE, *spec.settings) if name not in figure.columns]
    points: dict[tuple[Any, ...], dict[tuple[Any, ...], set[int]]] = {}
    for row in sorted(rows, key=lambda row: row["combination"]):
        if row[figure.x] is not None and any(row[y] is not None for y in figure.y):
            point = points.setdefault(tuple(row[name] for name in figure.columns), {})
            point.setdefault(tuple(row[name] for name in settings), set()).add(row["combination"])
    found = {}
    for place, name in enumerate(settings):
        values = [list(dict.fromkeys(chosen[place] for chosen in point)) for point in points.values()]
        if any(len(those) > 1 for those in values):
            every = dict.fromkeys(value for those in values for value in those)
            found[name] = f"{name.replace('_', ' ')} ({', '.join(map(shown_value, every))})"
    picked = {combination.number for combination in spec.combinations if combination.picks}
    sources = max((len(numbers & picked) for point in points.values() for numbers in point.values()), default=0)
    return found | ({"sources": f"{sources} sources"} if sources > 1 else {})
