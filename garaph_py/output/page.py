"""Writes a report on a run: one self-contained page of HTML with curves, a timeline and a table of iterations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape

from ..events import Iteration, Span
from ..system.files import write_whole
from ..system.sizes import show_bytes, show_number, show_seconds
from . import draw
from .stats import Stats

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
"""

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
    ("start, ms", "when it began, after the first one did", lambda row: show_number(row.started * 1e3)),
    ("ms", "how long it took", lambda row: show_number(row.seconds * 1e3)),
    ("M edges/s", "edges visited in a second", lambda row: show_number(row.edges_per_second / 1e6)),
    ("to GPU", "bytes copied to the GPU", lambda row: show_bytes(row.to_device)),
    ("from GPU", "bytes copied back", lambda row: show_bytes(row.from_device)),
    ("from disk", "bytes read from disks", lambda row: show_bytes(row.from_disk)),
)
"""The columns of the table: heading, explanation, and the text for an iteration."""
TEXTS = ("mode", "why", "device")
"""Headings of the columns with text, which are aligned to the left."""


def write_report(path: str | os.PathLike[str], title: str, stats: Stats, spans: Sequence[Span], began: float) -> None:
    """Write the report on a run that `began` at this time of ``time.perf_counter``.

    Raises
    ------
    ParameterError
        If the file cannot be written. In that case no part of it remains.
    """

    def lines() -> Iterator[bytes]:
        for part in page(title, stats, spans, began):
            yield part.encode("utf-8", "backslashreplace") + b"\n"

    write_whole(path, lambda file: file.writelines(lines()))


def page(title: str, stats: Stats, spans: Sequence[Span], began: float) -> Iterator[str]:
    """The page's HTML, piece by piece."""
    rows = stats.iterations
    yield '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
    yield f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
    yield f"<h1>{escape(title)}</h1>"
    yield f"<p>{escape(summary(stats))}</p>"
    if stats.why is not None:
        yield f"<p>Device auto: {escape(stats.why)}.</p>"
    if stats.note is not None:
        yield f'<p class="note">{escape(stats.note)}</p>'
    if rows:
        yield from curves(rows)
        yield "<h2>Who worked when</h2>"
        yield "<p>Each line is a worker, with the share of the time that it was busy in brackets. Shaded bands are "
        yield "iterations, with their numbers above. Each colour is a page; grey is work that does not belong to one "
        yield "page. Point at a box to see what it is. For every detail, write a trace too and open it in "
        yield "ui.perfetto.dev.</p>"
        yield draw.timeline(rows, spans, began)
    yield '<h2>Iterations</h2><div class="wide"><table><thead><tr>'
    yield from (f'<th{kind(name)} title="{escape(meaning)}">{escape(name)}</th>' for name, meaning, _ in COLUMNS)
    yield "</tr></thead><tbody>"
    for row in (row._replace(started=row.started - rows[0].started) for row in rows):  # as in the timeline
        yield "<tr>" + "".join(f"<td{kind(name)}>{escape(text(row))}</td>" for name, _, text in COLUMNS) + "</tr>"
    yield "</tbody></table></div></body></html>"


def summary(stats: Stats) -> str:
    """Two or three sentences about the run."""
    count, seconds = len(stats.iterations), stats.seconds
    speed = f", {show_number(stats.edges / seconds / 1e6)} M edges/s" if seconds > 0 else ""
    compiled = f" Compiling took {show_seconds(stats.compile_seconds)} more." if stats.compile_seconds else ""
    kept = f" {stats.kept}." if stats.kept else ""
    return (
        f"{'Converged' if stats.converged else 'Stopped'} after {count:,} iteration{'s' * (count != 1)} in "
        f"{show_seconds(seconds)} on {stats.device}, {stats.threads} threads, edges {stats.encoding}. "
        f"{stats.edges:,} edges visited{speed}.{compiled}{kept}"
    )


def curves(rows: Sequence[Iteration]) -> Iterator[str]:
    """The curves of f and, if CPU and GPU shared iterations, of alpha."""
    yield "<h2>f by iteration</h2><p>The out-edges of active vertices, divided by all edges; it decides the mode:"
    yield from key((mode, draw.mode_color(mode)) for mode in draw.MODES if any(row.mode == mode for row in rows))
    yield f"</p>{draw.curve_of(rows, 'f')}"
    if any(row.alpha is not None for row in rows):
        yield "<h2>alpha by iteration</h2><p>The CPU's expected time divided by the GPU's. From 1 on, both work.</p>"
        yield draw.curve_of(rows, "alpha")


def key(colors: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A legend: names and their colours."""
    for name, color in colors:
        yield f'<span class="key" style="background:{color}"></span>{escape(name)}'


def kind(column: str) -> str:
    """The HTML attribute for cells of this column."""
    return ' class="text"' if column in TEXTS else ""
