"""How evenly is a pull divided among threads? Shows how much longer the slowest thread works than an even share.

    python scripts/bench_balance.py GRAPH ... [--order given,degree] [--modes pull,pull-tiled] [--threads 2,8,16,64]

Graphs are files in any format that `garaph_py.read` knows. One thread makes the calls of an iteration of PageRank, one
after the other; the script takes the median time of each call over ten iterations, and hands the calls out as the pool
does: a thread that is free takes the next. So the figures do not depend on the cores of the machine. Beside them stands
the measured time of an iteration on all cores.
"""

from __future__ import annotations

import argparse
import heapq
import statistics
import time
from pathlib import Path

import numpy as np

import garaph_py as gp
from garaph_py.native.kernel import ArgumentTable

ITERATIONS = 10
PAGERANK = gp.apps.PageRank(dtype=np.float32, dangling="drop", stop="never", weighted=False)
KERNELS = {"pull": "pull", "pull-tiled": "pull_tiled"}
"""The kernel of each mode whose calls are timed."""


def run(graph: gp.Graph, mode: str, threads: int | None) -> float:
    """Median milliseconds of an iteration."""
    options = gp.Options(mode=mode)
    stats = gp.run(PAGERANK, graph, iterations=ITERATIONS, device="cpu", threads=threads, options=options).stats
    return 1e3 * statistics.median(row.seconds for row in stats.iterations)


def times_of_calls(graph: gp.Graph, mode: str) -> list[float]:
    """Median milliseconds of each call of an iteration, in the order in which threads take the calls."""
    times: dict[int, list[float]] = {}
    makes = ArgumentTable.__call__

    def timed(table: ArgumentTable, k: int = 0) -> int:
        started = time.perf_counter()
        result = makes(table, k)
        if table.kernel.name == KERNELS[mode]:
            times.setdefault(k, []).append(1e3 * (time.perf_counter() - started))
        return result

    ArgumentTable.__call__ = timed  # type: ignore[method-assign]
    try:
        run(graph, mode, 1)
    finally:
        ArgumentTable.__call__ = makes  # type: ignore[method-assign]
    return [statistics.median(times[k]) for k in sorted(times)]


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
    parser.add_argument("--modes", default=",".join(KERNELS))
    parser.add_argument("--threads", default="2,8,16,64")
    options = parser.parse_args()
    for path in options.graphs:
        for order in options.order.split(","):
            graph = gp.read(path, order="none" if order == "given" else order)
            for mode in options.modes.split(","):
                run(graph, mode, None)  # compiles the kernels, and makes tiles
                measured, times = min(run(graph, mode, None) for _ in range(3)), times_of_calls(graph, mode)
                shares = ", ".join(
                    f"{count}: {longest(times, count) / (sum(times) / count):.2f}"
                    for count in map(int, options.threads.split(","))
                )
                print(
                    f"{path.stem} {order} {mode}: {measured:.1f} ms an iteration; {len(times)} calls, {sum(times):.1f} "
                    f"ms, the longest {max(times):.2f}; slowest thread over even share, by threads: {shares}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
