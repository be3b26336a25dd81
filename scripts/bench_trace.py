"""What does a trace cost? Runs with and without one in turns; the bound is 2 %.

    python scripts/bench_trace.py [--scale 20] [--rounds 31] [--threads N]

Timed are the iterations: the ratio of the fastest run with a trace to the fastest without, which other load on the
machine disturbs least, and the median of the rounds' ratios with its quartiles. What it takes to write the file
afterwards is printed beside them. The last line is the worst case: hundreds of supersteps of a few microseconds of work
each.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import garaph_py as gp
from garaph_py.threads import available_cores


def grid(side: int) -> gp.Graph:
    """A road network of a kind: each vertex and its neighbours to the right and below."""
    at = np.arange(side * side).reshape(side, side)
    sources = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    targets = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    return gp.from_edges(sources, targets, directed=False)


def compare(name: str, run: Callable[[Path | None], gp.Result], rounds: int, folder: Path) -> None:
    run(folder / "warm")
    plain, traces, ratios, writing = [], [], [], []
    for k in range(rounds):
        seconds = {}
        for traced in (k % 2 == 0, k % 2 == 1):
            started = time.perf_counter()
            stats = run(folder / "trace.json" if traced else None).stats
            seconds[traced] = stats.seconds
            if traced:
                last = stats.iterations[-1]
                writing.append(time.perf_counter() - started - last.started - last.seconds)
        plain.append(seconds[False])
        traces.append(seconds[True])
        ratios.append(seconds[True] / seconds[False])
    low, middle, high = statistics.quantiles(ratios, n=4)
    size = (folder / "trace.json").stat().st_size
    print(
        f"{name:<34} {len(stats.iterations):>4} iterations {min(plain) * 1e3:8.2f} ms at best; with a trace "
        f"{min(traces) / min(plain):.3f} at best, {middle:.3f} in the median ({low:.3f} to {high:.3f}); "
        f"{statistics.median(writing) * 1e3:.1f} ms to write {size:,} bytes",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--threads", type=int, default=available_cores())
    options = parser.parse_args()
    graph = gp.rmat(options.scale, 16).symmetrized()
    source = int(graph.ids.take(np.array([np.argmax(graph.out_degrees)]))[0])
    road, how = grid(256), {"threads": options.threads}
    pagerank = gp.apps.PageRank(dtype=np.float32, stop="never")
    with tempfile.TemporaryDirectory() as name:
        for label, run in (
            ("PageRank", lambda path: gp.run(pagerank, graph, iterations=10, trace=path, **how)),
            (
                "PageRank, pages of 262,144 edges",
                lambda path: gp.run(pagerank, graph, iterations=10, page_edges=1 << 18, trace=path, **how),
            ),
            ("BFS", lambda path: gp.run(gp.apps.BFS(source), graph, trace=path, **how)),
            ("ConnectedComponents", lambda path: gp.run(gp.apps.ConnectedComponents(), graph, trace=path, **how)),
            ("BFS over a grid of 256 x 256", lambda path: gp.run(gp.apps.BFS(0), road, trace=path, **how)),
        ):
            compare(label, run, options.rounds, Path(name))


if __name__ == "__main__":
    main()
