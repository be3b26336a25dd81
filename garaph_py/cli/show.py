"""The output of ``garaph run``: text for people, JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import printable
from ..output.table import per_edge, table, used_gpu
from ..system.sizes import counted, show_bytes, show_seconds
from .terminal import say

if TYPE_CHECKING:
    from pathlib import Path

    from ..graph import Graph
    from ..output.result import Result
    from ..output.stats import Stats


def iterations(stats: Stats) -> None:
    """Print the table of iterations."""
    print(table(stats.iterations))


def ending(stats: Stats) -> str:
    """A line about the end of the run: convergence, time, device, and bytes read or copied."""
    from ..codec.arrays import PACKED

    count = len(stats.iterations)
    text = (
        f"{'converged' if stats.converged else 'stopped'} after {count} iteration{'s' * (count != 1)} in "
        f"{show_seconds(stats.seconds)} on {stats.device}, {counted(stats.threads, 'thread')}"
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
    text += f"; {show_bytes(there)} to the GPU and {show_bytes(back)} back, {per_edge(rows)} bytes an edge"
    return text + (f"; {stats.kept}" if stats.kept else "")


def ended(result: Result, seconds: tuple[float, float], quiet: bool, verified: bool) -> None:
    """Print the iterations and how the run ended. `seconds` are those of reading the graph and of the whole command."""
    if not quiet:
        iterations(result.stats)
    read, total = map(show_seconds, seconds)
    compiled = result.stats.compile_seconds
    times = f"read in {read}" + f", compiled in {show_seconds(compiled)}" * bool(compiled) + f", {total} in all"
    say(f"{ending(result.stats)}; {times}")
    if result.stats.why is not None:
        say(f"device: {result.stats.why}")
    if verified:
        say("verified: the answer has the properties that define it")


def top(result: Result, count: int, smallest: bool = False) -> None:
    """Print the vertices with the largest or smallest values."""
    best = result.top(count, smallest=smallest)
    column = result.column()
    if column.dtype.kind == "f" and (strange := int((~np.isfinite(column)).sum())):
        say(f"note: {strange:,} of {len(column):,} values are infinite or not a number")
    if not best:
        return
    rows = [(printable(str(vertex)), shown(value, result.unreached)) for vertex, value in best]
    width = max(len(vertex) for vertex, _ in rows)
    by = f" by {result.names[0]}" if result.names[0] != "value" else ""
    say(f"smallest {len(best)}{by}:" if smallest else f"top {len(best)}{by}:")
    for vertex, value in rows:
        say(f"  {vertex:<{width}}  {value}")


def shown(value: Any, unreached: Any) -> Any:
    """A value as the list of vertices has it; `unreached` is the value of those that the program has not reached."""
    if unreached is not None and value == unreached:
        return "unreached"
    return f"{value:.6g}" if isinstance(value, float) else value


def written(result: Result, output: Path | None, trace: Path | None, report: Path | None) -> None:
    """Print the names of the files that were written."""
    if output is not None:
        say(f"wrote {len(result.values):,} values to {output}")
    if trace is not None:
        say(f"wrote a trace to {trace}; open it in ui.perfetto.dev")
    if report is not None:
        say(f"wrote a report to {report}; open it in a browser")


def document(result: Result, graph: Graph, best: list[tuple[Any, Any]], read_seconds: float) -> dict[str, Any]:
    """The object that ``--json`` prints."""
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
        "why": result.stats.why,
        "encoding": result.stats.encoding,
        "device_bytes": result.stats.device_bytes,
        "found_bytes": result.stats.found_bytes,
        "threads": result.stats.threads,
        "resumed": result.stats.resumed,
        "seconds": {"read": read_seconds, "compile": result.stats.compile_seconds, "run": result.stats.seconds},
        "iterations": result.stats.iterations,
        "top": best,
    }
