"""Every engine over graphs that exceed the GPU's memory: which is fastest, and how far `auto` is from it.

    python scripts/bench_budgets.py [GRAPH ...] [--shares 8 4 2 1] [--programs BFS SSSP ...] [--engines ...] [--fresh]
        [--json FILE]

GRAPH is as for bench_gpu.py; it gets weights if it has none. A share s
gives a run 1/s of the bytes of the raw edges that the program reads, and `VERTEX_BYTES` for each vertex. Times are the
milliseconds of all iterations of the median of warm runs, which find what earlier ones have left on the GPU; with
--fresh, nothing of the graph is there, and times are those of whole calls. A run is repeated `--repeats` times, but not
once its runs have taken half a second. "-" is an engine that needs more memory, or cannot run the program. The last
column is `auto` divided by the best engine.

Prints a Markdown table for each graph; the rows in which `auto` takes more than `LIMIT` times as long as the best; and
how many times as long the other engines take, in the geometric mean over the rows whose graph exceeds the GPU's memory.
FILE gets all rows.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from graphs import hub, load

import garaph_py as gp
from garaph_py.experiment.budget import VERTEX_BYTES

ENGINES = ["garaph", "emogi", "etagraph", "grus", "hytgraph", "auto"]
PROGRAMS = ["BFS", "SSSP", "ConnectedComponents", "PageRank", "DeltaPageRank", "SSWP"]
TOLERANCE = 0.01
"""Of PageRank and DeltaPageRank: HyTGraph's."""
GROUPS = (["BFS", "SSSP", "SSWP"], ["BFS", "SSSP", "ConnectedComponents", "DeltaPageRank", "SSWP"])
"""Programs whose frontier grows and shrinks, and these with those whose frontier only shrinks."""
LIMIT = 1.05
ENOUGH_SECONDS = 0.5
"""Seconds of runs of one engine after which none is repeated."""


class Row(NamedTuple):
    """Milliseconds by engine; NaN if the engine cannot do this."""

    graph: str
    program: str
    share: int
    times: dict[str, float]

    @property
    def ratio(self) -> float:
        """The time of `auto`, divided by that of the best engine; NaN if it is not among them."""
        known = [time for time in self.times.values() if not math.isnan(time)]
        return self.times.get("auto", math.nan) / min(known, default=math.nan)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", default=["rmat:20:16:symmetric"], metavar="GRAPH")
    parser.add_argument("--shares", nargs="+", type=int, default=[8, 4, 2, 1])
    parser.add_argument("--programs", nargs="+", default=PROGRAMS)
    parser.add_argument("--engines", nargs="+", default=ENGINES)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = list[Row]()
    for text in options.graphs:
        graph, name = load(text, weighted=True), Path(text).name
        print(f"{name}: {graph!r}\n")
        heads = " | ".join(options.engines)
        print(f"| program | share | {heads} | auto / best |\n{'|---' * (len(options.engines) + 3)}|")
        for called in options.programs:
            for row in rows_of(graph, name, called, options):
                rows.append(row)
                cells = " | ".join([called, f"1/{row.share}", *map(shown, row.times.values()), f"{row.ratio:.2f}"])
                print(f"| {cells} |", flush=True)
        graph.release()
        print()
        if options.json:
            options.json.write_text(json.dumps([row._asdict() for row in rows]))
    summarize(rows)


def rows_of(graph: gp.Graph, name: str, called: str, options: argparse.Namespace) -> Iterator[Row]:
    """The rows of a program over a graph; none if the graph does not suit it."""
    program, values = program_of(called, graph)
    for share in options.shares if program else ():
        budget = graph.m * (4 + values) // share + VERTEX_BYTES * graph.n
        yield Row(name, called, share, {
            engine: milliseconds(program, graph, engine, budget, options.repeats, options.fresh)
            for engine in options.engines
        })  # fmt: skip


def summarize(rows: list[Row]) -> None:
    """Print where `auto` is not the best, and by how much it is faster than the others."""
    for row in rows:
        if row.ratio > LIMIT:
            print(f"above {LIMIT}: {row.graph}, {row.program}, 1/{row.share}: {row.ratio:.2f}")
    for programs in GROUPS:
        chosen = [row for row in rows if row.program in programs and row.share > 1]
        for engine in {engine: None for row in chosen for engine in row.times if engine != "auto"}:
            times = [row.times[engine] / row.times.get("auto", math.nan) for row in chosen]
            times = [time for time in times if not math.isnan(time)]
            mean = math.exp(np.log(times).mean()) if times else math.nan
            where = f"{len(times)} of {len(chosen)} rows of {', '.join(programs)} with less memory than edges"
            print(f"{engine}: {mean:.2f} times auto's time, {where}")


def program_of(called: str, graph: gp.Graph) -> tuple[gp.VertexProgram | None, int]:
    """The program, and the bytes of an edge's value if it reads it; None if the graph does not suit it."""
    made, weighted = getattr(gp.apps, called), graph.edge_dtype is not None
    if called in ("PageRank", "DeltaPageRank"):
        return made(tolerance=TOLERANCE, weighted=False, dtype=np.float32), 0
    if called == "ConnectedComponents":
        return (None if graph.directed else made()), 0
    if called in ("SSSP", "SSWP") and not weighted:
        return None, 0
    source = hub(graph)
    return made(source), graph.edge_dtype.itemsize if called != "BFS" and graph.edge_dtype else 0


def milliseconds(
    program: gp.VertexProgram, graph: gp.Graph, engine: str, budget: int, repeats: int, fresh: bool
) -> float:
    """The median time of a run, after one that nobody times; NaN if the engine cannot."""
    times, spent = list[float](), 0.0
    while not times or (len(times) <= repeats and (len(times) < 2 or spent < ENOUGH_SECONDS)):
        if fresh:
            graph.release()
        began = time.perf_counter()
        try:
            device = {} if engine not in ("auto", "garaph") else {"device": "gpu"}
            options = gp.Options(engine=engine, gpu_memory=budget)
            stats = gp.run(program, graph, options=options, **device).stats
        except (gp.errors.DeviceMemoryError, gp.errors.ParameterError):
            return math.nan
        whole = time.perf_counter() - began
        spent += whole if times else 0.0
        times.append(whole if fresh else sum(each.seconds for each in stats.iterations))
    return 1e3 * statistics.median(times[1:])


def shown(milliseconds: float) -> str:
    return "-" if math.isnan(milliseconds) else f"{milliseconds:.1f}"


if __name__ == "__main__":
    main()
