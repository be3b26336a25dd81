"""How large a graph fits a small GPU? Runs over billions of packed edges, within a budget of device memory.

    python scripts/bench_large.py --scale 25 --edge-factor 82 --gpu-memory 11GiB [--dir DIR]

The graph is a symmetric R-MAT graph with its vertices in degree order. It is generated out of core into a graph
directory in `--dir`, which is removed at the end: 5.5 billion stored edges take about 8 GB there. Prints a Markdown
table. BFS begins at the vertex with the most edges. "iterations, ms" is the sum of all iterations of the median of five
warm calls, "call, ms" such a call as a whole, and "first, s" the first call, with nothing of the graph on the GPU.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from graphs import hub

import garaph_py as gp
from garaph_py.executor.gpu import device as devices
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.settings import Settings
from garaph_py.graph.generate import random_rmat
from garaph_py.io.bulk.build import ImportOptions
from garaph_py.io.bulk.import_ import write_random
from garaph_py.program import bind
from garaph_py.system.sizes import parse_bytes

REPEATS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=25)
    parser.add_argument("--edge-factor", type=int, default=82)
    parser.add_argument("--gpu-memory", default="11GiB")
    parser.add_argument("--dir", type=Path)
    options = parser.parse_args()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        edges = random_rmat(options.scale, options.edge_factor)
        how = ImportOptions(False, order="degree", encoding="packed")
        write_random(edges, Path(folder, "graph"), how)
        graph = gp.open(Path(folder, "graph"), encoding="packed")
    print(f"{graph!r}, made in {time.perf_counter() - started:.0f} s\n")
    heads = "bytes per edge | edges that stay | GPU memory | iterations | iterations, ms | call, ms | first, s"
    print(f"| program | {heads} |\n{'|---' * 8}|")
    source = hub(graph)
    for program, iterations in (
        (gp.apps.PageRank(dtype=np.float32, stop="never", weighted=False), 10),
        (gp.apps.BFS(source), None),
        (gp.apps.ConnectedComponents(), None),
    ):
        run(graph, program, iterations, options.gpu_memory)


def run(graph: gp.Graph, program: gp.VertexProgram, iterations: int | None, memory: str) -> None:
    """Print the row of one program."""
    settings = Settings(parse_bytes(memory, "--gpu-memory"), gather="packed")
    with GpuExecutor(bind(program, graph), graph, devices.find(), settings) as executor:
        executor.initialize(True)
        resident = executor.residency.here
        share, used = sum(page.edges for page in resident) / graph.m, executor.residency.used
        width = executor.edges.arrays.width
    graph.release()
    calls = [timed(graph, program, iterations, memory) for _ in range(1 + REPEATS)]
    first, (call, alone, steps) = calls[0][0], sorted(calls[1:])[REPEATS // 2]
    print(
        f"| {type(program).__name__} | {width:.2f} | {share:.0%} | {used / 2**30:.2f} GiB | {steps} | "
        f"{alone * 1e3:.1f} | {call * 1e3:.1f} | {first:.2f} |",
        flush=True,
    )


def timed(graph: gp.Graph, program: gp.VertexProgram, iterations: int | None, memory: str) -> tuple[float, float, int]:
    """The seconds of a call, those of its iterations, and their number."""
    options, started = gp.Options(gpu_memory=memory, gather="packed"), time.perf_counter()
    result = gp.run(program, graph, iterations=iterations, device="gpu", options=options)
    rows = result.stats.iterations
    return time.perf_counter() - started, sum(row.seconds for row in rows), len(rows)


if __name__ == "__main__":
    main()
