"""How fast does a graph load, and in how much memory? Each load runs in a fresh process; the script prints medians.

    python scripts/bench_load.py --scale 22 [--repeats 3] [--edges FILE]

The script writes a graph as a text edge list, as .npz and as a graph directory, and loads each into CSC and CSR. The
graph is a Kronecker graph (edge factor 16, symmetric, without duplicates), or the text edge list that `--edges` names.
For comparison it prints the time to read the same bytes alone.
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

import garaph_py as gp

LOAD = """
import sys, time, psutil, garaph_py as gp
how, path = sys.argv[1:]
load = gp.open if how == 'open' else gp.read
small = gp.from_edges([0, 5], [5, 0])  # loads libraries and compiled code, which later calls need not
base = psutil.Process().memory_info().rss
open('/proc/self/clear_refs', 'w').write('5')
started = time.perf_counter()
graph = load(path)
seconds = time.perf_counter() - started
peak = next(int(line.split()[1]) * 1024 for line in open('/proc/self/status') if line.startswith('VmHWM'))
print(seconds, (peak - base) / graph.nbytes, graph.m)
"""


def load(how: str, path: Path) -> tuple[float, float, int]:
    """One load in a fresh process: its seconds, its peak memory above the baseline as a multiple of the final arrays,
    and the number of edges."""
    root = str(Path(__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", LOAD, how, str(path)],
        env=os.environ | {"PYTHONPATH": root}, check=True, capture_output=True, text=True,
    )  # fmt: skip
    seconds, peak, edges = done.stdout.split()
    return float(seconds), float(peak), int(edges)


def read_bytes(path: Path) -> float:
    """Seconds to read every file under `path` once, which any loader needs at least."""
    buffer = bytearray(16 << 20)
    started = time.perf_counter()
    for file in [path] if path.is_file() else [item for item in path.rglob("*") if item.is_file()]:
        with open(file, "rb", buffering=0) as raw:
            while raw.readinto(buffer):
                pass
    return time.perf_counter() - started


def size(path: Path) -> int:
    return sum(item.stat().st_size for item in ([path] if path.is_file() else path.rglob("*")))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--scale", type=int, default=18)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--edges", type=Path)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = given.edges
        if text is None:
            text = folder / "edges.tsv"
            generated = gp.rmat(given.scale, directed=False)
            gp.write(generated, folder / "all.npz")
            gp.write(gp.read(folder / "all.npz", drop_self_loops=True, drop_parallel=True), text)
        graph = gp.read(text)
        gp.write(graph, folder / "edges.npz")
        gp.save(graph, folder / "graph")
        del graph
        print(f"{'':<20} {'MB':>8} {'M edges':>8} {'seconds':>8} {'MB/s':>8} {'reading alone':>14} {'peak/arrays':>12}")
        for what, how, path in (
            ("text edge list", "read", text),
            (".npz", "read", folder / "edges.npz"),
            ("graph directory", "open", folder / "graph"),
        ):
            rows = [load(how, path) for _ in range(given.repeats)]
            seconds, floor = statistics.median(row[0] for row in rows), read_bytes(path)
            peak, edges, megabytes = max(row[1] for row in rows), rows[0][2], size(path) / 1e6
            print(
                f"{what:<20} {megabytes:>8,.0f} {edges / 1e6:>8,.1f} {seconds:>8.2f} {megabytes / seconds:>8,.0f} "
                f"{floor:>12.2f} s {peak:>11.2f}x",
                flush=True,
            )


if __name__ == "__main__":
    main()
