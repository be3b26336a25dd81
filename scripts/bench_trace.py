"""What does a trace cost? Times runs with and without one, in turns; the project's bound is 2 %.

    python scripts/bench_trace.py [--scale 18] [--rounds 101] [--threads N]

For each iteration the fastest time in all rounds counts, which other load on the machine disturbs least. The script
prints the ratio of the sums of these times, and the median of the rounds' ratios with its quartiles. The time to write
the file after the run is not part of them; it is printed last. The last row is the worst case: hundreds of supersteps
with a few microseconds of work each.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from graphs import grid, hub

import garaph_py as gp
from garaph_py.native.threads import available_cores


def compare(name: str, run: Callable[[Path | None], gp.Result], rounds: int, folder: Path) -> None:
    run(folder / "warm")
    times: dict[bool, list[list[float]]] = {False: [], True: []}
    writing = []
    for k in range(rounds):
        for traced in (k % 2 == 0, k % 2 == 1):
            started = time.perf_counter()
            rows = run(folder / "trace.json" if traced else None).stats.iterations
            times[traced].append([row.seconds for row in rows])
            if traced:
                writing.append(time.perf_counter() - started - rows[-1].started - rows[-1].seconds)
    without, with_one = (sum(map(min, zip(*times[traced], strict=True))) for traced in (False, True))
    ratios = [sum(a) / sum(b) for a, b in zip(times[True], times[False], strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    size = (folder / "trace.json").stat().st_size
    print(
        f"{name:<34} {len(rows):>4} iterations {without * 1e3:8.2f} ms; with a trace {with_one / without:.3f}; median "
        f"of rounds {middle:.3f} ({low:.3f} to {high:.3f}); {statistics.median(writing) * 1e3:.1f} ms to write "
        f"{size:,} bytes",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=18)
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--threads", type=int, default=available_cores())
    options = parser.parse_args()
    graph = gp.rmat(options.scale, 16).symmetrized()
    source = int(hub(graph))
    road, how = grid(256), {"threads": options.threads, "device": "cpu"}
    pagerank = gp.apps.PageRank(dtype=np.float32, stop="never")
    with tempfile.TemporaryDirectory() as name:
        for label, run in (
            ("PageRank", lambda path: gp.run(pagerank, graph, iterations=10, options=gp.Options(trace=path), **how)),
            (
                "PageRank, pages of 262,144 edges",
                lambda path: gp.run(
                    pagerank, graph, iterations=10, options=gp.Options(page_edges=1 << 18, trace=path), **how
                ),
            ),
            ("BFS", lambda path: gp.run(gp.apps.BFS(source), graph, options=gp.Options(trace=path), **how)),
            (
                "ConnectedComponents, synchronous",
                lambda path: gp.run(
                    gp.apps.ConnectedComponents(), graph, options=gp.Options(sync=True, trace=path), **how
                ),
            ),
            (
                "BFS over a grid of 256 x 256",
                lambda path: gp.run(gp.apps.BFS(0), road, options=gp.Options(trace=path), **how),
            ),
        ):
            compare(label, run, options.rounds, Path(name))


if __name__ == "__main__":
    main()
