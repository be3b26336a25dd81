"""How fast is a run on the CPU? Times PageRank, BFS, SSSP and CC beside other programs, in turns on the same machine.

    python scripts/bench_cpu.py kron20.wsg [...] [--peer NAME COMMAND]... [--rounds 5] [--threads N]
        [--apps pr,pr-tiled,pr-auto,bfs,sssp,cc,five,five-made] [--order given|degree] [--scaling 1,2,4,8,16]
    python scripts/bench_cpu.py --calls 2,16

Graphs are files in any format that `garaph_py.read` knows, or graph directories. A peer is another program. Its COMMAND
is run by the shell, with ``{graph}`` (the file's name without its extension), ``{app}`` (pr, bfs, sssp, cc),
``{source}`` and ``{threads}`` filled in. It prints the seconds of each trial, one number per line; for pr the seconds
of one iteration. The peers and this process run in turns, A B A B; forms of one app (pr, pr-tiled, pr-auto) share the
peers' trials of a round. The script prints the medians of all rounds, the least of our calls, and the median of the
rounds' ratios.

Our time is that of the whole call of `garaph_py.run` on a graph in memory, from binding the program to the reported
values; the time of the iterations alone follows in brackets. PageRank runs 20 iterations in float32 and drops the
dangling rank; its time is that of one iteration. ``five`` is a whole call of five iterations by pages, ``five-made``
one by tiles that it makes; both without peers. ``--scaling`` times several numbers of threads, without peers.

``--calls`` times what a call costs however small its graph is: medians of 200 calls on a graph of ten edges, with each
number of threads.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time
from collections.abc import Callable
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

import garaph_py as gp
from garaph_py.native.threads import available_cores

ITERATIONS, FIVE = 20, 5
TRIALS = 5
"""How often a round calls `garaph_py.run`."""
APPS = ("pr", "pr-tiled", "pr-auto", "bfs", "sssp", "cc")
MAKING = "five-made"
"""The app whose every call makes tiles."""
CALLS = 200
"""How often ``--calls`` calls `garaph_py.run`, and how often before, to warm up."""
TEN_EDGES = [0, 0, 1, 2, 2, 3, 4, 5, 6, 6], [1, 2, 3, 3, 4, 5, 6, 0, 7, 2]


def load(path: Path, order: str) -> gp.Graph:
    if path.is_dir():
        return gp.open(path)
    return gp.read(path, order="degree" if order == "degree" else "none")


def programs(graph: gp.Graph, threads: int) -> tuple[dict[str, Callable[[], gp.Result]], int]:
    """A function for each app that runs it, and the source, which is the vertex with the most out-edges."""
    at = int(np.argmax(graph.out_degrees))
    source = graph.ids.take(np.array([at]))[0]
    pagerank = gp.apps.PageRank(dtype=np.float32, dangling="drop", stop="never", weighted=False)
    undirected, on_cpu = {}, partial(gp.run, device="cpu", threads=threads)

    def components() -> gp.Result:
        if "graph" not in undirected:
            undirected["graph"] = graph.symmetrized()
        return on_cpu(gp.apps.ConnectedComponents(), undirected["graph"])

    def ranks(mode: str, iterations: int = ITERATIONS) -> gp.Result:
        return on_cpu(pagerank, graph, iterations=iterations, options=gp.Options(mode=mode))

    return {
        "pr": lambda: ranks("pull"),
        "pr-tiled": lambda: ranks("pull-tiled"),
        "pr-auto": lambda: ranks("auto"),
        "bfs": lambda: on_cpu(gp.apps.BFS(source), graph),
        "sssp": lambda: on_cpu(gp.apps.SSSP(source), graph),
        "cc": components,
        "five": lambda: ranks("pull", FIVE),
        MAKING: lambda: ranks("pull-tiled", FIVE),
    }, int(source)


class Times(NamedTuple):
    """Median seconds of a call and of its iterations, and the least of a call; for PageRank those of one iteration."""

    call: float
    iterations: float
    least: float


def ours(app: str, run: Callable[[], gp.Result], graph: gp.Graph) -> Times:
    calls, iterations = [], []
    parts = ITERATIONS if app.startswith("pr") else 1
    for _ in range(TRIALS):
        if app == MAKING:
            graph.release()
        started = time.perf_counter()
        stats = run().stats
        calls.append((time.perf_counter() - started) / parts)
        iterations.append(stats.seconds / parts)
    return Times(statistics.median(calls), statistics.median(iterations), min(calls))


def theirs(command: str, **names: object) -> float:
    done = subprocess.run(command.format(**names), shell=True, check=True, capture_output=True, text=True)
    return statistics.median(float(line) for line in done.stdout.split())


def compare(graph: gp.Graph, name: str, options: argparse.Namespace) -> None:
    runs, source = programs(graph, options.threads)
    for app, forms in groupby(options.apps.split(","), lambda form: form.split("-")[0]):
        mine: dict[str, list[Times]] = {form: [] for form in forms}
        peers = [] if app == "five" else options.peer
        others: dict[str, list[float]] = {peer: [] for peer, _ in peers}
        for form in mine:
            runs[form]()  # compiles the kernels, and builds what a graph keeps, such as tiles
        for _ in range(options.rounds):
            for form, times in mine.items():
                times.append(ours(form, runs[form], graph))
            for peer, command in peers:
                others[peer].append(theirs(command, graph=name, app=app, source=source, threads=options.threads))
        for form, times in mine.items():
            print(line(f"{name:<12} {form:<8}", times, others), flush=True)


def line(row: str, mine: list[Times], others: dict[str, list[float]]) -> str:
    """A line of the table: our times beside those of each peer."""
    calls, iterations, least = zip(*mine, strict=True)
    row += f" ours {statistics.median(calls) * 1e3:8.2f} ms ({statistics.median(iterations) * 1e3:.2f})"
    row += f", least {min(least) * 1e3:.2f}"
    for peer, seconds in others.items():
        ratio = statistics.median(call / other for call, other in zip(calls, seconds, strict=True))
        row += f"   {peer} {statistics.median(seconds) * 1e3:.2f} ms, ratio {ratio:.2f}"
    return row


def scale(graph: gp.Graph, name: str, options: argparse.Namespace) -> None:
    counts = [int(count) for count in options.scaling.split(",")]
    for app in options.apps.split(","):
        times = []
        for count in counts:
            run = programs(graph, count)[0][app]
            run()
            times.append(statistics.median(ours(app, run, graph).call for _ in range(options.rounds)))
        cells = "  ".join(f"{c}: {t * 1e3:.2f} ms ({times[0] / t:.2f}x)" for c, t in zip(counts, times, strict=True))
        print(f"{name:<12} {app:<5} {cells}", flush=True)


def calls(counts: list[int]) -> None:
    """Print what calls on a graph of ten edges cost, for each number of threads."""
    graph = gp.from_edges(*TEN_EDGES)
    programs = {"bfs": (gp.apps.BFS(0), None), "pr": (gp.apps.PageRank(stop="never"), ITERATIONS)}
    print("app  threads  call ms  iterations ms  beside them ms")
    for name, (program, iterations) in programs.items():
        for threads in counts:
            times = []
            for _ in range(2 * CALLS):
                started = time.perf_counter()
                stats = gp.run(program, graph, iterations=iterations, device="cpu", threads=threads).stats
                call = time.perf_counter() - started
                times.append((call, stats.seconds, call - stats.seconds))
            call, inside, beside = (1e3 * statistics.median(column) for column in zip(*times[CALLS:], strict=True))
            print(f"{name:<4} {threads:>7}  {call:7.2f}  {inside:13.2f}  {beside:14.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="*", type=Path)
    parser.add_argument("--peer", nargs=2, action="append", default=[], metavar=("NAME", "COMMAND"))
    parser.add_argument("--apps", default=",".join(APPS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=available_cores())
    parser.add_argument("--order", choices=["given", "degree"], default="given")
    parser.add_argument("--scaling", help="numbers of threads to time, separated by commas")
    parser.add_argument("--calls", help="numbers of threads for calls on a tiny graph, separated by commas")
    options = parser.parse_args()
    if options.calls:
        calls([int(count) for count in options.calls.split(",")])
    for path in options.graphs:
        graph = load(path, options.order)
        print(f"# {path.name}, order {options.order}: {graph}", flush=True)
        (scale if options.scaling else compare)(graph, path.stem, options)


if __name__ == "__main__":
    main()
