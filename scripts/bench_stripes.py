"""Do several disks read as fast as their sum? Spreads a graph over 1, 2, 4 ... directories and runs PageRank from them.

    garaph generate rmat kron22 --scale 22 --undirected --encoding raw
    python scripts/bench_stripes.py kron22 --disks /mnt/a /mnt/b /mnt/c /mnt/d [--memory 160MiB]

Each directory should be on a disk of its own. The graph is copied to the first one, spread over the first 1, 2, 4 ...
of them in turn, and removed at the end. Prints a Markdown table: the median iteration after the first, of `--repeats`
runs of four iterations that pull, and its speed in multiples of the first row's.

Disks that are slower than the machine's show whether the program gets in the way. As root on Linux (cgroup v1), one can
make such disks out of files, each limited to 100 MB/s:

    for k in 0 1 2 3; do
        truncate -s 2G disk$k.img && D=$(losetup --direct-io=on -f --show disk$k.img)
        mkfs.ext4 -q $D && mkdir -p /mnt/disk$k && mount $D /mnt/disk$k
        mkdir -p /sys/fs/cgroup/blkio/stripes
        echo "$(stat -c '%Hr:%Lr' $D) 100000000" >/sys/fs/cgroup/blkio/stripes/blkio.throttle.read_bps_device
    done
    echo $$ >/sys/fs/cgroup/blkio/stripes/cgroup.procs
"""

from __future__ import annotations

import argparse
import logging
import shutil
import statistics
import tempfile
from pathlib import Path

import numpy as np

import garaph_py as gp
from garaph_py.storage.directory import info, read_graph
from garaph_py.storage.restripe import restripe
from garaph_py.system.sizes import parse_bytes

ITERATIONS = 4
"""Iterations of a run; the first one also reads the pages that stay."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=Path)
    parser.add_argument("--disks", nargs="+", type=Path, required=True)
    parser.add_argument("--memory", default="160MiB")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    memory, first = parse_bytes(options.memory, "--memory"), 0.0
    print("| disks | ms an iteration | MB read | GB/s | of one disk |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=options.disks[0]) as folder:
        path = Path(folder, "graph")
        copied(options.graph, path)
        count = 1
        while count <= len(options.disks):
            restripe(path, options.disks[:count])
            seconds, nbytes = iteration(path, memory, options.repeats)
            speed = nbytes / seconds
            first = first or speed
            cells = f"{seconds * 1e3:.0f} | {nbytes / 1e6:.0f} | {speed / 1e9:.3f} | {speed / first:.2f}"
            print(f"| {count} | {cells} |", flush=True)
            count *= 2
        restripe(path, ["."])  # so that nothing is left in the other directories


def copied(graph: Path, path: Path) -> None:
    """Copy a graph directory, which must hold its data itself."""
    if info(graph).disks != (".",):
        raise SystemExit(f"{graph}: spread over other directories; garaph restripe {graph} --disk . first")
    shutil.copytree(graph, path)


def iteration(path: Path, memory: int, repeats: int) -> tuple[float, int]:
    """The seconds of a median iteration that reads from disk, and the bytes that it reads."""
    rows = []
    for _ in range(repeats):
        graph = read_graph(path, "auto", memory, None, gp.events.ignore, on_disk=True)
        program = gp.apps.PageRank(dtype=np.float32, stop="never", weighted=False)
        run = gp.run(program, graph, iterations=ITERATIONS, device="cpu", options=gp.Options(mode="pull"))
        rows += run.stats.iterations[1:]
    return statistics.median(row.seconds for row in rows), rows[-1].from_disk


if __name__ == "__main__":
    main()
