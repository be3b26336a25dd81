"""How large a graph fits a small GPU? Runs over billions of packed edges, within a budget of device memory.

    python scripts/bench_large.py --scale 25 --edge-factor 82 --gpu-memory 11GiB [--dir DIR]

The graph is a symmetric R-MAT graph with its vertices in degree order. It is generated out of core into a graph
directory in `--dir`, which is removed at the end: 5.5 billion stored edges take about 8 GB there. Prints a Markdown
table. The column "ms" is the median of all iterations but the first.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

import garaph_py as gp
from garaph_py.executor.gpu import device as devices
from garaph_py.executor.gpu.executor import GpuExecutor
from garaph_py.executor.gpu.settings import Settings
from garaph_py.graph.generate import random_rmat
from garaph_py.io.bulk.build import ImportOptions
from garaph_py.io.bulk.import_ import write_random
from garaph_py.program import bind
from garaph_py.system.sizes import parse_bytes


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
        # With memory for the edges' columns alone it is built out of core; in memory it would keep its order.
        write_random(edges, Path(folder, "graph"), how, memory=8 * edges.count)
        graph = gp.open(Path(folder, "graph"), encoding="packed")
    print(f"{graph!r}, made in {time.perf_counter() - started:.0f} s\n")
    print("| program | bytes per edge | edges that stay | GPU memory | iterations | ms | GE/s | whole run, s |")
    print("|---|---|---|---|---|---|---|---|")
    for program, iterations in (
        (gp.apps.PageRank(dtype=np.float32, stop="never", weighted=False), 10),
        (gp.apps.BFS(0), None),
        (gp.apps.ConnectedComponents(), None),
    ):
        run(graph, program, iterations, options.gpu_memory)


def run(graph: gp.Graph, program: gp.VertexProgram, iterations: int | None, memory: str) -> None:
    """Print the row of one program."""
    settings = Settings(parse_bytes(memory, "--gpu-memory"), gather="packed")
    with GpuExecutor(bind(program, graph), graph, devices.find(), settings) as executor:
        executor.initialize(True)
        resident = executor.residency.pages[: executor.residency.resident]
        share, used = sum(page.edges for page in resident) / graph.m, executor.residency.used
        width = executor.edges.arrays.width
    started = time.perf_counter()
    result = gp.run(
        program, graph, iterations=iterations, device="gpu", options=gp.Options(gpu_memory=memory, gather="packed")
    )
    whole = time.perf_counter() - started
    rows = result.stats.iterations
    middle = statistics.median(row.seconds for row in rows[1:])
    print(
        f"| {type(program).__name__} | {width:.2f} | {share:.0%} | {used / 2**30:.2f} GiB | {len(rows)} | "
        f"{middle * 1e3:.1f} | {graph.m / middle / 1e9:.1f} | {whole:.2f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
