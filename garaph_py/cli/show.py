"""The output of ``garaph run``: text for people, JSON for programs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import printable
from ..output.table import per_edge, table, used_gpu
from ..system.sizes import show_bytes
from .terminal import say

if TYPE_CHECKING:
    from pathlib import Path

    from ..graph import Graph
    from ..output.result import Result, Stats


def iterations(stats: Stats) -> None:
    """Print the table of iterations."""
    print(table(stats.iterations))


def ending(stats: Stats) -> str:
    """A line about the end of the run: convergence, time, device, and bytes read or copied."""
    from ..codec.arrays import PACKED

    count = len(stats.iterations)
    text = (
        f"{'converged' if stats.converged else 'stopped'} after {count} iteration{'s' * (count != 1)} in "
        f"{stats.seconds:.3f} s on {stats.device}, {stats.threads} threads"
    )
    if stats.resumed:
        text += f", and {stats.resumed} before"
    if stats.encoding == PACKED:
        text += ", packed"
    if read := sum(row.from_disk for row in stats.iterations):
        text += f"; {show_bytes(read)} from disk"
    if not used_gpu(stats.iterations):
        return text
    rows = [row for row in stats.iterations if row.device != "cpu"]
    there, back = (sum(getattr(row, name) for row in rows) for name in ("to_device", "from_device"))
    return f"{text}; {show_bytes(there)} to the GPU and {show_bytes(back)} back, {per_edge(rows)} bytes an edge"


def answer(result: Result, seconds: tuple[float, float], count: int, quiet: bool, verified: bool) -> None:
    """Print the iterations, how the run ended, and the `count` vertices with the largest values.

    `seconds` are those of reading the graph, and of the whole command.
    """
    if not quiet:
        iterations(result.stats)
    say(f"{ending(result.stats)}; read in {seconds[0]:.2f} s, {seconds[1]:.2f} s in all")
    if verified:
        say("verified: the answer has the properties that define it")
    top(result, count)


def top(result: Result, count: int) -> None:
    """Print the vertices with the largest values."""
    best = result.top(count)
    column = result.column()
    if column.dtype.kind == "f" and (strange := int((~np.isfinite(column)).sum())):
        say(f"note: {strange:,} of {len(column):,} values are infinite or not a number")
    if not best:
        return
    rows = [(printable(str(vertex)), f"{value:.6g}" if isinstance(value, float) else value) for vertex, value in best]
    width = max(len(vertex) for vertex, _ in rows)
    say(f"top {len(best)} by {result.names[0]}:" if result.names[0] != "value" else f"top {len(best)}:")
    for vertex, value in rows:
        say(f"  {vertex:<{width}}  {value}")


def written(result: Result, output: Path | None, trace: Path | None, report: Path | None) -> None:
    """Print the names of the files that were written."""
    if output is not None:
        say(f"wrote {len(result.values):,} values to {output}")
    if trace is not None:
        say(f"wrote a trace to {trace}; open it in ui.perfetto.dev")
    if report is not None:
        say(f"wrote a report to {report}; open it in a browser")


def document(result: Result, graph: Graph, count: int, read_seconds: float) -> dict[str, Any]:
    """The object that ``--json`` prints. Numbers that JSON does not have (infinity, NaN) become null."""

    def number(value: Any) -> Any:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    columns = result.stats.columns()
    return {
        "program": result.program,
        "graph": {
            "vertices": graph.n,
            "edges": None if graph.on_disk and not graph.directed else graph.number_of_edges(),
            "stored_edges": graph.m,
            "directed": graph.directed,
        },
        "converged": result.stats.converged,
        "device": result.stats.device,
        "note": result.stats.note,
        "encoding": result.stats.encoding,
        "threads": result.stats.threads,
        "resumed": result.stats.resumed,
        "seconds": {"read": read_seconds, "run": result.stats.seconds},
        "iterations": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        "top": [[vertex, number(value)] for vertex, value in result.top(count)],
    }
