"""Kills clients of a cluster on this machine at random times, resumes their runs, and compares the answers.

    python scripts/kill_clients.py --kills 50

PageRank and shortest paths run on the cluster in turns, by `garaph run` with checkpoints. Each is killed (SIGKILL) up
to three times, a moment after its first checkpoint, and resumed by `garaph resume`, on the cluster or on this machine.
The command fails at the first answer whose bits are not those of one machine.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import numpy.typing as npt

import garaph_py as gp

SIDE, SCALE = 60, 11
"""The sides of the grid over which shortest paths go, some 120 supersteps, and the scale of PageRank's R-MAT graph."""
MOST_KILLS = 3
"""The most kills of a run."""
MOMENT = 1.0
"""Seconds after the first checkpoint, or after the start of a resumed run, within which a client is killed."""
ON_CLUSTER = 0.7
"""The chance that a run is resumed on the cluster."""

Case = tuple[list[str], npt.NDArray[Any]]


def cases(folder: Path) -> list[Case]:
    """The arguments of each run, and its answer."""
    rmat, grid = gp.rmat(SCALE, 16, seed=3), gp.from_edges(*grid_edges())
    gp.save(rmat, folder / "rmat")
    gp.save(grid, folder / "grid")
    ranks = gp.run(gp.apps.PageRank(stop="never"), rmat, iterations=400)
    distances = gp.run(gp.apps.SSSP(source=7), grid)
    return [
        (["PageRank", str(folder / "rmat"), "--iterations", "400", "-p", "stop=never"], ranks.values),
        (["SSSP", str(folder / "grid"), "--source", "7"], distances.values),
    ]


def grid_edges() -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Edges in both directions between the neighbours in a square."""
    vertices = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    before = np.concatenate([vertices[:, :-1].ravel(), vertices[:-1].ravel()])
    after = np.concatenate([vertices[:, 1:].ravel(), vertices[1:].ravel()])
    return np.concatenate([before, after]), np.concatenate([after, before])


def killed(command: list[str], kept: Path, chance: random.Random) -> bool:
    """Run a command, and kill it a moment after there is a checkpoint; whether it was killed before it ended."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as client:
        while client.poll() is None and not has_checkpoint(kept):
            time.sleep(0.01)
        time.sleep(chance.uniform(0, MOMENT))
        client.kill()
    if client.returncode > 0:
        raise SystemExit(f"{command} failed")
    return client.returncode < 0


def has_checkpoint(kept: Path) -> bool:
    return any(kept.glob("*.checkpoint"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=3600, help="stop after so long")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chance, began = random.Random(given.seed), time.perf_counter()
    kills = resumed = turn = 0
    garaph = [sys.executable, "-m", "garaph_py"]
    with (
        tempfile.TemporaryDirectory() as name,
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
    ):
        folder, on_cluster = Path(name), ["--cluster", cluster.scheduler_address]
        runs = cases(folder)
        while kills < given.kills and time.perf_counter() - began < given.seconds:
            (asked, expected), kept, output = runs[turn % 2], folder / f"kept{turn}", folder / f"{turn}.npy"
            more = ["--output", str(output), "--checkpoint", str(kept), "--checkpoint-every", "1"]
            command = [*garaph, "run", *asked, "--quiet", *more, *on_cluster]
            for _ in range(chance.randint(1, MOST_KILLS)):
                if not killed(command, kept, chance):
                    break
                kills += 1
                if has_checkpoint(kept):
                    resumed += 1
                    again = ["--output", str(output)] if output.exists() else []
                    command = [*garaph, "resume", str(kept), "--quiet", *again]
                    command += on_cluster if chance.random() < ON_CLUSTER else []
            else:
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            if np.load(output).tobytes() != expected.tobytes():
                raise SystemExit(f"{asked[0]}: wrong in turn {turn} (seed {given.seed})")
            turn += 1
    print(
        f"{kills} kills in {time.perf_counter() - began:.0f} s, after {resumed} of which the run was resumed from a "
        f"checkpoint; {turn} of {turn} answers right"
    )


if __name__ == "__main__":
    main()
