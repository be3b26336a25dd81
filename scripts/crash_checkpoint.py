"""Do checkpoints survive kill -9? Kills runs at random moments and resumes them, over and over.

A round runs a job in a process that makes a checkpoint after every iteration and acknowledges it. The round kills the
process at a random moment, resumes and kills it once more, and then lets the job end. The answer must be, bit for bit,
that of a run that was not killed; no acknowledged checkpoint may be lost; and no file may be left behind.

    python scripts/crash_checkpoint.py --rounds 200
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

import garaph_py as gp
from garaph_py import events
from garaph_py.checkpoint.files import Files
from garaph_py.checkpoint.store import Store

VERTICES, ITERATIONS = 3000, 400
JOBS = ("synchronous", "asynchronous", "on disk")
MEMORY = 5_000_000
"""Bytes of memory for the run whose edges stay on disk; most of it is used to check edges."""


def job(name: str, directory: Path) -> tuple[gp.VertexProgram, gp.Graph, dict[str, object]]:
    """The program, the graph and the options of a job, which takes some hundred iterations."""
    rng = np.random.default_rng(7)
    if name != "asynchronous":
        graph = gp.from_edges(*rng.integers(VERTICES, size=(2, 40_000)))
        if name == "on disk":
            stored = directory.with_name("graph")
            if not stored.exists():
                gp.save(graph, stored, encoding="raw", block_bytes=1 << 13)
            graph = gp.open(stored, memory=graph.nbytes // 5)
            graph = replace(graph, memory=MEMORY)
        how = {"iterations": ITERATIONS, "sync": True, "page_edges": 4000}
        return gp.apps.PageRank(damping=0.99, stop="never"), graph, how
    path = rng.permutation(VERTICES)
    graph = gp.from_edges(path[:-1], path[1:], weights=rng.integers(1, 9, VERTICES - 1).astype(np.int32))
    return gp.apps.SSSP(int(path[0])), graph, {"sync": False, "mode": "pull"}


def work(name: str, directory: Path) -> None:
    """The process that is killed: it prints a line for every checkpoint that it has made."""
    program, graph, how = job(name, directory)

    def tell(event: events.Event) -> None:
        if isinstance(event, events.Checkpoint):
            os.write(1, b"%d\n" % event.iterations)

    gp.run(program, graph, device="cpu", checkpoint=directory, checkpoint_every=1, resume=True, on_event=tell, **how)
    os.write(1, b"0\n")  # the job has ended and removed its checkpoints


def kill_one(name: str, directory: Path, chance: random.Random) -> int:
    """Start the job, and kill it after some iterations or before the first; return the last acknowledged checkpoint."""
    command = [sys.executable, "-W", "ignore", __file__, "--work", name, str(directory)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert child.stdout is not None
    with child:
        wanted, last = chance.randrange(0, 40), 0
        if wanted == 0:
            time.sleep(chance.uniform(0, 1))
        for _ in range(wanted):
            line = child.stdout.readline()
            last = int(line or last)
        time.sleep(chance.uniform(0, 0.004))
        child.send_signal(signal.SIGKILL)
        for line in child.stdout:  # acknowledged before it was killed
            last = int(line)
    return last if child.returncode else 0  # a job that ended before the signal has removed its checkpoints


def one_round(name: str, expected: np.ndarray, directory: Path, chance: random.Random, kills: int) -> tuple[str, int]:
    """What went wrong ("" for nothing), and how many iterations were done when the job was resumed the last time."""
    program, graph, how = job(name, directory)
    there = 0
    for _ in range(kills):
        last = kill_one(name, directory, chance)
        store = Store(directory, Files())
        found = store.newest()
        there = 0 if found is None else found.iterations
        store.close()
        if there < last:
            return f"checkpoint {last} was acknowledged, and {there} is the newest", there
    result = gp.run(program, graph, device="cpu", checkpoint=directory, resume=there > 0, **how)
    if result.stats.resumed != there:
        return f"resumed after {result.stats.resumed} iterations, not {there}", there
    if result.values.tobytes() != expected.tobytes():
        return "the answer is wrong", there
    if directory.exists():
        return f"left behind: {os.listdir(directory)}", there
    return "", there


def rounds(count: int, seed: int, kills: int = 2) -> tuple[Counter[str], list[int]]:
    """What went wrong in `count` rounds, and how many iterations were done when each was resumed the last time."""
    chance, problems, resumed = random.Random(seed), Counter[str](), []
    with tempfile.TemporaryDirectory() as folder:
        expected = {name: answer(name, Path(folder, "round")) for name in JOBS}
        for k in range(count):
            name = JOBS[k % len(JOBS)]
            problem, there = one_round(name, expected[name], Path(folder, f"round{k}"), chance, kills)
            if problem:
                problems[f"{name}: {problem}"] += 1
            resumed.append(there)
        if left := [path for path in os.listdir(folder) if path != "graph" and not problems]:
            problems[f"left behind: {left}"] += 1
    return problems, resumed


def answer(name: str, directory: Path) -> np.ndarray:
    program, graph, how = job(name, directory)
    return gp.run(program, graph, device="cpu", **how).values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.work[0], Path(given.work[1]))
        return
    problems, resumed = rounds(given.rounds, given.seed)
    for problem, count in problems.items():
        print(f"{count} times: {problem}")
    half = sorted(resumed)[len(resumed) // 2]
    print(f"{given.rounds} rounds: {problems.total()} problems; resumed after up to {max(resumed)} iterations, "
          f"half of them after {half} or more")  # fmt: skip
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
