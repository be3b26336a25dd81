"""EMOGI, EtaGraph and Grus on a GPU, with and without each technique. Prints a Markdown table.

    python scripts/bench_engines.py [--scale 24] [--edge-factor 16] [--engines emogi etagraph ...] [--repeats 5]

The graph is a symmetric R-MAT graph with weights from 1 to 64. Times are milliseconds. "iterations" is the sum of the
iterations of the median of the repeats, so kernels and transfers, without the answer's copy; "call" is that call as a
whole, with the copy of the answer to the host. "first" is the first call over a graph of which the GPU has nothing, and
"placing" what of it was spent on pinning, copying or prefetching the lists. DeltaPageRank does not read the weights;
its "iterations" is the time of one iteration in which all vertices are active, and so read all lists.
"""

from __future__ import annotations

import argparse
import statistics
import time

from graphs import hub

import garaph_py as gp
from garaph_py.executor.gpu import device as devices
from garaph_py.executor.gpu.measure import host_to_device_bandwidth

ENGINES = [
    "emogi", "emogi:split=no", "emogi:align=no", "emogi:merge=no", "emogi:element_bytes=8", "emogi:listed=yes",
    "emogi:listed=yes,shared=yes", "emogi:unified=yes", "etagraph", "etagraph:prefetch=no", "etagraph:smp=no",
    "etagraph:um=no", "grus", "grus:byte_map=no", "grus:placement=um", "grus:placement=ab", "auto",
]  # fmt: skip
PROGRAMS = ["BFS", "SSSP", "ConnectedComponents", "DeltaPageRank"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=24)
    parser.add_argument("--edge-factor", type=int, default=16)
    parser.add_argument("--engines", nargs="+", default=ENGINES)
    parser.add_argument("--programs", nargs="+", default=PROGRAMS)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    graph = gp.rmat(options.scale, options.edge_factor, directed=False, weights=(1, 64))
    copied = host_to_device_bandwidth(devices.find()) / 1e9
    print(f"{graph!r}; pinned memory is copied to the GPU at {copied:.1f} GB/s\n")
    print(f"| program | engine | iterations | ms | call, ms | first, ms | placing, ms |\n{'|---' * 7}|")
    source = hub(graph)
    for called in options.programs:
        made = getattr(gp.apps, called)
        arguments = {} if called == "ConnectedComponents" else {"source": source}
        program = made(**({"weighted": False} if called == "DeltaPageRank" else arguments))
        for engine in options.engines:
            print(row(graph, program, engine, options.repeats), flush=True)


def row(graph: gp.Graph, program: gp.VertexProgram, engine: str, repeats: int) -> str:
    """The table's row of a program on an engine."""
    graph.release()
    first = timed(graph, program, engine)
    later = sorted((timed(graph, program, engine) for _ in range(repeats)), key=lambda each: each[1])
    call, alone, stats = later[len(later) // 2]
    placing = sum(first[2].placing.values()) * 1e3
    cells = f"{len(stats.iterations)} | {alone * 1e3:.2f} | {call * 1e3:.1f} | {first[0] * 1e3:.0f} | {placing:.0f}"
    return f"| {type(program).__name__} | {engine} | {cells} |"


def timed(graph: gp.Graph, program: gp.VertexProgram, engine: str) -> tuple[float, float, gp.Result]:
    """The seconds of a call, those of its iterations, and its statistics."""
    began = time.perf_counter()
    device = {"device": "gpu"} if engine == "auto" else {}
    stats = gp.run(program, graph, options=gp.Options(engine=engine), **device).stats
    whole = time.perf_counter() - began
    full = [each.seconds for each in stats.iterations if each.active == graph.n]
    is_delta = isinstance(program, gp.apps.DeltaPageRank)
    return whole, statistics.median(full) if is_delta else sum(each.seconds for each in stats.iterations), stats


if __name__ == "__main__":
    main()
