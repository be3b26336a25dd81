"""Kills random workers and clients of a cluster at random times, and compares the answers with one machine's.

    python scripts/kill_workers.py --kills 200 --workers 3

PageRank, shortest paths and connected components run on the cluster in turns. A moment after each begins, a worker is
killed (SIGKILL), and sometimes a second one; its nanny starts another. Every tenth turn, another process is the client
of a run, and is killed. Then the workers must give back what the run had in them: by themselves, or when the next run
begins. The command fails at the first answer whose bits are not those of one machine, and at the first worker that does
not.
"""

from __future__ import annotations

import argparse
import logging
import math
import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import distributed
import numpy as np

import garaph_py as gp
from garaph_py import events
from garaph_py.cluster.dask import RUNS
from garaph_py.cluster.runs import QUIET_SECONDS

SECOND = 0.25
"""The chance that a second worker is killed in a run."""
RESTART_SECONDS = 15
"""How long to wait until there are two workers again; a nanny here takes some three seconds to start one."""
CLIENT = 10
"""In every so many turns a client is killed."""
FREE_SECONDS = 2 * QUIET_SECONDS + 20
"""How long workers may take to end the run of a client that was killed: twice `QUIET_SECONDS`, a superstep, and what a
busy machine needs to answer."""


def cases(scale: int) -> list[tuple[gp.VertexProgram, gp.Graph]]:
    """The programs, each with its graph."""
    graph = gp.rmat(scale, 16, seed=1)
    both = graph.symmetrized()
    return [(gp.apps.PageRank(), graph), (gp.apps.SSSP(source=3), graph), (gp.apps.ConnectedComponents(), both)]


class Endless(gp.VertexProgram):
    """Every vertex changes in every iteration."""

    value = np.int64
    sum = gp.add

    def init(self, id):
        return id

    def gather(self, src):
        return src

    def apply(self, old, acc):
        return old + 1


def be_client(address: str, scale: int, begun: Any) -> None:
    """Run for ever; set `begun` after the first iteration."""

    def hear(event: events.Event) -> None:
        if isinstance(event, events.Iteration):
            begun.set()

    graph = gp.rmat(scale, 16, seed=1)
    gp.run(Endless(), graph, cluster=address, iterations=10**9, on_event=hear)


class ClientKiller:
    """Kills clients, and looks whether the workers end their runs.

    Attributes
    ----------
    waits : list of float
        Seconds after which all workers had ended the run by themselves.
    at_once : int
        How often they had ended it when the next run began.
    """

    def __init__(self, scale: int, chance: random.Random) -> None:
        self._scale, self._chance = scale, chance
        self.waits: list[float] = []
        self.at_once = 0

    def kill(self, client: distributed.Client) -> bool:
        """Begin a run in another process, and kill it; whether the workers have yet to end the run."""
        spawn = multiprocessing.get_context("spawn")
        begun = spawn.Event()
        process = spawn.Process(target=be_client, args=(client.scheduler.address, self._scale, begun), daemon=True)
        process.start()
        begun.wait()
        time.sleep(self._chance.uniform(0, 1))
        process.kill()
        process.join()
        killed = time.perf_counter()
        if self._chance.random() < 0.5:
            return True
        while left := runs_left(client):
            if time.perf_counter() - killed > FREE_SECONDS:
                raise SystemExit(f"{left} workers still have the run of a killed client after {FREE_SECONDS:.0f} s")
            time.sleep(0.1)
        self.waits.append(time.perf_counter() - killed)
        return False

    def check(self, client: distributed.Client) -> None:
        """After the next run: the workers must have ended the one before."""
        if left := runs_left(client):
            raise SystemExit(f"{left} workers still have the run of a killed client after another one")
        self.at_once += 1

    @property
    def kills(self) -> int:
        """How many clients were killed."""
        return len(self.waits) + self.at_once


def runs_left(client: distributed.Client) -> int:
    """How many workers have a run."""
    return sum(client.run(lambda dask_worker: len(getattr(dask_worker, RUNS, ())) > 0).values())


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


@contextmanager
def local_cluster(workers: int) -> Iterator[distributed.LocalCluster]:
    """A cluster of processes of this machine."""
    cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0")
    try:
        yield cluster
    finally:
        with suppress(KeyError):  # of a worker that was killed while it started, Dask's list of workers has no name
            cluster.close()


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
    programs, clients = cases(given.scale), ClientKiller(given.scale, chance)
    expected = [gp.run(program, over, options=gp.Options(sync=True)).values for program, over in programs]
    right, hit, usual, kills, turn = [0] * len(programs), 0, {}, 0, 0
    while kills < given.kills and time.perf_counter() - began < given.seconds:
        with (
            local_cluster(given.workers) as cluster,
            distributed.Client(cluster) as client,
        ):
            killer = Killer(cluster, chance)
            while kills + killer.kills < given.kills and time.perf_counter() - began < given.seconds:
                try:
                    client.wait_for_workers(2, timeout=RESTART_SECONDS)
                except TimeoutError:
                    break  # nannies do not start workers that were killed while they started: take a new cluster
                number = turn % len(programs)
                program, over = programs[number]
                timers, has_to_end = [], False
                if turn % CLIENT == CLIENT - 1:
                    has_to_end = clients.kill(client)
                elif number in usual:
                    count = 1 + (chance.random() < SECOND)
                    timers = [killer.after(chance.uniform(0, usual[number])) for _ in range(count)]
                started = time.perf_counter()
                result = gp.run(program, over, cluster=client)
                usual[number] = min(usual.get(number, math.inf), time.perf_counter() - started)  # the first compiles
                for timer in timers:
                    timer.join()
                if not np.array_equal(result.values, expected[number]):
                    raise SystemExit(f"{result.program}: wrong in turn {turn} (seed {given.seed})")
                if has_to_end:
                    clients.check(client)
                right[number] += 1
                hit += result.stats.note is not None
                turn += 1
            kills += killer.kills
    names = ", ".join(f"{type(program).__name__} {count}" for (program, _), count in zip(programs, right, strict=True))
    print(
        f"{kills} workers and {clients.kills} clients killed in {time.perf_counter() - began:.0f} s; right answers: "
        f"{names}; runs that lost a worker: {hit}; runs of killed clients that ended when the next began: "
        f"{clients.at_once}, that ended by themselves: {len(clients.waits)}, after at most "
        f"{max(clients.waits, default=0.0):.1f} s"
    )


if __name__ == "__main__":
    main()
