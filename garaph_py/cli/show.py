"""What ``garaph run`` prints of a result: text for people, JSON for programs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..sizes import show_bytes

if TYPE_CHECKING:
    from ..events import Iteration
    from ..graph import Graph
    from ..result import Result, Stats

SHOWN_ROWS = 24


def iterations(stats: Stats) -> None:
    """The table of iterations; of a run on a GPU also bytes copied over its link, in both directions, an edge."""
    rows, with_gpu = stats.iterations, used_gpu(stats)
    heading = "iteration  mode               f       active          edges  pages skipped        ms  M edges/s"
    print(heading + "  device  bytes/edge" * with_gpu)
    for row in rows if len(rows) <= SHOWN_ROWS else (*rows[: SHOWN_ROWS - 4], None, *rows[-4:]):
        if row is None:
            print(f"{'...':>9}  ({len(rows) - SHOWN_ROWS} more)")
            continue
        line = (
            f"{row.number:>9}  {row.mode:<11} {row.f:>8.2g} {row.active:>12,} {row.edges:>14,} {row.pages:>6} "
            f"{row.pages_skipped:>7} {row.seconds * 1e3:>9.3f} {row.edges_per_second / 1e6:>10,.1f}"
        )
        print(line + f"  {row.device:<6}  {per_edge([row]):>10}" * with_gpu)


def used_gpu(stats: Stats) -> bool:
    return any(row.device == "gpu" for row in stats.iterations)


def per_edge(rows: list[Iteration]) -> str:
    """Bytes copied to and from the GPU an edge visited."""
    edges = sum(row.edges for row in rows)
    return f"{sum(row.to_device + row.from_device for row in rows) / edges:.2f}" if edges else "-"


def ending(stats: Stats) -> str:
    """How the run ended, after how long and where, and what a GPU was sent."""
    from ..graph.graph import PACKED

    count = len(stats.iterations)
    text = (
        f"{'converged' if stats.converged else 'stopped'} after {count} iteration{'s' * (count != 1)} in "
        f"{stats.seconds:.3f} s on {stats.device}, {stats.threads} threads"
    )
    if stats.encoding == PACKED:
        text += ", packed"
    if not used_gpu(stats):
        return text
    rows = [row for row in stats.iterations if row.device == "gpu"]
    there, back = (sum(getattr(row, name) for row in rows) for name in ("to_device", "from_device"))
    return f"{text}; {show_bytes(there)} to the GPU and {show_bytes(back)} back, {per_edge(rows)} bytes an edge"


def top(result: Result, count: int) -> None:
    """The vertices with the largest values."""
    best = result.top(count)
    column = result.column()
    if column.dtype.kind == "f" and (strange := int((~np.isfinite(column)).sum())):
        print(f"note: {strange:,} of {len(column):,} values are infinite or not a number")
    if not best:
        return
    width = max(len(str(vertex)) for vertex, _ in best)
    print(f"top {len(best)} by {result.names[0]}:" if result.names[0] != "value" else f"top {len(best)}:")
    for vertex, value in best:
        print(f"  {vertex!s:<{width}}  {value:.6g}" if isinstance(value, float) else f"  {vertex!s:<{width}}  {value}")


def document(result: Result, graph: Graph, count: int, read_seconds: float) -> dict[str, Any]:
    """What ``--json`` prints. Numbers that JSON lacks (infinity, NaN) become null."""

    def number(value: Any) -> Any:
        return None if isinstance(value, float) and not math.isfinite(value) else value

    columns = result.stats.columns()
    return {
        "program": result.program,
        "graph": {"vertices": graph.n, "edges": graph.m, "directed": graph.directed},
        "converged": result.stats.converged,
        "device": result.stats.device,
        "note": result.stats.note,
        "encoding": result.stats.encoding,
        "threads": result.stats.threads,
        "seconds": {"read": read_seconds, "run": result.stats.seconds},
        "iterations": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        "top": [[vertex, number(value)] for vertex, value in result.top(count)],
    }
