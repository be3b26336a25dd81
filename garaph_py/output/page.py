"""Writes a report on a run, or on two side by side: one self-contained page of HTML.

It has what was run, curves, a timeline and a table of iterations.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any

from ..events import Iteration, Span
from ..system.files import write_whole
from ..system.sizes import counted, show_bytes, show_number, show_seconds
from . import draw
from .recording import PAUSES, Recording
from .stats import Stats
from .table import ways

STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; color: #202124; background: #fff; max-width: 1200px; margin: 24px auto;
  padding: 0 16px; }
h1 { font-size: 22px; margin: 0 0 4px; overflow-wrap: anywhere; } h2 { font-size: 17px; margin: 28px 0 4px; }
p { margin: 4px 0 8px; } .note { background: #fef7e0; padding: 6px 10px; }
svg { max-width: 100%; height: auto; font-size: 12px; fill: #3c4043; } svg line { stroke: #e4e6e8; }
svg polyline { fill: none; stroke: #9aa0a6; stroke-width: 1.5; }
.key { display: inline-block; width: 10px; height: 10px; margin: 0 4px 0 12px; border-radius: 2px; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 2px 8px; text-align: right; white-space: nowrap; border-bottom: 1px solid #eceef0; }
th { background: #f6f7f8; } td.text, th.text { text-align: left; } tr:hover td { background: #f3f6fc; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: 8px 0; }
dt { color: #5f6368; } dd { margin: 0; overflow-wrap: anywhere; }
"""
BESIDE = """
body { max-width: 2400px; } .beside { display: grid; grid-template-columns: 1fr 1fr; gap: 32px; }
.beside > * { min-width: 0; } td.other { background: #fef7e0; }
"""
"""What a page with two runs adds."""
FIRST, SECOND = draw.COLORS[:2]
"""The colours of two runs."""
LONG_GAP = 0.01
"""Share of the run's time: a gap between iterations that is longer is a pause."""

COLUMNS: tuple[tuple[str, str, Callable[[Iteration], str]], ...] = (
    ("#", "number of the iteration", lambda row: str(row.number)),
    ("mode", "how vertices were updated", lambda row: row.mode),
    ("why", "why this mode", lambda row: row.why),
    ("device", "who did it", lambda row: row.device),
    ("f", "out-edges of the active vertices, divided by all edges", lambda row: f"{row.f:.3g}"),
    ("alpha", "expected T_CPU / T_GPU", lambda row: "-" if row.alpha is None else f"{row.alpha:.3g}"),
    ("active", "vertices active when it began", lambda row: f"{row.active:,}"),
    ("edges", "edges visited", lambda row: f"{row.edges:,}"),
    ("pages", "pages processed", lambda row: f"{row.pages:,}"),
    ("skipped", "pages with nobody to update", lambda row: f"{row.pages_skipped:,}"),
    ("ways", "pages by the way in which their edges reached the GPU, or by processor", ways),
    ("start, ms", "when it began, after the first one did", lambda row: show_number(row.started * 1e3)),
    ("ms", "how long it took", lambda row: show_number(row.seconds * 1e3)),
    ("M edges/s", "edges visited in a second", lambda row: show_number(row.edges_per_second / 1e6)),
    ("to GPU", "bytes copied to the GPU", lambda row: show_bytes(row.to_device)),
    ("from GPU", "bytes copied back", lambda row: show_bytes(row.from_device)),
    ("from disk", "bytes read from disks", lambda row: show_bytes(row.from_disk)),
    ("sent", "bytes that the workers of a cluster sent to one another", lambda row: show_bytes(row.sent)),
)
"""The columns of the table: heading, explanation, and the text for an iteration."""
TEXTS = ("mode", "why", "device", "ways")
"""Headings of the columns with text, which are aligned to the left."""


def write_report(path: str | os.PathLike[str], run: Recording, other: Recording | None = None) -> None:
    """Write the report on a run, or on two side by side.

    Raises
    ------
    ParameterError
        If the file cannot be written. In that case no part of it remains.
    """

    def lines() -> Iterator[bytes]:
        whole = page(run.title, run.stats, run.spans, run.began, run.facts, run.totals)
        for part in whole if other is None else beside(run, other):
            yield part.encode("utf-8", "backslashreplace") + b"\n"

    write_whole(path, lambda file: file.writelines(lines()))


def page(
    title: str, stats: Stats, spans: Sequence[Span], began: float, facts: Mapping[str, Any] | None = None,
    totals: Mapping[int, Mapping[str, float]] | None = None,
) -> Iterator[str]:  # fmt: skip
    """The page's HTML, piece by piece; the arguments are those of a `Recording`."""
    yield from head(title, STYLE)
    yield from body(Recording(title, stats, spans, began, facts or {}, totals or {}))
    yield "</body></html>"


def head(title: str, style: str) -> Iterator[str]:
    """The beginning of a page."""
    yield '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
    yield f"<title>{escape(title)}</title><style>{style}</style></head><body>"


def body(run: Recording, with_facts: bool = True) -> Iterator[str]:
    """What a page has of a run."""
    stats = run.stats
    rows = stats.iterations
    yield f"<h1>{escape(run.title)}</h1>"
    yield f"<p>{escape(summary(stats))}</p>"
    if stats.why is not None:
        yield f"<p>Device: {escape(stats.why)}.</p>"
    if stats.note is not None:
        yield f'<p class="note">{escape(stats.note)}</p>'
    if with_facts and (told := about(run)):
        yield "<dl>"
        yield from (f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in told.items())
        yield "</dl>"
    if rows:
        yield from curves(run)
        yield from workers(run)
    yield '<h2>Iterations</h2><div class="wide"><table><thead><tr>'
    yield from (f'<th{kind(name)} title="{escape(meaning)}">{escape(name)}</th>' for name, meaning, _ in COLUMNS)
    yield "</tr></thead><tbody>"
    for row in (row._replace(started=row.started - rows[0].started) for row in rows):  # as in the timeline
        yield "<tr>" + "".join(f"<td{kind(name)}>{escape(text(row))}</td>" for name, _, text in COLUMNS) + "</tr>"
    yield "</tbody></table></div>"


def beside(first: Recording, second: Recording) -> Iterator[str]:
    """The HTML of two runs side by side: what differs, how both converge, and each with all that its page has."""
    title = f"{first.title}; {second.title}" if first.title != second.title else f"Two runs: {first.title}"
    yield from head(title, STYLE + BESIDE)
    yield f"<h1>{escape(title)}</h1>"
    yield '<div class="wide"><table><thead><tr><th class="text"></th>'
    for name, color in (("left", FIRST), ("right", SECOND)):
        yield f'<th class="text">{"".join(key([(name, color)]))}</th>'
    yield "</tr></thead><tbody>"
    left, right = (about(run) | figures(run.stats) for run in (first, second))
    for name in left | right:
        one, other = left.get(name, "-"), right.get(name, "-")
        other_kind = ' class="text other"' if one != other else ' class="text"'
        cells = "".join(f"<td{other_kind}>{escape(text)}</td>" for text in (one, other))
        yield f'<tr><td class="text">{escape(name)}</td>{cells}</tr>'
    yield "</tbody></table></div>"
    if first.stats.seconds > 0 and second.stats.seconds > 0:
        ratio = second.stats.seconds / first.stats.seconds
        yield f"<p>The iterations on the right took {show_number(ratio)} times as long as those on the left.</p>"
    if first.stats.iterations and second.stats.iterations:
        yield "<h2>Convergence by time</h2>"
        for name, curves in draw.races(first, second).items():
            yield f"<p>{escape(name.capitalize())}, by the seconds of iterations:"
            yield from key([("left", FIRST), ("right", SECOND)])
            yield f"</p>{draw.race(curves, (FIRST, SECOND), name)}"
    yield '<div class="beside">'
    for run in (first, second):
        yield "<section>"
        yield from body(run, with_facts=False)
        yield "</section>"
    yield "</div></body></html>"


def about(run: Recording) -> dict[str, str]:
    """What was run, on what, with what, where and when, as far as it is known: names and texts."""
    facts = run.facts
    machine = facts.get("machine")
    gpu = "" if run.stats.device == "cpu" else f", {run.stats.device}"
    found = {
        "Command": facts.get("command"),
        "Program": facts.get("program"),
        "Parameters": pairs(facts.get("parameters", {}), "="),
        "Graph": facts.get("graph"),
        "Options": pairs(facts.get("options", {}), "="),
        "Machine": machine
        and f"{machine['cpu']}, {counted(machine['cores'], 'core')}, {show_bytes(machine['memory'])} of memory{gpu}",
        "Workers": facts.get("workers"),
        "Versions": pairs(facts.get("versions", {}), " "),
        "Date": facts.get("when"),
    }
    return {name: str(text) for name, text in found.items() if text}


def pairs(given: Mapping[str, str], between: str) -> str:
    """Names and values as text."""
    return ", ".join(f"{name}{between}{value}" for name, value in given.items())


def figures(stats: Stats) -> dict[str, str]:
    """The numbers of a run that one compares."""
    return {
        "Seconds": show_seconds(stats.seconds),
        "Iterations": f"{len(stats.iterations):,}" + ("" if stats.converged else ", not converged"),
        "Edges visited": f"{stats.edges:,}",
        "Device": stats.device,
        "Threads": str(stats.threads),
        "Edges": stats.encoding,
    }


def summary(stats: Stats) -> str:
    """Two or three sentences about the run."""
    count, seconds = len(stats.iterations), stats.seconds
    speed = f", {show_number(stats.edges / seconds / 1e6)} M edges/s" if seconds > 0 else ""
    compiled = f" Compiling took {show_seconds(stats.compile_seconds)} more." if stats.compile_seconds else ""
    kept = f" {stats.kept}." if stats.kept else ""
    return (
        f"{'Converged' if stats.converged else 'Stopped'} after {count:,} iteration{'s' * (count != 1)} in "
        f"{show_seconds(seconds)} on {stats.device}, {counted(stats.threads, 'thread')}, edges {stats.encoding}. "
        f"{stats.edges:,} edges visited{speed}.{compiled}{kept}"
    )


def curves(run: Recording) -> Iterator[str]:
    """The curves of what converges, of f and, if CPU and GPU shared iterations, of alpha."""
    rows = run.stats.iterations
    yield "<h2>Convergence</h2>"
    for name, values in draw.convergence(run).items():
        yield f"<p>{escape(name.capitalize())} by iteration:</p>{draw.curve_through(values, name)}"
    yield "<h2>f by iteration</h2><p>The out-edges of active vertices, divided by all edges; it decides the mode:"
    yield from key((mode, draw.mode_color(mode)) for mode in draw.MODES if any(row.mode == mode for row in rows))
    yield f"</p>{draw.curve_of(rows, 'f')}"
    if any(row.alpha is not None for row in rows):
        yield "<h2>alpha by iteration</h2><p>The CPU's expected time divided by the GPU's. From 1 on, both work.</p>"
        yield draw.curve_of(rows, "alpha")


def workers(run: Recording) -> Iterator[str]:
    """The timeline, with the pauses between iterations."""
    rows, paused = run.stats.iterations, [*pauses(run)]
    spans = [span for span in run.spans if span.track != PAUSES] + paused
    yield "<h2>Who worked when</h2>"
    yield "<p>Each line is a worker, with the share of the time that it was busy in brackets. Shaded bands are "
    yield "iterations, with their numbers above. Each colour is a page; grey is work that does not belong to one "
    yield "page. Point at a box to see what it is. For every detail, write a trace too and open it in "
    yield "ui.perfetto.dev.</p>"
    if paused:
        yield f"<p>Pauses: {escape(', '.join(told_pauses(paused)))}.</p>"
    yield draw.timeline(rows, spans, run.began)


def pauses(run: Recording) -> Iterator[Span]:
    """What happened between iterations, in order: checkpoints, and long gaps in which nothing else is recorded."""
    rows = run.stats.iterations
    known = sorted((span for span in run.spans if span.track == PAUSES), key=lambda span: span.start)
    least = LONG_GAP * (rows[-1].ended - rows[0].started)
    found = list(known)
    for before, after in pairwise(rows):
        start, end = (round((run.began + at) * 1e9) for at in (before.ended, after.started))
        inside = [span for span in known if span.end > start and span.start < end]
        edges = [start, *(edge for span in inside for edge in (span.start, span.end)), end]
        gaps = zip(edges[::2], edges[1::2], strict=True)
        found += [Span(PAUSES, "pause", at, to, {}) for at, to in gaps if to - at > least * 1e9]
    yield from sorted(found, key=lambda span: span.start)


def told_pauses(spans: Sequence[Span]) -> Iterator[str]:
    """For each kind of pause, how many there were and how long they took."""
    for name in dict.fromkeys(span.name for span in spans):
        taken = [span.end - span.start for span in spans if span.name == name]
        yield f"{counted(len(taken), name)} of {show_seconds(sum(taken) / 1e9)}" + " in all" * (len(taken) > 1)


def key(colors: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A legend: names and their colours."""
    for name, color in colors:
        yield f'<span class="key" style="background:{color}"></span>{escape(name)}'


def kind(column: str) -> str:
    """The HTML attribute for cells of this column."""
    return ' class="text"' if column in TEXTS else ""
