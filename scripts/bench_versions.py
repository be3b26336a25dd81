"""Is one version of garaph_py slower than another? The same runs by both, in turns, with a confidence interval.

    python scripts/bench_versions.py OLD NEW rmat:22:16 [rmat:22:16:symmetric ...] [--devices cpu gpu hybrid]
        [--rows pr pr-tiled bfs sssp cc] [--shares 1 0.25] [--disk 256MiB] [--pairs 15]

OLD and NEW are two checkouts. Each runs in a process of its own, which makes or reads every graph once. A pair is a
run by each of them, one directly after the other; they begin in turns. Only `garaph_py.run` and `garaph_py.open` are
called. A graph is ``rmat:SCALE:EDGE_FACTOR[:symmetric]`` or a file or directory. Rows are as in bench_cpu.py. A share
is that of the edges for which a GPU gets memory. With ``--disk``, graphs are saved first and opened with that memory.

Prints a Markdown table: median milliseconds of a whole call and of its iterations, and the median of new over old with
its 95 % confidence interval (bootstrap over the pairs).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROWS = ("pr", "pr-tiled", "bfs", "sssp", "cc")
WARM = 2
"""Runs of each version that do not count: the first compiles, the second may take another way."""
RESAMPLES = 2000
"""Of the bootstrap."""


def program(gp: Any, graph: Any, row: str) -> tuple[Any, dict[str, Any]]:
    """What a row runs, and how."""
    if row.startswith("pr"):
        pagerank = gp.apps.PageRank(dtype=np.float32, dangling="drop", stop="never")
        pagerank.weighted = False  # older versions ignore this, and weights
        return pagerank, {"iterations": 10, "mode": "pull-tiled" if row == "pr-tiled" else "pull"}
    if row == "cc":
        return gp.apps.ConnectedComponents(), {}
    source = graph.ids.take(np.array([int(np.argmax(graph.out_degrees))]))[0]
    return (gp.apps.BFS if row == "bfs" else gp.apps.SSSP)(source), {}


class Worker:
    """Runs of one version, in its own process: reads orders as JSON lines, and prints seconds."""

    def __init__(self) -> None:
        import garaph_py

        self.gp, self.graphs = garaph_py, dict[tuple[str, str], Any]()

    def graph(self, name: str, memory: str) -> Any:
        """A graph by its name, made once."""
        if (name, memory) not in self.graphs:
            gp, (kind, *parts) = self.gp, name.split(":")
            if memory:
                self.graphs[name, memory] = gp.open(name, memory=memory)
            elif kind == "rmat":
                made = gp.rmat(int(parts[0]), int(parts[1]), weights=(1, 255))
                self.graphs[name, memory] = made.symmetrized() if len(parts) > 2 else made
            else:
                self.graphs[name, memory] = gp.open(name) if Path(name).is_dir() else gp.read(name)
        return self.graphs[name, memory]

    def run(self, order: dict[str, Any]) -> list[float]:
        """Seconds of a call, and of its iterations."""
        graph = self.graph(order["graph"], order["memory"])
        if order["row"] == "cc" and graph.directed:
            key = order["graph"] + " symmetrized", order["memory"]
            graph = self.graphs.setdefault(key, graph if graph.on_disk else graph.symmetrized())
        chosen, how = program(self.gp, graph, order["row"])
        if order["device"] != "cpu":
            width = 4 + (0 if graph.edge_dtype is None or order["row"] != "sssp" else graph.edge_dtype.itemsize)
            room = 40 * graph.n + (256 << 20)  # arrays of vertices, and buffers
            how["gpu_memory"] = None if order["share"] >= 1 else int(room + order["share"] * graph.m * width)
        started = time.perf_counter()
        if hasattr(self.gp, "Options"):  # older versions take its fields as arguments
            how = {"iterations": how.pop("iterations", None), "options": self.gp.Options(**how)}
        stats = self.gp.run(chosen, graph, device=order["device"], **how).stats
        return [time.perf_counter() - started, stats.seconds]


def work() -> None:
    worker = Worker()
    for line in sys.stdin:
        print(json.dumps(worker.run(json.loads(line))), flush=True)


class Version:
    """A process that runs one checkout."""

    def __init__(self, checkout: str) -> None:
        paths = [str(Path(checkout).resolve()), str(Path(__file__).parent)]
        code = f"import sys; sys.path[:0] = {paths}; import bench_versions; bench_versions.work()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"
        )

    def run(self, order: dict[str, Any]) -> list[float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"{order}: the process has ended; see above")
        return [float(seconds) for seconds in json.loads(answer)]


def interval(ratios: np.ndarray) -> tuple[float, float, float]:
    """The median and its 95 % confidence interval."""
    rng = np.random.default_rng(1)
    medians = np.median(rng.choice(ratios, (RESAMPLES, len(ratios))), axis=1)
    low, high = np.quantile(medians, [0.025, 0.975])
    return float(np.median(ratios)), float(low), float(high)


def compare(versions: list[Version], order: dict[str, Any], pairs: int) -> str:
    """A row of the table."""
    for version in versions:
        for _ in range(WARM):
            version.run(order)
    times = np.empty((pairs, 2, 2))
    for pair in range(pairs):
        for which in (0, 1) if pair % 2 else (1, 0):
            times[pair, which] = versions[which].run(order)
    cells = []
    for part in (0, 1):
        old, new = np.median(times[:, 0, part]) * 1e3, np.median(times[:, 1, part]) * 1e3
        ratio, low, high = interval(times[:, 1, part] / times[:, 0, part])
        cells += [f"{old:.2f}", f"{new:.2f}", f"{ratio:.3f} ({low:.3f} to {high:.3f})"]
    return " | ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--devices", nargs="+", default=["cpu"], choices=("cpu", "gpu", "hybrid"))
    parser.add_argument("--rows", nargs="+", default=list(ROWS), choices=ROWS)
    parser.add_argument("--shares", nargs="+", type=float, default=[1.0])
    parser.add_argument("--disk", default="", metavar="SIZE")
    parser.add_argument("--pairs", type=int, default=15)
    options = parser.parse_args()
    versions = [Version(options.old), Version(options.new)]
    print("| graph | device | row | old, ms | new, ms | new / old | iterations, old | new | new / old |")
    print("|---" * 9 + "|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in options.graphs:
            graph = name
            if options.disk:
                graph = f"{folder}/{name.replace(':', '-')}"
                saver = Worker()
                saver.gp.save(saver.graph(name, ""), graph)
            for device in options.devices:
                for share in options.shares if device != "cpu" else [1.0]:
                    for row in options.rows:
                        order = {"graph": graph, "memory": options.disk, "device": device, "share": share, "row": row}
                        where = device if share >= 1 else f"{device}, {share:g} of the edges"
                        cells = compare(versions, order, options.pairs)
                        print(f"| {name} | {where} | {row} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
