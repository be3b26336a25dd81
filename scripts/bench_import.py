"""How fast does `garaph import` make a graph directory, and in how much memory? Each import runs in a fresh process.

    python scripts/bench_import.py --scale 22 --memory 1GiB [--repeats 3] [--dir DIR]

The script writes the edges of a Kronecker graph (edge factor 16) as .npy and as text, imports each, and prints medians.
For comparison it measures how fast the disk itself writes and reads, without the page cache. It needs about 100 bytes
per edge in `--dir`.
"""

from __future__ import annotations

import argparse
import mmap
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from garaph_py.graph import generate
from garaph_py.native.threads import ThreadPool

IMPORT = """
import sys, time, psutil, garaph_py as gp
from garaph_py.io.bulk.build import ImportOptions
from garaph_py.io.bulk.import_ import import_file
path, small, out, memory, undirected, encoding = sys.argv[1:]
options = ImportOptions(undirected != "True", encoding=encoding)
import_file(small, out + "-small", options, memory=memory)  # libraries and compiled code are loaded
base = psutil.Process().memory_info().rss
open('/proc/self/clear_refs', 'w').write('5')
steps, started = set(), time.perf_counter()
manifest = import_file(path, out, options, memory=memory, on_event=lambda event: steps.add(event.name))
seconds = time.perf_counter() - started
peak = next(int(line.split()[1]) * 1024 for line in open('/proc/self/status') if line.startswith('VmHWM'))
print(seconds, peak - base, manifest.edges, int("distributing edges" in steps))
"""
CASES = [(".npy", True, "raw"), (".npy", True, "packed"), (".npy", False, "raw"), (".txt", True, "raw")]
SMALL = "0 5\n5 0\n"
DISK_BYTES, CHUNK = 1 << 30, 1 << 24


def import_once(path: Path, small: Path, folder: Path, memory: str, undirected: bool, encoding: str) -> list[float]:
    """One import in a fresh process: its seconds, peak memory above the baseline, stored edges, and whether it was
    out of core (1) or not (0)."""
    root = str(Path(__file__).parent.parent)
    with tempfile.TemporaryDirectory(dir=folder) as out:
        arguments = [path, small, Path(out, "graph"), memory, undirected, encoding]
        done = subprocess.run(
            [sys.executable, "-c", IMPORT, *map(str, arguments)],
            env=os.environ | {"PYTHONPATH": root}, check=True, capture_output=True, text=True,
        )  # fmt: skip
    return [float(number) for number in done.stdout.split()]


def disk_speeds(folder: Path) -> tuple[float, float]:
    """Bytes per second of sequential writes (synced at the end) and of sequential reads, without the page cache."""
    path, chunk = folder / "disk", mmap.mmap(-1, CHUNK)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_DIRECT", 0), 0o600)
    try:
        started = time.perf_counter()
        for offset in range(0, DISK_BYTES, CHUNK):
            os.pwrite(handle, chunk, offset)
        os.fsync(handle)
        written = time.perf_counter()
        for offset in range(0, DISK_BYTES, CHUNK):
            os.preadv(handle, [chunk], offset)
        read = time.perf_counter()
    finally:
        os.close(handle)
        path.unlink()
    return DISK_BYTES / (written - started), DISK_BYTES / (read - written)


def write_files(scale: int, folder: Path) -> dict[str, Path]:
    """Write the edges in each format; return the files by suffix."""
    edges = generate.random_rmat(scale)
    with ThreadPool() as pool:
        sources, targets, _ = edges.columns(0, edges.count, pool)
    np.save(folder / "edges.npy", np.stack([sources, targets], axis=1))
    table = pa.table({"source": sources, "target": targets})
    csv.write_csv(table, folder / "edges.txt", csv.WriteOptions(include_header=False, delimiter=" "))
    return {suffix: folder / f"edges{suffix}" for suffix in (".npy", ".txt")}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--scale", type=int, default=20)
    arguments.add_argument("--memory", default="512MiB")
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--dir", type=Path)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=given.dir) as name:
        folder = Path(name)
        files, small = write_files(given.scale, folder), folder / "small.txt"
        small.write_text(SMALL)
        writes, reads = disk_speeds(folder)
        print(f"disk: writes {writes / 1e6:,.0f} MB/s, reads {reads / 1e6:,.0f} MB/s; --memory {given.memory}\n")
        print("| input | graph | how | MB | stored edges | s | MB/s | M edges/s | peak MiB over baseline |")
        print("|---|---|---|---|---|---|---|---|---|")
        for suffix, undirected, encoding in CASES:
            path = files[suffix]
            runs = [import_once(path, small, folder, given.memory, undirected, encoding) for _ in range(given.repeats)]
            seconds, peak = statistics.median(run[0] for run in runs), max(run[1] for run in runs)
            size, stored = path.stat().st_size, runs[0][2]
            how = "out of core" if runs[0][3] else "memory"
            kind = f"{'undirected' if undirected else 'directed'}, {encoding}"
            print(
                f"| {suffix} | {kind} | {how} | {size / 1e6:,.0f} | {stored:,.0f} | {seconds:.2f} | "
                f"{size / 1e6 / seconds:,.0f} | {stored / 1e6 / seconds:,.0f} | {peak / 2**20:,.0f} |"
            )


if __name__ == "__main__":
    main()
