"""How well does the dispatcher keep the GPU busy, and what does it cost? Prints Markdown tables.

    python scripts/bench_dispatch.py busy rmat:24:16:symmetric ...
    python scripts/bench_dispatch.py overhead
    python scripts/bench_dispatch.py road
    python scripts/bench_dispatch.py messages

``busy``
    Of the time from the first copy to the GPU in an iteration to the last one, the share in which the copy engine is
    busy. The GPU has memory for a quarter of the edges. The times come from the run's trace.
``overhead``
    What a page costs, and what an iteration costs, if there is almost no work: PageRank over a graph of 262,144 edges.
    The first table has iterations with more and more pages, all of which are copied; the cost of a page is the slope of
    a line through their times. The second table has iterations of one page that stays on the GPU.
``road``
    BFS over a grid of 374 x 374 vertices, which takes 746 supersteps of about 700 edges each.
``messages``
    A message and its answer, in the three ways in which a dispatcher could hand over a page: a method call; two threads
    with a `queue.SimpleQueue` in each direction; two processes with a `multiprocessing.Pipe`. Also the time in which
    Python starts and imports what `gp.run` needs. This takes no GPU.

Graphs are named as in bench_hybrid.py. How good the decisions are is measured by scripts/experiments/dispatch.toml.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import subprocess
import sys
import tempfile
import threading
import timeit
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
from bench_gpus import memory_of
from graphs import grid, load

import garaph_py as gp

WARM = 2
"""Runs, and iterations of a run, that do not count: kernels are compiled and rates measured in them."""
MESSAGES = 5000
"""Messages of each kind, of whose times the median counts."""
CALLS = 100
"""Method calls that are timed together: a single one takes no longer than a clock."""


def table(*columns: str) -> None:
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|", flush=True)


def row(*cells: Any) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def seconds_of(repeats: int, program: gp.VertexProgram, graph: gp.Graph, **how: Any) -> list[float]:
    """The seconds of each iteration: medians of `repeats` runs."""
    runs = [gp.run(program, graph, **how) for _ in range(repeats + WARM)][WARM:]
    columns = zip(*([step.seconds for step in run.stats.iterations] for run in runs), strict=True)
    return [statistics.median(column) for column in columns]


def busy(names: list[str], repeats: int) -> None:
    table("graph", "edges", "device", "ms an iteration", "engine busy")
    program = gp.apps.PageRank(dtype=np.float32, stop="never")
    for name in names:
        graph = load(name)
        memory = memory_of("1/4", program, graph)
        for gather in ("segmented", "packed"):
            for device in ("gpu", "hybrid"):
                shares, times = [], []
                options = gp.Options(gather=gather, gpu_memory=memory)
                for _ in range(repeats + WARM):
                    found = shares_of(program, graph, options, device=device, iterations=6)
                    shares += found[0][WARM:]
                    times += found[1][WARM:]
                edges = "raw" if gather == "segmented" else gather
                row(name, edges, device, f"{1e3 * statistics.median(times):.2f}", f"{statistics.median(shares):.3f}")


def shares_of(
    program: gp.VertexProgram, graph: gp.Graph, options: gp.Options, **how: Any
) -> tuple[list[float], list[float]]:
    """For each iteration, the share of the time from the first to the last copy that is copying, and its seconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        steps = gp.run(program, graph, options=replace(options, trace=path), **how).stats.iterations
        events = json.loads(path.read_text())["traceEvents"]
    tracks = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    copies = [event for event in events if event["ph"] == "X" and tracks[event["tid"]] == "copy to device"]
    shares = []
    for step in steps:
        mine = [copy for copy in copies if 0 <= copy["ts"] - step.started * 1e6 < step.seconds * 1e6]
        span = max(copy["ts"] + copy["dur"] for copy in mine) - min(copy["ts"] for copy in mine)
        shares.append(sum(copy["dur"] for copy in mine) / span)
    return shares, [step.seconds for step in steps]


def overhead(repeats: int) -> None:
    graph = load("uniform:14:16")
    program = gp.apps.PageRank(dtype=np.float32, stop="never")
    options = gp.Options(gather="segmented", mode="pull")
    table("device", "pages that are copied", "us an iteration", "us a page")
    memory, counts, times = memory_of("1/4", program, graph), [], []
    for page_edges in (1 << 14, 1 << 13, 1 << 12, 1 << 11):
        parts = replace(options, gpu_memory=memory, page_edges=page_edges)
        cut = {"iterations": 20, "device": "gpu", "options": parts}
        counts.append(gp.run(program, graph, **cut).stats.iterations[0].pages)
        times.append(1e6 * statistics.median(seconds_of(repeats, program, graph, **cut)))
    slope, _ = np.polyfit(counts, times, 1)
    row("gpu", ", ".join(map(str, counts)), ", ".join(f"{t:.0f}" for t in times), f"{slope:.1f}")
    print()
    table("device", "pages that stay", "us an iteration")
    for device in ("gpu", "hybrid"):
        how = {"iterations": 20, "device": device, "options": options}
        taken = gp.run(program, graph, **how).stats.iterations[-1]
        times = seconds_of(repeats, program, graph, **how)
        row(f"{device} ({taken.device} works)", taken.pages, f"{1e6 * statistics.median(times):.0f}")


def road(repeats: int) -> None:
    table("device", "supersteps", "ms", "over the CPU alone", "by the CPU")
    graph, times = grid(374), dict[str, list[float]]()
    for _ in range(repeats + WARM):
        for device in ("cpu", "auto", "hybrid"):
            stats = gp.run(gp.apps.BFS(0), graph, device=device).stats
            times.setdefault(device, []).append(stats.seconds)
            if len(times[device]) > repeats:
                own = sum(step.device == "cpu" for step in stats.iterations)
                middle, alone = (statistics.median(times[key][WARM:]) for key in (device, "cpu"))
                row(device, len(stats.iterations), f"{1e3 * middle:.1f}", f"{middle / alone:.3f}", own)


def messages(repeats: int) -> None:
    table("a message and its answer", "us")
    row("a method call", f"{microseconds(Echo().answer, CALLS):.2f}")
    asked, answered = SimpleQueue[Any](), SimpleQueue[Any]()
    threading.Thread(target=answer, args=(asked.get, answered.put), daemon=True).start()
    row("two threads, `queue.SimpleQueue`", f"{microseconds(lambda: (asked.put(0), answered.get())):.1f}")
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=answer, args=(there.recv, there.send))
    process.start()
    row("two processes, `multiprocessing.Pipe`", f"{microseconds(lambda: (here.send(0), here.recv())):.1f}")
    process.terminate()
    process.join()
    print()
    table("start", "s")
    command = [sys.executable, "-c", "import garaph_py; garaph_py.run"]
    times = timeit.repeat(lambda: subprocess.run(command, check=True), number=1, repeat=repeats + WARM)
    row("Python and this package", f"{statistics.median(times[WARM:]):.2f}")


class Echo:
    def answer(self) -> int:
        return 0


def answer(get: Callable[[], Any], put: Callable[[Any], Any]) -> None:
    """Answer each message by itself."""
    while True:
        put(get())


def microseconds(ask: Callable[[], Any], number: int = 1) -> float:
    """The median time of a message and its answer, if so many are timed together."""
    ask()  # a process may yet have to start
    return 1e6 * statistics.median(timeit.repeat(ask, number=number, repeat=MESSAGES)) / number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("busy", "overhead", "road", "messages"))
    parser.add_argument("graphs", nargs="*")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if options.what == "busy":
        busy(options.graphs, options.repeats)
    else:
        {"overhead": overhead, "road": road, "messages": messages}[options.what](options.repeats)


if __name__ == "__main__":
    main()
