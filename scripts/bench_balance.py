"""How evenly is a pull divided among threads? Shows how much longer the slowest thread works than an even share.

    python scripts/bench_balance.py GRAPH ... [--order given,degree] [--runs pull,pull-tiled,bfs] [--threads 2,8,16,64]

Graphs are files in any format that `garaph_py.read` knows. ``pull`` and ``pull-tiled`` are modes of PageRank; ``bfs``
stands for the pulls of BFS from the vertex with the most out-edges. One thread makes the calls of each iteration, one
after the other; the script takes the median time of each call over five runs, and hands the calls out as the pool does:
a thread that is free takes the next. So the figures do not depend on the cores of the machine. Beside them stands the
measured time of a run on all cores, least of five.
"""

from __future__ import annotations

import argparse
import heapq
import time
from pathlib import Path

import numpy as np
from graphs import hub

import garaph_py as gp
from garaph_py.native.kernel import ArgumentTable

ITERATIONS, REPEATS = 10, 5
PAGERANK = gp.apps.PageRank(dtype=np.float32, dangling="drop", stop="never", weighted=False)
KERNELS = {"pull": "pull", "pull-tiled": "pull_tiled", "bfs": "pull_active"}
"""The kernel of each run whose calls are timed."""


def run(graph: gp.Graph, what: str, threads: int | None) -> float:
    """Milliseconds of all iterations."""
    if what == "bfs":
        search = gp.apps.BFS(hub(graph))
        return 1e3 * gp.run(search, graph, device="cpu", threads=threads).stats.seconds
    options = gp.Options(mode=what)
    ranks = gp.run(PAGERANK, graph, iterations=ITERATIONS, device="cpu", threads=threads, options=options)
    return 1e3 * ranks.stats.seconds


def times_of_calls(graph: gp.Graph, what: str) -> list[list[float]]:
    """Milliseconds of each call in each launch of the kernel, in the order in which threads take the calls."""
    makes, repeats = ArgumentTable.__call__, list[list[list[float]]]()

    def timed(table: ArgumentTable, k: int = 0) -> int:
        started = time.perf_counter()
        result = makes(table, k)
        if table.kernel.name == KERNELS[what]:
            if k == 0:
                repeats[-1].append([])
            repeats[-1][-1].append(1e3 * (time.perf_counter() - started))
        return result

    ArgumentTable.__call__ = timed  # type: ignore[method-assign]
    try:
        for _ in range(REPEATS):
            repeats.append([])
            run(graph, what, 1)
    finally:
        ArgumentTable.__call__ = makes  # type: ignore[method-assign]
    return [np.median(launches, axis=0).tolist() for launches in zip(*repeats, strict=True)]


def longest(times: list[float], threads: int) -> float:
    """When the last of `threads` threads ends, if a free one takes the next call."""
    ends = [0.0] * threads
    for each in times:
        heapq.heapreplace(ends, ends[0] + each)
    return max(ends)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+", type=Path)
    parser.add_argument("--order", default="given,degree")
    parser.add_argument("--runs", default=",".join(KERNELS))
    parser.add_argument("--threads", default="2,8,16,64")
    options = parser.parse_args()
    for path in options.graphs:
        for order in options.order.split(","):
            graph = gp.read(path, order="none" if order == "given" else order)
            for what in options.runs.split(","):
                run(graph, what, None)  # compiles the kernels, and makes tiles
                measured, launches = min(run(graph, what, None) for _ in range(REPEATS)), times_of_calls(graph, what)
                whole = sum(map(sum, launches))
                shares = ", ".join(
                    f"{count}: {sum(longest(times, count) for times in launches) / (whole / count):.2f}"
                    for count in map(int, options.threads.split(","))
                )
                print(
                    f"{path.stem} {order} {what}: {measured:.1f} ms; {len(launches)} pulls, {whole:.1f} ms on one "
                    f"thread; slowest thread over even share, by threads: {shares}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
