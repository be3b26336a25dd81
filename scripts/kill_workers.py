"""Kills random workers of a cluster on this machine at random times, and compares the answers with one machine's.

    python scripts/kill_workers.py --kills 200 --workers 3

PageRank, shortest paths and connected components run on the cluster in turns. A moment after each begins, a worker is
killed (SIGKILL), and sometimes a second one; its nanny starts another. The command fails at the first answer whose bits
are not those of one machine.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import signal
import threading
import time
from contextlib import suppress

import distributed
import numpy as np

import garaph_py as gp

SECOND = 0.25
"""The chance that a second worker is killed in a run."""
RESTART_SECONDS = 15
"""How long to wait until there are two workers again; a nanny here takes some three seconds to start one."""


class Killer:
    """Kills workers of a cluster."""

    def __init__(self, cluster: distributed.LocalCluster, chance: random.Random) -> None:
        self._cluster, self._chance, self.kills = cluster, chance, 0

    def after(self, seconds: float) -> threading.Timer:
        """Kill a worker after so many seconds."""
        timer = threading.Timer(seconds, self._kill)
        timer.start()
        return timer

    def _kill(self) -> None:
        """Kill one of the workers that are up, unless it is the only one."""
        there = self._cluster.scheduler.workers
        nannies = [nanny for nanny in self._cluster.workers.values() if nanny.worker_address in there]
        if len(nannies) > 1:
            with suppress(ProcessLookupError):  # it has ended by itself
                os.kill(self._chance.choice(nannies).pid, signal.SIGKILL)
                self.kills += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--scale", type=int, default=16, help="of the R-MAT graph")
    parser.add_argument("--seconds", type=float, default=3600, help="stop after so long")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    logging.disable(logging.ERROR)  # Dask logs every death
    chance, began = random.Random(given.seed), time.perf_counter()
    graph = gp.rmat(given.scale, 16, seed=1)
    both = graph.symmetrized()
    cases = [(gp.apps.PageRank(), graph), (gp.apps.SSSP(source=3), graph), (gp.apps.ConnectedComponents(), both)]
    expected = [gp.run(program, over, options=gp.Options(sync=True)).values for program, over in cases]
    right, hit, usual, kills, turn = [0] * len(cases), 0, {}, 0, 0
    while kills < given.kills and time.perf_counter() - began < given.seconds:
        with (
            distributed.LocalCluster(n_workers=given.workers, threads_per_worker=1, dashboard_address=":0") as cluster,
            distributed.Client(cluster) as client,
        ):
            killer = Killer(cluster, chance)
            while kills + killer.kills < given.kills and time.perf_counter() - began < given.seconds:
                try:
                    client.wait_for_workers(2, timeout=RESTART_SECONDS)
                except TimeoutError:
                    break  # nannies do not start workers that were killed while they started: take a new cluster
                number = turn % len(cases)
                program, over = cases[number]
                timers = []
                if number in usual:
                    count = 1 + (chance.random() < SECOND)
                    timers = [killer.after(chance.uniform(0, usual[number])) for _ in range(count)]
                started = time.perf_counter()
                result = gp.run(program, over, cluster=client)
                usual.setdefault(number, time.perf_counter() - started)
                for timer in timers:
                    timer.join()
                if not np.array_equal(result.values, expected[number]):
                    raise SystemExit(f"{result.program}: wrong in turn {turn} (seed {given.seed})")
                right[number] += 1
                hit += result.stats.note is not None
                turn += 1
            kills += killer.kills
    names = ", ".join(f"{type(program).__name__} {count}" for (program, _), count in zip(cases, right, strict=True))
    print(
        f"{kills} kills in {time.perf_counter() - began:.0f} s; right answers: {names}; runs that lost a worker: {hit}"
    )


if __name__ == "__main__":
    main()
