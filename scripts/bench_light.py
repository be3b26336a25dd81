"""How light is it? Times of importing and starting, peak memory of a run, and the speed-up of two threads on one hub.

    python scripts/bench_light.py [--repeats 5]

Times are those of fresh processes. The script prints medians, and beside them the project's own bounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import garaph_py as gp
from garaph_py.native import Kernel
from garaph_py.native.threads import ThreadPool

ROOT = Path(__file__).parent.parent
EDGES = ROOT / "data" / "debian-sid-deps.tsv.xz"
SHELL = "import sys; from garaph_py.cli import main; sys.argv = ['garaph', *sys.argv[1:]]; main()"

PEAK = """
import sys, psutil, garaph_py as gp
def peak():
    for line in open('/proc/self/status'):
        if line.startswith('VmHWM'):
            return int(line.split()[1]) * 1024
kind, path = sys.argv[1:]
program = gp.apps.PageRank(stop='never') if kind == 'PageRank' else getattr(gp.apps, kind)(0)
gp.run(program, gp.from_edges([0, 1], [1, 0]), iterations=2)  # loads every library
gp.run(program, gp.from_edges([0, 1], [1, 0]), iterations=2, options=gp.Options(mode='notify-pull'))
base = psutil.Process().memory_info().rss
open('/proc/self/clear_refs', 'w').write('5')  # forget the peak so far
graph = gp.open(path)
result = gp.run(program, graph, iterations=10)
stored = result.values.dtype.itemsize if kind == 'PageRank' else 8
print((peak() - base) / (graph.nbytes + 2 * graph.n * stored))
"""


def process(*command: object, cache: Path) -> float:
    started = time.perf_counter()
    environment = os.environ | {"GARAPH_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, *map(str, command)], env=environment, check=True, capture_output=True)
    return time.perf_counter() - started


def show(what: str, value: str, bound: str) -> None:
    print(f"{what:<64} {value:>10}   {bound}", flush=True)


def startup(repeats: int, folder: Path) -> None:
    nothing = statistics.median(process("-c", "pass", cache=folder) for _ in range(repeats))
    imported = statistics.median(process("-c", "import garaph_py", cache=folder) for _ in range(repeats))
    show("import garaph_py, above an empty Python", f"{imported - nothing:.3f} s", "at most 0.3 s")
    for name, *more in (("PageRank",), ("BFS", "--source", "bash"), ("SSSP", "--source", "bash")):
        command = ("-c", SHELL, "run", name, EDGES, "--quiet", *more)
        first = process(*command, cache=folder / name)
        later = statistics.median(process(*command, cache=folder / name) for _ in range(repeats))
        show(f"garaph run {name}, fresh process, nothing compiled yet", f"{first:.2f} s", "at most 20 s")
        show(f"garaph run {name}, fresh process, later", f"{later:.2f} s", "at most 1.5 s")


def memory(folder: Path) -> None:
    gp.save(gp.rmat(19, 8), folder / "graph")
    for name in ("PageRank", "BFS", "SSSP"):
        done = subprocess.run(
            [sys.executable, "-c", PEAK, name, str(folder / "graph")],
            env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True, capture_output=True, text=True,
        )  # fmt: skip
        show(f"{name}, RMAT 19: peak memory over arrays and values", f"{float(done.stdout):.2f}", "at most 1.25")


def hub(repeats: int) -> None:
    n, m = 1 << 20, 1 << 25
    generator = np.random.default_rng(1)
    targets = np.where(generator.random(m) < 0.9, 0, generator.integers(0, n, m)).astype(np.uint32)
    graph = gp.from_edges(generator.integers(0, n, m, dtype=np.uint32), targets, vertices=np.arange(n))
    program = gp.apps.PageRank(dtype=np.float32, stop="never")
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(repeats + 1):
        for threads, seconds in times.items():
            rows = gp.run(program, graph, iterations=5, threads=threads).stats.iterations
            seconds.append(statistics.median(row.seconds for row in rows))
    one, two = (statistics.median(times[threads][1:]) for threads in (1, 2))
    show("PageRank, one vertex with 90 % of the edges: two threads over one", f"{one / two:.2f} x", "at least 1.8 x")
    show("the same of arithmetic alone: what the machine has to give", f"{scaling(repeats):.2f} x", "")


def spin(count, out):  # type: ignore[no-untyped-def]
    state = np.int64(1)
    for i in range(count):
        state = state * 6364136223846793005 + i
    out[0] = state
    return 0


def scaling(repeats: int) -> float:
    """How much faster two threads are than one if they share no data."""
    kernel, count = Kernel("i64 i64*", spin), 100_000_000
    seconds: dict[int, list[float]] = {1: [], 2: []}
    with ThreadPool(2) as pool:
        for _ in range(repeats + 1):
            for parts, times in seconds.items():
                started = time.perf_counter()
                pool.run(kernel, [(count // parts, np.zeros(1, np.int64)) for _ in range(parts)])
                times.append(time.perf_counter() - started)
    return statistics.median(seconds[1][1:]) / statistics.median(seconds[2][1:])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--repeats", type=int, default=5)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        startup(given.repeats, Path(folder))
        memory(Path(folder))
        hub(given.repeats)


if __name__ == "__main__":
    main()
