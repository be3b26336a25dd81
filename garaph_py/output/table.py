"""Shows the iterations of a run as a table in plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..events import Iteration

SHOWN_ROWS = 24
"""Rows of the longest table that is shown whole."""

ALWAYS: tuple[tuple[str, int, Callable[[Iteration], str]], ...] = (
    ("iteration", 9, lambda row: str(row.number)),
    ("mode", -11, lambda row: row.mode),
    ("f", 8, lambda row: f"{row.f:.2g}"),
    ("active", 12, lambda row: f"{row.active:,}"),
    ("edges", 14, lambda row: f"{row.edges:,}"),
    ("pages", 6, lambda row: str(row.pages)),
    ("skipped", 7, lambda row: str(row.pages_skipped)),
    ("ms", 9, lambda row: f"{row.seconds * 1e3:.3f}"),
    ("M edges/s", 10, lambda row: f"{row.edges_per_second / 1e6:,.1f}"),
)
"""The columns of every table: heading, width (negative: aligned to the left), and the text for an iteration."""
WITH_GPU = (
    ("device", -6, lambda row: row.device),
    ("bytes/edge", 10, lambda row: per_edge([row])),
)
"""More columns, for runs on a GPU."""
FROM_DISK = (("MiB read", 9, lambda row: f"{row.from_disk / 2**20:,.1f}"),)
"""One more column, for graphs whose edges stay on disk."""
SHARED = (("alpha", 6, lambda row: "-" if row.alpha is None else f"{row.alpha:.3g}"),)
"""One more column, for runs in which CPU and GPU shared iterations."""


def table(rows: list[Iteration]) -> str:
    """A table with a line for each iteration; if there are many, only the first and the last are shown."""
    columns = ALWAYS
    if any(row.from_disk for row in rows):
        columns += FROM_DISK
    if used_gpu(rows):
        columns += WITH_GPU
    if any(row.alpha is not None for row in rows):
        columns += SHARED
    few = len(rows) <= SHOWN_ROWS
    lines = [line(columns, (heading for heading, _, _ in columns))]
    for row in rows if few else rows[: SHOWN_ROWS - 4]:
        lines.append(line(columns, (text(row) for _, _, text in columns)))
    if not few:
        lines.append(f"{'...':>9}  ({len(rows) - SHOWN_ROWS} more)")
        lines += [line(columns, (text(row) for _, _, text in columns)) for row in rows[-4:]]
    return "\n".join(lines)


def line(columns: Iterable[tuple[str, int, object]], cells: Iterable[str]) -> str:
    """A line of the table."""
    parts = (
        cell.rjust(width) if width > 0 else cell.ljust(-width)
        for cell, (_, width, _) in zip(cells, columns, strict=True)
    )
    return "  ".join(parts)


def used_gpu(rows: list[Iteration]) -> bool:
    """Whether a GPU worked in any iteration."""
    return any(row.device != "cpu" for row in rows)


def per_edge(rows: list[Iteration]) -> str:
    """Bytes copied to and from the GPU for each edge visited."""
    edges = sum(row.edges for row in rows)
    return f"{sum(row.to_device + row.from_device for row in rows) / edges:.2f}" if edges else "-"
