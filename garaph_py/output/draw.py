"""Draws a run as SVG: curves over the iterations, and a timeline of its workers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from html import escape

from ..events import Iteration, Span
from .recording import PAUSES, Recording
from .trace import tracks_of

WIDTH, LEFT, RIGHT = 1200, 150, 40
"""Pixels: the width of a picture, and of its margins."""
PLOT = WIDTH - LEFT - RIGHT
"""Pixels between the margins."""
TOP, CURVE, ROW, AXIS = 8, 150, 22, 26
"""Heights in pixels: of the space above a curve, of a curve, of a track, and of the numbers at an axis."""
COLORS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#b07aa1", "#edc948", "#9c755f")
"""The colours of modes and of pages."""
MODES = ("pull", "notify-pull", "push", "pull-tiled", "components")
"""The modes, in the order of their colours."""
OTHER = "#9aa0a6"
"""The colour of spans that do not belong to one page."""
VISIBLE = 0.75
"""The narrowest box in pixels; narrower spans are drawn together with their neighbours."""
Curve = list[tuple[Iteration, float]]
"""A number of each iteration."""
LETTER = 7
"""About how many pixels a letter is wide."""
MOST_BANDS = 200
"""Iterations are shaded only if there are at most this many: more could not be told apart."""


def mode_color(mode: str) -> str:
    """The colour of a mode."""
    return COLORS[MODES.index(mode)] if mode in MODES else OTHER


def page_color(page: int) -> str:
    """The colour of a page, by its number."""
    return COLORS[page % len(COLORS)]


def svg(height: float, label: str, parts: Iterator[str]) -> str:
    """An SVG picture; `label` describes it for people who cannot see it."""
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def rectangle(x: float, y: float, width: float, height: float, color: str, title: str, opacity: float = 1) -> str:
    """A rectangle; `title` appears when the reader points at it."""
    faint = "" if opacity == 1 else f' fill-opacity="{opacity:.2f}"'
    return (
        f'<rect x="{x:.2f}" y="{y:g}" width="{width:.2f}" height="{height:g}" fill="{color}"{faint}>'
        f"<title>{escape(title)}</title></rect>"
    )


def text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    """A line of text; the point (x, y) is its middle, or its ``"end"``."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def ticks(first: float, last: float, most: int = 10) -> list[float]:
    """Round numbers at equal distances in [first, last]: at most about `most`."""
    span = last - first
    if span <= 0:
        return [first]
    step = 10.0 ** math.floor(math.log10(span / most))
    step *= next(factor for factor in (1, 2, 5, 10) if span / (step * factor) <= most)
    return [k * step for k in range(math.ceil(first / step), math.floor(last / step) + 1)]


# Curves


def curve_of(rows: Sequence[Iteration], name: str) -> str:
    """A picture of ``"f"`` or ``"alpha"`` by iteration, on a logarithmic scale; 0 is drawn at the bottom."""
    return curve_through([(row, getattr(row, name)) for row in rows if getattr(row, name) is not None], name)


def curve_through(values: Curve, name: str) -> str:
    """A picture of a number by iteration, on a logarithmic scale; 0 is drawn at the bottom."""
    scale = LogScale([value for _, value in values])
    points = [(row, scale.height(value)) for row, value in values]
    return svg(TOP + CURVE + AXIS, f"{name} by iteration", curve(points, scale.marks()))


class LogScale:
    """A logarithmic axis from the top downwards, `CURVE` pixels high, for `values`; those of 0 are at its bottom."""

    def __init__(self, values: Sequence[float]) -> None:
        positive = [value for value in values if value > 0] or [1.0]
        self.high = max(0, math.ceil(math.log10(max(positive))))
        self.decades = max(1, self.high - math.floor(math.log10(min(positive))))
        self._pixels = CURVE / self.decades

    def height(self, value: float) -> float:
        """How many pixels a value is below the top."""
        return self._pixels * (self.high - math.log10(value) if value > 0 else self.decades)

    def marks(self) -> list[tuple[float, str]]:
        """The heights of round numbers, and these."""
        step = max(1, self.decades // 6)
        return [
            (self._pixels * power, f"{10.0 ** (self.high - power):g}") for power in range(0, self.decades + 1, step)
        ]


def convergence(run: Recording) -> dict[str, Curve]:
    """What shows how a run converges: each number of the program's total by its name, or else the active vertices."""
    rows = run.stats.iterations
    names = dict.fromkeys(name for total in run.totals.values() for name in total)
    return {
        f"total.{name}" if name else "total": [
            (row, abs(run.totals[row.number][name])) for row in rows if name in run.totals.get(row.number, ())
        ]
        for name in names
    } or {"active vertices": active(run)}


def active(run: Recording) -> Curve:
    """The active vertices by iteration."""
    return [(row, float(row.active)) for row in run.stats.iterations]


def races(first: Recording, second: Recording) -> dict[str, tuple[Curve, Curve]]:
    """What shows how two runs converge: the numbers that both have, or else the active vertices."""
    one, other = convergence(first), convergence(second)
    both = {name: (one[name], other[name]) for name in one if name in other}
    return both or {"active vertices": (active(first), active(second))}


def race(curves: Sequence[Curve], colors: Sequence[str], name: str) -> str:
    """A picture of a number of several runs, each with its colour, by their seconds without pauses and compiling."""
    lines = []
    for curve in curves:
        until = itertools.accumulate(row.seconds for row, _ in curve)
        lines.append([(at, value) for at, (_, value) in zip(until, curve, strict=True)])
    scale = LogScale([value for line in lines for _, value in line])
    last = max((line[-1][0] for line in lines if line), default=0.0)
    pairs = list(zip(lines, colors, strict=True))
    return svg(TOP + CURVE + AXIS, f"{name} by time", draw_race(pairs, scale, last))


def draw_race(curves: list[tuple[list[tuple[float, float]], str]], scale: LogScale, last: float) -> Iterator[str]:
    """Lines through (seconds, value) in a grid that ends at `last` seconds."""
    across = PLOT / max(last, 1e-9)
    yield from grid(scale.marks())
    yield from time_axis(last, across, TOP + CURVE)
    for points, color in curves:
        places = [(LEFT + at * across, TOP + scale.height(value)) for at, value in points]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline points="{line}" style="stroke:{color}"/>'
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in places)


def grid(marks: list[tuple[float, str]]) -> Iterator[str]:
    """Horizontal lines at these heights, each with its number."""
    for y, words in marks:
        yield f'<line x1="{LEFT}" x2="{LEFT + PLOT}" y1="{TOP + y:.1f}" y2="{TOP + y:.1f}"/>'
        yield text(LEFT - 8, TOP + y + 4, words, "end")


def time_axis(seconds: float, scale: float, bottom: float) -> Iterator[str]:
    """The numbers of a time axis of so many seconds, `scale` pixels each."""
    unit, name = (1.0, "s") if seconds >= 2 else (1e3, "ms") if seconds >= 2e-3 else (1e6, "µs")
    for at in ticks(0, seconds * unit):
        yield text(LEFT + at / unit * scale, bottom + 18, f"{at:g} {name}")


def curve(points: list[tuple[Iteration, float]], marks: list[tuple[float, str]]) -> Iterator[str]:
    """A line through `points` in a grid with `marks`. Heights are in pixels from the top downwards."""
    first, last = points[0][0].number, points[-1][0].number

    def place(number: float) -> float:
        return LEFT + PLOT * ((number - first) / (last - first) if last > first else 0.5)

    yield from grid(marks)
    for number in ticks(first, last):
        if number == int(number):
            yield text(place(number), TOP + CURVE + 18, f"{int(number):,}")
    line = " ".join(f"{place(row.number):.1f},{TOP + y:.1f}" for row, y in points)
    yield f'<polyline points="{line}"/>'
    for row, y in points:
        yield (
            f'<circle cx="{place(row.number):.1f}" cy="{TOP + y:.1f}" r="3" fill="{mode_color(row.mode)}">'
            f"<title>{escape(title_of(row))}</title></circle>"
        )


def title_of(row: Iteration) -> str:
    """An iteration in one line."""
    alpha = "" if row.alpha is None else f", alpha = {row.alpha:.3g}"
    return f"iteration {row.number}: {row.mode}, f = {row.f:.3g}{alpha}; {row.why}"


# Timeline


def timeline(rows: Sequence[Iteration], spans: Sequence[Span], began: float) -> str:
    """A picture with a row for every track, from the start of the first iteration to the end of all, pauses included.

    The run `began` at this time of ``time.perf_counter``.
    """
    first = rows[0].started
    last = max([rows[-1].ended, *(span.end / 1e9 - began for span in spans if span.track == PAUSES)])
    scale = PLOT / max(last - first, 1e-9)
    tracks: dict[str, list[tuple[float, float, Span]]] = {track: [] for track in tracks_of(spans)}
    for span in spans:
        start, end = (min(max(when / 1e9 - began, first), last) - first for when in (span.start, span.end))
        if end > start:
            tracks[span.track].append((start * scale, end * scale, span))
    tracks = {track: mine for track, mine in tracks.items() if mine}
    bottom = AXIS + ROW * len(tracks)
    return svg(bottom + AXIS, "who worked when", draw_timeline(rows, tracks, first, last, scale, bottom))


def draw_timeline(
    rows: Sequence[Iteration], tracks: dict[str, list[tuple[float, float, Span]]], first: float, last: float,
    scale: float, bottom: float,
) -> Iterator[str]:  # fmt: skip
    """Shaded bands for the iterations, the tracks' rows, and the axis. Spans are in pixels, `scale` pixels a second."""
    if len(rows) <= MOST_BANDS:
        for k, row in enumerate(rows):
            x, width = LEFT + (row.started - first) * scale, (row.ended - row.started) * scale
            yield rectangle(x, AXIS - 6, width, bottom - AXIS + 6, "#000000", title_of(row), 0.05 + 0.05 * (k % 2))
            if width >= 8 * len(str(row.number)) + 4:
                yield text(x + width / 2, AXIS - 10, str(row.number))
    for k, (track, mine) in enumerate(tracks.items()):
        y = AXIS + ROW * k
        busy = sum(end - start for start, end, _ in mine) / PLOT
        yield text(LEFT - 8, y + ROW / 2 + 3, f"{track} ({busy:.0%})", "end")
        yield from boxes(mine, y + 3, ROW - 6)
        if track == PAUSES:
            yield from labels(mine, y + ROW / 2 + 3)
    yield from time_axis(last - first, scale, bottom)


def labels(spans: list[tuple[float, float, Span]], y: float) -> Iterator[str]:
    """The name of each span at its start, unless another name is there or it would leave the picture."""
    free = 0.0
    for start, _, span in spans:
        width = LETTER * len(span.name)
        if start >= free and start + width <= PLOT:
            yield text(LEFT + start + 2, y, span.name, "start")
            free = start + width + LETTER


def boxes(spans: list[tuple[float, float, Span]], y: float, height: float) -> Iterator[str]:
    """A box for each span. Spans too narrow for a box are drawn together: a pixel is as dark as they fill it."""
    narrow: dict[int, list[float]] = {}
    for start, end, span in spans:
        if end - start < VISIBLE:
            narrow.setdefault(int(start), []).append(end - start)
            continue
        page = span.details.get("page")
        about = ", ".join(f"{name} {value:,}" for name, value in span.details.items())
        title = f"{span.name}, {(span.end - span.start) / 1e6:.3f} ms" + f": {about}" * bool(about)
        yield rectangle(LEFT + start, y, end - start, height, OTHER if page is None else page_color(page), title)
    for x, widths in narrow.items():
        title = f"{len(widths)} short one{'s' * (len(widths) != 1)}"
        yield rectangle(LEFT + x, y, 1, height, "#5f6368", title, min(1.0, 0.15 + sum(widths)))
