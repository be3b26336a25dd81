"""Shows the iterations of a run as a table in plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..events import Iteration
from ..system.sizes import show_number

MOST_ROWS, LAST_ROWS = 10, 4
"""The most iterations that a table shows, and how many of them are the last ones if others are left out."""

ALWAYS: tuple[tuple[str, int, Callable[[Iteration], str]], ...] = (
    ("iteration", 9, lambda row: str(row.number)),
    ("mode", -11, lambda row: row.mode),
    ("f", 8, lambda row: f"{row.f:.2g}"),
    ("active", 12, lambda row: f"{row.active:,}"),
    ("edges", 14, lambda row: f"{row.edges:,}"),
    ("pages", 6, lambda row: str(row.pages)),
    ("skipped", 7, lambda row: str(row.pages_skipped)),
    ("ms", 9, lambda row: show_number(row.seconds * 1e3)),
    ("M edges/s", 10, lambda row: show_number(row.edges_per_second / 1e6)),
)
"""The columns of every table: heading, width (negative: aligned to the left), and the text for an iteration."""
WITH_GPU = (
    ("device", -6, lambda row: row.device),
    ("bytes/edge", 10, lambda row: per_edge([row])),
)
"""More columns, for runs on a GPU."""
FROM_DISK = (("MiB read", 9, lambda row: show_number(row.from_disk / 2**20)),)
"""One more column, for graphs whose edges stay on disk."""
SHARED = (("alpha", 6, lambda row: "-" if row.alpha is None else f"{row.alpha:.3g}"),)
"""One more column, for runs in which CPU and GPU shared iterations."""
SENT = (("MiB sent", 9, lambda row: show_number(row.sent / 2**20)),)
"""One more column, for runs on a cluster."""


def table(rows: list[Iteration]) -> str:
    """A table with a line for each iteration; if there are many, only the first and the last are shown."""
    columns = ALWAYS
    if any(row.from_disk for row in rows):
        columns += FROM_DISK
    if any(row.sent for row in rows):
        columns += SENT
    if used_gpu(rows):
        columns += WITH_GPU
    if any(row.alpha is not None for row in rows):
        columns += SHARED
    lines = [line(columns, (text(row) for _, _, text in columns)) for row in rows]
    if left_out := max(0, len(rows) - MOST_ROWS):
        lines[MOST_ROWS - LAST_ROWS : -LAST_ROWS] = [f"{'...':>9}  ({left_out:,} more)"]
    return "\n".join([line(columns, (heading for heading, _, _ in columns)), *lines])


def line(columns: Iterable[tuple[str, int, object]], cells: Iterable[str]) -> str:
    """A line of the table."""
    parts = (
        cell.rjust(width) if width > 0 else cell.ljust(-width)
        for cell, (_, width, _) in zip(cells, columns, strict=True)
    )
    return "  ".join(parts)


def ways(row: Iteration) -> str:
    """How many pages of an iteration were processed in each way."""
    return ", ".join(f"{count:,} {way}" for way, count in row.ways.items()) or "-"


def used_gpu(rows: list[Iteration]) -> bool:
    """Whether a GPU worked in any iteration."""
    return any(row.device != "cpu" for row in rows)


def per_edge(rows: list[Iteration]) -> str:
    """Bytes copied to and from the GPU for each edge visited."""
    edges = sum(row.edges for row in rows)
    return show_number(sum(row.to_device + row.from_device for row in rows) / edges) if edges else "-"
