"""Every engine over graphs that exceed the GPU's memory: which is fastest, and how far `auto` is from it.

    python scripts/bench_budgets.py [GRAPH ...] [--shares 8 4 2 1] [--programs BFS SSSP ...] [--engines ...] [--fresh]

GRAPH is as for bench_gpu.py; it gets weights if it has none. A share s
gives a run 1/s of the bytes of the raw edges that the program reads, and `VERTEX_BYTES` for each vertex. Times are the
milliseconds of all iterations of the median of warm runs, which find what earlier ones have left on the GPU; with
--fresh, nothing of the graph is there, and times are those of whole calls. "-" is an engine that needs more memory, or
cannot run the program. The last column is `auto` divided by the best engine. Prints a Markdown table for each graph,
and then the geometric means.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np
from graphs import hub, load

import garaph_py as gp
from garaph_py.experiment.budget import VERTEX_BYTES

ENGINES = ["garaph", "emogi", "etagraph", "grus", "hytgraph", "auto"]
PROGRAMS = ["BFS", "SSSP", "ConnectedComponents", "PageRank", "DeltaPageRank", "SSWP"]
TOLERANCE = 0.01
"""Of PageRank and DeltaPageRank: HyTGraph's."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", default=["rmat:20:16:symmetric"], metavar="GRAPH")
    parser.add_argument("--shares", nargs="+", type=int, default=[8, 4, 2, 1])
    parser.add_argument("--programs", nargs="+", default=PROGRAMS)
    parser.add_argument("--engines", nargs="+", default=ENGINES)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--fresh", action="store_true")
    options = parser.parse_args()
    rows = list[dict[str, float]]()
    for text in options.graphs:
        graph = load(text, weighted=True)
        print(f"{Path(text).name}: {graph!r}\n")
        heads = " | ".join(options.engines)
        print(f"| program | share | {heads} | auto / best |\n{'|---' * (len(options.engines) + 3)}|")
        for called in options.programs:
            program, values = program_of(called, graph)
            if program is None:
                continue
            for share in options.shares:
                budget = graph.m * (4 + values) // share + VERTEX_BYTES * graph.n
                found = {
                    engine: milliseconds(program, graph, engine, budget, options.repeats, options.fresh)
                    for engine in options.engines
                }
                rows.append(found)
                cells = " | ".join([called, f"1/{share}", *map(shown, found.values()), f"{ratio(found):.2f}"])
                print(f"| {cells} |", flush=True)
        print()
    whole = [row for row in rows if not any(math.isnan(time) for time in row.values())]
    for engine in options.engines:
        times = [row[engine] / min(row.values()) for row in whole]
        print(f"{engine}: {math.exp(np.log(times).mean()) if times else math.nan:.2f} of the best in {len(whole)} rows")


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
    times = []
    for _ in range(repeats + 1):
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
        times.append(whole if fresh else sum(each.seconds for each in stats.iterations))
    return 1e3 * sorted(times[1:])[repeats // 2]


def shown(milliseconds: float) -> str:
    return "-" if math.isnan(milliseconds) else f"{milliseconds:.1f}"


def ratio(found: dict[str, float]) -> float:
    """The time of `auto`, divided by that of the best engine; NaN if it is not among them."""
    return found.get("auto", math.nan) / min((one for one in found.values() if not math.isnan(one)), default=math.nan)


if __name__ == "__main__":
    main()
